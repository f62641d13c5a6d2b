DROP TABLE imports;
UPDATE tenants SET status = 'deleting' WHERE status = 'importing';
ALTER TABLE tenants DROP CONSTRAINT tenants_status_check;
ALTER TABLE tenants ADD CONSTRAINT tenants_status_check CHECK (status IN ('creating', 'ready', 'deleting'));
