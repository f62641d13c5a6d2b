package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"time"
)

// Calls that need much processor time. Another tenant must not notice, and the work must
// end when the caller leaves or its deadline passes.

// cpuAttacks returns the attacks that need much processor time.
func cpuAttacks() []attack {
	all := []attack{
		burn("cpu-diversity", "VectorQuery of topK 1000 with diversity and neighbours", 8, func(int, int) (string, object) {
			return "QueryService/VectorQuery", object{"indexName": "docs", "queryText": "harbour quarry", "topK": 1000, "diversity": 0.5, "neighbours": 3}
		}),
		burn("cpu-lists", "ListChunks and ListDocuments of pages of 1000", 8, func(_, n int) (string, object) {
			if n%2 == 0 {
				return "DocumentService/ListDocuments", object{"indexName": "docs", "pageSize": 1000}
			}
			return "QueryService/VectorQuery", object{"indexName": "docs", "queryText": "harbour", "topK": 1000, "includeVectors": true}
		}),
		burn("cpu-lexical-rerank", "VectorQuery with diversity and lexical reranking of 1000 candidates", 8, func(_, n int) (string, object) {
			return "QueryService/VectorQuery", object{
				"indexName": "docs", "queryText": strings.Repeat(fmt.Sprintf("harbour quarry %d ", n), 100), "topK": 500, "diversity": 0.5,
				"reranker": object{"model": "builtin/lexical", "candidates": 1000},
			}
		}),
		burn("cpu-graph", "GraphRag over the stored and the candidate graph", 16, func(client, _ int) (string, object) {
			return "QueryService/GraphRag", object{
				"indexName": "docs", "queryText": "harbour quarry", "topK": 1000, "explain": true,
				"graphOptions": object{"candidates": 1000 * (client % 2), "threshold": 0.1, "randomWalkSteps": 10_000},
			}
		}),
		burn("cpu-rerank", "Rerank of 1000 texts of 25 KB", 8, func(_, n int) (string, object) {
			results := make([]object, 1000)
			for i := range results {
				results[i] = object{"id": fmt.Sprint(i), "document": longText}
			}
			return "QueryService/Rerank", object{"queryText": fmt.Sprint("harbour quarry valve ", n), "results": results}
		}),
		burn("cpu-embed", "Embed of 2048 texts of 10 KB", 8, func(_, n int) (string, object) {
			texts := make([]string, 2048)
			for i := range texts {
				texts[i] = fmt.Sprint(n, i, longText[:10_000])
			}
			return "QueryService/Embed", object{"texts": texts}
		}),
		burn("cpu-chunk", "ChunkText of 10 MB of Markdown", 8, func(int, int) (string, object) {
			return "ChunkService/ChunkText", object{"text": strings.Repeat("# Harbour\n\n"+longText+"\n\n", 400), "contentType": "text/markdown"}
		}),
	}
	all = append(all, settingAttacks()...)
	for _, regex := range [][2]string{{"nested", `(a+)+b`}, {"counted", `a{1,50}$`}, {"alternatives", `(a|aa)+c`}} {
		name, pattern := regex[0], regex[1]
		all = append(all,
			attack{name: "regex-leave-" + name, what: "8x ChunkText of 10 MB of a, separator " + code(pattern) + ", leaving after 5 s", run: leave(pattern)},
			attack{name: "regex-deadline-" + name, what: "8x ChunkText of 10 MB of a, separator " + code(pattern) + ", with a deadline of 10 s", run: overstay(pattern)},
		)
	}
	return all
}

// settingAttacks returns the attacks whose settings or expressions make a call long.
func settingAttacks() []attack {
	lists := make([]int, 4000)
	office := docx(func(w io.Writer) { repeat(w, "<w:p/>", 5_000_000) })()
	chunking := func(text string, options object) func(int, int) (string, object) {
		return func(int, int) (string, object) {
			return "ChunkService/ChunkText", object{"text": text, "chunking": options}
		}
	}
	return []attack{
		burn("cpu-chunk-expression", "ChunkText of 10 MB of a, separator `a{1,50}$`", 8, func(int, int) (string, object) {
			return "ChunkService/ChunkText", lettersAt("a{1,50}$")
		}),
		burn("cpu-chunk-short", "ChunkText of 32 KB of a, separator `a{1,500}$`", 32, chunking(strings.Repeat("a", 32_000), object{
			"strategy": "recursive", "separators": []string{"a{1,500}$"}, "isSeparatorRegex": true, "maxSize": 1000, "overlap": 0,
		})),
		burn("cpu-chunk-tokens", "ChunkText of 10 MB with windows of 310 tokens that overlap by 300", 8, chunking(strings.Repeat(longText, 400), object{
			"strategy": "token", "maxSize": 310, "overlap": 300,
		})),
		burn("cpu-chunk-word", "ChunkText of a word of 10 MB with windows of 310 tokens that overlap by 300", 8, chunking(strings.Repeat("a", 10_000_000), object{
			"strategy": "token", "maxSize": 310, "overlap": 300,
		})),
		burn("cpu-preview-file", "previews of a DOCX of 5 million empty paragraphs", 8, func(_, n int) (string, object) {
			return "ChunkService/ChunkText", object{"content": base64.StdEncoding.EncodeToString(office), "upload": object{"uri": fmt.Sprintf("%d.docx", n)}}
		}),
		burnAfter("cpu-expressions", "StartWorkflow with an expression of nested loops", 8, func(ctx context.Context, s *arena) error {
			return s.must(ctx, s.attacker.admin, "WorkflowService/CreateWorkflow", object{"workflowName": "loops", "definition": object{
				"description": "x", "steps": []object{{"id": "a", "kind": "map", "input": object{"n": object{"expression": "initData.list.map(a, initData.list.filter(b, a == b).size()).size()"}}}},
			}}, nil)
		}, func(int, int) (string, object) {
			return "WorkflowService/StartWorkflow", object{"workflowName": "loops", "input": object{"list": lists}}
		}),
	}
}

