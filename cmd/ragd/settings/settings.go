// Package settings holds the settings of the service: their flags, which ones have no effect
// because of others, the files that they name, and what they configure.
package settings

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/pflag"

	"github.com/ragdhq/ragd/cmd/ragd/internal/build"
	"github.com/ragdhq/ragd/cmd/ragd/internal/config"
	"github.com/ragdhq/ragd/internal/api/console"
	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/automation/event/journal"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/ingest/parse/libreoffice"
	"github.com/ragdhq/ragd/internal/ingest/parse/ocr"
	"github.com/ragdhq/ragd/internal/ingest/parse/transcript"
	"github.com/ragdhq/ragd/internal/model/embed"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/model/localmodel"
	"github.com/ragdhq/ragd/internal/model/localmodel/hub"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/access/oauth"
	"github.com/ragdhq/ragd/internal/tenant/place/move"
	"github.com/ragdhq/ragd/internal/tenant/place/replica"
	"github.com/ragdhq/ragd/internal/tenant/sleep"
)

// ParseWorker is the name of the command that the service runs as child processes to
// read files.
const ParseWorker = "parse-worker"

// Settings holds the settings of the commands that run the service, or work on its database or
// its folders themselves. Each is a flag whose name is also its key in the file of settings and,
// as RAGD_KEY, in the environment. A command registers the flags that it needs.
type Settings struct {
	Config string // path of the file of settings

	// Settings of the commands that fetch local models.
	ModelHub      string
	ModelHubToken string // secret
	Offline       bool

	// Settings of the service.
	Service     service.Config
	OperatorKey string // secret
	FirstTenant string
	LogLevel    string
	OAuth       oauth.Config
	Login       console.Login
	LibreOffice libreoffice.Config
	OCR         ocr.Config
	SessionKey  string // secret

	Transcription transcript.Config

	DatabaseReadURLs string // secret

	MasterKey     string // secret
	MasterKeyFile string

	EndpointsFile string
	IssuersFile   string
}

