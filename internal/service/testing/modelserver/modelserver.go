// Package modelserver is a model provider for tests. It speaks real HTTP in the
// shapes of OpenAI, Cohere, Jina, Voyage, text-embeddings-inference, Ollama and Gemini, answers deterministically, and can be told to
// fail in the ways that providers fail.
//
//	models := modelserver.New(t)
//	models.Set(modelserver.Fault{Status: 429, RetryAfter: "1", Times: 2})
//	... call models.URL ...
//	models.Requests()
package modelserver

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// Key is the API key that the server accepts. It also accepts requests without a key.
const Key = "sk-fake-0123456789abcdef"

// Server is a fake provider. Set its fields before the first request.
type Server struct {
	// URL is the base URL, without a version.
	URL string
	// Embed returns the embedding of a text. By default it is a unit vector of Dimension
	// values that depends on the text alone.
	Embed func(text string) []float32
	// Dimension is the dimension of embeddings if the request asks for none. Default: 8.
	Dimension int
	// Chat returns the content of the answer to a conversation. By default it is "ok".
	Chat func(Chat) string
	// Turn returns the answer to a conversation if it is set, in place of Chat. See Script.
	Turn func(Chat) Turn
	// Score returns the relevance of a text to a query, for reranking. By default it is
	// the fraction of the query's words that the text contains.
	Score func(query, text string) float64

	server   *httptest.Server
	mu       sync.Mutex
	fault    Fault
	failures int
	requests []Request
	inFlight map[int]Request // by their positions in requests
	peak     int
	done     chan struct{} // closed when the test ends, to end hanging requests
}

// Fault describes how the server fails. With the zero Fault it does not fail.
type Fault struct {
	// Delay is the time before every answer.
	Delay time.Duration
	// Hang keeps the connection open without an answer until the caller closes it, or until Until is
	// closed, if it is not nil.
	Hang  bool
	Until <-chan struct{}
	// Status, if not 0, is the status of the answer, with RetryAfter as the header
	// Retry-After and Code as the error's code.
	Status     int
	RetryAfter string
	Code       string
	// Body replaces the answer.
	Body string
	// ContentType replaces application/json.
	ContentType string
	// Half closes the connection after half of the answer.
	Half bool
	// Mangle changes the decoded answer before it is sent. It is not supported for
	// text-embeddings-inference, whose answer is not an object.
	Mangle func(answer map[string]any)
	// When limits the fault to the requests it accepts.
	When func(Request) bool
	// Times is the number of requests that fail before the server recovers; 0 is all.
	Times int
	// Percent is the percentage of requests that fail, spread evenly; 0 is all.
	Percent int
}

// Request is a request that the server has received.
type Request struct {
	Path   string
	Query  string
	Header http.Header
	Body   map[string]any
	Raw    string
}

// New starts a server that stops at the end of the test.
func New(t testing.TB) *Server {
	s, stop := Start()
	t.Cleanup(stop)
	return s
}

// Start starts a server for a program that is no test. The caller must call stop.
func Start() (s *Server, stop func()) {
	s = &Server{Dimension: 8, inFlight: map[int]Request{}, done: make(chan struct{})}
	s.Embed = func(text string) []float32 { return vector(text, s.Dimension) }
	s.Score = overlap
	s.Chat = func(Chat) string { return "ok" }
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/embeddings", s.handle(s.embeddings))
	mux.HandleFunc("POST /v1/chat/completions", s.handle(s.completions))
	mux.HandleFunc("POST /v2/rerank", s.handle(s.rerankResults)) // Cohere
	mux.HandleFunc("POST /v1/rerank", s.handle(s.rerankV1))      // Jina, Voyage
	mux.HandleFunc("POST /rerank", s.handle(s.rerankTEI))
	mux.HandleFunc("POST /v2/embed", s.handle(s.embedCohere))
	mux.HandleFunc("POST /embed", s.handle(s.embedTEI))
	mux.HandleFunc("POST /api/embed", s.handle(s.embedOllama))
	mux.HandleFunc("POST /v1beta/models/{call}", s.handle(s.embedGemini))
	mux.HandleFunc("POST /v1beta/openai/chat/completions", s.handle(s.completions))
	mux.HandleFunc("POST /compatibility/v1/chat/completions", s.handle(s.completions)) // Cohere
	for _, path := range []string{"/v1/models", "/v1beta/models", "/api/tags", "/info"} {
		mux.HandleFunc("GET "+path, s.handle(s.models))
	}
	s.server = httptest.NewServer(mux)
	s.URL = s.server.URL
	return s, func() {
		close(s.done)
		s.server.CloseClientConnections()
		s.server.Close()
	}
}

