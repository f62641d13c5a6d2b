package internal

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/ragdhq/ragd/"

// mayImport says which of our packages each of our packages may import. The
// arrows point one way: fronts, services, leaves.
var mayImport = map[string][]string{
	"bench/agents":                    {"gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/testing/daemon", "internal/testing/modelserver"},
	"bench/attack":                    {"gen/ragd/v1", "internal/testing/daemon", "internal/testing/modelserver", "internal/testing/randomcalls"},
	"bench/chunkspans":                {"internal/chunk"},
	"bench/ingest":                    {"gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/testing/daemon"},
	"bench/keyword":                   {"gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/testing/daemon"},
	"bench/parse":                     {"internal/parse", "internal/parse/libreoffice"},
	"bench/retrieval":                 {"gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/testing/daemon", "internal/testing/dataset/synthetic"},
	"bench/tenants":                   {"gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/postgres", "internal/tenant", "internal/testing/daemon", "internal/testing/dataset/synthetic", "migrations"},
	"cmd/ragd/internal/archivefile":   {"internal/archive/frame"},
	"cmd/ragd/internal/config":        {"internal/nearest"},
	"cmd/ragd/internal/graphdraw":     {},
	"cmd/ragd/internal/localfiles":    {"internal/fault", "internal/parse"},
	"cmd/ragd/internal/output":        {},
	"cmd/ragd/internal/paging":        {},
	"cmd/ragd/internal/progress":      {"cmd/ragd/internal/output", "cmd/ragd/internal/upload"},
	"cmd/ragd/internal/upload":        {"cmd/ragd/internal/localfiles", "gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "sdk/go"},
	"hack/apidoc":                     {},
	"hack/notices":                    {},
	"hack/pythonapi":                  {},
	"hack/testservice":                {"gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/testing/daemon", "internal/testing/modelserver"},
	"internal/admission":              {"internal/cache", "internal/fault", "internal/limit", "internal/tenant"},
	"internal/agent":                  {"internal/admission", "internal/endpoint", "internal/expression", "internal/fault", "internal/llm", "internal/nearest", "internal/pagination", "internal/remote", "internal/schema", "internal/template", "internal/tenant", "internal/textlimit", "internal/toolset"},
	"internal/archive":                {"internal/archive/frame", "internal/fault", "internal/index", "internal/limit", "internal/postgres", "internal/tenant", "internal/textlimit", "migrations"},
	"internal/archive/frame":          {"internal/fault"},
	"internal/audit":                  {"internal/fault", "internal/httpserver", "internal/pagination", "internal/postgres", "internal/telemetry", "internal/tenant", "internal/textlimit"},
	"internal/backlog":                {"internal/fault", "internal/postgres", "internal/tenant"},
	"internal/cache":                  {},
	"internal/chunk":                  {"internal/chunk/assembly", "internal/chunk/htmlsplit", "internal/chunk/jsonsplit", "internal/chunk/markdown", "internal/chunk/outline", "internal/chunk/sentence", "internal/chunk/textspan", "internal/chunk/tokenizer", "internal/fault", "internal/limit", "internal/pattern"},
	"internal/chunk/assembly":         {"internal/chunk/blocks", "internal/chunk/textspan", "internal/fault"},
	"internal/chunk/blocks":           {},
	"internal/chunk/htmlsplit":        {"internal/chunk/assembly", "internal/chunk/outline", "internal/chunk/textspan", "internal/limit", "internal/textlimit"},
	"internal/chunk/jsonsplit":        {"internal/chunk/assembly", "internal/chunk/blocks", "internal/chunk/textspan", "internal/fault"},
	"internal/chunk/markdown":         {"internal/chunk/assembly", "internal/chunk/outline", "internal/chunk/textspan", "internal/fault", "internal/limit"},
	"internal/chunk/outline":          {},
	"internal/chunk/sentence":         {"internal/chunk/textspan"},
	"internal/chunk/textspan":         {},
	"internal/chunk/tokenizer":        {"internal/chunk/textspan"},
	"internal/connector":              {"internal/chunk", "internal/expression", "internal/extract", "internal/fault", "internal/filter", "internal/index", "internal/ingest", "internal/job", "internal/limit", "internal/mcpclient", "internal/mcptool", "internal/nearest", "internal/oauthclient", "internal/outbound", "internal/pagination", "internal/parse", "internal/pattern", "internal/postgres", "internal/prompt", "internal/remote", "internal/seal", "internal/secret", "internal/template", "internal/tenant", "internal/textlimit", "internal/tool", "internal/toolset"},
	"internal/console":                {"internal/cache", "internal/fault", "internal/httpserver", "internal/notices", "internal/postgres", "internal/tenant"},
	"internal/contextkey":             {"internal/cache", "internal/fault", "internal/nearest", "internal/pagination", "internal/schema", "internal/tenant", "internal/textlimit"},
	"internal/doctor":                 {"internal/httpserver", "internal/postgres", "internal/storage"},
	"internal/embed":                  {"internal/cache", "internal/endpoint", "internal/fault", "internal/lexical", "internal/limit"},
	"internal/endpoint":               {"internal/fault", "internal/limit", "internal/outbound", "internal/telemetry", "internal/textlimit"},
	"internal/endpoint/own":           {"internal/cache", "internal/endpoint", "internal/fault", "internal/nearest", "internal/outbound", "internal/pagination", "internal/seal", "internal/tenant", "internal/textlimit"},
	"internal/evaluate":               {"internal/agent", "internal/chunk/sentence", "internal/endpoint", "internal/evaluate/measure", "internal/fault", "internal/filter", "internal/index", "internal/job", "internal/lexical", "internal/limit", "internal/llm", "internal/nearest", "internal/pagination", "internal/schema", "internal/tenant", "internal/textlimit"},
	"internal/evaluate/measure":       {"internal/limit"},
	"internal/event":                  {"internal/tenant"},
	"internal/event/journal":          {"internal/cache", "internal/event", "internal/fault", "internal/filter", "internal/pagination", "internal/postgres", "internal/tenant", "internal/textlimit"},
	"internal/expression":             {"internal/fault", "internal/schema", "internal/textlimit"},
	"internal/extract":                {"internal/cache", "internal/endpoint", "internal/fault", "internal/lexical", "internal/llm", "internal/metadata", "internal/textlimit"},
	"internal/fault":                  {},
	"internal/filter":                 {"internal/fault", "internal/nearest", "internal/textlimit"},
	"internal/graph":                  {"internal/cache", "internal/endpoint", "internal/fault", "internal/filter", "internal/graph/community", "internal/graph/keyterm", "internal/graph/names", "internal/graph/walk", "internal/index", "internal/job", "internal/lexical", "internal/limit", "internal/llm", "internal/pagination", "internal/query", "internal/rerank", "internal/tenant", "internal/textlimit", "internal/usage"},
	"internal/graph/community":        {"internal/limit"},
	"internal/graph/keyterm":          {"internal/lexical", "internal/limit"},
	"internal/graph/names":            {"internal/lexical"},
	"internal/graph/walk":             {"internal/fault", "internal/limit"},
	"internal/hook":                   {"internal/event", "internal/event/journal", "internal/fault", "internal/job", "internal/limit", "internal/nearest", "internal/outbound", "internal/pagination", "internal/remote", "internal/seal", "internal/tenant", "internal/textlimit", "internal/webhook"},
	"internal/httpserver":             {"internal/fault", "internal/logrepeat", "internal/textlimit"},
	"internal/httptool":               {"gen/ragd/v1", "internal/cache", "internal/fault", "internal/identity", "internal/outbound", "internal/remote", "internal/schema", "internal/secret", "internal/template", "internal/tenant", "internal/textlimit", "internal/toolset", "internal/webhook"},
	"internal/identity":               {"internal/fault", "internal/postgres", "internal/seal"},
	"internal/index":                  {"internal/backlog", "internal/cache", "internal/chunk", "internal/embed", "internal/extract", "internal/fault", "internal/filter", "internal/job", "internal/nearest", "internal/pagination", "internal/postgres", "internal/tenant", "internal/textlimit"},
	"internal/ingest":                 {"internal/backlog", "internal/chunk", "internal/embed", "internal/extract", "internal/fault", "internal/filter", "internal/graph", "internal/index", "internal/job", "internal/limit", "internal/metadata", "internal/pagination", "internal/parse", "internal/telemetry", "internal/tenant", "internal/textlimit", "internal/usage"},
	"internal/job":                    {"internal/fault", "internal/filter", "internal/pagination", "internal/postgres", "internal/telemetry", "internal/tenant", "internal/textlimit"},
	"internal/jsonmessage":            {"internal/fault", "internal/nearest", "internal/textlimit"},
	"internal/lexical":                {},
	"internal/limit":                  {"internal/fault"},
	"internal/llm":                    {"internal/endpoint", "internal/fault"},
	"internal/localmodel":             {"internal/endpoint", "internal/fault", "internal/limit", "internal/localmodel/kernel", "internal/localmodel/tokenize", "internal/localmodel/transformer"},
	"internal/localmodel/hub":         {"internal/localmodel"},
	"internal/localmodel/kernel":      {},
	"internal/localmodel/safetensors": {},
	"internal/localmodel/tokenize":    {},
	"internal/localmodel/transformer": {"internal/localmodel/kernel", "internal/localmodel/safetensors"},
	"internal/logrepeat":              {},
	"internal/mcp":                    {"gen/ragd/v1", "internal/event", "internal/fault", "internal/httpserver", "internal/jsonmessage", "internal/mcp/mcphttp", "internal/server", "internal/tenant", "internal/textlimit", "internal/toolset"},
	"internal/mcp/mcphttp":            {"internal/admission", "internal/event", "internal/fault", "internal/httpserver", "internal/jsonmessage", "internal/limit", "internal/tenant"},
	"internal/mcp/stdio":              {},
	"internal/mcpclient":              {"internal/admission", "internal/fault", "internal/outbound", "internal/remote", "internal/secret", "internal/template", "internal/tenant", "internal/textlimit"},
	"internal/mcptool":                {"gen/ragd/v1", "internal/fault", "internal/mcpclient", "internal/outbound", "internal/remote", "internal/schema", "internal/template", "internal/tenant", "internal/textlimit", "internal/toolset"},
	"internal/metadata":               {"internal/fault"},
	"internal/nearest":                {},
	"internal/notices":                {},
	"internal/oauthclient":            {"internal/fault", "internal/outbound", "internal/textlimit"},
	"internal/openai":                 {"gen/ragd/v1", "internal/admission", "internal/chunk", "internal/chunk/tokenizer", "internal/fault", "internal/filter", "internal/httpserver", "internal/index", "internal/ingest", "internal/query", "internal/rerank", "internal/tenant", "internal/textlimit"},
	"internal/outbound":               {"internal/fault"},
	"internal/pagination":             {"internal/fault"},
	"internal/parse":                  {"internal/fault", "internal/metadata", "internal/parse/pdftext", "internal/textlimit"},
	"internal/parse/libreoffice":      {"internal/fault", "internal/textlimit"},
	"internal/parse/ocr":              {"internal/fault", "internal/textlimit"},
	"internal/parse/pdftext":          {"internal/fault", "internal/textlimit"},
	"internal/parse/subprocess":       {"internal/fault", "internal/limit", "internal/parse", "internal/parse/libreoffice", "internal/parse/ocr"},
	"internal/pattern":                {},
	"internal/postgres":               {"internal/fault"},
	"internal/postgres/embedded":      {"internal/fault", "internal/postgres"},
	"internal/move":                   {"internal/fault", "internal/job", "internal/pagination", "internal/postgres", "internal/tenant"},
	"internal/placement":              {"internal/fault", "internal/outbound", "internal/postgres", "internal/replica", "internal/seal", "internal/tenant", "migrations"},
	"internal/prompt":                 {"internal/fault", "internal/nearest", "internal/pagination", "internal/remote", "internal/template", "internal/tenant", "internal/textlimit"},
	"internal/query":                  {"internal/cache", "internal/chunk/sentence", "internal/embed", "internal/fault", "internal/filter", "internal/index", "internal/lexical", "internal/limit", "internal/nearest", "internal/rerank", "internal/telemetry", "internal/tenant", "internal/textlimit", "internal/usage"},
	"internal/remote":                 {"internal/admission", "internal/fault", "internal/identity", "internal/limit", "internal/outbound", "internal/schema", "internal/template", "internal/tenant"},
	"internal/replica":                {"internal/fault", "internal/limit", "internal/postgres"},
	"internal/rerank":                 {"internal/cache", "internal/endpoint", "internal/fault", "internal/lexical", "internal/limit", "internal/llm", "internal/textlimit"},
	"internal/rpc":                    {"gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/admission", "internal/agent", "internal/archive", "internal/archive/frame", "internal/audit", "internal/chunk", "internal/connector", "internal/contextkey", "internal/endpoint", "internal/endpoint/own", "internal/evaluate", "internal/evaluate/measure", "internal/event/journal", "internal/extract", "internal/fault", "internal/filter", "internal/graph", "internal/hook", "internal/httpserver", "internal/httptool", "internal/index", "internal/ingest", "internal/job", "internal/jsonmessage", "internal/limit", "internal/mcptool", "internal/metadata", "internal/nearest", "internal/pagination", "internal/move", "internal/placement", "internal/prompt", "internal/query", "internal/rerank", "internal/schema", "internal/seal/reseal", "internal/secret", "internal/server", "internal/template", "internal/tenant", "internal/tool", "internal/toolset", "internal/usage", "internal/vector", "internal/workflow"},
	"internal/schema":                 {"internal/fault", "internal/nearest", "internal/pattern", "internal/textlimit"},
	"internal/seal":                   {"internal/fault"},
	"internal/seal/reseal":            {"internal/connector", "internal/endpoint/own", "internal/fault", "internal/hook", "internal/identity", "internal/placement", "internal/postgres", "internal/seal", "internal/secret", "internal/tenant"},
	"internal/secret":                 {"internal/fault", "internal/nearest", "internal/pagination", "internal/seal", "internal/tenant", "internal/textlimit", "internal/webhook"},
	"internal/server":                 {"internal/cache", "internal/fault", "internal/filter", "internal/nearest", "internal/pagination", "internal/template", "internal/tenant", "internal/textlimit", "internal/toolset"},
	"internal/service":                {"internal/admission", "internal/agent", "internal/archive", "internal/audit", "internal/backlog", "internal/cache", "internal/connector", "internal/console", "internal/contextkey", "internal/embed", "internal/endpoint", "internal/endpoint/own", "internal/evaluate", "internal/event", "internal/event/journal", "internal/extract", "internal/fault", "internal/graph", "internal/hook", "internal/httpserver", "internal/httptool", "internal/identity", "internal/index", "internal/ingest", "internal/job", "internal/limit", "internal/llm", "internal/localmodel", "internal/logrepeat", "internal/mcp", "internal/mcp/mcphttp", "internal/mcptool", "internal/move", "internal/openai", "internal/outbound", "internal/parse", "internal/parse/libreoffice", "internal/parse/ocr", "internal/parse/subprocess", "internal/placement", "internal/postgres", "internal/postgres/embedded", "internal/prompt", "internal/query", "internal/remote", "internal/replica", "internal/rerank", "internal/rpc", "internal/seal", "internal/seal/reseal", "internal/secret", "internal/server", "internal/storage", "internal/telemetry", "internal/tenant", "internal/tool", "internal/toolset", "internal/usage", "internal/vector", "internal/workflow"},
	"internal/storage":                {"internal/fault"},
	"internal/telemetry":              {"internal/fault"},
	"internal/template":               {"internal/fault", "internal/tenant"},
	"internal/tenant":                 {"internal/cache", "internal/fault", "internal/filter", "internal/limit", "internal/metadata", "internal/nearest", "internal/pagination", "internal/postgres", "internal/replica", "internal/schema", "internal/storage", "internal/textlimit", "migrations"},
	"internal/tenant/oauth":           {"internal/cache", "internal/fault", "internal/filter", "internal/limit", "internal/outbound", "internal/tenant"},
	"internal/textlimit":              {"internal/fault"},
	"internal/tool":                   {"internal/fault", "internal/filter", "internal/index", "internal/nearest", "internal/pagination", "internal/schema", "internal/tenant", "internal/textlimit"},
	"internal/toolschema":             {"internal/textlimit"},
	"internal/toolset":                {"gen/ragd/v1", "internal/admission", "internal/cache", "internal/fault", "internal/filter", "internal/jsonmessage", "internal/limit", "internal/nearest", "internal/query", "internal/schema", "internal/telemetry", "internal/template", "internal/tenant", "internal/textlimit", "internal/toolschema"},
	"internal/usage":                  {"internal/endpoint", "internal/fault", "internal/pagination", "internal/postgres", "internal/telemetry", "internal/tenant"},
	"internal/vector":                 {"internal/fault", "internal/filter", "internal/index", "internal/job", "internal/metadata", "internal/tenant", "internal/textlimit", "internal/usage"},
	"internal/webhook":                {"internal/fault"},
	"internal/workflow":               {"gen/ragd/v1", "internal/admission", "internal/agent", "internal/cache", "internal/expression", "internal/fault", "internal/httptool", "internal/job", "internal/limit", "internal/nearest", "internal/pagination", "internal/remote", "internal/schema", "internal/template", "internal/tenant", "internal/textlimit", "internal/toolset"},
	"migrations":                      {},
	"sdk/go":                          {"gen/ragd/v1", "gen/ragd/v1/ragdv1connect"},
}

// pgxpool opens the way around the tenant's handle: few may have it.
var mayImportPool = []string{"bench/retrieval", "bench/tenants", "internal/move", "internal/placement", "internal/postgres", "internal/replica", "internal/service", "internal/tenant", "internal/testing/faultproxy", "internal/testing/pgtest", "internal/testing/servicetest"}

// testOnly must never reach the shipped binary.
var testOnly = []string{"testing", "github.com/google/go-cmp", "github.com/testcontainers", module + "internal/testing"}

type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func list(t *testing.T, args ...string) []goPackage {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=ImportPath,Imports,Deps"}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

func TestImportsPointOneWay(t *testing.T) {
	t.Parallel()
	for _, p := range list(t, "../...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		if slices.Contains(p.Imports, "github.com/jackc/pgx/v5/pgxpool") && !slices.Contains(mayImportPool, name) {
			t.Errorf("%s imports pgxpool; statements go through the tenant's handle", name)
		}
		allowed, listed := mayImport[name]
		if !listed {
			continue
		}
		for _, imported := range p.Imports {
			if own, ok := strings.CutPrefix(imported, module); ok && !slices.Contains(allowed, own) {
				t.Errorf("%s imports %s, which the table does not allow", name, own)
			}
		}
	}
}

func TestEveryPackageIsInTheTable(t *testing.T) {
	t.Parallel()
	// The command knows everything, generated code is not ours to order, and what
	// only tests import cannot point the wrong way.
	free := []string{"cmd/ragd", "gen/", "internal/testing/"}
	for _, p := range list(t, "../...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		_, listed := mayImport[name]
		exempt := name == "internal" || slices.ContainsFunc(free, func(f string) bool { return strings.HasPrefix(name, f) })
		if !listed && !exempt {
			t.Errorf("%s is not in the table of who may import whom", name)
		}
	}
}

func TestTheBinaryHasNoTestCode(t *testing.T) {
	t.Parallel()
	for _, p := range list(t, "../cmd/ragd") {
		for _, dep := range p.Deps {
			if slices.ContainsFunc(testOnly, func(prefix string) bool { return dep == prefix || strings.HasPrefix(dep, prefix+"/") }) {
				t.Errorf("cmd/ragd depends on %s", dep)
			}
		}
	}
}
