ALTER TABLE documents ADD COLUMN notice text NOT NULL DEFAULT ''; -- what a ready document lacks; empty: nothing
ALTER TABLE index_counts ADD COLUMN context_tokens bigint NOT NULL DEFAULT 0; -- that sentences of context have taken, in slot 0
