package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"github.com/spf13/pflag"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// traceSettings say where traces of requests go.
type traceSettings struct {
	URL   string  // of an OTLP collector; "" for none
	Share float64 // of the requests that are traced
}

func (s *traceSettings) register(flags *pflag.FlagSet) {
	flags.StringVar(&s.URL, "traces-url", "", "OTLP collector that gets traces over HTTP, such as http://localhost:4318 (default none)")
	flags.Float64Var(&s.Share, "traces-share", 1, "share of the requests that are traced")
	markSettings(flags, "traces-url", "traces-share")
}

// tracing makes traces of requests and sends them to a collector. They hold names,
// times and sizes, and no texts of callers. Nil traces nothing.
type tracing struct{ spans *sdktrace.TracerProvider }

// newTracing returns nil if no collector is set. Nothing is sent before the first
// spans are there, and a collector that is away costs no request anything.
func newTracing(ctx context.Context, settings traceSettings, log *slog.Logger) (*tracing, error) {
	if settings.URL == "" {
		return nil, nil
	}
	if settings.Share < 0 || settings.Share > 1 {
		return nil, fmt.Errorf("traces-share must be between 0 and 1, got %v", settings.Share)
	}
	address, err := serverURL(settings.URL)
	if err != nil {
		return nil, fmt.Errorf("traces-url: %w", err)
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(address+"/v1/traces"))
	if err != nil {
		return nil, fmt.Errorf("traces-url: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces were not sent", "err", err) }))
	share := sdktrace.TraceIDRatioBased(settings.Share)
	return &tracing{sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		// The share holds for requests that come with a trace of the caller's too.
		sdktrace.WithSampler(sdktrace.ParentBased(share, sdktrace.WithRemoteParentSampled(share))),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "ragd"), attribute.String("service.version", readBuild().Version))),
	)}, nil
}

// handler makes a span of each request, within the trace that it says it is of.
func (t *tracing) handler(next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return otelhttp.NewHandler(next, "request",
		otelhttp.WithTracerProvider(t.spans),
		otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithFilter(func(r *http.Request) bool { return r.URL.Path != "/healthz" && r.URL.Path != "/readyz" }),
		otelhttp.WithSpanNameFormatter(spanName),
	)
}

// spanName is the procedure of the API that is called. Others than ours are not
// told apart: anybody can make up paths.
func spanName(_ string, r *http.Request) string {
	if strings.HasPrefix(r.URL.Path, "/ragd.v1.") {
		return strings.TrimPrefix(r.URL.Path, "/")
	}
	return r.Method
}

// statements makes a span of each statement of a traced request.
func (t *tracing) statements() pgx.QueryTracer {
	if t == nil {
		return nil
	}
	return otelpgx.NewTracer(otelpgx.WithTracerProvider(t.spans),
		otelpgx.WithDisableConnectionDetailsInAttributes())
}

// close sends what is left.
func (t *tracing) close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.spans.Shutdown(ctx)
}
