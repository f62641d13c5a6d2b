DROP FUNCTION weigh_terms();
DROP FUNCTION term_dimension(text);
