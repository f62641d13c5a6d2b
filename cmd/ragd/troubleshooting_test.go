package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
)

// mistake is something that users do wrong, and what they are told.
type mistake struct {
	name          string
	args          []string // a command line; or
	call          *badRequest
	stdin         string
	env           map[string]string
	models        modelserver.Fault // of the model provider meanwhile
	says          []string          // in the message
	never         []string          // not in the message
	cause, remedy string            // for the page
}

// badRequest is an HTTP request to the service.
type badRequest struct {
	method, path string
	header       map[string]string
	body         string
	anonymous    bool
}

const rpcPath, jsonType = "/ragd.v1.", "application/json"

// post returns a POST of JSON to a method.
func post(method, body string) *badRequest {
	return &badRequest{method: http.MethodPost, path: rpcPath + method, header: map[string]string{"Content-Type": jsonType}, body: body}
}

// tool returns the input of ragd mcp for the call of a tool.
func toolCall(name, arguments string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}` + "\n"
}

// mistakes returns the list. folder holds files to upload; plain is a server that is not ragd.
func mistakes(folder, plain string) []mistake {
	in := func(name string) string { return filepath.Join(folder, name) }
	wrongKey := map[string]string{"RAGD_API_KEY": "ragd_wrong"}
	return slices.Concat([]mistake{
		// The command line.
		{name: "a misspelt command", args: args("qury boats"), says: []string{"did you mean query?"},
			cause: "There is no such command.", remedy: "Use the suggested one; `ragd help` lists all."},
		{name: "a misspelt subcommand", args: args("index craete docs"), says: []string{"did you mean create?"},
			cause: "There is no such command.", remedy: "Use the suggested one."},
		{name: "a misspelt flag", args: args("query boats --topk 3"), says: []string{"did you mean --top-k?"},
			cause: "The command has no such flag.", remedy: "Use the suggested one; `--help` lists all."},
		{name: "a missing argument", args: args("query"), says: []string{"QUESTION is missing, as in: ragd query"},
			cause: "The command needs an argument.", remedy: "Give it as in the example."},
		{name: "a filter that is no JSON", args: []string{"query", "boats", "--filter", "team=legal"}, says: []string{"--filter", "not valid JSON: line 1, column 2"},
			cause: "The flag takes JSON.", remedy: "Write an object in single quotes: `--filter '{\"team\": \"legal\"}'`."},
		{name: "a filter that is a list", args: []string{"query", "boats", "--filter", "[1]"}, says: []string{"must be an object, got a list"},
			cause: "A filter is one JSON object.", remedy: "Join conditions in it: `'{\"team\": \"legal\", \"year\": 2024}'`."},
		{name: "cut metadata", args: []string{"ingest", in("a.md"), "--metadata", `{"team":`}, says: []string{"it ends too early"},
			cause: "A bracket or a quote is not closed, often because the shell took the quotes.", remedy: "Put the JSON in single quotes."},
		{name: "an unknown field of chunking", args: []string{"index", "create", "x", "--chunking", `{"maxsize": 100}`}, says: []string{"did you mean maxSize?"},
			cause: "The object has no such field.", remedy: "Use the suggested name."},
		{name: "an address of another scheme", args: args("query boats --server ftp://x"), says: []string{"is not an address"},
			cause: "The address must begin with `http://` or `https://`.", remedy: "Mend `--server` or `RAGD_SERVER`."},

		// Reaching the service.
		{name: "no service", args: args("query boats --server http://127.0.0.1:1"), says: []string{"no answer from http://127.0.0.1:1", "connection refused", "ragd serve"},
			cause: "Nothing listens at the address.", remedy: "Start the service with `ragd serve`, or name another address."},
		{name: "an unknown host", args: args("query boats --server http://nosuchhost.invalid"), says: []string{"the host name is not known"},
			cause: "The name in the address does not exist.", remedy: "Mend `--server` or `RAGD_SERVER`."},
		{name: "TLS to a service without", args: args("query boats --server HTTPSURL"), says: []string{"does not speak TLS", "http:// instead of https://"},
			cause: "ragd itself speaks HTTP; TLS needs a proxy.", remedy: "Write `http://`, or see [TLS proxy](tls-proxy.md)."},
		{name: "another server", args: []string{"query", "boats", "--server", plain}, says: []string{"is not ragd"},
			cause: "Something else answers at the address.", remedy: "Mend the address; a proxy must pass on all paths."},
		{name: "a wrong key", args: args("query boats"), env: wrongKey, says: []string{"refused the key from RAGD_API_KEY"}, never: []string{"ragd_wrong"},
			cause: "The key is wrong, was revoked or is of another server.", remedy: "Make one with `ragd key create` and set `RAGD_API_KEY`, for an agent in its settings."},
		{name: "MCP with a wrong key", args: args("mcp"), env: wrongKey, says: []string{"refused the key from RAGD_API_KEY"},
			cause: "The key is wrong, was revoked or is of another server.", remedy: "Make one with `ragd key create` and set `RAGD_API_KEY`, for an agent in its settings."},
		{name: "a key that may only read", args: args("index create more"), env: map[string]string{"RAGD_API_KEY": "READKEY"}, says: []string{"lacks the scope write", "RAGD_API_KEY"},
			cause: "The key has too few rights.", remedy: "Use a key with the scope that the message names."},
		{name: "a tenant that there is not", args: args("query boats --tenant acne"), says: []string{`tenant "acne" not found; did you mean acme?`},
			cause: "The operator named a tenant that does not exist.", remedy: "`ragd tenant list` lists them."},

		// Names.
		{name: "a misspelt index", args: args("query boats --index dcos"), says: []string{`index "dcos" not found; did you mean docs?`},
			cause: "The tenant has no index of this name; upper and lower case differ.", remedy: "`ragd index list` lists them."},
		{name: "an unknown index", args: args("index describe invoices"), says: []string{"create it first"},
			cause: "The tenant has no index of this name, and none with a similar one.", remedy: "Create it with `ragd index create`, or list the names."},
		{name: "a misspelt tool", args: args("tool get ask_dcos"), says: []string{"did you mean ask_docs?"},
			cause: "The tenant has no tool of this name.", remedy: "`ragd tool list` lists them."},
		{name: "a uri where an id belongs", args: args("document get a.md --index docs"), says: []string{"name a document by its uri"},
			cause: "The argument is the document's id.", remedy: "Give `--uri a.md`."},
		{name: "an unknown uri", args: args("document get --uri b.md --index docs"), says: []string{`document with uri "b.md" not found`},
			cause: "No document of the index has this uri, or the key may not see it.", remedy: "`ragd document list` lists them; uris are relative to where `ragd ingest` ran, or to the folder that it was given if that is elsewhere."},
		{name: "an unknown job", args: args("job watch j1"), says: []string{"list the jobs"},
			cause: "The argument is no id of a job.", remedy: "`ragd job list` lists them."},

		// Queries.
		{name: "an unknown mode", args: args("query boats --index docs --mode fuzzy"), says: []string{"vector, keyword and hybrid"},
			cause: "There is no such mode.", remedy: "Use one of those in the message."},
		{name: "too many results", args: args("query boats --index docs -k 5000"), says: []string{"between 1 and 1000"},
			cause: "One answer has at most 1,000 sources.", remedy: "Ask for fewer, or narrow the question with a filter."},
		{name: "a misspelt operator", args: []string{"query", "boats", "--index", "docs", "--filter", `{"year": {"$gtt": 2020}}`}, says: []string{"did you mean $gt?"},
			cause: "The filter language has no such operator.", remedy: "Use the suggested one; see [Filters](../reference/filters.md)."},
		{name: "a filter on an unknown field", args: []string{"query", "boats", "--index", "docs", "--filter", `{"teem": "legal"}`}, says: []string{"did you mean team?"},
			cause: "No chunk has the field, so that the filter selects nothing.", remedy: "Use one of the fields in the message, or give the documents this metadata."},
		{name: "a vector of another dimension", args: args("query --vector 1,2,3 --index docs"), says: []string{"3 dimensions", "512"},
			cause: "The vector was made by another model than the index has.", remedy: "Use the index's model, or send text."},
		{name: "text for an index of vectors", args: args("query boats --index vecs"), says: []string{"takes ready-made vectors only"},
			cause: "The index was made with `--dimension` and no model.", remedy: "Ask with `--vector`, or make an index with `--embedding-model`."},
		{name: "documents for an index of vectors", args: []string{"ingest", in("a.md"), "--index", "vecs"}, says: []string{"ready-made vectors, not documents"},
			cause: "The index was made with `--dimension` and no model.", remedy: "Make an index with `--embedding-model`."},
		{name: "an index of vectors", args: args("index create more_vecs --dimension 3"), says: []string{"ready-made vectors only"},
			cause: "Not a mistake, unless documents were meant.", remedy: "Give `--embedding-model` for documents and questions."},
		{name: "an unknown endpoint", args: args("index create x --embedding-model openia/m"), says: []string{"there is no endpoint"},
			cause: "Names of models begin with the endpoint that serves them.", remedy: "Use an endpoint in the message, or make one with `ragd endpoint create`."},

		// Files.
		{name: "a file that there is not", args: []string{"ingest", in("nosuch.md"), "--index", "docs"}, says: []string{"no such file"},
			cause: "The path is wrong.", remedy: "Mend it; paths are relative to the working directory."},
		{name: "an empty file", args: []string{"ingest", in("empty.txt"), "--index", "docs"}, says: []string{"empty"},
			cause: "There is nothing to search in it.", remedy: "Leave it out."},
		{name: "a picture", args: []string{"ingest", in("logo.png"), "--index", "docs"}, says: []string{"of the kind image"},
			cause: "Only text can be searched.", remedy: "Run text recognition (OCR) first and upload its result."},
		{name: "binary data", args: []string{"ingest", in("data.bin"), "--index", "docs"}, says: []string{"binary data of no known format", "PDF"},
			cause: "The file is of no format that can be read.", remedy: "Convert it to one in [Formats](../reference/formats.md)."},
		{name: "an encrypted PDF", args: []string{"ingest", in("encrypted.pdf"), "--index", "docs"}, says: []string{"encrypted PDF"},
			cause: "The file needs a password.", remedy: "Save it without one."},
		{name: "a PDF of pictures", args: []string{"ingest", in("scanned.pdf"), "--index", "docs"}, says: []string{"text"},
			cause: "The pages are pictures.", remedy: "Run text recognition (OCR) first."},
		{name: "text in an uncertain encoding", args: []string{"ingest", in("cyrillic.txt"), "--index", "docs"}, says: []string{"not UTF-8", "iconv"},
			cause: "The bytes are no UTF-8, and could be several encodings, of which the two likeliest are named.", remedy: "Convert the file with the encoding that it has, or declare it in the content type."},
		{name: "a bad line of JSON Lines", args: []string{"ingest", in("bad.jsonl"), "--index", "docs", "--jsonl"}, says: []string{"bad.jsonl:2"},
			cause: "The line is no JSON object.", remedy: "Mend the line; the number follows the file's name."},

		// Providers of models.
		{name: "a provider's refused key", args: args("query boats --index ai"), models: modelserver.Fault{Status: 401}, says: []string{"refused its API key", "openai-api-key"}, never: []string{modelserver.Key},
			cause: "The provider does not accept the service's key.", remedy: "The operator sets `RAGD_OPENAI_API_KEY` for `ragd serve`."},
		{name: "a provider without the model", args: args("query ships --index ai"), models: modelserver.Fault{Status: 404}, says: []string{"does not have this model", "openai-base-url"},
			cause: "The provider does not know the model, or the path of its address is wrong (often `/v1` is missing).", remedy: "The operator checks `RAGD_OPENAI_BASE_URL`; the caller the name of the model."},
		{name: "a provider's limit", args: args("query piers --index ai"), models: modelserver.Fault{Status: 429, RetryAfter: "60"}, says: []string{"limits how often it may be called", "provider-calls"},
			cause: "The provider allows fewer calls.", remedy: "Wait, or lower `RAGD_PROVIDER_CALLS`."},
		{name: "no provider", args: args("query quays --index ai --rerank cross-encoder:tei/any"), says: []string{"cannot be reached at http://127.0.0.1:1", "tei-base-url"},
			cause: "Nothing answers at the provider's address; the cause stands in the message.", remedy: "Start the provider, or the operator mends the setting."},
	}, httpMistakes(), surfaceMistakes())
}

