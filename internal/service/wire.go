package service

import (
	"cmp"
	"context"
	"crypto/rand"
	"os"
	"strings"

	"github.com/ragdhq/ragd/internal/api/mcp"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/api/rpc"
	"github.com/ragdhq/ragd/internal/automation/agent"
	"github.com/ragdhq/ragd/internal/automation/connector"
	"github.com/ragdhq/ragd/internal/automation/evaluate"
	"github.com/ragdhq/ragd/internal/automation/event"
	"github.com/ragdhq/ragd/internal/automation/event/journal"
	"github.com/ragdhq/ragd/internal/automation/hook"
	"github.com/ragdhq/ragd/internal/automation/memory"
	"github.com/ragdhq/ragd/internal/automation/workflow"
	"github.com/ragdhq/ragd/internal/graph"
	"github.com/ragdhq/ragd/internal/graph/research"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/index/storage"
	"github.com/ragdhq/ragd/internal/index/vector"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/ingest/backlog"
	"github.com/ragdhq/ragd/internal/ingest/extract"
	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/ingest/parse/subprocess"
	"github.com/ragdhq/ragd/internal/ingest/parse/transcript"
	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/model/localmodel"
	"github.com/ragdhq/ragd/internal/operate/audit"
	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/operate/reseal"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/alert"
	"github.com/ragdhq/ragd/internal/query/notable"
	"github.com/ragdhq/ragd/internal/rerank"
	"github.com/ragdhq/ragd/internal/secure/identity"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/secure/secret"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/idempotency"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/place/move"
	"github.com/ragdhq/ragd/internal/tenant/provision"
	"github.com/ragdhq/ragd/internal/tenant/quota"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
	"github.com/ragdhq/ragd/internal/tool"
	"github.com/ragdhq/ragd/internal/tool/contextkey"
	"github.com/ragdhq/ragd/internal/tool/httptool"
	"github.com/ragdhq/ragd/internal/tool/mcptool"
	"github.com/ragdhq/ragd/internal/tool/policy"
	"github.com/ragdhq/ragd/internal/tool/prompt"
	"github.com/ragdhq/ragd/internal/tool/remote"
	"github.com/ragdhq/ragd/internal/tool/server"
	"github.com/ragdhq/ragd/internal/tool/task"
	"github.com/ragdhq/ragd/internal/tool/toolset"
)

// newStorage returns the guard of the database's disk and the tenants' quotas.
func (s *Service) newStorage() *storage.Guard {
	free := s.config.DiskFree
	if free == nil && s.database.embedded != nil {
		free = storage.FreeIn(s.config.DataDir)
	}
	s.freeDisk = free
	return storage.New(storage.Config{
		Free: free, MinFree: s.config.MinFreeBytes, Quota: s.config.MaxTenantBytes, Logger: s.log,
	})
}

