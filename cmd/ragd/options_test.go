package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"

	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
)

// table is a table of a page.
type table struct {
	where string // page and heading, such as "chunking.md token"
	first string // heading of the first column
	rows  [][]string
}

// inCode matches what a cell has in code.
var inCode = regexp.MustCompile("`([^`]+)`")

// tablesOf returns the tables of a page.
func tablesOf(t *testing.T, page string) []table {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs/reference", page))
	if err != nil {
		t.Fatal(err)
	}
	var found []table
	heading, within := "", false
	for line := range strings.SplitSeq(string(text), "\n") {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			heading = title
		}
		if !strings.HasPrefix(line, "|") {
			within = false
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case !within:
			found = append(found, table{where: page + " " + strings.ReplaceAll(heading, "`", ""), first: strings.TrimSpace(cells[0])})
		case strings.Trim(line, "|-: ") != "":
			last := &found[len(found)-1]
			last.rows = append(last.rows, cells)
		}
		within = true
	}
	return found
}

// options returns the names in the first column: those in code, else all.
func (tb table) options() []string {
	var names []string
	for _, row := range tb.rows {
		if !strings.Contains(row[0], "`") && row[0] != "" {
			names = append(names, strings.Split(row[0], ", ")...)
		}
		for _, m := range inCode.FindAllStringSubmatch(row[0], -1) {
			if !strings.Contains(m[1], ": ") { // a value, such as keepSeparator: true
				names = append(names, m[1])
			}
		}
	}
	return names
}

// doors calls a service in every way that takes options.
type doors struct {
	*session
	mcp *client.Client
}

func newDoors(t *testing.T) *doors {
	s := newSession(t, providing(modelserver.New(t))...)
	s.want(t, step{args: args("index create docs"), stdout: anything})
	headers := map[string]string{"Authorization": "Bearer " + operatorSecret, "Ragd-Tenant": "acme"}
	return &doors{s, mcptest.Connect(t, s.url+"/mcp", mcptest.Eras["modern"], headers)}
}

// rpc calls a method with JSON, and returns the answer.
func (d *doors) rpc(t *testing.T, method string, message map[string]any) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url+"/ragd.v1."+method, bytes.NewReader(asJSON(t, message)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + operatorSecret}, "Ragd-Tenant": {"acme"}, "Content-Type": {"application/json"}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%s refuses %s: %s %v", method, asJSON(t, message), answer, err)
	}
	return string(answer)
}

// tool calls a tool over MCP.
func (d *doors) tool(t *testing.T, name string, arguments map[string]any) {
	t.Helper()
	if result, text := mcptest.Call(t, d.mcp, name, arguments, nil); result.IsError {
		t.Errorf("the tool %s refuses %s: %s", name, asJSON(t, arguments), text)
	}
}

// command runs a command line.
func (d *doors) command(t *testing.T, stdin string, line ...string) {
	t.Helper()
	d.stdin = stdin
	if code, _, stderr := d.run(line...); code != 0 {
		t.Errorf("ragd %q ends with %d: %s", line, code, stderr)
	}
}

