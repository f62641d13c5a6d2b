package structure

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/ragdhq/ragd/"

// wings are the folders of internal/, in the order in which they may import each other: from top
// to bottom. A leaf room, which does not reach internal/tenant, may be imported by any wing.
var wings = []string{"service", "api", "operate", "automation", "tool", "ingest", "graph", "query", "index", "rerank", "model", "secure", "tenant", "chunk"}

// upwards are the imports against the order, each with its reason.
var upwards = map[string]string{
	"index -> ingest/backlog": "an index counts its documents that wait",
	"tenant/archive -> index": "an archive creates the indexes of the tenant that it imports",
}

func TestWingsImportOneWay(t *testing.T) {
	t.Parallel()
	reachesTenant := map[string]bool{}
	packages := list(t, "../../internal/...")
	for _, p := range packages {
		room := strings.TrimPrefix(p.ImportPath, module+"internal/")
		reachesTenant[room] = room == "tenant" || slices.Contains(p.Deps, module+"internal/tenant")
	}
	used := map[string]bool{}
	for _, p := range packages {
		room := strings.TrimPrefix(p.ImportPath, module+"internal/")
		from := wingOf(t, room)
		if strings.HasPrefix(room, "service/testing/") {
			continue
		}
		for _, imported := range p.Imports {
			other, ours := strings.CutPrefix(imported, module+"internal/")
			if !ours || !reachesTenant[other] || wingOf(t, other) >= from {
				continue
			}
			if arrow := room + " -> " + other; upwards[arrow] == "" {
				t.Errorf("internal/%s: the wing %s is above", arrow, wings[wingOf(t, other)])
			} else {
				used[arrow] = true
			}
		}
	}
	for arrow := range upwards {
		if !used[arrow] {
			t.Errorf("the exception %s is not needed", arrow)
		}
	}
}

// wingOf returns the position of a room's wing.
func wingOf(t *testing.T, room string) int {
	t.Helper()
	wing, _, _ := strings.Cut(room, "/")
	at := slices.Index(wings, wing)
	if at < 0 {
		t.Fatalf("internal/%s is in none of the wings", room)
	}
	return at
}

func TestEveryWingSaysWhatItIs(t *testing.T) {
	t.Parallel()
	for _, wing := range wings {
		doc, err := os.ReadFile("../../internal/" + wing + "/doc.go")
		if err != nil {
			t.Error(err)
		} else if !strings.HasPrefix(string(doc), "// Package "+wing+" ") || !strings.Contains(string(doc), "may import") {
			t.Errorf("internal/%s/doc.go does not say what the wing is and what it may import", wing)
		}
	}
	entries, err := os.ReadDir("../../internal")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !slices.Contains(wings, entry.Name()) {
			t.Errorf("internal/%s is no wing", entry.Name())
		}
	}
}