// httpMistakes returns the mistakes of programs that call the API, and of agents.
func httpMistakes() []mistake {
	const query = "QueryService/VectorQuery"

	return []mistake{
		{name: "no content type", call: &badRequest{method: "POST", path: rpcPath + query, body: "{}"}, says: []string{"the Content-Type is missing"},
			cause: "The API does not guess.", remedy: "Send the header `Content-Type: application/json`."},
		{name: "a form", call: &badRequest{method: "POST", path: rpcPath + query, header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, body: "{}"}, says: []string{"is not accepted", "application/json"},
			cause: "curl sends `-d` as a form by default.", remedy: "Add `-H 'Content-Type: application/json'`."},
		{name: "GET", call: &badRequest{method: "GET", path: rpcPath + "IndexService/CreateIndex"}, says: []string{"CreateIndex is not called by GET: send POST"},
			cause: "Methods that change something are called by POST.", remedy: "Send POST."},
		{name: "a misspelt method", call: post("QueryService/VectorQury", "{}"), says: []string{"did you mean /ragd.v1.QueryService/VectorQuery?"},
			cause: "There is no such method.", remedy: "Use the suggested path; see [API](../reference/api.md)."},
		{name: "another path", call: &badRequest{method: "POST", path: "/api/search", header: map[string]string{"Content-Type": jsonType}, body: "{}"}, says: []string{"calls go by POST to addresses such as"},
			cause: "The API is not at this path.", remedy: "See [API](../reference/api.md) for the paths."},
		{name: "a stream by curl", call: post("DocumentService/WatchJob", `{"jobId":"x"}`), says: []string{"WatchJob is a stream", "GetJob"},
			cause: "Streams need a client that writes their framing.", remedy: "Use the plain call in the message, or a generated client."},
		{name: "an unknown field", call: post(query, `{"indexname":"docs"}`), says: []string{"did you mean indexName?"},
			cause: "The message has no such field; upper and lower case differ.", remedy: "Use the suggested name."},
		{name: "an unknown inner field", call: post(query, `{"databaseConfig":{"pgvector":{"minscore":1}}}`), says: []string{"databaseConfig.pgvector.minscore", "did you mean minScore?"},
			cause: "The inner object has no such field; the message has its path.", remedy: "Use the suggested name."},
		{name: "a text for a number", call: post(query, `{"topK":"many"}`), says: []string{"topK: must be a whole number", `"many"`},
			cause: "The field is of another type.", remedy: "Send what the message says."},
		{name: "a comma too many", call: post(query, "{\n  \"indexName\": \"docs\",\n}"), says: []string{"line 3, column 1"},
			cause: "The body is no JSON.", remedy: "Mend it at the line and column."},
		{name: "JSON that is not UTF-8", call: post(query, "{\"queryText\":\"caf\xe9\"}"), says: []string{"not UTF-8", "0xE9"},
			cause: "The program or the shell writes another encoding.", remedy: "Write UTF-8."},
		{name: "bytes that are no base64", call: post("DocumentService/UploadDocument", `{"content":"%%%"}`), says: []string{"content: must be base64"},
			cause: "Bytes travel as base64 in JSON.", remedy: "Encode them, or send text in the field `text`."},
		{name: "a huge message", call: post("DocumentService/UploadDocument", `{"text":"`+strings.Repeat("x", 33<<20)+`"}`), says: []string{"UploadDocuments", "ragd ingest", "32 MiB"},
			cause: "A message holds at most 32 MiB.", remedy: "Send documents one by one, or let `ragd ingest` do it."},
		{name: "no key", call: &badRequest{method: "POST", path: rpcPath + query, header: map[string]string{"Content-Type": jsonType}, body: "{}", anonymous: true}, says: []string{"no API key was sent"},
			cause: "Each call needs a key.", remedy: "Send `Authorization: Bearer KEY`; for agents see [Connect MCP clients](mcp-connect.md)."},
		{name: "MCP without a key", call: &badRequest{method: "POST", path: "/mcp", header: map[string]string{"Content-Type": jsonType}, body: "{}", anonymous: true}, says: []string{"no API key was sent"},
			cause: "Each call needs a key.", remedy: "Send `Authorization: Bearer KEY`; for agents see [Connect MCP clients](mcp-connect.md)."},
		{name: "MCP with a wrong key over HTTP", call: &badRequest{method: "POST", path: "/mcp", header: map[string]string{"Content-Type": jsonType, "Authorization": "Bearer ragd_wrong"}, body: "{}", anonymous: true}, says: []string{"the API key is not valid"}, never: []string{"ragd_wrong"},
			cause: "The key is wrong, has expired or was revoked; the service does not say which.", remedy: "Make another with `ragd key create`."},
		{name: "a misspelt argument of a tool", args: args("mcp"), stdin: toolCall("vector_query", `{"querytext":"boats"}`), says: []string{"querytext: is not known here; did you mean queryText?"},
			cause: "The agent made up the name.", remedy: "It corrects itself by the message; else name the argument in the prompt."},
		{name: "a misspelt tool of an agent", args: args("mcp"), stdin: toolCall("vector_qury", "{}"), says: []string{"did you mean vector_query?"},
			cause: "The agent made up the name of a tool.", remedy: "It corrects itself by the message; `tools/list` lists the tools that the key may use."},
		{name: "an argument of another type", args: args("mcp"), stdin: toolCall("vector_query", `{"queryText":"boats","topK":"many"}`), says: []string{"topK: must be of type"},
			cause: "The agent gave another type.", remedy: "It corrects itself by the message."},
	}
}

