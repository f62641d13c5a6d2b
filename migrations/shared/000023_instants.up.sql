-- instant returns the time that a text states in the form of ISO 8601, in microseconds since 1970-01-01 UTC: a date, or a date
-- with a time and perhaps an offset. Without an offset it is in UTC. It is null for every other text. The package
-- internal/query/filter reads times alike.
CREATE FUNCTION instant(t text) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
	IF octet_length(t) NOT BETWEEN 10 AND 40 OR t !~ ('^(?!0000)('
		'[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))'
		'|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)'
		'(?:[Tt ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,9})?)?(?:[Zz]|[+-](?:0[0-9]|1[0-5])(?::?[0-5][0-9])?)?)?$') COLLATE "C" THEN
		RETURN NULL;
	END IF;
	IF substr(t, 11) !~ '[Zz+-]' COLLATE "C" THEN
		t := t || ' UTC';
	END IF;
	RETURN (extract(epoch FROM t::timestamptz) * 1000000)::bigint;
END
$$;
