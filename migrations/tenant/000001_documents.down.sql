DROP FUNCTION weigh_words();
DROP FUNCTION word_place(text);
DROP TABLE jobs;
DROP TABLE document_contents;
DROP TABLE documents;
DROP FUNCTION count_documents();
DROP TABLE index_counts;
DROP TABLE indexes;