// wire connects models, ingest, search and the RPC handlers.
func (s *Service) wire(ctx context.Context, instance string) error {
	providers := s.config.Providers.limited(s.config.ProviderCalls, s.config.ProviderCallsPerTenant)
	processor := limit.NewProcessor(0)
	db := data.NewDB(s.database.requests, s.config.StatementsPerTenant).WithStorage(s.storage).WithPlacement(s.placed.Requests())
	s.db = db
	work := data.NewDB(s.database.work, 0).WithStorage(s.storage).WithPlacement(s.placed.Work())
	operators := append(providers.endpoints(), s.config.Endpoints...)
	guard, err := outbound.New(s.config.AllowedPrivateNetworks)
	if err != nil {
		return err
	}
	keep, err := s.config.EventRetention.Check()
	if err != nil {
		return err
	}
	keys, err := masterKeys(ctx, s.config, s.database)
	if err != nil {
		return err
	}
	s.issuer = identity.NewIssuer(s.database.requests, keys, cmp.Or(strings.TrimRight(s.config.MCP.PublicURL, "/"), s.URL()))
	secrets := secret.New(db, keys)
	client := remote.New(remote.Config{Guard: guard, Secrets: secrets, Issuer: s.issuer, Gate: s.gate, Version: s.config.Version})
	s.remote = rpc.RemoteKinds{HTTP: httptool.New(client), MCP: mcptool.New(client)}
	owned := s.endpoints(db, endpoint.NewDirectory(nil, operators...), guard, keys)
	endpoints := endpoint.NewDirectory(owned.Find, operators...).WithAllowed(s.allowModel)
	s.usage, err = usage.NewMeter(usage.Config{Control: s.database.requests, Logger: s.log, Retention: s.config.UsageRetention, PlanContact: s.config.PlanContact, Warn: warn(work)})
	if err != nil {
		return err
	}
	if s.audit, err = audit.New(audit.Config{Control: s.database.requests, Logger: s.log, Retention: s.config.AuditRetention}); err != nil {
		return err
	}
	s.idempotent = idempotency.New(idempotency.Config{Control: s.database.requests, Keys: keys, Logger: s.log})
	if err := s.config.LocalModelPrecision.Check(); err != nil {
		return err
	}
	local := localmodel.New(localmodel.Config{
		Dir: s.config.ModelsDir, Threads: s.config.LocalModelThreads, Precision: s.config.LocalModelPrecision, Processor: processor, Logger: s.log,
	})
	s.local = local
	models := embed.NewRegistry(embed.Config{Endpoints: endpoints, Local: local, Meter: s.usage, Processor: processor})
	if _, err := models.Model(ctx, "", s.config.EmbeddingModel); err != nil {
		return fault.Rename("embeddingModel", "embedding-model", err)
	}
	languageModels := llm.New(llm.Config{Endpoints: endpoints, Meter: s.usage})
	extractor := extract.New(languageModels)
	reranker := rerank.New(rerank.Config{
		LLM: languageModels, Endpoints: endpoints, Local: local, Meter: s.usage, Processor: processor,
	})
	owned.WithTry(try(models, languageModels, reranker))
	s.backlog = backlog.New(backlog.Config{
		Control: s.database.work, Jobs: s.queue, Instance: instance, Workers: s.config.Workers, Logger: s.log,
		MaxDocuments: s.config.MaxQueuedDocuments, MaxBytes: s.config.MaxQueuedBytes,
		Pause: s.storage.Disk, Of: s.controlOf, Elsewhere: s.backlogOf,
	})
	if s.database.embedded != nil { // no other instance can be running
		if err := s.backlog.ForgetInstances(ctx); err != nil {
			return err
		}
	}
	read := s.parser()
	s.worker = ingest.NewWorker(ingest.WorkerConfig{
		DB: work, Models: models, Parse: read, Processor: processor, Extractor: extractor, Queue: s.queue, Backlog: s.backlog, Logger: s.log,
		Alerts: alert.NewWatcher(models, s.Credentials.Auth),
	})
	indexes := index.New(db, models, s.queue, index.ServiceConfig{
		Extractor: extractor, DefaultModel: s.config.EmbeddingModel, MaxIndexes: s.config.MaxIndexes, RecordNoQuestions: s.config.RecordNoQuestions,
	})
	documents := ingest.New(db, indexes, s.backlog, extractor, read, processor)
	if r := s.config.DeletedRetention; r < 0 || r > quota.MaxDeletedRetention {
		return fault.Field("deleted-retention", "must be from 0s to %v, got %v", quota.MaxDeletedRetention, r)
	}
	documents.Keeping = ingest.Keeping{Queue: s.queue, Retention: s.config.DeletedRetention}
	documents.Reads.Pictures = s.config.OCR != nil
	if s.parsers != nil {
		documents.Viewer = s.parsers
	}
	if s.config.Transcription != nil {
		documents.Reads.Recordings = s.config.Transcription.MaxBytes
	}
	asked := notable.New(notable.Config{DB: db, Work: work, Logger: s.log, Off: s.config.RecordNoQuestions})
	queries := query.New(indexes, models, reranker, s.config.EmbeddingModel, processor).WithLists(cmp.Or(s.config.ListBytes, query.ListBytes)).WithMeter(s.usage).WithNotable(asked)
	graphs := graph.New(db, indexes, queries, s.queue, processor).WithMeter(s.usage)
	enter := func(ctx context.Context) (func(), error) {
		var id tenant.ID
		if r, ok := access.FromContext(ctx); ok {
			id = r.Tenant
		}
		return processor.Enter(ctx, string(id))
	}
	agents, err := agent.New(agent.Config{
		DB: db, Models: languageModels, Logger: s.log, Enter: enter, Tools: func() *toolset.Set { return s.Handlers.Toolset },
	})
	if err != nil {
		return err
	}
	evaluations := evaluate.New(evaluate.Config{
		DB: db, Work: work, Indexes: indexes, Queue: s.queue, Models: languageModels, Processor: processor, Logger: s.log,
		Agents: agents, Auth: s.Credentials.Auth,
		Search: func(ctx context.Context, indexName string, settings evaluate.Settings, question string) ([]evaluate.Hit, error) {
			return s.Handlers.SearchFor(ctx, indexName, settings, question)
		},
		Busy: func() bool { return s.gate.Running() > 0 },
	})
	s.Events = event.NewListener(s.database.requests.Config().ConnConfig, s.log)
	s.calls = journal.NewRecorder(work, s.Events, s.log)
	hooks := hook.New(hook.Config{DB: db, Work: work, Queue: s.queue, Events: s.Events, Guard: guard, Keys: keys, Secrets: secrets, Logger: s.log, Keep: keep.Age})
	workflows, err := workflow.New(workflow.Config{
		DB: db, Work: work, Queue: s.queue, Gate: s.gate, Auth: s.Credentials.Auth, HTTP: s.remote.HTTP, Logger: s.log, Enter: enter,
		Tools: func() *toolset.Set { return s.Handlers.Toolset },
	})
	if err != nil {
		return err
	}
	connectors, err := connector.New(connector.Config{
		DB: db, Work: work, Queue: s.queue, Auth: s.Credentials.Auth, Guard: guard, Remote: client, Indexes: indexes, Documents: documents, Secrets: secrets,
		Folders: s.config.ConnectorFolders, Logger: s.log, Enter: enter, WaitFactor: s.config.ConnectorWaitFactor,
		Instance: instance, Tools: s.remote.MCP, Keys: keys, PublicURL: cmp.Or(strings.TrimRight(s.config.MCP.PublicURL, "/"), s.URL()),
	})
	if err != nil {
		return err
	}
	moves, err := move.New(move.Config{
		Tenants: s.Tenants, Control: s.database.requests, Queue: s.queue, Keep: s.config.KeepMoved, Logger: s.log,
		Moved: func(_ context.Context, id tenant.ID, _ string) { s.placed.Forget(id) },
	})
	if err != nil {
		return err
	}
	s.Tenants.BeforeDelete(moves.Settle)
	s.placed.BeforeDelete(move.InUse)
	sealed := reseal.New(reseal.Config{DB: db, Control: s.database.requests, Keys: keys, Tenants: func(ctx context.Context, pageSize int32, pageToken string) ([]provision.Tenant, string, error) {
		return s.Tenants.List(ctx, provision.Active, pageSize, pageToken)
	}})
	archives := s.newArchives(work, sealed, documents, connectors)
	if s.sleeps, err = s.newSleeps(ctx, work, archives, keys); err != nil {
		return err
	}
	runners := job.Join(
		hooks.Runners(),
		connectors.Runners(),
		workflows.Runners(),
		evaluations.Runners(),
		documents.Runners(),
		ingest.NewEraser(work, s.config.DeletedRetention, s.Credentials.Auth.Limits).Runners(),
		indexes.Runners(index.NewMaintainer(work, s.queue, s.backlog, ingest.StoredText, s.log), index.NewReembedder(work, models, ingest.EmbeddedText, graph.Relink, s.log)),
		graphs.Runners(graph.NewRebuilder(work, s.queue, s.log)),
		graphs.TopicRunners(graph.NewTopicFinder(work, languageModels, processor, s.log)),
	)
	s.runners = runners
	s.queue.Register(job.Join(runners, moves.Runners())) // what others may write into their own databases moves no tenant
	s.registerGauges(map[string]func() cache.Stats{
		"questions": models.QuestionCache, "scores": reranker.ScoreCache, "edges": graphs.EdgeCache,
	})
	servers := server.New(db)
	contextKeys := contextkey.New(db)
	policies, err := policy.New(policy.Config{DB: db, Enter: enter, Record: func(ctx context.Context, policyName, toolName string, did policy.Outcome) {
		s.audit.AddDecision(ctx, policyName, toolName, string(did))
	}})
	if err != nil {
		return err
	}
	s.Credentials.Auth.Declare(contextKeys.Of)
	vectors := vector.New(indexes, s.queue).WithMeter(s.usage)
	s.Handlers = &rpc.Handlers{
		Gate:    s.gate,
		Tenants: s.Tenants, Credentials: s.Credentials, Indexes: indexes,
		Reseal:     sealed,
		Archives:   archives,
		Ingest:     documents,
		Jobs:       job.New(db, runners),
		Vectors:    vectors,
		Queries:    queries,
		Notable:    asked,
		Alerts:     alert.New(db, indexes, models, s.Credentials.Auth),
		Memories:   memory.New(indexes, vectors, queries),
		Graphs:     graphs,
		Researches: research.New(indexes, queries, graphs),
		Tools:      tool.New(db, indexes),
		Servers:    servers,
		Prompts:    prompt.New(db),
		Policies:   policies,
		Agents:     agents,
		Endpoints:  owned,
		Secrets:    secrets,
		Remote:     s.remote,

		ContextKeys: contextKeys,

		Evaluations: evaluations,
		Journal:     journal.New(journal.Config{DB: db, Control: s.database.work, Events: s.Events, Logger: s.log, Keep: keep}),
		Hooks:       hooks,
		Usage:       s.usage,
		Audit:       s.audit,
		Repeats:     s.idempotent,
		Databases:   s.placed,
		Plans:       s.newPlans(db),
		Warnings:    usage.NewWarnings(db),
		Workflows:   workflows,
		Connectors:  connectors,
		Moves:       moves,
		Sleeps:      s.sleeps,

		PublicURL:       s.config.MCP.PublicURL,
		RegistryPackage: s.config.RegistryPackage,
		Processor:       processor,
		Ready:           s.checkReady,
		Draining:        s.draining,
		WriteToken:      db.WriteToken,
	}
	s.Handlers.Prompts.Source = connectors.PromptSource()
	s.remote.MCP.TakeOver = func(ctx context.Context, name string, said mcptool.Description) {
		if err := s.Handlers.Tools.TakeOver(ctx, name, said.Schemas()); err != nil {
			s.log.WarnContext(ctx, "store the new schemas of a tool of another server", "err", err)
		}
	}
	s.called = task.New(task.Config{DB: db, Gate: s.gate, Logger: s.log})
	s.Handlers.Toolset, err = toolset.New(toolset.Config{
		API: rpc.Recorded{Handlers: s.Handlers}, Logger: s.config.Logger, Observer: observer{s.calls},
		Runners:  map[string]toolset.Runner{string(tool.HTTP): s.remote.HTTP, string(tool.MCP): s.remote.MCP},
		Sources:  []toolset.Source{agents.Source(), workflows.Source(), connectors.Source()},
		Deferrer: s.called, Policies: policies,
	})
	if err != nil {
		return err
	}
	s.Handlers.ReadResource = mcp.NewReader(mcp.Config{API: s.Handlers, Tools: s.Handlers.Toolset, Logger: s.log})
	s.Events.Subscribe(func(e event.Event) {
		if e.Kind == event.Server || e.Missed() {
			servers.Forget(e.Tenant, e.Name)
		}
		if e.Kind == event.Context || e.Missed() {
			contextKeys.Forget(e.Tenant)
		}
		if e.Kind == event.Policy || e.Missed() {
			policies.Forget(e.Tenant)
		}
	})
	return nil
}

