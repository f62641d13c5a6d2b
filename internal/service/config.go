package service

import (
	"cmp"
	"github.com/ragdhq/ragd/internal/operate/audit"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/api/console"
	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/automation/event/journal"
	"github.com/ragdhq/ragd/internal/ingest/parse/libreoffice"
	"github.com/ragdhq/ragd/internal/ingest/parse/ocr"
	"github.com/ragdhq/ragd/internal/ingest/parse/transcript"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/model/localmodel"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/quota/usage"
	"github.com/ragdhq/ragd/internal/tenant/sleep"
	"github.com/ragdhq/ragd/internal/tool/server"
)

// Config configures a Service. The zero Config runs on this machine alone: with an
// embedded database in the folder ragd-data and the built-in embedding model, without
// other providers.
type Config struct {
	// AdminPool, if set, is used besides Pool as DatabaseAdminURL is besides DatabaseURL.
	// Close leaves it open.
	AdminPool *pgxpool.Pool
	// AllowedPrivateNetworks are the networks, addresses and host names that tenants may use
	// for their endpoints besides public addresses (see outbound.New).
	AllowedPrivateNetworks []string
	// AllowedHosts and AllowedOrigins are the host names and web origins under which the
	// service may be called, besides those of this machine and of MCP.PublicURL (see
	// httpserver.GuardConfig).
	AllowedHosts, AllowedOrigins []string
	// ConnectorFolders are the folders of this machine that connectors of operators may read, as
	// absolute paths. Default: none.
	ConnectorFolders []string
	// ConnectorWaitFactor multiplies the pauses that connectors make of their own accord (see connector.Config). Default: 1.
	ConnectorWaitFactor float64
	// Backup says where an embedded database is backed up. Default: nowhere.
	Backup BackupConfig
	// DatabaseAdminURL is the address of the database for a role that may create schemas
	// and roles. It migrates the control schema and creates and deletes tenants; all
	// other statements use DatabaseURL, whose role needs no right but to log in. Default:
	// the role of DatabaseURL does both.
	DatabaseAdminURL string
	// DatabaseURL is the address of a PostgreSQL server (see postgres.Config.URL).
	// Default: an embedded server, whose data is in DataDir.
	DatabaseURL string
	// DatabaseReadURLs are the addresses of streaming replicas of the database, for the role of
	// DatabaseURL. Default: none.
	DatabaseReadURLs []string
	// DatabaseMaxStaleness is how stale the answer of a query may be that does not say. Default: 0,
	// it comes from the primary.
	DatabaseMaxStaleness time.Duration
	// DataDir is the folder of the embedded server. Default: ragd-data in the
	// working directory.
	DataDir string
	// DiskFree returns the free and the total bytes of the database's disk. Default: those
	// of DataDir for an embedded database, unknown for others.
	DiskFree func() (free, total int64, err error)
	// DrainDelay is the time for which connections are still accepted after Run was told to
	// stop, while the service says that it is not ready. Default: none.
	DrainDelay time.Duration
	// DrainTimeout is the time that running requests have to finish after DrainDelay; after
	// half of it they are ended. Default: httpserver.DrainTimeout.
	DrainTimeout time.Duration
	// EmbeddingModel is the model of indexes that name none, as endpoint/model.
	// Default: builtin/hash-512.
	EmbeddingModel string
	// KeepMoved is how long a database keeps its copy of a tenant that was moved to another one. Default: move.DefaultKeep.
	KeepMoved time.Duration
	// EventRetention says how long events and deliveries of hooks are kept.
	EventRetention journal.Retention
	// Listen is the TCP address to serve on. Default: 127.0.0.1:8484. Port 0 selects a
	// free port; Service.URL returns it.
	Listen string
	// LocalModelThreads is the number of computations of local models at a time. Default: one
	// less than processors, at least one.
	LocalModelThreads int
	// LocalModelPrecision is that of local models. Default: localmodel.Int8.
	LocalModelPrecision localmodel.Precision
	// Logger gets one line for each request and job, and all warnings. Default: none.
	Logger *slog.Logger
	// MasterKeys encrypts secrets of tenants and the service's signing keys. Default: for an
	// embedded database the key in the file master.key of DataDir, which New makes; else tenants
	// cannot have secrets.
	MasterKeys *seal.Keys
	// MaxBodyPause is the longest pause in the arrival of a request's body, after which
	// the request fails. Default: httpserver.MaxPause.
	MaxBodyPause time.Duration
	// MaxIndexes is how many indexes a tenant may have, unless its settings have another
	// quota. Default: 200.
	MaxIndexes int
	// RecordNoQuestions stops the recording of embeddings of questions, with which search
	// widths are measured.
	RecordNoQuestions bool
	// MaxQueuedBytes and MaxQueuedDocuments bound the backlog of each tenant. Default:
	// 4 GiB and 100,000.
	MaxQueuedBytes     int64
	MaxQueuedDocuments int
	// ListBytes limits the memory of the lists of chunks, with codes of their embeddings, by which filters that are
	// searched often are answered. Default: 96 MiB; negative: there are none.
	ListBytes int64
	// MaxRequestMemory bounds the memory of the messages that are received and answered
	// at once, in bytes (see admission.Config.MaxMemory). Default: 512 MiB.
	MaxRequestMemory int64
	// MaxTenantBytes is the quota of each tenant: the bytes of its tables and their
	// indexes. Default: none.
	MaxTenantBytes int64
	// MCP configures the MCP endpoint. New sets its Authenticate, Guard, Gate, Server, Needs and
	// Forget, and its Logger and Recheck unless they are given.
	MCP mcphttp.Config
	// MinFreeBytes is how many bytes of the embedded database's disk are kept free: with
	// fewer, writes are refused. Default: 2% of the disk, at least 1 GiB, at most 10 GiB.
	MinFreeBytes int64
	// Metrics configures metrics and profiles. Default: none are shown.
	Metrics MetricsConfig
	// ModelsDir is the folder with the folders of local models. Default: models in DataDir.
	ModelsDir string
	// ConsoleLogin lets people sign in to the console at an authorization server whose tokens
	// Tokens accepts. Default: keys alone.
	ConsoleLogin *console.Login
	// NoConsole serves no web page, and signs no browsers in.
	NoConsole bool
	// NoWorkers leaves uploads and other jobs to other instances on the same database:
	// this one serves requests alone.
	NoWorkers bool
	// OperatorKey is the operator's credential. Default: the one in the database, which
	// Bootstrap makes.
	OperatorKey string
	// ParseCommand is the command line of a child process that reads uploaded files
	// (see package subprocess). Default: files are read in this process, where a
	// hostile file can exhaust its memory.
	ParseCommand []string
	// OCR reads the scanned pages of files; nil leaves them unread. It needs ParseCommand.
	OCR *ocr.Config
	// Transcription reads recordings; nil rejects them.
	Transcription *transcript.Config
	// LibreOffice reads files of Office before 2007; nil rejects them. It needs ParseCommand.
	LibreOffice *libreoffice.Config
	// Pool, if set, is used for all statements instead of DatabaseURL. Close leaves it
	// open. Its statements are not traced.
	Pool *pgxpool.Pool
	// Providers are the services whose models can be used.
	Providers Providers
	// ProviderCalls is the number of calls to one provider in flight at once, of all
	// tenants and of each tenant. Default: those of endpoint.Config.
	ProviderCalls, ProviderCallsPerTenant int
	// Endpoints are further endpoints of the operator, besides Providers, under other names.
	Endpoints []*endpoint.Endpoint
	// IndexesPerConnection is the number of indexes whose tables a database connection may
	// use before it is replaced, which bounds the memory of the server's process. Default:
	// that of postgres.Config.
	IndexesPerConnection int
	// RegistryPackage contains ragd, for the registry documents of tenants' MCP servers.
	// Default: they name no package.
	RegistryPackage *server.Package
	// Sleep says where the archives of tenants are stored that are asleep. Default: with an embedded database the folder
	// asleep of DataDir, else nowhere, and no tenant can be put to sleep.
	Sleep sleep.StoreConfig
	// SleepAfter is how long tenants are unused before they are put to sleep, unless their settings say it. Default: for ever.
	SleepAfter time.Duration
	// DeletedRetention is how long deleted documents and tenants can be restored, unless the settings of a tenant or its plan say it, at most
	// quota.MaxDeletedRetention. Default: not at all, they are erased at once.
	DeletedRetention time.Duration
	// SleepKeep is how long an archive is kept after its tenant was woken. Default: sleep.DefaultKeep.
	SleepKeep time.Duration
	// StatementsPerTenant is the number of processors of the database, divided by the number
	// of instances. It bounds the statements of one tenant that requests run in the database
	// at once (see data.NewDB); others wait. Default: the number of CPUs, at least 2.
	StatementsPerTenant int
	// TenantConcurrentRequests and TenantRequestRate are the requests that a tenant may have
	// running on this instance, and make in a second with bursts of twice as many, unless
	// its settings have other quotas. Default: no limits.
	TenantConcurrentRequests, TenantRequestRate int
	// PageRequestRate is how many requests a second web pages may make with one API key on this instance; 0 for no limit.
	PageRequestRate int
	// PlanContact is shown to tenants that need a larger plan: a URL or an address. Default: none.
	PlanContact string
	// Tokens verifies access tokens, which are then accepted besides API keys. Default:
	// no tokens are accepted.
	Tokens credential.Tokens
	// Traces configures the export of traces. Default: no traces.
	Traces TraceConfig
	// UsageRetention is how long rows of usage are kept, at least 32 days. Default:
	// DefaultUsageRetention.
	UsageRetention time.Duration
	// TLS are the files with the certificate of Listen. Default: connections are not encrypted.
	TLS httpserver.CertificateFiles
	// AuditRetention is how long entries of the audit log are kept, at least 30 days. Default:
	// DefaultAuditRetention.
	AuditRetention time.Duration
	// Version is the version of ragd in traces and for MCP clients. Default: dev.
	Version string
	// Workers is the number of batches of documents that are ingested at once. Each uses
	// at most one connection to the database. Default: 4 for each CPU.
	Workers int
}