// Set replaces the fault, from the next request on. Set(Fault{}) ends all failures.
func (s *Server) Set(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault, s.failures = f, 0
}

// Requests returns the requests so far, in order of arrival.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// InFlight returns the requests that are being answered, in order of arrival.
func (s *Server) InFlight() (requests []Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range slices.Sorted(maps.Keys(s.inFlight)) {
		requests = append(requests, s.inFlight[i])
	}
	return requests
}

// Peak returns the largest number of requests that were in flight at once.
func (s *Server) Peak() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// handle returns a handler that records requests, applies the fault, and else sends the
// answer.
func (s *Server) handle(answer func(Request) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		request := Request{Path: r.URL.Path, Query: r.URL.RawQuery, Header: r.Header, Raw: string(raw)}
		if err := json.Unmarshal(raw, &request.Body); err != nil && r.Method == http.MethodPost {
			refuse(w, http.StatusBadRequest, "", "not JSON")
			return
		}
		fault, leave := s.enter(request)
		defer leave()
		for header, want := range map[string]string{"Authorization": "Bearer " + Key, "X-Goog-Api-Key": Key} {
			if key := r.Header.Get(header); key != "" && key != want {
				refuse(w, http.StatusUnauthorized, "invalid_api_key", "incorrect key: "+key)
				return
			}
		}
		if !s.wait(r, fault) {
			return
		}
		if fault.Status != 0 {
			if fault.RetryAfter != "" {
				w.Header().Set("Retry-After", fault.RetryAfter)
			}
			refuse(w, fault.Status, fault.Code, "told to fail")
			return
		}
		answered := answer(request)
		if turn, ok := answered.(streamed); ok && fault.Body == "" {
			turn.send(w, r)
			return
		}
		send(w, fault, answered)
	}
}

// enter records a request that has arrived. It returns the fault for it, and a function that
// records that the request has been answered.
func (s *Server) enter(request Request) (f Fault, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	position := len(s.requests)
	s.requests = append(s.requests, request)
	s.inFlight[position] = request
	s.peak = max(s.peak, len(s.inFlight))
	return s.faultOf(request), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.inFlight, position)
	}
}

// faultOf returns the fault for the request that has arrived last. The caller holds mu.
func (s *Server) faultOf(request Request) Fault {
	f := s.fault
	delay := Fault{Delay: f.Delay}
	if f.When != nil && !f.When(request) || f.Times > 0 && s.failures >= f.Times {
		return delay
	}
	if n := len(s.requests); f.Percent > 0 && n*f.Percent/100 == (n-1)*f.Percent/100 {
		return delay
	}
	s.failures++
	return f
}

// AwaitIdle waits until no request is being answered.
func (s *Server) AwaitIdle(t testing.TB) {
	t.Helper()
	wait.For(t, "the end of all requests", func() bool { return len(s.InFlight()) == 0 })
}

// wait waits for the fault's delay and reports whether to answer at all.
func (s *Server) wait(r *http.Request, f Fault) bool {
	var after <-chan time.Time
	if !f.Hang {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-after:
		return true
	case <-f.Until:
		return true
	case <-r.Context().Done():
	case <-s.done:
	}
	return false
}

// refuse answers with an error in OpenAI's shape.
func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message, "type": "fake", "code": code}})
}

// send encodes and sends an answer, changed by the fault.
func send(w http.ResponseWriter, f Fault, answer any) {
	body, err := json.Marshal(answer)
	if err != nil {
		panic(err) // answers can always be encoded
	}
	if f.Mangle != nil {
		var decoded map[string]any
		if err := json.Unmarshal(body, &decoded); err != nil {
			panic(err)
		}
		f.Mangle(decoded)
		body, _ = json.Marshal(decoded)
	}
	if f.Body != "" {
		body = []byte(f.Body)
	}
	w.Header().Set("Content-Type", "application/json")
	if f.ContentType != "" {
		w.Header().Set("Content-Type", f.ContentType)
	}
	if f.Half {
		body = body[:len(body)/2]
		_, _ = w.Write(body)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(body)
}

// overlap returns the fraction of the query's words that the text contains.
func overlap(query, text string) float64 {
	words := strings.Fields(strings.ToLower(query))
	text = strings.ToLower(text)
	found := 0
	for _, w := range words {
		if strings.Contains(text, w) {
			found++
		}
	}
	return float64(found) / float64(max(1, len(words)))
}

// Static starts a server that answers every request with the status and body, and returns
// its URL.
func Static(t testing.TB, status int, body string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
