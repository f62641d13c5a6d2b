// Package telemetry counts and times what the service does, for Prometheus, and records spans of
// work that no request waits for. A Recorder travels in the context, as a span does: what runs
// without one, such as a test of one package, is not counted.
//
//	ctx = telemetry.NewContext(ctx, telemetry.New(telemetry.Config{Version: "1.2.3"}))
//	telemetry.Stage(ctx, "query.embed", took)
//
// The values of labels are bounded: they are names of the service's own procedures, tools,
// stages, kinds and the operator's endpoints, never texts of callers. Counting is a few atomic
// operations on a series that is looked up in constant time.
package telemetry

import (
	"context"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// buckets are the upper bounds, in seconds, of the histograms: a search takes a millisecond, a call
// of a language model a minute.
var buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// Config configures a Recorder.
type Config struct {
	// Version is that of ragd, a label of ragd_build_info.
	Version string
	// Spans records spans of background work. Default: none are recorded.
	Spans trace.TracerProvider
	// Tenants is how many tenants ragd_tenant_requests_per_second names: those with the most
	// requests. Default: none.
	Tenants int
	// Now is the clock of Tenants. Default: time.Now.
	Now func() time.Time
}

// Recorder holds the metrics of one instance. The nil Recorder counts nothing. Safe for
// concurrent use.
type Recorder struct {
	registry *prometheus.Registry
	tracer   trace.Tracer
	tenants  *busiest

	requests, tools, endpoints      *prometheus.CounterVec
	documents, jobs, tokens         *prometheus.CounterVec
	auditFailures                   *prometheus.CounterVec
	requestTime, toolTime, endpTime *prometheus.HistogramVec
	stageTime, jobTime              *prometheus.HistogramVec
}

// New returns a Recorder.
func New(config Config) *Recorder {
	registry := prometheus.NewRegistry()
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
		registry.MustRegister(v)
		return v
	}
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
		registry.MustRegister(v)
		return v
	}
	r := &Recorder{
		registry: registry,

		requests:    counter("ragd_requests_total", "Answered requests.", "interface", "method", "code"),
		requestTime: histogram("ragd_request_duration_seconds", "Time to answer a request, without streams.", "interface", "method"),
		tools:       counter("ragd_tool_calls_total", "Calls of tools, over every interface and by agents and workflows, by the name of a builtin tool or the kind of a tenant's.", "kind", "code"),
		toolTime:    histogram("ragd_tool_call_duration_seconds", "Time of a call of a tool.", "kind"),
		stageTime:   histogram("ragd_stage_duration_seconds", "Time of a stage of a search, a walk, or the ingest of a batch of documents.", "stage"),
		documents:   counter("ragd_documents_total", "Attempts to process an uploaded document.", "outcome"),
		jobs:        counter("ragd_job_attempts_total", "Attempts at tasks of jobs.", "kind", "outcome"),
		jobTime:     histogram("ragd_job_attempt_duration_seconds", "Time of an attempt at a task of a job.", "kind"),
		endpoints:   counter("ragd_endpoint_calls_total", "Attempts to call an endpoint of models; own is any endpoint of a tenant.", "endpoint", "code"),
		endpTime:    histogram("ragd_endpoint_call_duration_seconds", "Time of an attempt to call an endpoint of models.", "endpoint"),
		tokens:      counter("ragd_model_tokens_total", "Tokens of calls of models.", "use", "direction"),

		auditFailures: counter("ragd_audit_failures_total", "Entries of the audit log that could not be written, or not with their outcome."),
	}
	r.auditFailures.WithLabelValues() // shown from the start
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ragd_build_info", Help: "1, with the version of ragd and of Go."}, []string{"version", "go"})
	build.WithLabelValues(config.Version, runtime.Version()).Set(1)
	registry.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if config.Tenants > 0 {
		if config.Now == nil {
			config.Now = time.Now
		}
		r.tenants = newBusiest(config.Tenants, config.Now)
		registry.MustRegister(r.tenants)
	}
	spans := config.Spans
	if spans == nil {
		spans = noop.NewTracerProvider()
	}
	r.tracer = spans.Tracer("github.com/ragdhq/ragd/internal/operate/telemetry")
	return r
}

