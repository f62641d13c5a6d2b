DROP FUNCTION index_renewed;
DROP TABLE file_batches;
DROP TABLE vector_store_files;
DROP TABLE vector_stores;
DROP FUNCTION file_bytes;
DROP TABLE file_contents;
DROP TABLE files;