// parser returns the function that reads files: in child processes if ParseCommand is
// set, else in this process. Recordings are read by their endpoint.
func (s *Service) parser() ingest.ParseFunc {
	read := s.fileParser()
	if s.config.Transcription == nil {
		return read
	}
	recordings := transcript.New(*s.config.Transcription, s.usage)
	return func(ctx context.Context, id tenant.ID, src parse.Source) (parse.Document, error) {
		return recordings.Parse(ctx, string(id), src, func(ctx context.Context, src parse.Source) (parse.Document, error) {
			if format, err := parse.Detect(src); err == nil && format == parse.Recording {
				return parse.Parse(ctx, src)
			}
			return read(ctx, id, src)
		})
	}
}

func (s *Service) fileParser() ingest.ParseFunc {
	if len(s.config.ParseCommand) == 0 {
		return ingest.ParseHere
	}
	s.parsers = subprocess.New(subprocess.Config{Command: s.config.ParseCommand, OCR: s.config.OCR, LibreOffice: s.config.LibreOffice})
	return func(ctx context.Context, id tenant.ID, src parse.Source) (parse.Document, error) {
		return s.parsers.Parse(ctx, string(id), src)
	}
}

// newMCP returns the handler of the MCP endpoint.
func (s *Service) newMCP() (*mcphttp.Handler, error) {
	cfg := s.config.MCP
	cfg.Authenticate, cfg.Guard, cfg.Gate = s.Credentials.Auth.Middleware, s.guard, s.gate
	cfg.Issuers = s.Credentials.Auth.Issuers
	if !cfg.Stateless {
		cfg.DB = s.db
	}
	if cfg.Recheck == nil {
		cfg.Recheck = s.Credentials.Auth.Recheck
	}
	cfg.Enter = func(ctx context.Context, name string) (context.Context, error) {
		ctx, _, err := s.Handlers.Servers.Enter(ctx, name)
		return ctx, err
	}
	return mcp.NewHandler(mcp.Config{
		API: s.Handlers, Tools: s.Handlers.Toolset, Events: s.Events, Logger: s.config.Logger, Version: s.config.Version, HTTP: cfg,
	})
}

// failureClass returns the same name for all errors that say that the database does not
// answer, for logrepeat.New.
func failureClass(err error) string {
	if kind := fault.KindOf(postgres.Fault(err)); kind == fault.Unavailable {
		return kind.String()
	}
	return ""
}

// instanceName returns a unique name for this instance.
func instanceName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "ragd"
	}
	return host + "-" + rand.Text()[:8]
}
