-- Whether chunks were stored while nothing could find those near to them: then a job
-- has to, as soon as something can.
ALTER TABLE indexes ADD graph_unlinked boolean NOT NULL DEFAULT false;

UPDATE indexes SET graph_unlinked = NOT built OR index_config->>'type' IS DISTINCT FROM 'hnsw';