// surfaceMistakes returns the mistakes with what tenants define: bounds of keys, issuers, keys of the
// context, tools that call services, and hooks.
func surfaceMistakes() []mistake {
	ofIndex, ofTool := map[string]string{"RAGD_API_KEY": "INDEXKEY"}, map[string]string{"RAGD_API_KEY": "TOOLKEY"}
	settings := func(text string) []string {
		return []string{"tool", "create", "order", "--kind", "http", "--description", "D", "--settings", text}
	}
	return []mistake{
		// Bounds of keys.
		{name: "an index outside of the key's bounds", args: args("query boats --index vecs"), env: ofIndex, says: []string{`index "vecs" not found`}, never: []string{"bound"},
			cause: "There is no such index, or the key is bound to others; the service does not say which.", remedy: "`ragd whoami` shows what a key may use."},
		{name: "a key of a tool that queries", args: args("query boats --index docs"), env: ofTool, says: []string{"is bound to tools or MCP servers"},
			cause: "A key with `--tool` or `--mcp-server` lists and calls tools only.", remedy: "Call a tool, or use a key that is bound to indexes."},
		{name: "a hook of a bound key", args: args("hook create h https://example.com --event document.*"), env: ofIndex, says: []string{"is bound to", "the whole tenant"},
			cause: "Hooks receive the events of the whole tenant.", remedy: "Use a key with the scope `admin` and without bounds or a mandatory filter."},
		{name: "another tool than the key's", args: args("mcp"), env: ofTool, stdin: toolCall("vector_query", `{"queryText":"boats"}`), says: []string{"not found"},
			cause: "There is no such tool, or the key is bound to others.", remedy: "`ragd whoami` shows what a key may use."},

		// Issuers of tenants.
		{name: "an issuer without TLS", args: args("issuer create idp http://idp.example.com"), says: []string{"https"},
			cause: "Tokens are trusted by keys that are fetched from there.", remedy: "Give the address with `https://`, exactly as in the claim `iss`."},
		{name: "an issuer in the network of the service", args: args("issuer create idp https://10.0.0.7"), says: []string{"inside the network of this server"},
			cause: "Tenants may name public addresses only.", remedy: "The operator allows it with `allowed-private-networks`."},
		{name: "a token of no issuer", call: &badRequest{method: "POST", path: "/t/acme/mcp", header: map[string]string{"Content-Type": jsonType, "Authorization": "Bearer eyJhbGciOiJFZERTQSJ9.eyJpc3MiOiJodHRwczovL2lkcC5leGFtcGxlLmNvbSJ9.c2ln"}, body: "{}", anonymous: true}, says: []string{"a valid API key or access token is needed"}, never: []string{"c2ln"},
			cause: "The token is of an issuer that the tenant has not made known, is not for this tenant, has expired, or is forged; the service does not say which.", remedy: "`ragd issuer list` shows the issuers, `ragd issuer create` adds one."},

		// Declared keys of the request context.
		{name: "a key of the context that is not declared", args: []string{"query", "boats", "--index", "docs", "--context", `{"tier":"pro"}`}, says: []string{"tier"},
			cause: "The tenant has not declared the key.", remedy: "Declare it with `ragd context declare`, or mend the name."},
		{name: "a value that its schema does not allow", args: []string{"query", "boats", "--index", "docs", "--context", `{"country":"fr"}`}, says: []string{"country"},
			cause: "The declaration of the key has a schema.", remedy: "Give a value that it allows; `ragd context show` shows the schema."},
		{name: "a key of the context that callers cannot set", args: []string{"query", "boats", "--index", "docs", "--context", `{"team":"legal"}`}, says: []string{"team"},
			cause: "The service fills the key from a claim, a header or the key's attributes.", remedy: "Leave it out."},

		// Tools that call services.
		{name: "a tool inside the network of the service", args: settings(`{"method":"GET","url":"http://127.0.0.1:1/x"}`), says: []string{"url"},
			cause: "Tenants may name public addresses only.", remedy: "The operator allows it with `allowed-private-networks`."},
		{name: "a misspelt placeholder", args: settings(`{"method":"GET","url":"https://example.com/{{argument.id}}"}`), says: []string{"argument"},
			cause: "There is no such placeholder.", remedy: "Use one of those in the message."},
		{name: "a secret that there is not", args: settings(`{"method":"GET","url":"https://example.com/","headers":{"Authorization":"Bearer {{secrets.crn}}"}}`), says: []string{"crn"},
			cause: "The tenant has no secret of this name.", remedy: "`ragd secret set` makes one, `ragd secret list` lists them."},
		{name: "a secret for another host", args: settings(`{"method":"GET","url":"https://example.com/","headers":{"Authorization":"Bearer {{secrets.crm}}"}}`), says: []string{"crm"},
			cause: "The secret may be sent to other hosts only.", remedy: "Mend the address, or set the secret with `--host`."},

		// Hooks.
		{name: "an unknown event", args: args("hook create h https://example.com --event documents.ready"), says: []string{"is no type of events"},
			cause: "There is no such event.", remedy: "Use one of those in the message; see [Events](../reference/events.md)."},
		{name: "a hook inside the network of the service", args: args("hook create h http://127.0.0.1:1 --event document.*"), says: []string{"inside the network of this server"},
			cause: "Tenants may name public addresses only.", remedy: "The operator allows it with `allowed-private-networks`."},
		{name: "an unknown hook", args: args("hook deliveries ingets"), says: []string{"not found"},
			cause: "The tenant has no hook of this name.", remedy: "`ragd hook list` lists them."},
		{name: "a delivery that is gone", args: args("hook replay ingest 0e9c3c5c-5e0a-4c43-8c8c-2f6a3a8f4d6b"), says: []string{"no such delivery"},
			cause: "The id is wrong, or the event is no longer kept.", remedy: "`ragd hook deliveries` lists what can be replayed."},
	}
}

