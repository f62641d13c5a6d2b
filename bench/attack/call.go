package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// object is a JSON object.
type object = map[string]any

// client has enough connections for every attack, and does not decompress answers.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}

// answer is the answer to a request.
type answer struct {
	status int
	code   string // "ok", the Connect code, "HTTP nnn", or "no answer"
	text   string // the body
	took   time.Duration
}

// internal reports whether the service says that something is wrong with itself.
func (a answer) internal() bool {
	return a.code == "internal" || a.code == "unknown" || a.code == "HTTP 500" || strings.Contains(a.text, "internal error")
}

// send sends a request. headers are alternating names and values. Without an answer the
// code is "no answer" or, after the deadline, "left".
func (s *arena) send(ctx context.Context, method, path, key string, body []byte, headers ...string) answer {
	return send(ctx, method, s.URL()+path, key, body, headers...)
}

func send(ctx context.Context, method, url, key string, body []byte, headers ...string) answer {
	start := time.Now()
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return answer{code: "no answer", text: err.Error()}
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header[headers[i]] = []string{headers[i+1]} // as written, even if malformed
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	res, err := client.Do(req)
	if err != nil {
		code := "no answer"
		if ctx.Err() != nil {
			code = "left"
		}
		return answer{code: code, text: err.Error(), took: time.Since(start)}
	}
	defer res.Body.Close()
	const maxAnswer = 64 << 20
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	a := answer{status: res.StatusCode, code: "ok", text: string(text), took: time.Since(start)}
	if res.StatusCode != http.StatusOK {
		var problem struct{ Code any }
		_ = json.Unmarshal(text, &problem)
		code, _ := problem.Code.(string)
		a.code = cmp.Or(code, fmt.Sprintf("HTTP %d", res.StatusCode))
	}
	return a
}

// rpc calls a procedure, such as IndexService/CreateIndex, in JSON.
func (s *arena) rpc(ctx context.Context, key, procedure string, request any, headers ...string) answer {
	return s.sendJSON(ctx, key, procedure, encode(request), headers...)
}

// sendJSON calls a procedure with a body of JSON.
func (s *arena) sendJSON(ctx context.Context, key, procedure string, body []byte, headers ...string) answer {
	return s.send(ctx, http.MethodPost, "/ragd.v1."+procedure, key, body, append([]string{"Content-Type", "application/json"}, headers...)...)
}

// must calls a procedure for an attack's preparation and decodes its answer into to,
// which may be nil.
func (s *arena) must(ctx context.Context, key, procedure string, request, to any) error {
	a := s.rpc(ctx, key, procedure, request)
	if a.code != "ok" {
		return fmt.Errorf("%s: %s: %s", procedure, a.code, brief(a.text))
	}
	if to == nil {
		return nil
	}
	return json.Unmarshal([]byte(a.text), to)
}

// modern is the revision of MCP that has no sessions.
const modern = "2026-07-28"

// mcp sends a request over MCP, without a session.
func (s *arena) mcp(ctx context.Context, key, method, name string, params object, headers ...string) answer {
	return s.send(ctx, http.MethodPost, "/mcp", key, encode(mcpRequest(method, params)), append(mcpHeaders(method, name), headers...)...)
}

func mcpRequest(method string, params object) object {
	params["_meta"] = object{
		"io.modelcontextprotocol/protocolVersion":    modern,
		"io.modelcontextprotocol/clientInfo":         object{"name": "attack", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": object{},
	}
	return object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
}

// mcpHeaders returns the headers of a request over MCP. name is that of the tool or
// prompt.
func mcpHeaders(method, name string) []string {
	return []string{
		"Content-Type", "application/json", "Accept", "application/json, text/event-stream",
		"Mcp-Protocol-Version", modern, "Mcp-Method", method, "Mcp-Name", name,
	}
}

// zip returns the gzip form of a text that is written by write.
func zip(write func(io.Writer)) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	write(z)
	_ = z.Close() // a buffer does not fail
	return b.Bytes()
}

// repeat writes a piece n times.
func repeat(w io.Writer, piece string, n int) {
	const atOnce = 1 << 12
	many := []byte(strings.Repeat(piece, min(n, atOnce)))
	for ; n > 0; n -= atOnce {
		_, _ = w.Write(many[:len(piece)*min(n, atOnce)])
	}
}

// times calls f n times at once and returns the answers.
func times(n int, f func(n int) answer) []answer {
	answers := make([]answer, n)
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { answers[i] = f(i) })
	}
	calls.Wait()
	return answers
}

// tally describes answers: how many there are of each code, and the longest time.
func tally(answers []answer) string {
	counts, longest := map[string]int{}, time.Duration(0)
	var codes []string
	for _, a := range answers {
		if counts[a.code]++; counts[a.code] == 1 {
			codes = append(codes, a.code)
		}
		longest = max(longest, a.took)
	}
	if len(answers) == 0 {
		return "no call was answered"
	}
	slices.Sort(codes)
	for i, code := range codes {
		codes[i] = fmt.Sprintf("%dx %s", counts[code], code)
	}
	return fmt.Sprintf("%s, within %.1f s", strings.Join(codes, ", "), longest.Seconds())
}

// reject returns a result that is broken if an answer is an internal error.
func reject(answers []answer) result {
	r := result{answer: tally(answers)}
	if i := slices.IndexFunc(answers, answer.internal); i >= 0 {
		r.breaks("an answer is %s: %s", answers[i].code, brief(answers[i].text))
	}
	return r
}

// encode returns a value of texts, numbers, lists and objects as JSON.
func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // such values can be encoded
	}
	return text
}
