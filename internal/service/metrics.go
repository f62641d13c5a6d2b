package service

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/api/openai"
	"github.com/ragdhq/ragd/internal/operate/audit"
	"github.com/ragdhq/ragd/internal/operate/cache"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/telemetry"
	"github.com/ragdhq/ragd/internal/tenant/place/replica"
)

// MetricsConfig configures what is shown to the operator's monitoring.
type MetricsConfig struct {
	// Listen is the address on which GET /metrics is answered, without a key. Default: on none.
	Listen string
	// Tenants is how many tenants are named, those with the most requests. Default: none.
	Tenants int
	// ProfileListen is the address on which the profiles of the process can be read, without a
	// key. It must be one of this machine's own (loopback), because profiles show what is in
	// memory. Default: on none.
	ProfileListen string
}

// procedures holds the RPC procedures by path; the value is true for streams.
var procedures = func() map[string]bool {
	all := map[string]bool{}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				m := service.Methods().Get(j)
				all["/"+string(service.FullName())+"/"+string(m.Name())] = m.IsStreamingClient() || m.IsStreamingServer()
			}
		}
		return true
	})
	return all
}()

// mcpMethods are the methods of MCP that are counted by name.
var mcpMethods = []string{
	"completion/complete", "initialize", "logging/setLevel", "notifications/cancelled", "notifications/initialized", "ping",
	"prompts/get", "prompts/list", "resources/list", "resources/read", "resources/subscribe", "resources/templates/list", "resources/unsubscribe",
	"server/discover", "subscriptions/listen", "tasks/cancel", "tasks/get", "tasks/update", "tools/call", "tools/list",
}

// counter returns the function that counts answered requests, the uses of keys, and denied calls
// for the audit log. The values of its labels come from
// lists of this process: a caller cannot make new ones.
func (s *Service) counter(compatible *openai.Handler) func(*http.Request, httpserver.Answer) {
	return func(r *http.Request, a httpserver.Answer) {
		q := telemetry.Request{Interface: "http", Method: "other", Code: a.Code, Tenant: a.Tenant, Took: a.Took}
		path := r.URL.Path
		stream, known := procedures[path]
		switch {
		case known:
			q.Interface, q.Method, q.Stream = "rpc", strings.TrimPrefix(path, "/"), stream
		case path == "/healthz" || path == "/readyz":
			q.Method = path
		case a.MCPMethod != "" || isMCP(path):
			q.Interface, q.Stream = "mcp", r.Method == http.MethodGet
			if slices.Contains(mcpMethods, a.MCPMethod) {
				q.Method = a.MCPMethod
			}
		case path == "/v2/rerank" || strings.HasPrefix(path, "/v1/"):
			q.Interface, q.Method = "openai", compatible.Route(r)
		case strings.HasPrefix(path, "/console/"):
			q.Method = "console"
		}
		s.metrics.Request(q)
		if a.Subject != "" {
			s.Credentials.KeyUses.Used(a.Subject)
		}
		if slices.Contains(deniedCodes, a.Code) && !a.Audited {
			s.audit.Add(audit.Denied{Tenant: a.Tenant, Subject: a.Subject, Client: a.Client, Method: q.Method, Outcome: a.Code, RequestID: a.RequestID})
		}
	}
}

// deniedCodes are the codes of calls that were denied.
var deniedCodes = []string{fault.Unauthenticated.String(), fault.Denied.String()}

// isMCP reports whether a path is one of the MCP endpoint.
func isMCP(path string) bool {
	for _, of := range []string{mcphttp.Path, mcphttp.SSEPath, mcphttp.MessagePath} {
		if path == of || strings.HasPrefix(path, of+"/") {
			return true
		}
	}
	return false
}

// Metrics are read from the database at most this often, and within this time.
const (
	readEvery   = 15 * time.Second
	readTimeout = 5 * time.Second
)

// registerGauges adds the metrics that are read when they are asked for.
func (s *Service) registerGauges(caches map[string]func() cache.Stats) {
	s.metrics.Register(&telemetry.Gauges{Described: processGauges, Read: func(set telemetry.Set) {
		set("ragd_requests_running", float64(s.gate.Running()))
		for name, stats := range caches {
			counts := stats()
			set("ragd_cache_lookups_total", float64(counts.Hits), name, "hit")
			set("ragd_cache_lookups_total", float64(counts.Misses), name, "miss")
			set("ragd_cache_bytes", float64(counts.Bytes), name)
		}
		if s.certificate != nil {
			set("ragd_certificate_expiry_timestamp_seconds", float64(s.certificate.Expiry().Unix()))
			set("ragd_certificate_failing", map[bool]float64{true: 1}[s.certificate.Failing()])
		}
		setPool(set, "requests", s.database.requests)
		if s.database.work != s.database.requests {
			setPool(set, "work", s.database.work)
		}
		setReplicas(set, s.database.replicas.Status())
	}})
	s.metrics.Register(&telemetry.Gauges{Described: databaseGauges, Every: readEvery, Read: s.readDatabase})
	s.metrics.Register(&telemetry.Gauges{Described: placedGauges, Every: readEvery, Read: s.readPlaced})
}

