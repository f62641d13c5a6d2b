ALTER TABLE indexes
	DROP graph,
	DROP graph_job_id,
	DROP graph_components,
	DROP graph_counted_at;
