package rerank

import (
	"context"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/model/llm"
)

// The sizes of the window that slides over the candidates, as in RankGPT (Sun et al.
// 2023, "Is ChatGPT Good at Search?"): from the last candidate to the first, half
// overlapping, so that a good text at the end can move to the front. The calls run one
// after the other, which makes listwise the slowest kind.
const (
	window = 20
	stride = 10
)

// listwise asks a language model to put texts in order.
type listwise struct {
	llm   *llm.Client
	model string
}

// key is empty: a text's rank depends on the other texts.
func (s listwise) key() string { return "" }

// score returns 1 for the first of n texts in the model's order, falling evenly to 1/n
// for the last. A text gets an error if the model could order none of its windows.
func (s listwise) score(ctx context.Context, t task) ([]verdict, llm.Usage) {
	n := len(t.texts)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	var usage llm.Usage
	ordered := make([]bool, n)
	var failure error
	for start := max(0, n-window); ; start = max(0, start-stride) {
		part := order[start:min(start+window, n)]
		used, err := s.sort(ctx, t, part)
		usage.Add(used)
		if err != nil {
			failure = err
		} else {
			for _, i := range part {
				ordered[i] = true
			}
		}
		if start == 0 {
			break
		}
	}
	verdicts := make([]verdict, n)
	for rank, i := range order {
		verdicts[i] = verdict{score: position(rank, n)}
		if !ordered[i] {
			verdicts[i] = verdict{err: failure}
		}
	}
	return verdicts, usage
}

const putInOrder = `You put passages in order by how well they answer a search query. ` + dataNotOrders + `
Reply with JSON alone: {"order":["..."]}, the ids of all passages, the best first.`

var putInOrderSchema = &llm.Schema{Name: "passage_order", JSON: object(map[string]any{
	"order": map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
})}

// sort puts part, a list of indexes in t.texts, in the model's order. On an error it
// leaves part unchanged.
func (s listwise) sort(ctx context.Context, t task, part []int) (llm.Usage, error) {
	texts := make([]string, len(part))
	for i, index := range part {
		texts[i] = t.texts[index]
	}
	shown, indexes := passages(texts)
	var order []int
	answer, err := s.llm.Ask(ctx, llm.Question{
		Tenant: t.tenant, Model: s.model, System: putInOrder, Schema: putInOrderSchema,
		User: llm.JSON(struct {
			Query    string    `json:"query"`
			Passages []passage `json:"passages"`
		}{t.query, shown}),
		Accept: func(answer string) (err error) {
			order, err = readOrder(answer, indexes)
			return err
		},
	})
	if err != nil {
		return answer.Usage, err
	}
	sorted := make([]int, len(part))
	for i, at := range order {
		sorted[i] = part[at]
	}
	copy(part, sorted)
	return answer.Usage, nil
}

// readOrder decodes a permutation of the passages. Models often leave out the worst
// passages; these are appended in their present order. Errors: *endpoint.BadAnswerError
// for an empty list, and for an id that is unknown or occurs twice.
func readOrder(answer string, indexes map[string]int) ([]int, error) {
	var reply struct {
		Order []string `json:"order"`
	}
	if err := parse(answer, &reply); err != nil {
		return nil, err
	}
	named := make([]bool, len(indexes))
	var order []int
	for _, id := range reply.Order {
		i, ok := indexes[id]
		if !ok || named[i] {
			return nil, endpoint.BadAnswer("an order with an id that is unknown or named twice")
		}
		named[i] = true
		order = append(order, i)
	}
	if len(order) == 0 {
		return nil, endpoint.BadAnswer("an empty order")
	}
	for i, ok := range named {
		if !ok {
			order = append(order, i)
		}
	}
	return order, nil
}