func asJSON(t *testing.T, value any) []byte {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// with returns base with options, whose names may have dots.
func with(base map[string]any, options map[string]any) map[string]any {
	out := maps.Clone(base)
	for name, value := range options {
		if outer, inner, ok := strings.Cut(name, "."); ok {
			nested, _ := out[outer].(map[string]any)
			name, value = outer, with(maps.Clone(nested), map[string]any{inner: value})
		}
		if out == nil {
			out = map[string]any{}
		}
		out[name] = value
	}
	return out
}

type object = map[string]any

// chunkingBases are the least options of each strategy.
var chunkingBases = map[string]object{
	"recursive": {}, "character": {}, "token": {}, "markdown": {}, "semantic-markdown": {}, "latex": {},
	"html": {"headers": []any{[]any{"h1", "title"}}}, "json": {"maxSize": 100}, "sentence": {"maxSize": 100},
}

// chunkingValues are values of the options of strategies.
var chunkingValues = object{
	"strategy": nil, // each call has it
	"maxSize":  90, "size": 90, "minSize": 10, "targetSize": 40, "overlap": 9, "separatorPosition": "start", "keepSeparator": true,
	"stripWhitespace": false, "addStartIndex": true, "includeHidden": true, "separators": []any{"\n", ""}, "separator": ";", "isSeparatorRegex": true, "language": "go",
	"headers": nil, "stripHeaders": false, "returnEachLine": true, "sections": []any{[]any{"section", "title"}}, "ensureAscii": false,
	"convertLists": true, "joinThreshold": 100, "encodingName": "gpt2", "modelName": "gpt-4o", "allowedSpecial": []any{"<|endoftext|>"},
	"disallowedSpecial": "all", "sentenceEnders": []any{"."}, "fallbackToWords": false, "fallbackToCharacters": false,
}

// chunk calls every door that takes options of a split.
func (d *doors) chunk(t *testing.T, chunking object) {
	t.Helper()
	text := "# One\nTwo three. Four five.\n"
	if chunking["strategy"] == "json" {
		text = `{"one": ["two", "three"]}`
	}
	d.rpc(t, "ChunkService/ChunkText", object{"text": text, "chunking": chunking})
	d.tool(t, "document_chunker", object{"text": text, "chunking": chunking})
	d.tool(t, "upload_document", object{"indexName": "docs", "uri": "a.txt", "text": text, "chunking": chunking})
	d.command(t, text, "chunk", "-", "--chunking", string(asJSON(t, chunking)))
	d.rpc(t, "IndexService/UpdateIndex", object{"indexName": "docs", "chunking": chunking})
	kept := d.rpc(t, "IndexService/DescribeIndex", object{"indexName": "docs"})
	for name := range chunking {
		if !strings.Contains(kept, `"`+name+`"`) {
			t.Errorf("an index keeps of the options %s only %s", asJSON(t, chunking), kept)
		}
	}
}

// strategiesOf returns the strategies whose options a table of chunking.md has.
func strategiesOf(where string) []string {
	if name := strings.TrimPrefix(where, "chunking.md "); chunkingBases[name] != nil {
		return []string{name}
	}
	return slices.Sorted(maps.Keys(chunkingBases))
}

// Each option that a page names is accepted wherever chunking options are.
func TestChunkingOptionsOfTheReferenceExist(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	tables := 0
	for _, tb := range tablesOf(t, "chunking.md") {
		if tb.first != "option" {
			continue
		}
		tables++
		for _, name := range tb.options() {
			value, ok := chunkingValues[name]
			if name == "headers" {
				value = []any{[]any{map[bool]string{true: "h1", false: "#"}[strings.HasSuffix(tb.where, " html")], "title"}}
			} else if !ok {
				t.Errorf("%s: this test has no value for the option %s", tb.where, name)
			}
			for _, strategy := range strategiesOf(tb.where) {
				options := with(chunkingBases[strategy], object{"strategy": strategy})
				if name == "size" {
					delete(options, "maxSize")
				}
				if name == "sections" {
					delete(options, "headers")
				}
				if value != nil {
					options[name] = value
				}
				d.chunk(t, options)
			}
		}
	}
	if tables != 8 {
		t.Errorf("chunking.md has %d tables of options, want 8", tables)
	}
	d.chunk(t, object{"strategy": "token", "allowedSpecial": "all", "disallowedSpecial": []any{"all"}})
}

// optionsOfOthers are the options that other chunkers have for each strategy, beside maxSize, overlap,
// separatorPosition, addStartIndex and stripWhitespace, which all have. Theirs also have lengthFunction, a
// function, which a call over a network cannot carry.
var optionsOfOthers = map[string][]string{
	"character": {"separator", "isSeparatorRegex"}, "recursive": {"separators", "isSeparatorRegex", "language"},
	"token":    {"encodingName", "modelName", "allowedSpecial", "disallowedSpecial"},
	"markdown": {"headers", "returnEachLine", "stripHeaders"}, "html": {"headers", "sections", "returnEachLine"},
	"json": {"minSize", "ensureAscii", "convertLists"}, "latex": nil,
	"sentence":          {"minSize", "targetSize", "sentenceEnders", "fallbackToWords", "fallbackToCharacters"},
	"semantic-markdown": {"joinThreshold", "encodingName", "modelName", "allowedSpecial", "disallowedSpecial"},
}

// Every option of other chunkers is in the table of its strategy.
func TestChunkingOptionsOfOthersAreDocumented(t *testing.T) {
	t.Parallel()
	documented := map[string][]string{}
	for _, tb := range tablesOf(t, "chunking.md") {
		if tb.first == "option" {
			for _, strategy := range strategiesOf(tb.where) {
				documented[strategy] = append(documented[strategy], tb.options()...)
			}
		}
	}
	documented["character"] = append(documented["character"], "separator", "isSeparatorRegex") // in prose
	for strategy, names := range optionsOfOthers {
		for _, name := range append(slices.Clone(names), "maxSize", "overlap", "separatorPosition", "addStartIndex", "stripWhitespace") {
			if !slices.Contains(documented[strategy], name) {
				t.Errorf("the strategy %s has no documented option %s", strategy, name)
			}
		}
	}
}

func TestExtractionOptionsOfTheReferenceExist(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	const model = "openai/some-model"
	values := map[string]object{
		"schema":    {"schema": object{"type": "object", "properties": object{"a": object{"type": "string"}}}, "instructions": "Short.", "metadataKey": "found"},
		"summary":   {"summaries": []any{"self", "prev", "next"}, "promptTemplate": "Sum up {context}"},
		"questions": {"questions": 2, "promptTemplate": "Ask {numQuestions} about {context}", "embeddingOnly": true},
		"keywords":  {"keywords": 2, "promptTemplate": "Name {maxKeywords} of {context}"},
		"title":     {"nodes": 2, "nodeTemplate": "Name {context}", "combineTemplate": "Join {context}"},
		"context":   {"budgetTokens": 5000},
	}
	rows := 0
	for _, tb := range tablesOf(t, "extraction.md") {
		for _, row := range tb.rows {
			if tb.first != "option" {
				continue
			}
			rows++
			name := tb.options()[rows-1]
			for _, m := range inCode.FindAllStringSubmatch(row[2], -1) {
				if _, ok := values[name][m[1]]; !ok && !slices.Contains([]string{"self", "prev", "next", `["self"]`}, m[1]) {
					t.Errorf("%s: this test has no value for %s of %s", tb.where, m[1], name)
				}
			}
			for option, value := range values[name] {
				settings := object{option: value, "model": model}
				if name == "schema" {
					settings["schema"] = values[name]["schema"]
				}
				extract := object{name: settings, "model": model}
				d.rpc(t, "ChunkService/ChunkText", object{"text": "One two.", "extract": extract})
				d.tool(t, "document_chunker", object{"text": "One two.", "extract": extract})
				d.command(t, "One two.", "chunk", "-", "--extract", string(asJSON(t, extract)))
				d.rpc(t, "IndexService/UpdateIndex", object{"indexName": "docs", "extract": extract})
			}
		}
	}
	if rows != len(values) {
		t.Errorf("extraction.md has %d options, want %d", rows, len(values))
	}
}

// operators are conditions with the operators of filters.
var operators = map[string]string{
	"$eq": `{"a": {"$eq": 1}}`, "$ne": `{"a": {"$ne": 1}}`, "$gt": `{"a": {"$gt": 1}}`, "$gte": `{"a": {"$gte": 1}}`, "$lt": `{"a": {"$lt": 1}}`,
	"$lte": `{"a": {"$lte": 1}}`, "$in": `{"a": {"$in": [1]}}`, "$nin": `{"a": {"$nin": [1]}}`, "$all": `{"a": {"$all": [1]}}`,
	"$elemMatch": `{"a": {"$elemMatch": {"b": 1}}}`, "$size": `{"a": {"$size": 1}}`, "$exists": `{"a": {"$exists": true}}`,
	"$contains": `{"a": {"$contains": "b"}}`, "$startsWith": `{"a": {"$startsWith": "b"}}`, "$regex": `{"a": {"$regex": "b"}}`,
	"$geoRadius":  `{"a": {"$geoRadius": {"center": {"lat": 52.5, "lon": 13.4}, "radius": 1500}}}`,
	"$geoBox":     `{"a": {"$geoBox": {"topLeft": {"lat": 52.7, "lon": 13.1}, "bottomRight": {"lat": 52.3, "lon": 13.8}}}}`,
	"$geoPolygon": `{"a": {"$geoPolygon": {"points": [{"lat": 52.7, "lon": 13.1}, {"lat": 52.7, "lon": 13.8}, {"lat": 52.3, "lon": 13.4}]}}}`,
	"$not":        `{"$not": {"a": 1}}`, "$and": `{"$and": [{"a": 1}]}`, "$or": `{"$or": [{"a": 1}]}`, "$nor": `{"$nor": [{"a": 1}]}`,
}

func TestOperatorsOfTheReferenceExist(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	seen := map[string]bool{}
	for _, tb := range tablesOf(t, "filters.md") {
		if tb.first != "operator" {
			continue
		}
		for _, name := range strings.Fields(strings.Join(tb.options(), " ")) {
			condition, ok := operators[name]
			if !ok {
				t.Errorf("%s: this test has no condition with %s", tb.where, name)
			}
			if seen[name] {
				continue
			}
			seen[name] = true
			question := object{"indexName": "docs", "queryText": "one", "filter": json.RawMessage(condition)}
			d.rpc(t, "QueryService/VectorQuery", question)
			d.rpc(t, "QueryService/GraphRag", question)
			d.rpc(t, "DocumentService/ListDocuments", object{"indexName": "docs", "filter": json.RawMessage(condition)})
			for _, tool := range []string{"vector_query", "graph_rag"} {
				d.tool(t, tool, question)
			}
			d.tool(t, "search", object{"indexName": "docs", "query": "one", "filter": json.RawMessage(condition)})
			d.command(t, "", "query", "one", "--index", "docs", "--filter", condition)
		}
	}
	if len(seen) != len(operators) {
		t.Errorf("filters.md has %d operators, want %d", len(seen), len(operators))
	}
}

// definition is a table of the fields of something that a tenant defines.
type definition struct {
	call   func(fields object) (method string, message object)
	base   object            // least fields
	values object            // by name
	notes  map[string]string // fields that no call has, with the reason
}

// named makes calls whose messages have the field name, with texts that begin with prefix, and the fields, in
// member if that is not empty.
func named(method, name, prefix, member string) func(object) (string, object) {
	made := 0
	return func(fields object) (string, object) {
		made++
		message := maps.Clone(fields)
		if member != "" {
			message = object{member: fields}
		}
		if name == "" {
			return method, message
		}
		return method, with(message, object{name: fmt.Sprintf("%s%d", prefix, made)})
	}
}

// toolOf makes calls that create a tool of a kind with settings.
func toolOf(kind string) func(object) (string, object) {
	create := named("ToolService/CreateTool", "toolName", strings.ReplaceAll(kind, "_", ""), "settings")
	return func(settings object) (string, object) {
		method, message := create(settings)
		message["kind"] = kind
		return method, with(message, object{"description": "Does something."})
	}
}

func definitions() map[string]definition {
	step := []any{object{"id": "a", "kind": "map", "inputFrom": object{"initData": true}}}
	return map[string]definition{
		"agents.md Agents, field": {call: named("AgentService/CreateAgent", "agentName", "agent", "definition"),
			base: object{"description": "Answers.", "model": "openai/some-model"},
			values: object{"description": "Answers more.", "model": "openai/other-model", "title": "Helper", "instructions": "Answer {{tenant}}.",
				"tools": []any{"vector_query"}, "mayWrite": nil, "indexes": []any{"docs"},
				"sampling": object{"temperature": 0.5, "topP": 0.5, "seed": 1, "stop": []any{"X"}, "maxTokens": 100},
				"limits":   object{"steps": 3, "tokens": 1000, "seconds": 10}, "prices": object{"input": 1, "output": 2},
				"outputSchema": object{"type": "object", "properties": object{"a": object{"type": "string"}}}, "grounding": "mark",
				"rules": object{"model": []any{object{"when": "tenant == 'x'", "value": "openai/third-model"}}}},
			notes: map[string]string{"mayWrite": "needs a tool that writes among tools"}},
		"workflows.md Definition, field": {call: named("WorkflowService/CreateWorkflow", "workflowName", "workflow", "definition"),
			base: object{"description": "Does it.", "steps": step},
			values: object{"title": "One", "description": "Does it well.", "inputSchema": object{"type": "object"}, "outputSchema": object{"type": "object"},
				"steps": step, "output": object{"a": object{"value": 1}}, "outputFrom": object{"value": object{"a": 1}}}},
		"context.md Request context, field": {call: named("ContextService/DeclareContextKey", "", "", "key"),
			base:   object{"name": "country"},
			values: object{"schema": object{"type": "string"}, "default": "de", "secret": true, "source": "caller", "from": nil, "name": "town"}},
		"remote-tools.md Kind http, setting": {call: toolOf("http"), base: object{"method": "POST", "url": "https://api.example.com/orders"},
			values: object{"method": "PUT", "url": "https://api.example.com/{{arguments.id}}", "query": object{"a": "{{arguments.a}}"}, "headers": object{"X-A": "b"},
				"body": object{"a": "{{arguments.a}}"}, "contentType": "application/json", "inputSchema": object{"type": "object"}, "outputSchema": object{"type": "object"},
				"timeoutMs": 1000, "needsTask": true, "retries": 1, "response.format": "mcp", "response.path": "/a", "response.text": "Got {{result.a}}", "response.maxBytes": 1000,
				"signingSecret": nil, "token": nil},
			notes: map[string]string{"signingSecret": "needs a secret", "token": "needs a master key"}},
		"mcp.md Custom tools, field": {call: named("ToolService/CreateTool", "toolName", "tool", ""),
			base: object{"kind": "vector_query", "description": "Finds.", "settings": object{"indexName": "docs"}},
			values: object{"name": nil, "kind": "vector_query", "title": "One", "description": "Finds more.", "settings": object{"indexName": "docs", "topK": 2},
				"arguments": []any{"queryText"}, "fixed": true, "annotations": object{"readOnlyHint": true}, "meta": object{"a": 1}, "outputSchema": object{"type": "object"}}},
		"mcp.md Custom tools, setting": {call: toolOf("graph_rag"), base: object{"indexName": "docs"},
			values: object{"indexName": "docs", "topK": 3, "filter": object{"a": 1}, "minScore": 0.1, "searchMode": "vector", "enableFilter": true, "includeVectors": true,
				"includeSources": false, "reranker": object{"kind": "lexical"}, "vectorStoreName": "my-store",
				"graphOptions":   object{"threshold": 0.6, "randomWalkSteps": 10, "restartProb": 0.2, "candidates": 10},
				"databaseConfig": nil, "chunking": nil, "extract": nil, "text": nil},
			notes: map[string]string{"databaseConfig": "of vector_query", "chunking": "of document_chunker", "extract": "of document_chunker", "text": "of document_chunker"}},
		"policies.md Fields, field": {call: named("PolicyService/CreatePolicy", "policyName", "policy", ""), base: object{"tools": []any{"find"}, "action": "redact", "redaction": object{"paths": []any{"a"}}},
			values: object{"name": nil, "description": "Keeps.", "tools": []any{"find_*"}, "phase": "after", "condition": "tool.readOnly", "action": "redact", "message": "No.",
				"redaction.paths": []any{"b.*"}, "redaction.patterns": []any{"[0-9]{9}"}, "redaction.replacement": "X", "order": 5, "disabled": true}},
		"mcp.md Servers, field": {call: named("ServerService/CreateServer", "serverName", "server", ""), base: object{},
			values: object{"version": "2.0.0", "title": "One", "description": "Finds.", "icons": []any{object{"src": "https://example.com/a.png"}},
				"websiteUrl": "https://example.com", "instructions": "Ask {{tenant}}.", "tools": object{"names": []any{"search"}}, "prompts": object{}, "indexes": object{},
				"presented": []any{object{"toolName": "search", "name": "find"}}, "hideResources": true, "defaultContext": object{"topK": 2}, "fixedContext": object{"topK": 3}}},
	}
}

// noOptions are the tables of settings and fields that no call takes.
var noOptions = map[string]string{
	"budget.md What an answer says": "of answers", "mcp.md Errors": "of answers", "mcp.md Settings": "flags of ragd serve, as in settings.md", "metadata.md Of every chunk": "of answers",
	"metadata.md Position in a file": "of answers", "metadata.md Figures": "of answers", "metadata.md Properties of a file": "of answers", "metadata.md Of chunking options": "of answers",
	"metadata.md Of extraction": "of answers", "evaluation.md Files": "flags, as in cli.md, and lines of files, whose tests are in package eval",
	"metadata.md Of exports of other systems": "of answers",
	"tables.md Plans":                         "of plans: tests of package rpc",
	"research.md Request":                     "of questions, not of settings: tests of package rpc", "research.md Result": "of answers",
	"grounding.md Sources": "of answers that are checked, not of settings: tests of package rpc", "grounding.md Sentences": "of answers",
	"manifests.md The manifest": "of manifests: tests of package manifest", "manifests.md Documents": "of manifests: tests of package connector",
	"remote-tools.md Kind mcp": "needs another server: TestTool of package mcptool", "workflows.md Steps": "of steps: tests of package workflow",
}

// Each field that a page names is accepted by the call that it is for.
func TestFieldsOfTheReferenceExist(t *testing.T) {
	t.Parallel()
	d := newDoors(t)
	d.rpc(t, "TenantService/SetVectorStoreNames", object{"vectorStoreNames": []any{"my-store"}})
	pages, err := os.ReadDir("../../docs/reference")
	if err != nil {
		t.Fatal(err)
	}
	known, tried := definitions(), map[string]bool{}
	for _, page := range pages {
		if page.IsDir() || slices.Contains([]string{"chunking.md", "extraction.md", "cli.md", "settings.md", "limits.md"}, page.Name()) {
			continue
		}
		for _, tb := range tablesOf(t, page.Name()) {
			if !slices.Contains([]string{"option", "setting", "field"}, tb.first) || noOptions[tb.where] != "" {
				continue
			}
			where := tb.where + ", " + tb.first
			def, ok := known[where]
			if !ok {
				t.Errorf("%s: this test knows neither a call for the table nor why there is none", tb.where)
				continue
			}
			for _, name := range tb.options() {
				value, ok := def.values[name]
				if _, noted := def.notes[name]; noted {
					continue
				}
				if !ok {
					t.Errorf("%s: this test has no value for %s", tb.where, name)
				}
				if tried[where] = true; value != nil {
					method, message := def.call(with(def.base, object{name: value}))
					d.rpc(t, method, message)
				}
			}
		}
	}
	for where := range known {
		if !tried[where] {
			t.Errorf("no page has the table %q", where)
		}
	}
}
