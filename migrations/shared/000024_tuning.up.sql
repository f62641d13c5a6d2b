-- tuning_outcome is evaluate.TuningOutcome of an evaluation that tunes an index; null for others, and until it has ended.
ALTER TABLE evaluations ADD tuning_outcome jsonb;