// Every mistake is answered with what is wrong and what to do. The page
// docs/how-to/troubleshooting.md lists what is printed; -update writes the list.
func TestMistakesAreAnsweredAsDocumented(t *testing.T) {
	t.Parallel()
	models := modelserver.New(t)
	s := newSession(t, append(providing(models), "RAGD_TEI_BASE_URL=http://127.0.0.1:1", "RAGD_MASTER_KEY="+strings.Repeat("0123456789abcdef", 4), "RAGD_PUBLIC_URL=https://ragd.example.com")...)
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	folder := troubleFolder(t)
	s.want(t, step{args: args("index create docs"), stdout: anything})
	s.want(t, step{args: args("index create vecs --dimension 3"), stdout: anything, stderr: anything})
	s.want(t, step{args: args("index create ai --embedding-model openai/some-model"), stdout: anything})
	s.want(t, step{args: []string{"ingest", filepath.Join(folder, "a.md"), "--index", "docs", "--metadata", `{"team": "legal"}`}, stdout: anything, stderr: anything})
	s.want(t, step{args: []string{"ingest", filepath.Join(folder, "a.md"), "--index", "ai"}, stdout: anything, stderr: anything})
	s.want(t, step{args: args("tool create ask_docs --index docs --description D"), stdout: anything})
	_, created, _ := s.run(args("key create --scopes read")...)
	_, readKey, _ := strings.Cut(created, "secret  ")
	_, created, _ = s.run(args("key create --scopes write")...)
	_, key, _ := strings.Cut(created, "secret  ")

	s.want(t, step{args: args("context declare country --schema {\"enum\":[\"de\"]}"), stdout: anything})
	s.want(t, step{args: args("context declare team --attribute team"), stdout: anything})
	s.want(t, step{args: args("hook create ingest https://example.com/hook --event document.ready"), stdout: anything})
	s.stdin = "token-of-the-crm"
	s.want(t, step{args: args("secret set crm --host crm.example.org"), stdout: anything})
	s.stdin = ""
	keys := map[string]string{"READKEY": strings.TrimSpace(readKey)}
	for name, flags := range map[string]string{"INDEXKEY": "--scopes admin --index docs", "TOOLKEY": "--tool ask_docs"} {
		_, created, _ = s.run(args("key create " + flags)...)
		_, bound, _ := strings.Cut(created, "secret  ")
		keys[name] = strings.TrimSpace(bound)
	}

	var page []string
	list := mistakes(folder, plain.URL)
	if len(list) < 40 {
		t.Errorf("only %d mistakes", len(list))
	}
	for _, m := range list {
		models.Set(m.models)
		var message string
		if m.call != nil {
			message = s.send(t, *m.call, strings.TrimSpace(key))
		} else {
			message = s.mistaken(t, m, keys)
		}
		message = strings.NewReplacer(folder+string(filepath.Separator), "", plain.URL, "http://example.com", "URL", "http://127.0.0.1:8484").Replace(s.settled(message))
		for _, want := range m.says {
			if !strings.Contains(message, want) {
				t.Errorf("%s: the message lacks %q:\n%s", m.name, want, message)
			}
		}
		for _, not := range append(m.never, "ragdv1", "proto:", "pgconn", readKey, key) {
			if strings.Contains(message, not) {
				t.Errorf("%s: the message has %q:\n%s", m.name, not, message)
			}
		}
		page = append(page, fmt.Sprintf("- `` %s ``<br>%s %s\n", message, m.cause, m.remedy))
	}
	slices.Sort(page)
	comparePage(t, strings.Join(slices.Compact(page), ""))
}