// mayImport says which of our packages each of our packages may import.
var mayImport = map[string][]string{
	"bench/agents":                           {"gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/service/testing/daemon", "internal/service/testing/modelserver", "bench/internal/harness"},
	"bench/attack":                           {"gen/ragd/v1", "internal/service/testing/daemon", "internal/service/testing/modelserver", "internal/service/testing/randomcalls", "bench/internal/harness"},
	"bench/chunkspans":                       {"internal/chunk"},
	"bench/connector":                        {"gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/service/testing/daemon", "internal/service/testing/program", "internal/service/testing/wait", "bench/internal/harness"},
	"bench/ingest":                           {"internal/service/testing/daemon", "bench/internal/harness"},
	"bench/internal/harness":                 {"gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/service/testing/daemon"},
	"bench/keyword":                          {"gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/service/testing/daemon", "bench/internal/harness", "internal/index/analyzer"},
	"bench/parse":                            {"internal/ingest/parse", "internal/ingest/parse/libreoffice", "internal/chunk", "internal/chunk/sentence", "internal/ingest/parse/pdftext"},
	"bench/ranking":                          {"gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/automation/evaluate/measure", "internal/service/testing/daemon", "internal/service/testing/dataset", "internal/service/testing/wait", "bench/internal/harness"},
	"bench/retrieval":                        {"gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/service/testing/daemon", "internal/service/testing/dataset/synthetic", "bench/internal/harness"},
	"bench/sleep":                            {"gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/operate/postgres", "internal/service/testing/daemon", "internal/service/testing/dataset/synthetic", "bench/internal/harness"},
	"bench/tenants":                          {"gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/operate/postgres", "internal/tenant/provision", "internal/service/testing/daemon", "internal/service/testing/dataset/synthetic", "migrations", "bench/internal/harness"},
	"cmd/ragd/access":                        {"cmd/ragd/internal/client", "cmd/ragd/internal/command", "cmd/ragd/internal/config", "cmd/ragd/internal/misuse", "cmd/ragd/internal/output", "cmd/ragd/internal/paging", "gen/ragd/v1", "internal/tenant/access/credential"},
	"cmd/ragd/automation":                    {"cmd/ragd/internal/build", "cmd/ragd/internal/client", "cmd/ragd/internal/command", "cmd/ragd/internal/mcpclient", "cmd/ragd/internal/misuse", "cmd/ragd/internal/output", "cmd/ragd/internal/paging", "gen/ragd/v1", "internal/api/mcp/stdio", "internal/operate/nearest"},
	"cmd/ragd/data":                          {"cmd/ragd/internal/client", "cmd/ragd/internal/command", "cmd/ragd/internal/graphdraw", "cmd/ragd/internal/jobs", "cmd/ragd/internal/localfiles", "cmd/ragd/internal/misuse", "cmd/ragd/internal/output", "cmd/ragd/internal/paging", "cmd/ragd/internal/progress", "cmd/ragd/internal/upload", "gen/ragd/v1", "internal/tool/finding"},
	"cmd/ragd/declare":                       {"cmd/ragd/internal/client", "cmd/ragd/internal/command", "cmd/ragd/internal/misuse", "cmd/ragd/internal/output", "gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/api/jsonmessage", "internal/api/openapi", "internal/operate/fault", "internal/operate/nearest"},
	"cmd/ragd/evaluate":                      {"cmd/ragd/data", "cmd/ragd/internal/client", "cmd/ragd/internal/command", "cmd/ragd/internal/jobs", "cmd/ragd/internal/localfiles", "cmd/ragd/internal/misuse", "cmd/ragd/internal/output", "cmd/ragd/internal/paging", "cmd/ragd/internal/progress", "gen/ragd/v1", "internal/api/jsonmessage", "internal/automation/evaluate", "internal/automation/evaluate/measure"},
	"cmd/ragd/internal/archivefile":          {"internal/tenant/archive/frame"},
	"cmd/ragd/internal/build":                {},
	"cmd/ragd/internal/client":               {"cmd/ragd/internal/config", "cmd/ragd/internal/misuse", "gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "sdk/go"},
	"cmd/ragd/internal/command":              {"cmd/ragd/internal/client", "cmd/ragd/internal/misuse", "cmd/ragd/internal/output", "gen/ragd/v1", "internal/api/jsonmessage", "internal/operate/fault", "internal/operate/nearest"},
	"cmd/ragd/internal/config":               {"internal/operate/nearest"},
	"cmd/ragd/internal/graphdraw":            {},
	"cmd/ragd/internal/jobs":                 {"cmd/ragd/internal/client", "cmd/ragd/internal/output", "gen/ragd/v1"},
	"cmd/ragd/internal/localfiles":           {"internal/api/jsonmessage", "internal/chunk/frontmatter", "internal/ingest/export", "internal/ingest/parse", "internal/operate/fault"},
	"cmd/ragd/internal/memory":               {},
	"cmd/ragd/internal/mcpclient":            {"cmd/ragd/internal/output"},
	"cmd/ragd/internal/misuse":               {},
	"cmd/ragd/internal/output":               {},
	"cmd/ragd/internal/paging":               {},
	"cmd/ragd/internal/progress":             {"cmd/ragd/internal/output", "cmd/ragd/internal/upload"},
	"cmd/ragd/internal/upload":               {"cmd/ragd/internal/localfiles", "gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/operate/metadata", "sdk/go"},
	"cmd/ragd/operate":                       {"cmd/ragd/internal/archivefile", "cmd/ragd/internal/build", "cmd/ragd/internal/client", "cmd/ragd/internal/command", "cmd/ragd/internal/config", "cmd/ragd/internal/memory", "cmd/ragd/internal/misuse", "cmd/ragd/internal/output", "cmd/ragd/internal/paging", "cmd/ragd/internal/progress", "cmd/ragd/settings", "gen/ragd/v1", "internal/ingest/parse", "internal/ingest/parse/subprocess", "internal/model/embed", "internal/model/localmodel", "internal/model/localmodel/hub", "internal/operate/doctor", "internal/operate/notices", "internal/operate/postgres", "internal/operate/postgres/embedded", "internal/secure/outbound", "internal/secure/seal", "internal/service", "internal/tenant/provision", "internal/tenant/archive", "internal/tenant/archive/frame", "internal/tenant/place/move", "internal/tenant/place/replica", "internal/tenant/quota"},
	"cmd/ragd/quickstart":                    {"cmd/ragd/data", "cmd/ragd/internal/client", "cmd/ragd/internal/command", "cmd/ragd/internal/localfiles", "cmd/ragd/internal/mcpclient", "cmd/ragd/internal/misuse", "cmd/ragd/internal/output", "cmd/ragd/operate", "gen/ragd/v1"},
	"cmd/ragd/settings":                      {"cmd/ragd/internal/build", "cmd/ragd/internal/config", "gen/ragd/v1", "internal/api/console", "internal/api/httpserver", "internal/api/jsonmessage", "internal/api/mcp/mcphttp", "internal/automation/event/journal", "internal/index", "internal/ingest", "internal/ingest/parse/libreoffice", "internal/ingest/parse/ocr", "internal/ingest/parse/transcript", "internal/model/embed", "internal/model/endpoint", "internal/model/localmodel", "internal/model/localmodel/hub", "internal/operate/fault", "internal/secure/outbound", "internal/secure/seal", "internal/service", "internal/tenant", "internal/tenant/access", "internal/tenant/access/credential", "internal/tenant/access/oauth", "internal/tenant/place/move", "internal/tenant/place/replica", "internal/tool/server", "internal/tenant/sleep"},
	"examples/slack":                         {"gen/ragd/v1", "sdk/go"},
	"examples/teams":                         {"gen/ragd/v1", "sdk/go"},
	"hack/apidoc":                            {},
	"hack/notices":                           {},
	"hack/openapi":                           {},
	"hack/pdfium":                            {},
	"hack/pythonapi":                         {},
	"hack/structure":                         {},
	"hack/testservice":                       {"gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/service/testing/daemon", "internal/service/testing/modelserver"},
	"internal/tenant/quota/admission":        {"internal/operate/cache", "internal/operate/fault", "internal/operate/limit", "internal/tenant", "internal/tenant/quota"},
	"internal/automation/memory":             {"internal/index", "internal/index/vector", "internal/operate/fault", "internal/operate/textlimit", "internal/query", "internal/query/filter", "internal/query/notable", "internal/tenant/access"},
	"internal/automation/agent":              {"internal/automation/memory", "internal/query/grounding", "internal/tenant/quota/admission", "internal/model/endpoint", "internal/tool/expression", "internal/operate/fault", "internal/model/llm", "internal/operate/pagination", "internal/tool/remote", "internal/tool/schema", "internal/tool/template", "internal/tenant/access", "internal/tenant/data", "internal/operate/textlimit", "internal/tool/toolset", "internal/tenant/catalog", "internal/tenant/quota"},
	"internal/tenant/archive":                {"internal/tenant/archive/frame", "internal/operate/fault", "internal/index", "internal/operate/limit", "internal/operate/postgres", "internal/tenant", "internal/tenant/access", "internal/tenant/access/credential", "internal/tenant/data", "internal/tenant/provision", "internal/tenant/quota", "internal/operate/textlimit", "migrations"},
	"internal/tenant/archive/frame":          {"internal/operate/fault"},
	"internal/tenant/idempotency":            {"internal/operate/fault", "internal/operate/postgres", "internal/secure/seal", "internal/tenant", "internal/tenant/access"},
	"internal/tenant/catalog":                {"internal/operate/fault", "internal/operate/nearest", "internal/operate/pagination", "internal/operate/textlimit", "internal/tenant/access", "internal/tenant/data"},
	"internal/operate/audit":                 {"internal/operate/fault", "internal/api/httpserver", "internal/operate/pagination", "internal/operate/postgres", "internal/operate/telemetry", "internal/tenant", "internal/tenant/access", "internal/tenant/access/credential", "internal/operate/textlimit"},
	"internal/ingest/backlog":                {"internal/operate/fault", "internal/operate/postgres", "internal/tenant", "internal/tenant/data"},
	"internal/operate/cache":                 {},
	"internal/chunk":                         {"internal/chunk/assembly", "internal/chunk/htmlsplit", "internal/chunk/jsonsplit", "internal/chunk/markdown", "internal/chunk/outline", "internal/chunk/sentence", "internal/chunk/textspan", "internal/chunk/tokenizer", "internal/operate/fault", "internal/operate/limit", "internal/operate/pattern"},
	"internal/chunk/assembly":                {"internal/chunk/blocks", "internal/chunk/textspan", "internal/operate/fault"},
	"internal/chunk/blocks":                  {},
	"internal/chunk/frontmatter":             {"internal/operate/fault", "internal/operate/metadata", "internal/operate/textlimit"},
	"internal/chunk/htmlsplit":               {"internal/chunk/assembly", "internal/chunk/outline", "internal/chunk/textspan", "internal/operate/limit", "internal/operate/textlimit"},
	"internal/chunk/jsonsplit":               {"internal/chunk/assembly", "internal/chunk/blocks", "internal/chunk/textspan", "internal/operate/fault"},
	"internal/chunk/markdown":                {"internal/chunk/assembly", "internal/chunk/frontmatter", "internal/chunk/outline", "internal/chunk/textspan", "internal/operate/fault", "internal/operate/limit"},
	"internal/chunk/outline":                 {},
	"internal/chunk/sentence":                {"internal/chunk/textspan"},
	"internal/chunk/textspan":                {},
	"internal/chunk/tokenizer":               {"internal/chunk/textspan"},
	"internal/automation/connector/manifest": {"internal/operate/fault", "internal/operate/textlimit", "internal/tool/expression"},
	"internal/automation/connector/recipe":   {"internal/operate/fault", "internal/operate/textlimit"},
	"internal/automation/connector":          {"internal/automation/connector/manifest", "internal/automation/connector/recipe", "internal/automation/webhook", "internal/chunk", "internal/tool/expression", "internal/ingest/export", "internal/ingest/extract", "internal/operate/fault", "internal/query/filter", "internal/index", "internal/ingest", "internal/tenant/job", "internal/operate/limit", "internal/tool/mcpclient", "internal/tool/mcptool", "internal/operate/metadata", "internal/secure/oauthclient", "internal/secure/outbound", "internal/operate/pagination", "internal/ingest/parse", "internal/operate/pattern", "internal/operate/postgres", "internal/tool/prompt", "internal/tool/remote", "internal/secure/seal", "internal/secure/secret", "internal/tool/template", "internal/tenant", "internal/tenant/access", "internal/tenant/access/credential", "internal/tenant/data", "internal/operate/textlimit", "internal/tool", "internal/tool/toolset", "internal/tenant/catalog", "internal/tenant/quota"},
	"internal/api/openapi":                   {"internal/api/httpserver"},
	"internal/api/answerbox":                 {"internal/api/httpserver"},
	"internal/api/console":                   {"internal/operate/cache", "internal/operate/fault", "internal/api/httpserver", "internal/operate/notices", "internal/operate/postgres", "internal/tenant/access/credential"},
	"internal/tool/contextkey":               {"internal/operate/cache", "internal/operate/fault", "internal/tool/schema", "internal/tenant", "internal/tenant/access", "internal/tenant/data", "internal/operate/textlimit", "internal/tenant/catalog", "internal/operate/nearest", "internal/operate/pagination"},
	"internal/operate/doctor":                {"internal/api/httpserver", "internal/operate/postgres", "internal/index/storage", "internal/operate/postgres/embedded"},
	"internal/model/embed":                   {"internal/operate/cache", "internal/model/endpoint", "internal/operate/fault", "internal/query/lexical", "internal/operate/limit"},
	"internal/model/endpoint":                {"internal/operate/fault", "internal/operate/limit", "internal/secure/outbound", "internal/operate/telemetry", "internal/operate/textlimit"},
	"internal/model/endpoint/own":            {"internal/operate/cache", "internal/model/endpoint", "internal/operate/fault", "internal/secure/outbound", "internal/secure/seal", "internal/tenant", "internal/tenant/access", "internal/tenant/data", "internal/operate/textlimit", "internal/tenant/catalog"},
	"internal/automation/evaluate":           {"internal/automation/agent", "internal/chunk/sentence", "internal/model/endpoint", "internal/automation/evaluate/measure", "internal/operate/fault", "internal/query/filter", "internal/index", "internal/tenant/job", "internal/query", "internal/query/lexical", "internal/operate/limit", "internal/model/llm", "internal/operate/pagination", "internal/tool/schema", "internal/tenant", "internal/tenant/access", "internal/tenant/access/credential", "internal/tenant/data", "internal/operate/textlimit", "internal/tenant/catalog", "internal/query/notable"},
	"internal/automation/evaluate/measure":   {"internal/operate/limit"},
	"internal/automation/event":              {"internal/tenant"},
	"internal/automation/event/journal":      {"internal/operate/cache", "internal/automation/event", "internal/operate/fault", "internal/query/filter", "internal/operate/pagination", "internal/operate/postgres", "internal/tenant", "internal/tenant/access", "internal/tenant/data", "internal/operate/textlimit"},
	"internal/tool/expression":               {"internal/operate/fault", "internal/tool/schema", "internal/operate/textlimit"},
	"internal/ingest/extract":                {"internal/operate/cache", "internal/model/endpoint", "internal/operate/fault", "internal/query/lexical", "internal/model/llm", "internal/operate/metadata", "internal/operate/textlimit"},
	"internal/operate/fault":                 {},
	"internal/query/budget":                  {"internal/chunk/sentence", "internal/chunk/tokenizer", "internal/operate/fault"},
	"internal/ingest/parse/grid":             {},
	"internal/query/table":                   {"internal/ingest/parse/grid", "internal/operate/fault", "internal/operate/nearest", "internal/query/filter"},
	"internal/query/column":                  {"internal/index", "internal/operate/cache", "internal/query/facet", "internal/query/filter", "internal/tenant", "internal/tenant/data"},
	"internal/query/facet":                   {"internal/operate/fault", "internal/query/filter"},
	"internal/query/filter":                  {"internal/operate/fault", "internal/operate/nearest", "internal/operate/textlimit"},
	"internal/graph":                         {"internal/operate/cache", "internal/model/endpoint", "internal/operate/fault", "internal/query/budget", "internal/query/filter", "internal/graph/community", "internal/graph/keyterm", "internal/graph/names", "internal/graph/walk", "internal/index", "internal/tenant/job", "internal/query/lexical", "internal/operate/limit", "internal/model/llm", "internal/operate/pagination", "internal/query", "internal/rerank", "internal/tenant", "internal/tenant/access", "internal/tenant/data", "internal/operate/textlimit", "internal/tenant/quota/usage", "internal/index/analyzer", "internal/query/notable"},
	"internal/graph/research":                {"internal/chunk/sentence", "internal/graph", "internal/index", "internal/index/analyzer", "internal/operate/fault", "internal/operate/textlimit", "internal/query", "internal/query/budget", "internal/query/filter", "internal/tenant/access", "internal/tenant/data"},
	"internal/graph/community":               {"internal/operate/limit"},
	"internal/graph/keyterm":                 {"internal/query/lexical", "internal/operate/limit"},
	"internal/graph/names":                   {"internal/query/lexical"},
	"internal/graph/walk":                    {"internal/operate/fault", "internal/operate/limit"},
	"internal/automation/hook":               {"internal/automation/event", "internal/automation/event/journal", "internal/operate/fault", "internal/tenant/job", "internal/operate/limit", "internal/secure/outbound", "internal/operate/pagination", "internal/tool/remote", "internal/secure/seal", "internal/tenant", "internal/tenant/access", "internal/tenant/data", "internal/operate/textlimit", "internal/automation/webhook", "internal/tenant/catalog"},
	"internal/api/httpserver":                {"internal/operate/fault", "internal/operate/logrepeat", "internal/operate/textlimit"},
	"internal/tool/httptool":                 {"gen/ragd/v1", "internal/operate/cache", "internal/operate/fault", "internal/secure/identity", "internal/secure/outbound", "internal/tool/remote", "internal/tool/schema", "internal/secure/secret", "internal/tool/template", "internal/tenant/access", "internal/operate/textlimit", "internal/tool/toolset", "internal/automation/webhook", "internal/tenant/quota"},
	"internal/secure/identity":               {"internal/operate/fault", "internal/operate/postgres", "internal/secure/seal"},
	"internal/index":                         {"internal/operate/metadata", "internal/tool/schema", "internal/ingest/backlog", "internal/operate/cache", "internal/chunk", "internal/model/embed", "internal/ingest/extract", "internal/operate/fault", "internal/query/filter", "internal/tenant/job", "internal/operate/nearest", "internal/operate/pagination", "internal/operate/postgres", "internal/tenant", "internal/tenant/access", "internal/tenant/data", "internal/tenant/quota", "internal/operate/textlimit", "internal/index/analyzer", "internal/index/wording", "internal/tenant/catalog"},
	"internal/ingest":                        {"internal/ingest/backlog", "internal/chunk", "internal/chunk/markdown", "internal/chunk/textspan", "internal/model/embed", "internal/ingest/extract", "internal/operate/fault", "internal/query/filter", "internal/graph", "internal/index", "internal/tenant/job", "internal/operate/limit", "internal/operate/metadata", "internal/operate/pagination", "internal/ingest/parse", "internal/operate/telemetry", "internal/tenant", "internal/tenant/access", "internal/tenant/data", "internal/tenant/quota", "internal/operate/textlimit", "internal/tenant/quota/usage", "internal/query/alert", "internal/ingest/parse/grid", "internal/ingest/parse/pdftext", "internal/operate/cache"},
	"internal/tenant/job":                    {"internal/operate/fault", "internal/query/filter", "internal/operate/pagination", "internal/operate/postgres", "internal/operate/telemetry", "internal/tenant", "internal/tenant/access", "internal/tenant/data", "internal/operate/textlimit"},
	"internal/api/jsonmessage":               {"internal/operate/fault", "internal/operate/nearest", "internal/operate/textlimit"},
	"internal/query/distinct":                {"internal/operate/limit"},
	"internal/query/grounding":               {"internal/chunk/sentence", "internal/index/analyzer", "internal/operate/textlimit"},
	"internal/query/lexical":                 {},
	"internal/query/alert":                   {"internal/index", "internal/index/analyzer", "internal/model/embed", "internal/model/localmodel/kernel", "internal/operate/cache", "internal/operate/fault", "internal/operate/pagination", "internal/operate/textlimit", "internal/query/filter", "internal/tenant", "internal/tenant/access", "internal/tenant/access/credential", "internal/tenant/data"},
	"internal/query/notable":                 {"internal/index", "internal/operate/fault", "internal/operate/pagination", "internal/operate/postgres", "internal/operate/textlimit", "internal/tenant", "internal/tenant/access", "internal/tenant/data"},
	"internal/operate/limit":                 {"internal/operate/fault"},
	"internal/model/llm":                     {"internal/model/endpoint", "internal/operate/fault"},
	"internal/model/localmodel":              {"internal/model/endpoint", "internal/operate/fault", "internal/operate/limit", "internal/model/localmodel/kernel", "internal/model/localmodel/safetensors", "internal/model/localmodel/tokenize", "internal/model/localmodel/transformer"},
	"internal/model/localmodel/hub":          {"internal/model/localmodel"},
	"internal/model/localmodel/kernel":       {},
	"internal/model/localmodel/safetensors":  {},
	"internal/model/localmodel/tokenize":     {},
	"internal/model/localmodel/transformer":  {"internal/model/localmodel/kernel", "internal/model/localmodel/safetensors"},
	"internal/operate/logrepeat":             {},
	"internal/api/mcp":                       {"gen/ragd/v1", "internal/automation/event", "internal/operate/fault", "internal/operate/limit", "internal/api/httpserver", "internal/api/jsonmessage", "internal/api/mcp/mcphttp", "internal/tool/server", "internal/tenant", "internal/tenant/access", "internal/operate/textlimit", "internal/tool/toolset"},
	"internal/api/mcp/mcphttp":               {"internal/tenant/quota/admission", "internal/automation/event", "internal/operate/fault", "internal/api/httpserver", "internal/api/jsonmessage", "internal/operate/limit", "internal/tenant", "internal/tenant/access", "internal/tenant/access/credential", "internal/tenant/data"},
	"internal/api/mcp/stdio":                 {},
	"internal/tool/mcpclient":                {"internal/tenant/quota/admission", "internal/operate/fault", "internal/secure/outbound", "internal/tool/remote", "internal/secure/secret", "internal/tool/template", "internal/tenant/access", "internal/operate/textlimit"},
	"internal/tool/mcptool":                  {"gen/ragd/v1", "internal/operate/fault", "internal/tool/mcpclient", "internal/secure/outbound", "internal/tool/remote", "internal/tool/schema", "internal/tool/template", "internal/tenant", "internal/tenant/access", "internal/operate/textlimit", "internal/tool/toolset", "internal/tenant/quota"},
	"internal/operate/metadata":              {"internal/operate/fault"},
	"internal/operate/nearest":               {},
	"internal/operate/notices":               {},
	"internal/secure/oauthclient":            {"internal/operate/fault", "internal/secure/outbound", "internal/operate/textlimit"},
	"internal/api/openai":                    {"gen/ragd/v1", "internal/automation/agent", "internal/chunk/sentence", "internal/model/llm", "internal/api/jsonmessage", "internal/tenant/quota/admission", "internal/chunk", "internal/chunk/tokenizer", "internal/operate/fault", "internal/query/filter", "internal/api/httpserver", "internal/index", "internal/ingest", "internal/query", "internal/rerank", "internal/tenant", "internal/tenant/access", "internal/tenant/data", "internal/operate/textlimit", "internal/tenant/idempotency"},
	"internal/secure/outbound":               {"internal/operate/fault"},
	"internal/operate/pagination":            {"internal/operate/fault"},
	"internal/ingest/export":                 {"internal/ingest/parse", "internal/ingest/parse/mailbox", "internal/operate/fault", "internal/operate/textlimit"},
	"internal/ingest/parse/mailbox":          {},
	"internal/ingest/parse":                  {"internal/chunk/frontmatter", "internal/chunk/markdown", "internal/chunk/textspan", "internal/operate/fault", "internal/operate/metadata", "internal/ingest/parse/mailbox", "internal/ingest/parse/markup", "internal/ingest/parse/pdftext", "internal/operate/textlimit", "internal/ingest/parse/grid", "internal/ingest/parse/caption"},
	"internal/ingest/parse/caption":          {},
	"internal/ingest/parse/markup":           {},
	"internal/ingest/parse/libreoffice":      {"internal/operate/fault", "internal/operate/textlimit"},
	"internal/ingest/parse/ocr":              {"internal/operate/fault", "internal/operate/textlimit"},
	"internal/ingest/parse/pdftext":          {"internal/ingest/parse/caption", "internal/operate/fault", "internal/operate/textlimit"},
	"internal/ingest/parse/subprocess":       {"internal/operate/fault", "internal/operate/limit", "internal/ingest/parse", "internal/ingest/parse/libreoffice", "internal/ingest/parse/ocr", "internal/ingest/parse/pdftext"},
	"internal/ingest/parse/transcript":       {"internal/operate/fault", "internal/ingest/parse", "internal/model/endpoint"},
	"internal/operate/pattern":               {},
	"internal/operate/postgres":              {"internal/operate/fault"},
	"internal/operate/postgres/embedded":     {"internal/operate/fault", "internal/operate/postgres"},
	"internal/tenant/place/move":             {"internal/index/analyzer", "internal/operate/fault", "internal/tenant/job", "internal/operate/pagination", "internal/operate/postgres", "internal/tenant", "internal/tenant/access", "internal/tenant/provision"},
	"internal/tenant/place/placement":        {"internal/operate/fault", "internal/secure/outbound", "internal/operate/postgres", "internal/tenant/place/replica", "internal/secure/seal", "internal/tenant", "internal/tenant/access", "internal/tenant/data", "internal/tenant/provision", "migrations"},
	"internal/tool/policy":                   {"internal/operate/cache", "internal/operate/fault", "internal/operate/pattern", "internal/operate/textlimit", "internal/tenant", "internal/tenant/access", "internal/tenant/catalog", "internal/tenant/data", "internal/tenant/quota/admission", "internal/tool/expression", "internal/tool/schema", "internal/tool/toolset"},
	"internal/tool/prompt":                   {"internal/operate/fault", "internal/tool/remote", "internal/tool/template", "internal/tenant/access", "internal/tenant/data", "internal/operate/textlimit", "internal/tenant/catalog"},
	"internal/query":                         {"internal/query/grounding", "internal/operate/cache", "internal/chunk/sentence", "internal/model/embed", "internal/model/localmodel/kernel", "internal/operate/fault", "internal/query/budget", "internal/query/column", "internal/query/distinct", "internal/query/facet", "internal/query/filter", "internal/query/lexical", "internal/index", "internal/operate/limit", "internal/operate/nearest", "internal/operate/pagination", "internal/rerank", "internal/operate/telemetry", "internal/tenant", "internal/tenant/access", "internal/tenant/data", "internal/operate/textlimit", "internal/tenant/quota/usage", "internal/index/analyzer", "internal/query/notable", "internal/index/wording", "internal/ingest/parse/grid", "internal/query/table"},
	"internal/tool/remote":                   {"internal/tenant/quota/admission", "internal/operate/fault", "internal/secure/identity", "internal/operate/limit", "internal/secure/outbound", "internal/tool/schema", "internal/tool/template", "internal/tenant", "internal/tenant/access"},
	"internal/tenant/place/replica":          {"internal/operate/fault", "internal/operate/limit", "internal/operate/postgres"},
	"internal/rerank":                        {"internal/operate/cache", "internal/model/endpoint", "internal/operate/fault", "internal/query/lexical", "internal/operate/limit", "internal/model/llm", "internal/operate/textlimit"},
	"internal/api/rpc":                       {"internal/automation/memory", "internal/query/grounding", "internal/graph/research", "gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/tenant/quota/admission", "internal/automation/agent", "internal/tenant/archive", "internal/tenant/archive/frame", "internal/operate/audit", "internal/chunk", "internal/automation/connector", "internal/tool/contextkey", "internal/model/endpoint", "internal/model/endpoint/own", "internal/automation/evaluate", "internal/automation/evaluate/measure", "internal/automation/event/journal", "internal/ingest/extract", "internal/operate/fault", "internal/query/budget", "internal/query/facet", "internal/query/filter", "internal/graph", "internal/automation/hook", "internal/api/httpserver", "internal/tool/httptool", "internal/index", "internal/ingest", "internal/tenant/job", "internal/api/jsonmessage", "internal/operate/limit", "internal/tool/mcptool", "internal/operate/metadata", "internal/operate/nearest", "internal/operate/pagination", "internal/tenant/place/move", "internal/tenant/place/placement", "internal/tool/policy", "internal/tool/prompt", "internal/query", "internal/rerank", "internal/tool/schema", "internal/operate/reseal", "internal/secure/secret", "internal/tool/server", "internal/tool/template", "internal/tenant", "internal/tenant/access", "internal/tenant/access/credential", "internal/tenant/data", "internal/tenant/provision", "internal/tool", "internal/tool/toolset", "internal/tenant/quota/usage", "internal/index/vector", "internal/automation/workflow", "internal/query/notable", "internal/index/wording", "internal/query/alert", "internal/ingest/parse/grid", "internal/query/table", "internal/tenant/idempotency", "internal/tenant/sleep", "internal/ingest/parse/pdftext", "internal/tenant/quota", "internal/tenant/quota/plan"},
	"internal/tool/schema":                   {"internal/operate/fault", "internal/operate/nearest", "internal/operate/pattern", "internal/operate/textlimit"},
	"internal/secure/seal":                   {"internal/operate/fault"},
	"internal/operate/reseal":                {"internal/automation/connector", "internal/model/endpoint/own", "internal/operate/fault", "internal/automation/hook", "internal/secure/identity", "internal/tenant/place/placement", "internal/operate/postgres", "internal/secure/seal", "internal/secure/secret", "internal/tenant", "internal/tenant/data", "internal/tenant/provision", "internal/tenant/idempotency", "internal/tenant/sleep"},
	"internal/secure/secret":                 {"internal/operate/fault", "internal/secure/seal", "internal/tenant", "internal/tenant/access", "internal/tenant/data", "internal/operate/textlimit", "internal/automation/webhook", "internal/tenant/catalog"},
	"internal/tool/server":                   {"internal/operate/cache", "internal/operate/fault", "internal/query/filter", "internal/tool/template", "internal/tenant", "internal/tenant/access", "internal/tenant/data", "internal/operate/textlimit", "internal/tool/toolset", "internal/tenant/catalog"},
	"internal/service":                       {"internal/automation/memory", "internal/graph/research", "internal/tenant/quota", "internal/tenant/quota/admission", "internal/automation/agent", "internal/tenant/archive", "internal/operate/audit", "internal/ingest/backlog", "internal/operate/cache", "internal/automation/connector", "internal/api/answerbox", "internal/api/console", "internal/tool/contextkey", "internal/model/embed", "internal/model/endpoint", "internal/model/endpoint/own", "internal/automation/evaluate", "internal/automation/event", "internal/automation/event/journal", "internal/ingest/extract", "internal/operate/fault", "internal/graph", "internal/automation/hook", "internal/api/httpserver", "internal/tool/httptool", "internal/secure/identity", "internal/index", "internal/ingest", "internal/tenant/job", "internal/operate/limit", "internal/model/llm", "internal/model/localmodel", "internal/operate/logrepeat", "internal/api/mcp", "internal/api/mcp/mcphttp", "internal/tool/mcptool", "internal/tenant/place/move", "internal/api/openai", "internal/api/openapi", "internal/secure/outbound", "internal/ingest/parse", "internal/ingest/parse/libreoffice", "internal/ingest/parse/ocr", "internal/ingest/parse/subprocess", "internal/ingest/parse/transcript", "internal/tenant/place/placement", "internal/operate/postgres", "internal/operate/postgres/embedded", "internal/tool/policy", "internal/tool/prompt", "internal/query", "internal/tool/remote", "internal/tenant/place/replica", "internal/rerank", "internal/api/rpc", "internal/secure/seal", "internal/operate/reseal", "internal/secure/secret", "internal/tool/server", "internal/tool/task", "internal/index/storage", "internal/operate/telemetry", "internal/tenant", "internal/tenant/access", "internal/tenant/access/credential", "internal/tenant/data", "internal/tenant/provision", "internal/tool", "internal/tool/toolset", "internal/tenant/quota/usage", "internal/index/vector", "internal/automation/workflow", "internal/query/notable", "internal/query/alert", "internal/tenant/idempotency", "internal/tenant/sleep", "internal/tenant/quota/plan"},
	"internal/index/storage":                 {"internal/operate/fault"},
	"internal/operate/telemetry":             {"internal/operate/fault"},
	"internal/tool/template":                 {"internal/operate/fault", "internal/tenant/access"},
	"internal/tenant":                        {"internal/operate/fault", "internal/operate/nearest", "internal/operate/postgres", "internal/operate/textlimit", "internal/tenant/quota"},
	"internal/tenant/access":                 {"internal/operate/fault", "internal/operate/pagination", "internal/operate/textlimit", "internal/query/filter", "internal/tenant", "internal/tenant/quota", "internal/tool/schema"},
	"internal/tenant/access/credential":      {"internal/operate/cache", "internal/operate/fault", "internal/operate/metadata", "internal/operate/nearest", "internal/operate/pagination", "internal/operate/postgres", "internal/operate/textlimit", "internal/query/filter", "internal/tenant", "internal/tenant/access", "internal/tenant/data", "internal/tenant/quota"},
	"internal/tenant/data":                   {"internal/index/storage", "internal/operate/fault", "internal/operate/limit", "internal/operate/postgres", "internal/tenant", "internal/tenant/place/replica", "migrations"},
	"internal/tenant/provision":              {"internal/index/storage", "internal/operate/fault", "internal/operate/pagination", "internal/operate/postgres", "internal/tenant", "internal/tenant/access", "internal/tenant/data", "internal/tenant/quota", "migrations", "internal/operate/textlimit"},
	"internal/tenant/sleep":                  {"internal/operate/fault", "internal/operate/postgres", "internal/operate/textlimit", "internal/secure/seal", "internal/tenant", "internal/tenant/archive", "internal/tenant/archive/frame", "internal/tenant/data", "internal/tenant/job", "internal/tenant/place/move", "internal/tenant/provision"},
	"internal/tenant/quota":                  {"internal/operate/fault", "internal/operate/nearest"},
	"internal/tenant/access/oauth":           {"internal/operate/cache", "internal/operate/fault", "internal/operate/limit", "internal/query/filter", "internal/secure/outbound", "internal/tenant", "internal/tenant/access", "internal/tenant/access/credential"},
	"internal/operate/textlimit":             {"internal/operate/fault"},
	"internal/tool":                          {"internal/operate/fault", "internal/query/filter", "internal/index", "internal/tool/schema", "internal/tenant", "internal/tenant/access", "internal/tenant/data", "internal/operate/textlimit", "internal/tenant/catalog"},
	"internal/tool/toolschema":               {"internal/operate/textlimit"},
	"internal/tool/finding":                  {"gen/ragd/v1"},
	"internal/tool/task":                     {"internal/operate/fault", "internal/operate/limit", "internal/operate/textlimit", "internal/tenant", "internal/tenant/access", "internal/tenant/data", "internal/tenant/quota/admission", "internal/tool/toolset"},
	"internal/tool/toolset":                  {"gen/ragd/v1", "internal/tool/finding", "internal/tenant/quota/admission", "internal/operate/cache", "internal/operate/fault", "internal/query/budget", "internal/query/filter", "internal/api/jsonmessage", "internal/operate/limit", "internal/operate/nearest", "internal/query", "internal/tool/schema", "internal/operate/telemetry", "internal/tool/template", "internal/tenant", "internal/tenant/access", "internal/operate/textlimit", "internal/tool/toolschema"},
	"internal/tenant/quota/plan":             {"internal/operate/fault", "internal/operate/nearest", "internal/operate/pagination", "internal/operate/postgres", "internal/operate/textlimit", "internal/tenant", "internal/tenant/access", "internal/tenant/quota"},
	"internal/tenant/quota/usage":            {"internal/operate/cache", "internal/model/endpoint", "internal/operate/fault", "internal/operate/pagination", "internal/operate/postgres", "internal/operate/telemetry", "internal/tenant", "internal/tenant/access", "internal/tenant/data", "internal/tenant/quota"},
	"internal/index/analyzer":                {"internal/operate/textlimit"},
	"internal/index/vector":                  {"internal/operate/fault", "internal/query/filter", "internal/index", "internal/tenant/job", "internal/operate/metadata", "internal/tenant/access", "internal/tenant/data", "internal/operate/textlimit", "internal/tenant/quota/usage", "internal/operate/postgres"},
	"internal/index/wording":                 {"internal/index/analyzer", "internal/operate/fault"},
	"internal/automation/webhook":            {"internal/operate/fault"},
	"internal/automation/workflow":           {"gen/ragd/v1", "internal/tenant/quota/admission", "internal/automation/agent", "internal/operate/cache", "internal/tool/expression", "internal/operate/fault", "internal/tool/httptool", "internal/tenant/job", "internal/operate/limit", "internal/operate/nearest", "internal/operate/pagination", "internal/tool/remote", "internal/tool/schema", "internal/tool/template", "internal/tenant", "internal/tenant/access", "internal/tenant/access/credential", "internal/tenant/data", "internal/operate/textlimit", "internal/tool/toolset", "internal/tenant/catalog", "internal/tenant/quota"},
	"migrations":                             {},
	"sdk/go":                                 {"gen/ragd/v1", "gen/ragd/v1/ragdv1connect"},
}

// pgxpool opens the way around the tenant's handle: few may have it.
var mayImportPool = []string{"bench/retrieval", "bench/sleep", "bench/tenants", "internal/tenant/place/move", "internal/tenant/place/placement", "internal/operate/postgres", "internal/tenant/place/replica", "internal/service", "internal/tenant/access/credential", "internal/tenant/data", "internal/tenant/provision", "internal/tenant/sleep", "internal/service/testing/faultproxy", "internal/service/testing/pgtest", "internal/service/testing/schematest", "internal/service/testing/servicetest", "internal/service/testing/tenanttest"}

// testOnly must never reach the shipped binary.
var testOnly = []string{"testing", "github.com/google/go-cmp", module + "internal/service/testing"}

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
	for _, p := range list(t, "../../...") {
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
	free := []string{"cmd/ragd", "gen/", "internal/service/testing/"}
	for _, p := range list(t, "../../...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		_, listed := mayImport[name]
		exempt := len(p.Imports) == 0 || slices.ContainsFunc(free, func(f string) bool { return strings.HasPrefix(name, f) })
		if !listed && !exempt {
			t.Errorf("%s is not in the table of who may import whom", name)
		}
	}
}

func TestTheBinaryHasNoTestCode(t *testing.T) {
	t.Parallel()
	for _, p := range list(t, "../../cmd/ragd") {
		for _, dep := range p.Deps {
			if slices.ContainsFunc(testOnly, func(prefix string) bool { return dep == prefix || strings.HasPrefix(dep, prefix+"/") }) {
				t.Errorf("cmd/ragd depends on %s", dep)
			}
		}
	}
}

// mayImportTemplates are the packages of the binary that import text/template or html/template. A template
// calls methods by name, so that the linker keeps every exported method of the binary as soon as one can be
// executed: 15 MB.
var mayImportTemplates = map[string]string{
	"cel.dev/cel-go/cel":     "in NewPrompt, which is not called",
	"github.com/spf13/cast":  "for the type of a string",
	"github.com/spf13/cobra": "for templates of usage texts, which are not set",
	"html/template":          "is built on text/template",
}

func TestTheBinaryExecutesNoTemplates(t *testing.T) {
	t.Parallel()
	for _, p := range list(t, "-deps", "-tags=grpcnotrace", "../../cmd/ragd") { // the tag of a release
		imports := slices.Contains(p.Imports, "text/template") || slices.Contains(p.Imports, "html/template")
		if imports && mayImportTemplates[p.ImportPath] == "" {
			t.Errorf("%s imports a package of templates", p.ImportPath)
		}
	}
}

// requiredByTests are the requirements of go.mod that only tests need. The servers of tests, and what they
// are made of, are in the module hack/testservers.
var requiredByTests = []string{"github.com/google/go-cmp"}

func TestRequirementsAreThoseOfTheBinary(t *testing.T) {
	t.Parallel()
	inBinary, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "../../cmd/ragd").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json", "../../go.mod").Output()
	if err != nil {
		t.Fatalf("go mod edit: %v", err)
	}
	var file struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(out, &file); err != nil {
		t.Fatal(err)
	}
	needed := append(strings.Fields(string(inBinary)), requiredByTests...)
	for _, r := range file.Require {
		if !r.Indirect && !slices.Contains(needed, r.Path) {
			t.Errorf("go.mod requires %s, which is not in the binary", r.Path)
		}
	}
}
