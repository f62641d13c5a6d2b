ALTER TABLE indexes DROP graph_unlinked;
