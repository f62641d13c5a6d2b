DELETE FROM usage WHERE stage = 'transcription';
ALTER TABLE usage DROP CONSTRAINT usage_stage_check;
ALTER TABLE usage ADD CONSTRAINT usage_stage_check CHECK (stage IN ('ingest', 'upsert', 'query', 'walk', 'embedding', 'rerank', 'chat'));
ALTER TABLE usage DROP COLUMN seconds;