// RegisterService adds the flags of the commands that open the database themselves.
func (s *Settings) RegisterService(flags *pflag.FlagSet, getenv func(string) string) {
	c := &s.Service
	flags.StringVar(&c.DataDir, "data-dir", DefaultDataDir(getenv), "folder of the embedded database")
	flags.StringVar(&c.Backup.Folder, "backup-folder", "", "folder to which the embedded database is backed up at intervals (default: no backups are made)")
	flags.DurationVar(&c.Backup.Interval, "backup-interval", service.DefaultBackupInterval, "time from one backup to the next, at least 1m")
	flags.IntVar(&c.Backup.Keep, "backup-keep", 7, "how many of the newest backups are kept; 0 for all")
	flags.BoolVar(&c.Backup.Archive, "backup-wal", false, "copy the write-ahead log to backup-folder too, so that any moment since the oldest backup can be restored")
	config.MarkSettings(flags, "backup-folder", "backup-interval", "backup-keep", "backup-wal")
	flags.StringVar(&c.EmbeddingModel, "embedding-model", embed.Auto, "model of indexes that name none, as endpoint/model; auto is a local model, or builtin/hash-512 if models-dir has none")
	flags.StringVar(&s.LogLevel, "log-level", "info", "debug, info, warn or error")
	flags.IntVar(&c.Workers, "ingest-workers", 4*runtime.NumCPU(), "batches of documents processed at once")
	flags.DurationVar(&c.DeletedRetention, "deleted-retention", ingest.DefaultRetention, "how long deleted documents and tenants can be restored, at most 8760h, unless the settings of the tenant or its plan have another deletedRetention; 0 to erase them at once")
	flags.IntVar(&c.MaxIndexes, "max-indexes", index.DefaultMaxIndexes, "indexes that a tenant may have, unless its settings have another maxIndexes")
	flags.IntVar(&c.MaxQueuedDocuments, "max-queued-documents", 100_000, "documents of a tenant that may wait to be processed")
	flags.Int64Var(&c.MaxQueuedBytes, "max-queued-bytes", 4<<30, "bytes of a tenant's documents that may wait to be processed")
	flags.Int64Var(&c.MinFreeBytes, "min-free-bytes", 0, "bytes of the embedded database's disk to keep free: with fewer, writes are refused (default 2% of the disk, 1 to 10 GiB)")
	flags.Int64Var(&c.MaxTenantBytes, "max-tenant-bytes", 0, "bytes that the tables and indexes of a tenant may take (default no limit)")
	flags.DurationVar(&c.KeepMoved, "keep-moved", move.DefaultKeep, "how long a database keeps its copy of a tenant that was moved to another one")
	flags.DurationVar(&c.EventRetention.Age, "event-retention", journal.DefaultAge, "how long events and deliveries of hooks are kept")
	flags.IntVar(&c.EventRetention.Events, "max-events", journal.DefaultEvents, "events of a tenant that are kept; the oldest are deleted first")
	flags.Int64Var(&c.EventRetention.Bytes, "max-event-bytes", journal.DefaultBytes, "bytes of data of a tenant's events that are kept")
	flags.DurationVar(&c.AuditRetention, "audit-retention", service.DefaultAuditRetention, "how long entries of the audit log are kept, at least 720h")
	flags.DurationVar(&c.UsageRetention, "usage-retention", service.DefaultUsageRetention, "how long the hourly usage of tenants is kept, at least 768h")
	flags.IntVar(&c.ProviderCalls, "provider-calls", 32, "calls to one model provider at once; others wait")
	flags.IntVar(&c.ProviderCallsPerTenant, "provider-calls-per-tenant", 0, "of these, the calls of one tenant at once (default: half)")
	config.MarkSettings(flags, "keep-moved", "min-free-bytes", "max-tenant-bytes", "data-dir", "embedding-model", "log-level", "ingest-workers", "max-indexes", "deleted-retention", "max-queued-documents", "max-queued-bytes",
		"event-retention", "max-events", "max-event-bytes", "audit-retention", "usage-retention", "provider-calls", "provider-calls-per-tenant")
	flags.StringVar(&c.DatabaseURL, "database-url", "", "address of an external database, as postgres://user:password@host:5432/name (default: the service runs one of its own)")
	flags.StringVar(&c.DatabaseAdminURL, "database-admin-url", "", "address for the role that migrates and that creates tenants (default: database-url does)")
	flags.StringVar(&s.DatabaseReadURLs, "database-read-urls", "", "addresses of streaming replicas of database-url, separated by spaces or lines: queries that may be stale read there (default: none)")
	flags.StringVar(&s.OperatorKey, "operator-key", "", "key of the operator, at least 12 bytes (default: the first start makes one)")
	config.MarkSecrets(flags, "database-url", "database-admin-url", "database-read-urls", "operator-key")
	for _, provider := range s.Providers() {
		url, key, models := provider.Name+"-base-url", provider.Name+"-api-key", provider.Name+"-models"
		flags.StringSliceVar(&provider.Endpoint.Models, models, service.DefaultModels[provider.Name], "models of the provider "+provider.Name+" that callers may choose; * stands for any characters")
		flags.StringVar(&provider.Endpoint.BaseURL, url, "", "address of the provider "+provider.Name+" (default: its own, if it has one)")
		flags.StringVar(&provider.Endpoint.APIKey, key, "", "key at the provider "+provider.Name)
		config.MarkSettings(flags, url, models)
		config.MarkSecrets(flags, key)
	}
}