// code returns a pattern as it can stand in a table of Markdown.
func code(pattern string) string { return "`" + strings.ReplaceAll(pattern, "|", `\|`) + "`" }

// longText is a text of 25 KB.
var longText = prose("mallory", 1, 25_000)

// burn returns an attack that repeats a call from several clients without a pause.
func burn(name, what string, clients int, request func(client, n int) (procedure string, body object)) attack {
	return burnAfter(name, what, clients, nil, request)
}

// burnAfter is burn with a preparation.
func burnAfter(name, what string, clients int, prepare func(context.Context, *arena) error, request func(client, n int) (procedure string, body object)) attack {
	what = fmt.Sprintf("%dx %s, with a read key", clients, what)
	return attack{name: name, what: what, run: func(ctx context.Context, s *arena) (result, error) {
		if err := s.upload(ctx, s.attacker, 120); err != nil {
			return result{}, err
		}
		if err := s.upload(ctx, s.victim, 10); err != nil {
			return result{}, err
		}
		if prepare != nil {
			if err := prepare(ctx, s); err != nil {
				return result{}, err
			}
		}
		// The bodies are made before, so that the attacker's own work does not disturb the
		// measurement on the same machine.
		type prepared struct {
			procedure string
			body      []byte
		}
		const different = 6 // requests
		calls := make([]prepared, different)
		for n := range calls {
			procedure, body := request(n, n)
			calls[n] = prepared{procedure, encode(body)}
		}
		return fairness{
			service: s, clients: clients,
			attack: func(ctx context.Context, client, n int) answer {
				call := calls[(client+n)%different]
				return s.sendJSON(ctx, s.attacker.read, call.procedure, call.body)
			},
			victim: []question{s.asked()},
		}.run(ctx)
	}}
}

// usual is a usual query of the other tenant.
var usual = object{"indexName": "docs", "queryText": "lantern orchard", "topK": 5}

// asked is the usual query of the other tenant, whose latency is measured.
func (s *arena) asked() question { return s.question("QueryService/VectorQuery", usual) }

// ask sends the usual query of the other tenant.
func (s *arena) ask(ctx context.Context) answer {
	return s.rpc(ctx, s.victim.read, "QueryService/VectorQuery", usual)
}

// idle is the processor time a second that a service without requests may use.
const idle = 100 * time.Millisecond

// letters returns a request to split 10 MB of a at a pattern. It is not compressed, because
// so much of one letter in 27 KB is refused for that alone.
func letters(pattern string) []byte { return encode(lettersAt(pattern)) }

func lettersAt(pattern string) object {
	return object{
		"text":     strings.Repeat("a", 10_000_000),
		"chunking": object{"strategy": "recursive", "separators": []string{pattern}, "isSeparatorRegex": true, "maxSize": 1000, "overlap": 0},
	}
}

// leave splits at a pattern and leaves after five seconds. The work must then end.
func leave(pattern string) func(context.Context, *arena) (result, error) {
	return func(ctx context.Context, s *arena) (result, error) {
		body := letters(pattern)
		leaving, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		answers := times(8, func(int) answer {
			return s.sendJSON(leaving, s.attacker.read, "ChunkService/ChunkText", body)
		})
		r := reject(answers)
		s.checkIdle(&r, "its callers had left")
		return r, nil
	}
}

// overstay splits at a pattern with a deadline. The answer must come and the work must end
// soon after it.
func overstay(pattern string) func(context.Context, *arena) (result, error) {
	return func(ctx context.Context, s *arena) (result, error) {
		body := letters(pattern)
		bounded, cancel := context.WithTimeout(ctx, 5*time.Minute)
		defer cancel()
		answers := times(8, func(int) answer {
			return s.sendJSON(bounded, s.attacker.read, "ChunkService/ChunkText", body, "Connect-Timeout-Ms", "10000")
		})
		r := reject(answers)
		for _, a := range answers {
			if a.took > 15*time.Second {
				r.breaks("a call with a deadline of 10 s took %.0f s", a.took.Seconds())
				break
			}
		}
		s.checkIdle(&r, "its deadline")
		return r, nil
	}
}

// checkIdle breaks the result unless the service is idle three seconds from now.
func (s *arena) checkIdle(r *result, after string) {
	time.Sleep(3 * time.Second)
	const window = 3 * time.Second
	before := s.CPU()
	time.Sleep(window)
	if used := (s.CPU() - before) / (window / time.Second); used > idle {
		r.breaks("3 s after %s the service still used %.2f s of processor time a second", after, used.Seconds())
	}
}
