package service

import (
	"strings"
	"testing"
)

func TestTraceConfig(t *testing.T) {
	t.Parallel()
	for config, want := range map[TraceConfig]string{
		{URL: "ftp://collector", Share: 1}:         "traces-url",
		{URL: "http://localhost:4318", Share: 1.5}: "traces-share",
		{Share: 1}: "",
	} {
		tracing, err := newTracing(t.Context(), config, "test", nil)
		if tracing != nil || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, %v", config, tracing, err)
		}
	}
}