// RegisterServe adds the flags of the command serve, besides those of RegisterService.
func (s *Settings) RegisterServe(flags *pflag.FlagSet) {
	c := &s.Service
	flags.DurationVar(&c.DatabaseMaxStaleness, "database-max-staleness", 0, "how stale the answers of queries may be that do not say, up to 5m, if database-read-urls has a replica that is so fresh; 0 for answers of the primary alone")
	config.MarkSettings(flags, "database-max-staleness")
	flags.StringVar(&c.Listen, "listen", "127.0.0.1:8484", "address to answer on")
	flags.StringVar(&c.TLS.Cert, "tls-cert", "", "file with the certificate of the service and those of its authorities, in PEM: all connections to listen are encrypted (default: none are)")
	flags.StringVar(&c.TLS.Key, "tls-key", "", "file with the private key of tls-cert, in PEM")
	flags.StringVar(&c.TLS.ClientCA, "tls-client-ca", "", "file with the authorities of the certificates that clients must have, in PEM (default: clients need none)")
	config.MarkSettings(flags, "tls-cert", "tls-key", "tls-client-ca")
	flags.DurationVar(&c.DrainDelay, "drain-delay", 0, "how long connections are still accepted after SIGTERM, while /readyz already answers 503: longer than load balancers take to notice")
	flags.DurationVar(&c.DrainTimeout, "drain-timeout", httpserver.DrainTimeout, "how long running requests may take to finish after that; after half of it they are ended with unavailable")
	config.MarkSettings(flags, "drain-delay", "drain-timeout")
	flags.StringVar(&s.FirstTenant, "first-tenant", "default", "tenant that the first start makes in a database of its own")
	flags.StringVar(&c.MCP.PublicURL, "public-url", "", "address under which clients know the service (default: as each request names it)")
	flags.StringSliceVar(&c.AllowedOrigins, "allowed-origins", nil, "web origins whose pages may call the service, besides this machine's")
	flags.StringSliceVar(&c.AllowedHosts, "allowed-hosts", nil, "host names under which the service may be called (default: from this machine its own and the public one, else any)")
	flags.Int64Var(&c.MaxRequestMemory, "max-request-memory", 512<<20, "bytes of memory that the requests being received and answered may take, half of it for one tenant")
	flags.IntVar(&c.TenantRequestRate, "tenant-request-rate", 5000, "requests a second that a tenant may make on this instance, unless its settings have another requestsPerSecond; 0 for no limit")
	flags.IntVar(&c.PageRequestRate, "page-request-rate", 50, "requests a second that web pages may make with one API key of their origins on this instance; 0 for no limit")
	flags.IntVar(&c.TenantConcurrentRequests, "tenant-concurrent-requests", 500, "requests of a tenant at once on this instance, besides streams, unless its settings have another concurrentRequests; others wait; 0 for no limit")
	flags.StringVar(&c.PlanContact, "plan-contact", "", "where a tenant gets a larger plan, such as https://example.com/plans: shown in errors about its quotas and features (default none)")
	flags.BoolVar(&c.MCP.LegacySSE, "mcp-legacy-sse", false, "serve the MCP transport of 2024-11-05 too, on /sse and /message")
	flags.BoolVar(&c.MCP.Stateless, "mcp-stateless", false, "open no MCP sessions, so that requests may go to any instance")
	flags.Var(packageFlag{&c.RegistryPackage}, "mcp-registry-package", "package with ragd for the registry documents of tenants' MCP servers, such as oci:registry.example.com/ragd:1.2.0 (default none)")
	flags.StringVar(&s.LibreOffice.Program, "libreoffice", "", "reads files of Office before 2007 (.doc, .xls, .ppt): soffice, or the path of that program (default: nothing)")
	flags.StringVar(&s.OCR.Engine, "ocr", "", "reads pictures and scanned pages: tesseract, the path of that program, or the address of an endpoint that answers as Apache Tika's server does, such as http://localhost:9998/tika (default: nothing)")
	flags.StringSliceVar(&s.OCR.Languages, "ocr-languages", []string{"eng"}, "languages of scanned pages, as codes of tesseract")
	flags.DurationVar(&s.OCR.Timeout, "ocr-timeout", 10*time.Minute, "how long reading the scanned pages of a file may take")
	flags.IntVar(&s.OCR.MaxPages, "ocr-pages", 200, "pictures of pages that are read in a file; further ones are left out")
	config.MarkSettings(flags, "libreoffice", "ocr", "ocr-languages", "ocr-timeout", "ocr-pages")
	s.registerTranscription(flags)
	flags.StringVar(&s.SessionKey, "session-key", "", "signs ids of MCP sessions, so that made-up ones are rejected without asking the database: at least 32 bytes, the same on all instances")
	flags.StringVar(&c.Traces.URL, "traces-url", "", "OTLP collector that gets traces over HTTP, such as http://localhost:4318 (default none)")
	flags.Float64Var(&c.Traces.Share, "traces-share", 1, "fraction of the requests that are traced, 0 to 1")
	flags.StringVar(&c.Metrics.Listen, "metrics-listen", "", "address on which GET /metrics answers Prometheus, without a key, such as 127.0.0.1:9484: keep it from the internet (default none)")
	flags.IntVar(&c.Metrics.Tenants, "metrics-tenants", 0, "tenants whose names and request rates the metrics show: those with the most requests")
	flags.StringVar(&c.Metrics.ProfileListen, "profile-listen", "", "address of this machine alone on which the process can be profiled at /debug/pprof/, such as 127.0.0.1:6060 (default none)")
	config.MarkSettings(flags, "metrics-listen", "metrics-tenants", "profile-listen")
	flags.BoolVar(&c.NoConsole, "no-console", false, "serve no web page, and sign no browsers in")
	flags.BoolVar(&c.RecordNoQuestions, "record-no-questions", false, "record no questions: neither embeddings, with which search widths are measured, nor those that found nothing, took long or failed")
	flags.IntVar(&c.IndexesPerConnection, "indexes-per-connection", 750, "indexes, of all tenants, whose tables a database connection may use before it is replaced: bounds the memory of the server's process")
	flags.IntVar(&c.StatementsPerTenant, "statements-per-tenant", max(2, runtime.NumCPU()), "statements of one tenant that requests run in the database at once, twice as many while no other tenant is active; set it to the processors of an external database")
	s.RegisterModels(flags)
	s.RegisterHub(flags)
	s.RegisterOffline(flags)
	flags.IntVar(&c.LocalModelThreads, "local-model-threads", max(1, runtime.NumCPU()-1), "computations of local models at once, each on one processor; fewer leave more of the machine to the database")
	config.MarkSettings(flags, "local-model-threads")
	flags.StringSliceVar(&c.ConnectorFolders, "connector-folders", nil, "folders of this machine, as absolute paths, that connectors may read which a credential with the scope operator makes (default: none)")
	flags.StringVar(&s.EndpointsFile, "endpoints-file", "", "file with further endpoints for all tenants, as a JSON list of what CreateEndpoint takes (default none)")
	config.MarkSettings(flags, "no-console", "record-no-questions", "endpoints-file", "connector-folders", "indexes-per-connection", "statements-per-tenant", "listen", "first-tenant", "public-url", "allowed-origins", "allowed-hosts", "max-request-memory",
		"tenant-request-rate", "page-request-rate", "tenant-concurrent-requests", "plan-contact", "mcp-legacy-sse", "mcp-stateless", "mcp-registry-package", "traces-url", "traces-share")
	config.Most(flags, "traces-share", 1)
	config.MarkSecrets(flags, "session-key")
	s.registerSleep(flags)
	s.RegisterPlacement(flags)
	s.registerOAuth(flags)
}

