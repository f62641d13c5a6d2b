-- term_dimension returns the dimension of a term in the column term_weights of chunk
-- tables, from 1 to 2^29. Two terms of one text rarely share a dimension; when they do,
-- the heavier one counts.
CREATE FUNCTION term_dimension(term text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (hashtextextended(term, 0) & 536870911) + 1;

-- weigh_terms sets the columns that keyword search reads of a chunk: terms, its terms
-- with their positions, and term_weights, the part of each term's BM25 score that
-- depends on the chunk alone:
--
--	count / (count + k1 * (1 - b + b * length / typical_length))
--
-- length counts the words that are not stop words. BM25 divides it by the mean length
-- of all chunks, with which the weights would change whenever a chunk is written; with
-- a constant instead, measured retrieval quality is the same. A writer of many chunks
-- sets the columns itself, in half the time; the constants are repeated there.
--
-- Its argument is the text search configuration.
CREATE FUNCTION weigh_terms() RETURNS trigger LANGUAGE plpgsql
	SET search_path FROM CURRENT AS $$
DECLARE
	k1             CONSTANT float8 := 0.9;
	b              CONSTANT float8 := 0.4;
	typical_length CONSTANT float8 := 50;
	max_terms      CONSTANT int := 16000; -- the capacity of a sparsevec
	length         float8;
BEGIN
	IF NEW.terms IS NOT NULL THEN
		RETURN NEW;
	END IF;
	NEW.terms := to_tsvector(TG_ARGV[0]::regconfig, NEW.text);
	length := (SELECT sum(cardinality(t.positions)) FROM unnest(NEW.terms) AS t);
	NEW.term_weights := (
		SELECT ('{' || string_agg(w.dimension || ':' || w.weight, ',') || '}/1000000000')::sparsevec
		FROM (
			SELECT term_dimension(t.lexeme) AS dimension,
				max(cardinality(t.positions) / (cardinality(t.positions) + k1 * (1 - b + b * length / typical_length)))::real AS weight
			FROM unnest(NEW.terms) AS t GROUP BY 1
			LIMIT max_terms
		) AS w);
	RETURN NEW;
END
$$;