// mistaken runs the command line of a mistake and returns its message.
func (s *session) mistaken(t *testing.T, m mistake, keys map[string]string) string {
	t.Helper()
	run := &session{tap: s.tap, env: map[string]string{"XDG_CONFIG_HOME": s.env["XDG_CONFIG_HOME"]}, stdin: m.stdin}
	for name, value := range m.env {
		run.env[name] = cmp.Or(keys[value], value)
	}
	words := slices.Clone(m.args)
	for i := range words {
		words[i] = strings.Replace(words[i], "HTTPSURL", strings.Replace(s.url, "http:", "https:", 1), 1)
	}
	_, stdout, stderr := run.run(words...)
	if m.stdin != "" {
		return textOfTool(t, stdout)
	}
	return messageLine(strings.ReplaceAll(stderr, strings.Replace(s.url, "http:", "https:", 1), "https://127.0.0.1:8484"))
}

var toolText = regexp.MustCompile(`"(?:text|message)":("(?:[^"\\]|\\.)*")`)

// textOfTool returns the text of a tool's result.
func textOfTool(t *testing.T, stdout string) string {
	t.Helper()
	if found := toolText.FindStringSubmatch(stdout); found != nil {
		return unquoted(t, []byte(found[1]))
	}
	return stdout
}

// unquoted returns the text of a JSON string.
func unquoted(t *testing.T, quoted []byte) (text string) {
	t.Helper()
	if err := json.Unmarshal(quoted, &text); err != nil {
		t.Error(err)
	}
	return text
}