// registerSleep adds the flags about tenants that are asleep.
func (s *Settings) registerSleep(flags *pflag.FlagSet) {
	c := &s.Service
	flags.StringVar(&c.Sleep.Place, sleep.Setting, "", "where the archives of tenants are stored that are asleep: a folder that all instances share, or the address of a bucket such as https://s3.eu-central-1.amazonaws.com/bucket/prefix (default: with the embedded database the folder asleep in data-dir, else tenants cannot sleep)")
	flags.StringVar(&c.Sleep.AccessKeyID, "sleep-access-key-id", "", "id of the access key for the bucket of sleep-storage (default: none is sent)")
	flags.StringVar(&c.Sleep.SecretAccessKey, "sleep-secret-access-key", "", "secret of sleep-access-key-id")
	flags.DurationVar(&c.SleepAfter, "sleep-after", 0, "how long a tenant is unused before it is put to sleep, at least 10m, unless its settings have another sleepAfter; 0 for never")
	flags.DurationVar(&c.SleepKeep, "sleep-keep", sleep.DefaultKeep, "how long the archive of a tenant is kept after the tenant was woken: longer than backups of the database")
	config.MarkSettings(flags, sleep.Setting, "sleep-access-key-id", "sleep-after", "sleep-keep")
	config.MarkSecrets(flags, "sleep-secret-access-key")
}

// registerTranscription adds the flags of the endpoint that writes down recordings.
func (s *Settings) registerTranscription(flags *pflag.FlagSet) {
	c := &s.Transcription
	flags.StringVar(&c.Model, "transcription-model", "", "model that writes down what is said in recordings, such as whisper-1 (default: recordings are refused)")
	flags.StringVar(&c.BaseURL, "transcription-base-url", endpoint.OpenAI.PublicURL(), "address of the endpoint that serves it, up to the version, which answers as OpenAI's /audio/transcriptions does")
	flags.StringVar(&c.APIKey, "transcription-api-key", "", "key at transcription-base-url")
	flags.StringVar(&c.Language, "transcription-language", "", "language of recordings, as a code such as en (default: the model finds it)")
	flags.DurationVar(&c.Timeout, "transcription-timeout", 10*time.Minute, "how long writing down a recording may take")
	flags.Int64Var(&c.MaxBytes, "transcription-max-bytes", 25<<20, "bytes of the largest recording; OpenAI reads no larger ones")
	config.MarkSettings(flags, "transcription-model", "transcription-base-url", "transcription-language", "transcription-timeout", "transcription-max-bytes")
	config.MarkSecrets(flags, "transcription-api-key")
}