// processGauges are read from the memory of this instance.
var processGauges = map[string]telemetry.Gauge{
	"ragd_requests_running":                       {Help: "Requests that are being answered, without streams."},
	"ragd_cache_lookups_total":                    {Help: "Look-ups in a cache.", Labels: []string{"cache", "result"}, Counter: true},
	"ragd_certificate_expiry_timestamp_seconds":   {Help: "When the certificate of the service ends, in Unix time."},
	"ragd_certificate_failing":                    {Help: "1 while the files of the certificate have changed and cannot be used."},
	"ragd_cache_bytes":                            {Help: "Bytes that the entries of a cache take.", Labels: []string{"cache"}},
	"ragd_reads_total":                            {Help: "Statements of queries, in round trips to the database.", Labels: []string{"at"}, Counter: true},
	"ragd_read_fallbacks_total":                   {Help: "Queries that might have read at a replica and read at the primary.", Labels: []string{"reason"}, Counter: true},
	"ragd_replica_used":                           {Help: "1 if the replica is used.", Labels: []string{"replica"}},
	"ragd_replica_lag_seconds":                    {Help: "How stale the data of a replica may be.", Labels: []string{"replica"}},
	"ragd_database_connections":                   {Help: "Connections to the database.", Labels: []string{"pool", "state"}},
	"ragd_database_connections_max":               {Help: "Connections that a pool may open.", Labels: []string{"pool"}},
	"ragd_database_connection_waits_total":        {Help: "Times that a statement waited for a connection.", Labels: []string{"pool"}, Counter: true},
	"ragd_database_connection_wait_seconds_total": {Help: "Time that statements waited for a connection.", Labels: []string{"pool"}, Counter: true},
}

// setReplicas sets the metrics of replicas; none if there are none.
func setReplicas(set telemetry.Set, status replica.Status) {
	if len(status.Replicas) == 0 {
		return
	}
	set("ragd_reads_total", float64(status.Primary), "primary")
	set("ragd_reads_total", float64(status.Replica), "replica")
	for reason, n := range status.Fallbacks {
		set("ragd_read_fallbacks_total", float64(n), string(reason))
	}
	for _, r := range status.Replicas {
		number := strconv.Itoa(r.Number)
		set("ragd_replica_used", map[bool]float64{true: 1}[r.Reason == ""], number)
		if r.Reason == "" {
			set("ragd_replica_lag_seconds", r.Lag.Seconds(), number)
		}
		if r.Pool != nil {
			setPool(set, "replica "+number, r.Pool)
		}
	}
}

func setPool(set telemetry.Set, name string, pool *pgxpool.Pool) {
	stat := pool.Stat()
	set("ragd_database_connections", float64(stat.AcquiredConns()), name, "used")
	set("ragd_database_connections", float64(stat.IdleConns()), name, "idle")
	set("ragd_database_connections_max", float64(stat.MaxConns()), name)
	set("ragd_database_connection_waits_total", float64(stat.EmptyAcquireCount()), name)
	set("ragd_database_connection_wait_seconds_total", stat.EmptyAcquireWaitTime().Seconds(), name)
}

// databaseGauges are read from the database, and are the same on all instances.
var databaseGauges = map[string]telemetry.Gauge{
	"ragd_up":                              {Help: "1 if the database answers."},
	"ragd_backlog_documents":               {Help: "Documents in the backlog of all tenants.", Labels: []string{"state"}},
	"ragd_backlog_oldest_seconds":          {Help: "How long the document of the backlog that waits longest has been due."},
	"ragd_jobs":                            {Help: "Tasks of jobs of all tenants.", Labels: []string{"state"}},
	"ragd_tenants":                         {Help: "Tenants.", Labels: []string{"state"}},
	"ragd_database_bytes":                  {Help: "Bytes of the database."},
	"ragd_database_disk_bytes":             {Help: "Bytes of the disk of the embedded database.", Labels: []string{"state"}},
	"ragd_database_writes_refused":         {Help: "1 while nothing is stored, because the disk of the database is almost full."},
	"ragd_database_server_connections_max": {Help: "Connections that the database server allows."},
	"ragd_database_server_connections":     {Help: "Connections to the database server, of all programs."},
}

// readDatabase reads databaseGauges. What cannot be read is left out.
func (s *Service) readDatabase(set telemetry.Set) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	failed := func(what string, err error) bool {
		if err != nil {
			s.log.WarnContext(ctx, "metrics of "+what+" cannot be read", "err", err)
		}
		return err != nil
	}
	if s.storage.Disk() != nil {
		set("ragd_database_writes_refused", 1)
	} else {
		set("ragd_database_writes_refused", 0)
	}
	if s.database.embedded != nil {
		if free, total, err := s.freeDisk(); !failed("the disk", err) {
			set("ragd_database_disk_bytes", float64(free), "free")
			set("ragd_database_disk_bytes", float64(total-free), "used")
		}
	}
	var size, most, open int64
	err := s.database.work.QueryRow(ctx, `
		SELECT pg_catalog.pg_database_size(pg_catalog.current_database()), pg_catalog.current_setting('max_connections')::bigint,
			(SELECT sum(d.numbackends) FROM pg_catalog.pg_stat_database AS d)`).Scan(&size, &most, &open)
	if failed("the database", err) {
		set("ragd_up", 0)
		return
	}
	set("ragd_up", 1)
	set("ragd_database_bytes", float64(size))
	set("ragd_database_server_connections_max", float64(most))
	set("ragd_database_server_connections", float64(open))
	if depth, err := s.depth(ctx); !failed("the backlog", err) {
		set("ragd_backlog_documents", float64(depth.Waiting), "waiting")
		set("ragd_backlog_documents", float64(depth.Claimed), "claimed")
		set("ragd_backlog_documents", float64(depth.Retrying), "retrying")
		set("ragd_backlog_oldest_seconds", depth.Oldest.Seconds())
	}
	if tasks, err := s.tasks(ctx); !failed("the jobs", err) {
		for state, n := range tasks {
			set("ragd_jobs", float64(n), string(state))
		}
	}
	if health, err := s.Tenants.Health(ctx); !failed("the tenants", err) {
		set("ragd_tenants", float64(health.Tenants-len(health.Unserved)), "served")
		set("ragd_tenants", float64(len(health.Unserved)), "unserved")
	}
}
