package rerank

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"
	"time"
)

// Candidates of a local cross-encoder are scored in steps, in the order of the first stage.
const (
	// localStep is how many texts are scored at a time: those that are done when the time is over
	// count.
	localStep = 10
	// localDepth is how many texts are scored in any case. Further ones are as long as each step has
	// one of the best.
	localDepth = 30
	// localTimeout bounds the time for one request, whose computations share the processors with
	// everything else.
	localTimeout = 2 * time.Second
)

// judged is a text to score, with the candidates that have it.
type judged struct {
	text, title string
	at          []int // indexes in Candidates
}

// texts returns the distinct texts of the candidates that are not blank, in order.
func (q Request) texts() []judged {
	var out []judged
	known := map[string]int{}
	for i, c := range q.Candidates {
		if strings.TrimSpace(c.Text) == "" {
			continue
		}
		text := c.judged()
		n, ok := known[text]
		if !ok {
			n = len(out)
			known[text] = n
			out = append(out, judged{text: text, title: c.Title})
		}
		out[n].at = append(out[n].at, i)
	}
	return out
}

// judge returns a verdict for each candidate. It scores every text that is not blank
// and not cached, each distinct text once, within the time of budget. A local cross-encoder
// leaves out the last ones if they are not likely to be among the best.
func (r *Reranker) judge(ctx context.Context, c choice, request Request, report *Report) []verdict {
	ctx, cancel := context.WithTimeout(ctx, r.budget(ctx, c))
	defer cancel()
	verdicts := make([]verdict, len(request.Candidates))
	texts, step, done := request.texts(), max(1, len(request.Candidates)), 0
	if c.here {
		step = localStep
	}
	best := leaders{most: cmp.Or(request.Best, request.TopK)}
	for batch := range slices.Chunk(texts, step) {
		found := false
		for n, v := range r.score(ctx, c.scorer, request, batch, report) {
			for _, i := range batch[n].at {
				verdicts[i] = v
			}
			found = best.add(v) || found
		}
		if done += len(batch); done >= localDepth && !found {
			break
		}
	}
	for _, t := range texts[done:] {
		for _, i := range t.at {
			verdicts[i] = verdict{score: best.least, skipped: true}
		}
	}
	return verdicts
}

// score returns the verdicts of texts, from the cache or the scorer.
func (r *Reranker) score(ctx context.Context, s scorer, request Request, texts []judged, report *Report) []verdict {
	verdicts := make([]verdict, len(texts))
	t := task{tenant: request.Tenant, query: request.Query}
	var asked []int // indexes in texts
	for n, j := range texts {
		if score, ok := r.cache.get(s, t, j.text); ok {
			verdicts[n].score = score
			report.Cached += len(j.at)
			continue
		}
		t.texts, t.titles, asked = append(t.texts, j.text), append(t.titles, j.title), append(asked, n)
	}
	if len(asked) == 0 {
		return verdicts
	}
	scored, usage := s.score(ctx, t)
	report.Usage.Add(usage)
	for k, v := range scored {
		verdicts[asked[k]] = v
		if v.err == nil {
			r.cache.put(s, t, t.texts[k], v.score)
		}
	}
	return verdicts
}

// budget returns the time for scoring: Config.Timeout, localTimeout for a local model, or nine
// tenths of the caller's remaining time if that is less. The rest is for the work after scoring.
func (r *Reranker) budget(ctx context.Context, c choice) time.Duration {
	most := r.config.Timeout
	if c.here {
		most = min(most, localTimeout)
	}
	if end, ok := ctx.Deadline(); ok {
		return min(most, time.Until(end)*9/10)
	}
	return most
}

// leaders are the greatest scores of those added.
type leaders struct {
	most   int
	scores []float64 // the greatest first
	least  float64   // of all
	some   bool
}

// add adds a verdict and reports whether it is one of the greatest, or an error.
func (l *leaders) add(v verdict) bool {
	if v.err != nil {
		return true
	}
	if !l.some || v.score < l.least {
		l.least, l.some = v.score, true
	}
	at := sort.Search(len(l.scores), func(i int) bool { return l.scores[i] < v.score })
	if at >= l.most {
		return false
	}
	l.scores = slices.Insert(l.scores, at, v.score)
	l.scores = l.scores[:min(len(l.scores), l.most)]
	return true
}
