package job

// Kind is what a job does. Callers see it.
type Kind string

// The kinds of jobs.
const (
	// Ingest makes a document searchable. The backlog runs it.
	Ingest Kind = "ingest"
	// Build builds the Postgres index over the embeddings of an index. Maintain runs it.
	Build Kind = "build"
	// Reembed gives an index another embedding model.
	Reembed Kind = "reembed"
	// Graph builds the graph of an index again.
	Graph Kind = "graph"
	// Topics finds the topics of an index.
	Topics Kind = "topics"
	// Evaluate runs a question set against an index, or asks an agent.
	Evaluate Kind = "evaluate"
	// Draft drafts questions from the documents of an index.
	Draft Kind = "draft"
)

// The kinds of tasks that are not the kind of a job.
const (
	// Maintain does what is due on an index: builds, counts and measures. Only its
	// builds are jobs.
	Maintain Kind = "maintain"
	// Link is a job of the kind Graph that only adds missing similar edges.
	Link Kind = "link"
	// Answers is a job of the kind Evaluate that asks an agent.
	Answers Kind = "answers"
	// Deliver posts events to a hook.
	Deliver Kind = "deliver"
	// Workflow runs a workflow.
	Workflow Kind = "workflow"
	// Sync runs a connector.
	Sync Kind = "sync"
	// Erase erases deleted documents of an index that were kept long enough.
	Erase Kind = "erase"
	// Move moves a tenant to another database.
	Move Kind = "move"
)
