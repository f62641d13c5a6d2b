package rerank

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/ragdhq/ragd/internal/endpoint"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/llm"
)

// shape describes the requests of a rerank API. All APIs answer with a list of index
// and score; they differ in the names of the list and of the score.
type shape struct {
	base  string // default base URL, "" if the provider has none
	path  string
	batch int // the most texts in one request
	ask   func(model, query string, texts []string) any
}

var shapes = map[string]shape{
	"cohere": {"https://api.cohere.com", "/v2/rerank", 100, func(model, query string, texts []string) any {
		return map[string]any{"model": model, "query": query, "documents": texts, "top_n": len(texts)}
	}},
	"jina": {"https://api.jina.ai", "/v1/rerank", 100, func(model, query string, texts []string) any {
		return map[string]any{"model": model, "query": query, "documents": texts, "top_n": len(texts), "return_documents": false}
	}},
	"voyage": {"https://api.voyageai.com", "/v1/rerank", 100, func(model, query string, texts []string) any {
		return map[string]any{"model": model, "query": query, "documents": texts, "top_k": len(texts), "return_documents": false, "truncation": true}
	}},
	// text-embeddings-inference serves one model and accepts 32 texts by default.
	"tei": {"", "/rerank", 32, func(_, query string, texts []string) any {
		return map[string]any{"query": query, "texts": texts, "truncate": true, "raw_scores": false}
	}},
}

// crossEncoder is the client of a rerank API.
type crossEncoder struct {
	shape  shape
	path   string
	config endpoint.Config
	client *endpoint.Client
}

func newCrossEncoders(config Config) map[string]*crossEncoder {
	encoders := map[string]*crossEncoder{}
	for name, c := range map[string]endpoint.Config{"cohere": config.Cohere, "jina": config.Jina, "voyage": config.Voyage, "tei": config.TEI} {
		s := shapes[name]
		if !c.Configured() || c.BaseURL == "" && s.base == "" {
			continue
		}
		var path string
		c.BaseURL, path = address(cmp.Or(c.BaseURL, s.base), s.path)
		encoders[name] = &crossEncoder{shape: s, path: path, config: c, client: endpoint.New("the rerank provider "+name, c)}
	}
	return encoders
}

var versioned = regexp.MustCompile(`/v[0-9]+$`)

// address returns the base URL and the path of rerank requests. A base URL may end in
// a version, such as /v1, which then replaces the version of path.
func address(base, path string) (string, string) {
	base = strings.TrimRight(base, "/")
	if versioned.MatchString(base) {
		path = "/rerank"
	}
	return base, path
}

// crossEncoder returns the scorer for a provider's model.
func (r *Reranker) crossEncoder(name, model string) (scorer, error) {
	if name == "" {
		return nil, fault.Field("model", "is needed for the kind %s, such as cohere/rerank-v3.5", CrossEncoder)
	}
	if _, ok := shapes[name]; !ok {
		return nil, fault.Field("model", "provider %q has no rerank API; those that have are cohere, jina, tei and voyage", name)
	}
	encoder := r.encoders[name]
	if encoder == nil {
		return nil, fault.New(fault.Precondition, "model: the provider %[1]s is not configured on this server; its operator sets RAGD_%[2]s_BASE_URL or RAGD_%[2]s_API_KEY", name, strings.ToUpper(name))
	}
	if model == "" && name != "tei" {
		return nil, fault.Field("model", "must be provider/model, such as cohere/rerank-v3.5, got %q", name)
	}
	if model != "" {
		if err := encoder.config.CheckModel("model", model); err != nil {
			return nil, err
		}
	}
	return crossEncoderScorer{encoder, name + "/" + model, model}, nil
}

type crossEncoderScorer struct {
	*crossEncoder
	name, model string
}

func (s crossEncoderScorer) key() string { return string(CrossEncoder) + " " + s.name }

func (s crossEncoderScorer) score(ctx context.Context, t task) ([]verdict, llm.Usage) {
	verdicts := make([]verdict, len(t.texts))
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		usage llm.Usage
	)
	for start := 0; start < len(t.texts); start += s.shape.batch {
		end := min(start+s.shape.batch, len(t.texts))
		group.Go(func() {
			used := s.scoreBatch(ctx, t, t.texts[start:end], verdicts[start:end])
			mu.Lock()
			defer mu.Unlock()
			usage.Add(used)
		})
	}
	group.Wait()
	return verdicts, usage
}

// scoreBatch scores texts in one request and stores the results in verdicts.
func (s crossEncoderScorer) scoreBatch(ctx context.Context, t task, texts []string, verdicts []verdict) (usage llm.Usage) {
	body := s.shape.ask(s.model, t.query, texts)
	err := s.client.Do(ctx, t.tenant, func(ctx context.Context) error {
		usage.Calls++
		var answer answer
		if err := s.client.PostJSON(ctx, s.path, body, &answer); err != nil {
			return err
		}
		usage.InputTokens += answer.tokens
		return answer.fill(verdicts)
	})
	if err != nil {
		copy(verdicts, failAll(len(verdicts), err))
	}
	return usage
}

// answer is the response of a rerank API.
type answer struct {
	scores []struct {
		Index *int     `json:"index"`
		Cross *float64 `json:"relevance_score"`
		TEI   *float64 `json:"score"`
	}
	tokens int
}

// UnmarshalJSON decodes a bare list, or a list in the field results or data.
func (a *answer) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, &a.scores)
	}
	var outer struct {
		Results, Data json.RawMessage
		Usage         struct {
			Tokens int `json:"total_tokens"`
		}
	}
	if err := json.Unmarshal(data, &outer); err != nil {
		return err
	}
	a.tokens = outer.Usage.Tokens
	list := outer.Results
	if list == nil {
		list = outer.Data
	}
	if list == nil {
		return fmt.Errorf("neither results nor data")
	}
	return json.Unmarshal(list, &a.scores)
}

// fill stores the scores in verdicts by index. A text without a valid score gets an
// error in its verdict. Errors: *endpoint.BadAnswerError if an index is out of range or
// no text has a valid score.
func (a *answer) fill(verdicts []verdict) error {
	copy(verdicts, failAll(len(verdicts), fault.New(fault.Unavailable, "the rerank provider gave no usable score for them")))
	found := 0
	for _, s := range a.scores {
		score := s.Cross
		if score == nil {
			score = s.TEI
		}
		if s.Index == nil || *s.Index < 0 || *s.Index >= len(verdicts) {
			return endpoint.BadAnswer("an index out of range for %d texts", len(verdicts))
		}
		if score == nil || !(*score >= 0 && *score <= 1) {
			continue
		}
		verdicts[*s.Index] = verdict{score: *score}
		found++
	}
	if found == 0 {
		return endpoint.BadAnswer("no score between 0 and 1 for %d texts", len(verdicts))
	}
	return nil
}