// DefaultUsageRetention is how long rows of usage are kept by default.
const DefaultUsageRetention = usage.DefaultRetention

// DefaultAuditRetention is how long entries of the audit log are kept by default.
const DefaultAuditRetention = audit.DefaultRetention

// Providers holds the operator's endpoints, which are named as in endpoint.Providers. One
// with a zero Config does not exist. OpenAI is any service with that API. An endpoint
// without Models gets those of DefaultModels.
type Providers struct {
	OpenAI, Cohere, Jina, Voyage, TEI, Ollama, Gemini endpoint.Config
}

// byName returns the configurations by the names of the endpoints.
func (p *Providers) byName() map[string]*endpoint.Config {
	return map[string]*endpoint.Config{
		"openai": &p.OpenAI, "cohere": &p.Cohere, "jina": &p.Jina, "voyage": &p.Voyage, "tei": &p.TEI, "ollama": &p.Ollama, "gemini": &p.Gemini,
	}
}

// endpoints returns the endpoints that are configured.
func (p Providers) endpoints() []*endpoint.Endpoint {
	var all []*endpoint.Endpoint
	for name, config := range p.byName() {
		kind := endpoint.Providers[name]
		if config.Configured() && (config.BaseURL != "" || kind.PublicURL() != "") {
			all = append(all, endpoint.NewEndpoint(name, kind, *config))
		}
	}
	return all
}

