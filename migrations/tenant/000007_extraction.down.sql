ALTER TABLE jobs DROP extraction;
ALTER TABLE documents DROP extract;
