DROP TABLE asked_questions;