// RegisterPlacement adds the flags with which registered databases are reached: of the commands that use
// all databases themselves.
func (s *Settings) RegisterPlacement(flags *pflag.FlagSet) {
	flags.StringSliceVar(&s.Service.AllowedPrivateNetworks, "allowed-private-networks", nil, "networks such as 10.1.0.0/16, addresses and host names that tenants' endpoints may use besides public addresses (default: none)")
	flags.StringVar(&s.MasterKey, "master-key", "", "encrypts the keys of tenants' endpoints: 64 hexadecimal digits or base64 of 32 bytes; of several, with commas, the first encrypts (default: with the embedded database the first start makes one)")
	flags.StringVar(&s.MasterKeyFile, "master-key-file", "", "file with master-key (default with the embedded database: master.key in its folder)")
	config.MarkSecrets(flags, "master-key")
	config.MarkSettings(flags, "allowed-private-networks", "master-key-file")
}

// RegisterModels adds the flags of the folder of local models and of how they are computed.
func (s *Settings) RegisterModels(flags *pflag.FlagSet) {
	flags.StringVar(&s.Service.ModelsDir, "models-dir", "", "folder with the folders of local models (default: models in data-dir)")
	flags.StringVar((*string)(&s.Service.LocalModelPrecision), "local-model-precision", string(localmodel.Int8), "of the layers of local models: int8 rounds them to integers where the processor multiplies these faster, float32 does not")
	config.MarkSettings(flags, "models-dir", "local-model-precision")
}

// RegisterHub adds the flags of the hub from which models are fetched.
func (s *Settings) RegisterHub(flags *pflag.FlagSet) {
	flags.StringVar(&s.ModelHub, "model-hub", hub.DefaultURL, "address of the model hub")
	flags.StringVar(&s.ModelHubToken, "model-hub-token", "", "token for the model hub, for models that not everybody may fetch")
	config.MarkSettings(flags, "model-hub")
	config.MarkSecrets(flags, "model-hub-token")
}

// RegisterOffline adds the flag of the commands whose first start fetches a model.
func (s *Settings) RegisterOffline(flags *pflag.FlagSet) {
	flags.BoolVar(&s.Offline, "offline", false, "fetch no embedding model at the first start")
	config.MarkSettings(flags, "offline")
}

// registerOAuth adds the flags about OAuth access tokens.
func (s *Settings) registerOAuth(flags *pflag.FlagSet) {
	c := &s.OAuth
	flags.StringVar(&c.Issuer, "oauth-issuer", "", "authorization server whose access tokens are taken besides API keys (default: none)")
	flags.StringSliceVar(&c.Audiences, "oauth-audience", nil, "accepted audiences of tokens (default: the public address, and that with /mcp)")
	flags.StringVar(&c.JWKSURL, "oauth-jwks-url", "", "address of the issuer's keys, a JSON Web Key Set (default: from its metadata)")
	flags.StringVar(&c.IntrospectionURL, "oauth-introspection-url", "", "address of the issuer's introspection endpoint, if tokens are not JWTs (default: tokens are JWTs)")
	flags.StringVar(&c.ClientID, "oauth-client-id", "", "the service's client id at oauth-introspection-url")
	flags.StringVar(&c.TenantClaim, "oauth-tenant-claim", "tenant", "claim that names the tenant; within others with dots")
	flags.StringVar(&c.ScopeClaim, "oauth-scope-claim", "scope", "claim with the scopes, of which read, write and admin count")
	flags.StringVar(&c.ScopePrefix, "oauth-scope-prefix", "", "prefix of the scopes in the issuer's tokens, such as ragd:")
	flags.StringVar(&c.FilterClaim, "oauth-filter-claim", "", "claim with the mandatory filter, which every token must have then (default: none)")
	flags.StringVar(&c.BoundsClaim, "oauth-bounds-claim", "", "claim with the servers, indexes, tools and prompts that the token may use, which every token must have then (default: none)")
	flags.StringVar(&s.IssuersFile, "oauth-issuers-file", "", "file with further authorization servers, as a JSON list (default none)")
	flags.StringVar(&c.ClientSecret, "oauth-client-secret", "", "the service's secret at oauth-introspection-url")
	flags.StringVar(&s.Login.ClientID, "console-client-id", "", "client id of the console at oauth-issuer, where people then sign in to it (default: with keys alone)")
	flags.StringVar(&s.Login.ClientSecret, "console-client-secret", "", "secret of console-client-id, unless it is a public client")
	config.MarkSecrets(flags, "console-client-secret")
	config.MarkSettings(flags, "console-client-id", "oauth-issuer", "oauth-audience", "oauth-jwks-url", "oauth-introspection-url", "oauth-client-id",
		"oauth-tenant-claim", "oauth-scope-claim", "oauth-scope-prefix", "oauth-filter-claim", "oauth-bounds-claim", "oauth-issuers-file")
	config.MarkSecrets(flags, "oauth-client-secret")
}

