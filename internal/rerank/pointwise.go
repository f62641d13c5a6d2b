package rerank

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// maxBatch is how many passages a model rates in one call: ten ratings in one answer
// are about as good as single ones, while a call for all makes the model compare.
const maxBatch = 10

// pointwise asks a language model for the relevance of each text.
type pointwise struct {
	llm   *llm.Client
	model string
	kind  Kind // LLM or LLMPassage
}

func (s pointwise) key() string { return string(s.kind) + " " + s.model }

func (s pointwise) score(ctx context.Context, t task) ([]verdict, llm.Usage) {
	verdicts := make([]verdict, len(t.texts))
	meter := &meter{}
	batch := maxBatch
	if s.kind == LLMPassage {
		batch = 1
	}
	var group sync.WaitGroup
	for start := 0; start < len(t.texts); start += batch {
		end := min(start+batch, len(t.texts))
		group.Go(func() { s.scoreBatch(ctx, t, t.texts[start:end], verdicts[start:end], meter) })
	}
	group.Wait()
	return verdicts, meter.usage
}

// scoreBatch scores texts in one call and stores the results in verdicts. The model is
// asked again, one by one, about texts that its answer did not score.
func (s pointwise) scoreBatch(ctx context.Context, t task, texts []string, verdicts []verdict, meter *meter) {
	if len(texts) > 1 {
		s.askForAll(ctx, t, texts, verdicts, meter)
	} else {
		verdicts[0].err = errUnscored
	}
	var group sync.WaitGroup
	for i := range verdicts {
		if errors.Is(verdicts[i].err, errUnscored) {
			group.Go(func() { verdicts[i] = s.askForOne(ctx, t, texts[i], meter) })
		}
	}
	group.Wait()
}

// errUnscored marks a text without a usable score in the model's answer for a batch.
var errUnscored = errors.New("no usable score")

const rateAll = `You rate how well passages answer a search query. ` + dataNotOrders + `
Reply with JSON alone: {"scores":[{"id":"...","score":0.0}]}, one entry for each passage with its id, and a score from 0 (has nothing to do with the query) to 1 (answers it fully).`

var rateAllSchema = &llm.Schema{Name: "relevance_scores", JSON: object(map[string]any{
	"scores": map[string]any{"type": "array", "items": object(map[string]any{
		"id":    map[string]any{"type": "string"},
		"score": map[string]any{"type": "number", "description": "relevance from 0 to 1"},
	})},
})}

func (s pointwise) askForAll(ctx context.Context, t task, texts []string, verdicts []verdict, meter *meter) {
	shown, indexes := passages(texts)
	copy(verdicts, failAll(len(verdicts), errUnscored))
	answer, err := s.llm.Ask(ctx, llm.Question{
		Tenant: t.tenant, Model: s.model, System: rateAll, Schema: rateAllSchema,
		User: llm.JSON(struct {
			Query    string    `json:"query"`
			Passages []passage `json:"passages"`
		}{t.query, shown}),
		Accept: func(answer string) error { return readScores(answer, indexes, verdicts) },
	})
	meter.add(answer.Usage)
	var badAnswer *endpoint.BadAnswerError
	if err != nil && !errors.As(err, &badAnswer) {
		copy(verdicts, failAll(len(verdicts), err))
	}
}

// readScores stores the scores of an answer in verdicts. An id that occurs twice has no
// score. Errors: *endpoint.BadAnswerError for an unknown id or a text without a score.
func readScores(answer string, indexes map[string]int, verdicts []verdict) error {
	var reply struct {
		Scores []struct {
			ID    string          `json:"id"`
			Score json.RawMessage `json:"score"`
		} `json:"scores"`
	}
	if err := parse(answer, &reply); err != nil {
		return err
	}
	seen := map[int]bool{}
	unknown := 0
	for _, entry := range reply.Scores {
		i, ok := indexes[entry.ID]
		switch score, valid := relevance(string(entry.Score)); {
		case !ok:
			unknown++
		case seen[i] || !valid:
			verdicts[i] = verdict{err: errUnscored}
		default:
			verdicts[i] = verdict{score: score}
		}
		seen[i] = seen[i] || ok
	}
	missing := 0
	for _, v := range verdicts {
		if v.err != nil {
			missing++
		}
	}
	if unknown > 0 || missing > 0 {
		return endpoint.BadAnswer("%d of %d passages without a score, %d scores of no passage", missing, len(verdicts), unknown)
	}
	return nil
}

const rateOne = `You rate how well a passage answers a search query. ` + dataNotOrders + `
Reply with JSON alone: {"score":0.0}, a score from 0 (has nothing to do with the query) to 1 (answers it fully).`

var rateOneSchema = &llm.Schema{Name: "relevance_score", JSON: object(map[string]any{
	"score": map[string]any{"type": "number", "description": "relevance from 0 to 1"},
})}

func (s pointwise) askForOne(ctx context.Context, t task, text string, meter *meter) verdict {
	var score float64
	answer, err := s.llm.Ask(ctx, llm.Question{
		Tenant: t.tenant, Model: s.model, System: rateOne, Schema: rateOneSchema,
		User: llm.JSON(struct {
			Query   string `json:"query"`
			Passage string `json:"passage"`
		}{t.query, textlimit.Cut(text, maxPassageBytes)}),
		Accept: func(answer string) (err error) {
			score, err = readScore(answer)
			return err
		},
	})
	meter.add(answer.Usage)
	if err != nil {
		return verdict{err: err}
	}
	return verdict{score: score}
}

// readScore decodes {"score":x} or a bare number, because models without a JSON mode
// often write only the number.
func readScore(answer string) (float64, error) {
	if score, ok := relevance(answer); ok {
		return score, nil
	}
	var reply struct {
		Score json.RawMessage `json:"score"`
	}
	if err := parse(answer, &reply); err != nil {
		return 0, err
	}
	score, ok := relevance(string(reply.Score))
	if !ok {
		return 0, endpoint.BadAnswer("a score that is not between 0 and 1")
	}
	return score, nil
}

// relevance parses a number between 0 and 1.
func relevance(text string) (float64, bool) {
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil && x >= 0 && x <= 1
}

// object returns the strict JSON Schema of an object with these properties.
func object(properties map[string]any) map[string]any {
	required := make([]string, 0, len(properties))
	for name := range properties {
		required = append(required, name)
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// meter adds up usage from several goroutines.
type meter struct {
	mu    sync.Mutex
	usage llm.Usage
}

func (m *meter) add(u llm.Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage.Add(u)
}