// limited returns the endpoints with these limits on the calls in flight, where they have
// none of their own.
func (p Providers) limited(calls, perTenant int) Providers {
	for _, c := range p.byName() {
		c.MaxConcurrent = cmp.Or(c.MaxConcurrent, calls)
		c.MaxConcurrentPerTenant = cmp.Or(c.MaxConcurrentPerTenant, perTenant)
	}
	return p
}

// DefaultModels are the models that callers may choose by default: embedding models under
// their usual names, small chat models, all rerankers, and all that the operator serves. The default model of indexes is
// allowed too.
var DefaultModels = map[string][]string{
	"openai": {"text-embedding-*", "*embed*", "*minilm*", "*mpnet*", "*bge-*", "*e5-*", "gpt-*-mini", "gpt-*-nano"},
	"cohere": {"embed-*", "rerank-*", "command-r7b-*"},
	"jina":   {"jina-embeddings-*", "jina-code-embeddings-*", "jina-reranker-*"},
	"voyage": {"voyage-*", "rerank-*"},
	"gemini": {"gemini-embedding-*", "text-embedding-*", "gemini-*-flash-lite*"},
	"tei":    {"*"}, "ollama": {"*"}, // the operator chose what they serve
}

// withDefaults returns p with DefaultModels and the names of its settings. embeddingModel is the default model of
// indexes.
func (p Providers) withDefaults(embeddingModel string) Providers {
	for name, e := range p.byName() {
		models := e.Models
		if len(models) == 0 {
			models = DefaultModels[name]
		}
		if model, ok := strings.CutPrefix(embeddingModel, name+"/"); ok {
			models = append(slices.Clone(models), model)
		}
		e.Models, e.Setting = models, name
	}
	return p
}

// withDefaults returns c with the documented defaults.
func (c Config) withDefaults() Config {
	c.DataDir = cmp.Or(c.DataDir, "ragd-data")
	c.Backup.Interval = cmp.Or(c.Backup.Interval, DefaultBackupInterval)
	c.DrainTimeout = cmp.Or(c.DrainTimeout, httpserver.DrainTimeout)
	c.EmbeddingModel = cmp.Or(c.EmbeddingModel, "builtin/hash-512")
	c.Listen = cmp.Or(c.Listen, "127.0.0.1:8484")
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.MaxBodyPause = cmp.Or(c.MaxBodyPause, httpserver.MaxPause)
	c.Version = cmp.Or(c.Version, "dev")
	c.StatementsPerTenant = cmp.Or(c.StatementsPerTenant, max(2, runtime.NumCPU()))
	c.ModelsDir = cmp.Or(c.ModelsDir, filepath.Join(c.DataDir, "models"))
	c.Providers = c.Providers.withDefaults(c.EmbeddingModel)
	c.Workers = cmp.Or(c.Workers, 4*runtime.NumCPU())
	return c
}

// guard returns the configuration of the check of host names and origins.
func (c Config) guard() httpserver.GuardConfig {
	return httpserver.GuardConfig{AllowedHosts: c.AllowedHosts, AllowedOrigins: c.AllowedOrigins, PublicURL: c.MCP.PublicURL}
}
