ALTER TABLE evaluations DROP tuning_outcome;
