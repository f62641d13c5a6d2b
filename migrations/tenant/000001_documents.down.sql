DROP TABLE jobs;
DROP TABLE document_contents;
DROP TABLE documents;
DROP TABLE index_counts;
DROP TABLE indexes;
