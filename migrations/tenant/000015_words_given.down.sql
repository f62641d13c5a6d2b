CREATE OR REPLACE FUNCTION weigh_words() RETURNS trigger LANGUAGE plpgsql
	SET search_path FROM CURRENT AS $$
DECLARE
	length float8;
BEGIN
	NEW.words := to_tsvector(TG_ARGV[0]::regconfig, NEW.title || ' ' || NEW.text);
	length := (SELECT sum(cardinality(w.positions)) FROM unnest(NEW.words) AS w);
	NEW.word_weights := (
		SELECT ('{' || string_agg(weighed.place || ':' || weighed.weight, ',') || '}/1000000000')::sparsevec
		FROM (
			SELECT word_place(w.lexeme) AS place,
				max(cardinality(w.positions) / (cardinality(w.positions) + 0.9 * (0.6 + 0.4 * length / 50)))::real AS weight
			FROM unnest(NEW.words) AS w GROUP BY 1
			LIMIT 16000 -- what a sparsevec holds
		) AS weighed);
	RETURN NEW;
END
$$;