// Register adds metrics that are read when they are asked for.
func (r *Recorder) Register(c prometheus.Collector) { r.registry.MustRegister(c) }

// Handler returns the handler that answers with all metrics, in the formats of Prometheus.
func (r *Recorder) Handler() http.Handler {
	return promhttp.HandlerFor(r.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second, ErrorHandling: promhttp.ContinueOnError})
}

// Gatherer returns the metrics themselves.
func (r *Recorder) Gatherer() prometheus.Gatherer { return r.registry }

type contextKey struct{}

// NewContext returns a context in which r counts.
func NewContext(ctx context.Context, r *Recorder) context.Context {
	return context.WithValue(ctx, contextKey{}, r)
}

func from(ctx context.Context) *Recorder {
	r, _ := ctx.Value(contextKey{}).(*Recorder)
	return r
}

// Request is an answered request.
type Request struct {
	// Interface and Method name what was called. The caller bounds their values.
	Interface, Method string
	Code              string // of the answer, "ok" for none
	Tenant            string // "" if it is not known
	Took              time.Duration
	Stream            bool // its time is how long the client listened
}

// Request counts a request.
func (r *Recorder) Request(q Request) {
	if r == nil {
		return
	}
	r.requests.WithLabelValues(q.Interface, q.Method, q.Code).Inc()
	if !q.Stream {
		r.requestTime.WithLabelValues(q.Interface, q.Method).Observe(q.Took.Seconds())
	}
	if r.tenants != nil && q.Tenant != "" {
		r.tenants.add(q.Tenant)
	}
}

// Code returns the label of an error: its kind, "ok" for none.
func Code(err error) string {
	if err == nil {
		return "ok"
	}
	return fault.KindOf(err).String()
}

// Tool counts a call of a tool that began at start. kind is the name of a builtin tool, or the kind of
// a tenant's.
func Tool(ctx context.Context, kind string, err error, start time.Time) {
	if r := from(ctx); r != nil {
		r.tools.WithLabelValues(kind, Code(err)).Inc()
		r.toolTime.WithLabelValues(kind).Observe(time.Since(start).Seconds())
	}
}

// Stage records the time of a stage that took so long.
func Stage(ctx context.Context, name string, took time.Duration) {
	if r := from(ctx); r != nil {
		r.stageTime.WithLabelValues(name).Observe(took.Seconds())
	}
}

// Documents counts attempts to process documents.
func Documents(ctx context.Context, outcome string, n int) {
	if r := from(ctx); r != nil && n > 0 {
		r.documents.WithLabelValues(outcome).Add(float64(n))
	}
}

// Job counts an attempt at a task of a job that began at start.
func Job(ctx context.Context, kind, outcome string, start time.Time) {
	if r := from(ctx); r != nil {
		r.jobs.WithLabelValues(kind, outcome).Inc()
		r.jobTime.WithLabelValues(kind).Observe(time.Since(start).Seconds())
	}
}

// EndpointCall counts an attempt to call an endpoint that began at start. The caller bounds the
// names.
func EndpointCall(ctx context.Context, name string, err error, start time.Time) {
	if r := from(ctx); r != nil {
		r.endpoints.WithLabelValues(name, Code(err)).Inc()
		r.endpTime.WithLabelValues(name).Observe(time.Since(start).Seconds())
	}
}

// Tokens counts the tokens of a call of a model.
func Tokens(ctx context.Context, use string, input, output int) {
	if r := from(ctx); r != nil {
		r.tokens.WithLabelValues(use, "input").Add(float64(input))
		if output > 0 {
			r.tokens.WithLabelValues(use, "output").Add(float64(output))
		}
	}
}

// AuditFailed counts an entry of the audit log that could not be written.
func AuditFailed(ctx context.Context) {
	if r := from(ctx); r != nil {
		r.auditFailures.WithLabelValues().Inc()
	}
}

// Span starts a span of background work, in a trace of its own unless ctx has one. end ends it, and
// marks it as failed after an error, whose text it does not contain.
func Span(ctx context.Context, name string, attributes ...attribute.KeyValue) (_ context.Context, end func(err error)) {
	r := from(ctx)
	if r == nil {
		return ctx, func(error) {}
	}
	ctx, span := r.tracer.Start(ctx, name, trace.WithAttributes(attributes...))
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "failed")
		}
		span.End()
	}
}
