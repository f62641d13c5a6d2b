DROP TABLE jobs;
DROP TABLE document_contents;
DROP TABLE documents;
DROP FUNCTION count_documents();
DROP FUNCTION add_index_counts(bigint, bigint, bigint, bigint, bigint, bigint);
DROP TABLE index_counts;
DROP TABLE indexes;
