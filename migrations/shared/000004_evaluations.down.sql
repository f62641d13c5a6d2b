DROP TABLE evaluation_results;
DROP TABLE evaluations;
DROP TABLE questions;
DROP TABLE question_sets;
