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
	"internal/fault":   {},
	"internal/httplog": {"internal/fault"},
	"internal/page":    {"internal/fault"},
	"internal/arrival": {},
	"internal/lru":     {},
	"internal/runes":   {},
	"internal/lexical": {},
	"internal/chunk":   {"internal/fault", "internal/runes"},
	"internal/filter":  {"internal/fault", "internal/runes"},
	"internal/parse":   {"internal/fault", "internal/parse/pdftext", "internal/runes"},

	"internal/chunk/spaneval": {"internal/chunk"}, // measures chunk; not in the product
	"migrations":              {},

	"internal/parse/pdftext": {},
	"internal/sandbox":       {"internal/fault", "internal/parse"},

	"internal/postgres":          {"internal/fault"},
	"internal/postgres/embedded": {"internal/fault", "internal/postgres"},

	"internal/provider": {"internal/fault", "internal/runes"},
	"internal/embed":    {"internal/fault", "internal/provider", "internal/lexical", "internal/lru"},

	"internal/llm":    {"internal/fault", "internal/provider"},
	"internal/rerank": {"internal/fault", "internal/provider", "internal/llm", "internal/lexical", "internal/lru", "internal/runes"},

	"internal/tenant": {"internal/fault", "internal/filter", "internal/page", "internal/postgres", "migrations"},

	"internal/oauth":    {"internal/fault", "internal/filter", "internal/tenant"},
	"internal/metadata": {"internal/fault"},
	"internal/extract":  {"internal/fault", "internal/llm", "internal/provider", "internal/lexical", "internal/lru", "internal/metadata", "internal/runes"},
	"internal/event":    {"internal/tenant"},

	"internal/index":  {"internal/fault", "internal/page", "internal/postgres", "internal/tenant", "internal/chunk", "internal/embed", "internal/filter"},
	"internal/vector": {"internal/fault", "internal/tenant", "internal/index", "internal/filter", "internal/metadata", "internal/postgres"},
	"internal/query":  {"internal/fault", "internal/httplog", "internal/tenant", "internal/index", "internal/filter", "internal/embed", "internal/rerank", "internal/runes"},
	"internal/ingest": {"internal/fault", "internal/runes", "internal/page", "internal/postgres", "internal/tenant", "internal/index", "internal/chunk", "internal/filter", "internal/embed", "internal/metadata", "internal/graph", "internal/parse", "internal/extract"},
	"internal/tool":   {"internal/fault", "internal/filter", "internal/index", "internal/page", "internal/tenant"},
	"internal/graph":  {"internal/fault", "internal/tenant", "internal/index", "internal/query", "internal/filter", "internal/lexical", "internal/lru", "internal/rerank"},

	"internal/rpc": {
		"gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/httplog", "internal/fault", "internal/filter",
		"internal/tenant", "internal/index", "internal/ingest", "internal/query", "internal/graph", "internal/rerank", "internal/vector", "internal/tool",
	},

	"internal/mcp/front": {"internal/httplog", "internal/fault", "internal/tenant"},
	"internal/mcp": {
		"gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/httplog", "internal/fault", "internal/filter",
		"internal/tenant", "internal/event", "internal/mcp/front",
	},
	"internal/mcp/conformance": {"internal/mcp/front", "internal/tenant"},

	// What the command line does with the API, from the outside.
	"internal/corpus":  {"internal/fault", "internal/parse"},
	"internal/eval":    {},
	"internal/drawing": {},
	"internal/upload":  {"internal/corpus", "gen/ragd/v1", "gen/ragd/v1/ragdv1connect"},

	"bench/retrieval": {"gen/ragd/v1", "gen/ragd/v1/ragdv1connect", "internal/testset/synthetic"}, // not in the product
}

// pgxpool opens the way around the tenant's handle: few may have it.
var mayImportPool = []string{"internal/postgres", "internal/postgres/pgtest", "internal/tenant", "internal/servicetest", "cmd/ragd", "bench/retrieval"}

// testOnly must never reach the shipped binary.
var testOnly = []string{"testing", "github.com/google/go-cmp", "github.com/testcontainers", module + "internal/servicetest", module + "internal/postgres/pgtest", module + "internal/fakeai"}

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
	free := []string{"cmd/", "gen/", "internal/servicetest", "internal/postgres/pgtest", "internal/testset", "internal/fakeai"}
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
