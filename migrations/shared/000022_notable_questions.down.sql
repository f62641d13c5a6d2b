DROP TABLE notable_questions;
