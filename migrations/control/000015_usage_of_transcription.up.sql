-- Recordings that were transcribed, whose endpoints charge for seconds.
ALTER TABLE usage ADD COLUMN seconds double precision NOT NULL DEFAULT 0;
ALTER TABLE usage DROP CONSTRAINT usage_stage_check;
ALTER TABLE usage ADD CONSTRAINT usage_stage_check CHECK (stage IN ('ingest', 'upsert', 'query', 'walk', 'embedding', 'rerank', 'chat', 'transcription'));
