package service

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// TraceConfig configures the export of traces.
type TraceConfig struct {
	// URL is the address of an OTLP collector over HTTP, such as
	// http://localhost:4318; without a scheme it is http. Empty for no traces.
	URL string
	// Share is the fraction of requests that are traced, in [0, 1].
	Share float64
}

// tracing records spans of requests and sends them to a collector. Spans contain names,
// times and sizes, never texts of callers. A nil *tracing records nothing.
type tracing struct{ spans *sdktrace.TracerProvider }

// newTracing returns nil if no collector is configured. It does not connect: requests
// do not wait for an unreachable collector.
func newTracing(ctx context.Context, config TraceConfig, version string, log *slog.Logger) (*tracing, error) {
	if config.URL == "" {
		return nil, nil
	}
	if config.Share < 0 || config.Share > 1 {
		return nil, fmt.Errorf("traces-share must be between 0 and 1, got %v", config.Share)
	}
	address, err := collectorURL(config.URL)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(address))
	if err != nil {
		return nil, fmt.Errorf("traces-url: %w", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces were not sent", "err", err) }))
	sampler := sdktrace.TraceIDRatioBased(config.Share)
	return &tracing{sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(validExporter{exporter}),
		// The fraction also applies to requests that continue a caller's trace.
		sdktrace.WithSampler(sdktrace.ParentBased(sampler, sdktrace.WithRemoteParentSampled(sampler))),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "ragd"), attribute.String("service.version", version))),
	)}, nil
}

// collectorURL returns the URL at which a collector receives traces.
func collectorURL(address string) (string, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", fmt.Errorf("traces-url: %q is not an address such as http://localhost:4318", address)
	}
	return strings.TrimRight(u.String(), "/") + "/v1/traces", nil
}

// handler records a span for each request except health checks, as a child of the span
// in the request's headers.
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

// spanName returns the procedure of an RPC, else the HTTP method. It leaves out the path
// of other requests, which a caller can choose freely.
func spanName(_ string, r *http.Request) string {
	if strings.HasPrefix(r.URL.Path, "/ragd.v1.") {
		return strings.TrimPrefix(r.URL.Path, "/")
	}
	return r.Method
}

// statements returns a tracer that records a span for each statement of a traced
// request.
func (t *tracing) statements() pgx.QueryTracer {
	if t == nil {
		return nil
	}
	return otelpgx.NewTracer(otelpgx.WithTracerProvider(t.spans),
		otelpgx.WithDisableConnectionDetailsInAttributes())
}

// provider returns what makes spans, nil if none are recorded.
func (t *tracing) provider() trace.TracerProvider {
	if t == nil {
		return nil
	}
	return t.spans
}

// close sends the remaining spans.
func (t *tracing) close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.spans.Shutdown(ctx)
}