// messageLine returns the line of standard error that has the message: the first that is
// not about another file, else the last.
func messageLine(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	for _, line := range lines {
		for _, begin := range []string{"failed: ", "warning: ", "index "} {
			if strings.HasPrefix(line, begin) {
				return line
			}
		}
	}
	return lines[len(lines)-1]
}

// send sends a request of a mistake and returns the message of the answer.
func (s *session) send(t *testing.T, r badRequest, key string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.method, s.url+r.path, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	if !r.anonymous {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode < 400 {
		t.Errorf("%s %s answers %s", r.method, r.path, res.Status)
	}
	if found := regexp.MustCompile(`"message":("(?:[^"\\]|\\.)*")`).FindSubmatch(body); found != nil {
		return unquoted(t, found[1])
	}
	return string(body)
}

// troubleFolder returns a folder with files that cannot be read, and one that can.
func troubleFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{
		"a.md": "# Boats\n\nThe ferry leaves at nine.\n", "empty.txt": "", "logo.png": "\x89PNG\r\n\x1a\n\x00\x00", "data.bin": "\x00\x01\x02\x00binary",
		"cyrillic.txt": "\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0", "bad.jsonl": "{\"id\":\"a\",\"text\":\"x\"}\n{\"id\":\"b\",\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, from := range map[string]string{"encrypted.pdf": "hostile/encrypted.pdf", "scanned.pdf": "hostile/no-text.pdf"} {
		content, err := os.ReadFile(filepath.Join("../../internal/ingest/parse/testdata", from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// comparePage compares the list of messages on the page, or rewrites it with -update.
func comparePage(t *testing.T, list string) {
	t.Helper()
	const path, begin, end = "../../docs/how-to/troubleshooting.md", "<!-- messages: rewritten by go test ./cmd/ragd -run TestMistakes -update -->\n", "<!-- end of messages -->\n"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := bytes.Cut(page, []byte(begin))
	old, tail, ended := bytes.Cut(rest, []byte(end))
	if !ok || !ended {
		t.Fatalf("%s has no list of messages", path)
	}
	if string(old) == list {
		return
	}
	if !*update {
		t.Errorf("%s does not show what is printed; rewrite it with -update. Now:\n%s", path, list)
		return
	}
	if err := os.WriteFile(path, slices.Concat(head, []byte(begin), []byte(list), []byte(end), tail), 0o600); err != nil {
		t.Fatal(err)
	}
}