// DefaultDataDir returns ragd's folder in the user's data folder.
func DefaultDataDir(getenv func(string) string) string {
	home := getenv("XDG_DATA_HOME")
	if home == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return "ragd-data"
		}
		home = filepath.Join(user, ".local", "share")
	}
	return filepath.Join(home, "ragd")
}

// ServiceConfig returns the configuration of the service.
func (s Settings) ServiceConfig(log *slog.Logger) (service.Config, error) {
	c := s.Service
	c.Logger, c.OperatorKey, c.Version = log, s.OperatorKey, build.Read().Version
	if n := len(s.SessionKey); n > 0 && n < mcphttp.MinSessionKeyBytes {
		return c, fmt.Errorf("session-key has %d bytes, but at least %d are needed: `openssl rand -hex 32` makes one", n, mcphttp.MinSessionKeyBytes)
	}
	c.MCP.SessionKey = []byte(s.SessionKey)
	c.DatabaseReadURLs = replica.SplitURLs(s.DatabaseReadURLs)
	var err error
	if c.MasterKeys, err = s.MasterKeys(); err != nil {
		return c, err
	}
	if c.Endpoints, err = s.Endpoints(); err != nil {
		return c, err
	}
	if c.Tokens, err = s.Tokens(); err != nil {
		return c, err
	}
	c.ConsoleLogin = s.consoleLogin()
	if s.OCR.Engine != "" {
		if err := s.OCR.Resolve(context.Background()); err != nil {
			return c, err
		}
		c.OCR = &s.OCR
	}
	if s.Transcription.Model != "" {
		if err := s.Transcription.Check(); err != nil {
			return c, err
		}
		c.Transcription = &s.Transcription
	}
	if s.LibreOffice.Program != "" {
		if err := s.LibreOffice.Resolve(context.Background()); err != nil {
			return c, err
		}
		c.LibreOffice = &s.LibreOffice
	}
	self, err := os.Executable()
	c.ParseCommand = []string{self, ParseWorker}
	return c, err
}

// consoleLogin returns how people sign in to the console at oauth-issuer, nil for with keys alone.
func (s Settings) consoleLogin() *console.Login {
	if s.Login.ClientID == "" || s.OAuth.Issuer == "" {
		return nil
	}
	login := s.Login
	login.Issuer = s.OAuth.Issuer
	for _, scope := range []access.Scope{access.Read, access.Write, access.Admin} {
		login.Scopes = append(login.Scopes, s.OAuth.ScopePrefix+string(scope))
	}
	return &login
}

// MasterKeys returns the keys of the settings, nil if there are none.
func (s Settings) MasterKeys() (*seal.Keys, error) {
	if s.MasterKeyFile == "" {
		return seal.Parse(s.MasterKey)
	}
	if s.MasterKey != "" {
		return nil, errors.New("master-key and master-key-file are both set: set one of them")
	}
	text, err := os.ReadFile(s.MasterKeyFile)
	if err != nil {
		return nil, fmt.Errorf("read master-key-file: %w", err)
	}
	keys, err := seal.Parse(string(text))
	if err == nil && keys == nil {
		err = fmt.Errorf("master-key-file: %s holds no key: `openssl rand -hex 32` makes one", s.MasterKeyFile)
	}
	return keys, err
}
