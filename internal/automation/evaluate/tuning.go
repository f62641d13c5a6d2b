package evaluate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/ragdhq/ragd/internal/automation/evaluate/measure"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/notable"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// TuningSettings say how an index is tuned.
type TuningSettings struct {
	Adopt     bool   `json:"adopt,omitempty"` // whether the index is to rank by what is found
	Namespace string `json:"namespace,omitempty"`

	// What the index had at the start, of which the outcome says something.
	IndexID        int64  `json:"indexId"`
	EmbeddingModel string `json:"embeddingModel"`
	// Present is the value that the index had, and Tried are all that are tried, the least first.
	Present float64   `json:"present"`
	Tried   []float64 `json:"tried"`
}

// TuningOutcome is what a tuning found.
type TuningOutcome struct {
	NDCG       []float64          `json:"ndcg"`   // of the values that were tried, on the half that chose
	Chosen     float64            `json:"chosen"` // one of these values
	Choosing   int                `json:"choosing"`
	Comparing  int                `json:"comparing"` // questions of the half on which Difference was measured
	Difference measure.Difference `json:"difference"`
	Adopted    bool               `json:"adopted"`
}

// Limits of tunings.
const (
	// minTuning is how many questions with judgements a tuning needs, minTuningHalf how many of them in each half.
	minTuning     = 40
	minTuningHalf = 10
	// tuningK is the k of the nDCG by which values are compared.
	tuningK = 10
)

// The values that are tried, for embeddings of models of meaning and of the builtin model. The latter weigh next to nothing by
// themselves.
var (
	triedOfModels  = []float64{-3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3}
	triedOfBuiltin = []float64{0, 2, 3, 4, 5, 6}
)

// Tune starts an evaluation that tunes an index by the judged questions of a set. Errors: Denied for a credential with a mandatory
// filter; NotFound; Precondition for too few questions; those of a hybrid query, which is asked at once.
func (s *Service) Tune(ctx context.Context, setName, indexName, label string, settings TuningSettings) (Evaluation, error) {
	if _, err := access.RequireWholeIndexes(ctx, access.Write); err != nil {
		return Evaluation{}, err
	}
	c, err := s.caller(ctx, access.Write)
	if err != nil {
		return Evaluation{}, err
	}
	if indexName == "" {
		return Evaluation{}, fault.Field("indexName", "is missing: name the index that is to be tuned")
	}
	if err := c.handle.Tx(ctx, func(tx *data.Tx) error { return index.CheckTunable(ctx, tx) }); err != nil {
		return Evaluation{}, err
	}
	set, err := getSet(ctx, c.handle, c.access, setName)
	if err != nil {
		return Evaluation{}, err
	}
	i, err := index.ByName(ctx, c.handle, indexName)
	if err != nil {
		return Evaluation{}, err
	}
	if err := checkTunable(ctx, c.handle, set); err != nil {
		return Evaluation{}, err
	}
	settings.IndexID, settings.EmbeddingModel, settings.Present = i.ID, i.EmbeddingModel, i.VectorLogOdds()
	settings.Tried = slices.Clone(triedOfModels)
	if i.BuiltinModel() {
		settings.Tried = slices.Clone(triedOfBuiltin)
	}
	if !slices.Contains(settings.Tried, settings.Present) {
		settings.Tried = slices.Sorted(slices.Values(append(settings.Tried, settings.Present)))
	}
	all := Settings{Tuning: &settings, Ks: []int{tuningK}, Label: label, Request: settings.request(settings.Present)}
	if err := all.Complete(); err != nil {
		return Evaluation{}, err
	}
	return s.start(ctx, c, set, i, all)
}

// request returns the query that asks with a value.
func (t TuningSettings) request(value float64) json.RawMessage {
	type hybrid struct {
		VectorLogOdds float64 `json:"vectorLogOdds"`
	}
	encoded, err := json.Marshal(struct {
		SearchMode string `json:"searchMode"`
		Namespace  string `json:"namespace,omitempty"`
		Hybrid     hybrid `json:"hybrid"`
	}{"hybrid", t.Namespace, hybrid{value}})
	if err != nil {
		panic(err) // strings and finite numbers
	}
	return encoded
}

// tunes reports whether a question counts in a tuning.
func (q Question) tunes() bool { return q.Judged() && !q.Drafted }

// chooses reports whether a question belongs to the half on which a value is chosen. Texts that differ in case and white
// space only are in one half.
func chooses(text string) bool {
	id := notable.QuestionID(text)
	return id[len(id)-1]%2 == 0 // of a hexadecimal digit: eight of 16 are even
}

// checkTunable checks that a set has enough questions. Errors: Precondition.
func checkTunable(ctx context.Context, h *data.Handle, set Set) error {
	var choosing, comparing int
	for last := ""; ; {
		questions, err := listQuestions(ctx, h, set.Name, nil, last, maxCall)
		if err != nil {
			return err
		}
		if len(questions) == 0 {
			return enough(set.Name, choosing, comparing)
		}
		for _, q := range questions {
			switch {
			case !q.tunes():
			case chooses(q.Text):
				choosing++
			default:
				comparing++
			}
		}
		last = questions[len(questions)-1].ID
	}
}

// enough checks the numbers of questions of both halves. Errors: Precondition.
func enough(setName string, choosing, comparing int) error {
	switch n := choosing + comparing; {
	case n < minTuning:
		return fault.New(fault.Precondition, "question set %q has %d questions that say what is relevant and are not drafts, a tuning needs %d: put more, review drafts, or record feedback", setName, n, minTuning)
	case min(choosing, comparing) < minTuningHalf:
		return fault.New(fault.Precondition, "of the questions of set %q, %d are in the half on which a value is chosen and %d in the one on which it is compared, a tuning needs %d in each: put more questions", setName, choosing, comparing, minTuningHalf)
	}
	return nil
}

// askTuning asks a question with all values. The result is that of the present value.
func (s *Service) askTuning(ctx context.Context, h *data.Handle, e Evaluation, q Question) (Result, error) {
	t := e.Settings.Tuning
	start := time.Now()
	hits, err := s.ask(ctx, h.Tenant(), e, q.Text)
	if err != nil {
		return Result{}, err
	}
	result := resultOf(q, hits, time.Since(start), e.Settings)
	if !q.tunes() {
		return result, nil
	}
	result.Tried = make([]float64, len(t.Tried))
	for i, value := range t.Tried {
		of := result
		if value != t.Present {
			e.Settings.Request = t.request(value)
			if hits, err = s.ask(ctx, h.Tenant(), e, q.Text); err != nil {
				return Result{}, err
			}
			of = resultOf(q, hits, 0, e.Settings)
		}
		result.Tried[i] = of.Cuts[0].NDCG
	}
	return result, nil
}

// outcome returns what the results of a tuning say. Errors: Precondition if too few questions are left.
func (t TuningSettings) outcome(ctx context.Context, setName string, results []Result) (*TuningOutcome, error) {
	var choosing, comparing []Result
	for _, r := range results {
		switch {
		case len(r.Tried) != len(t.Tried):
		case chooses(r.Text):
			choosing = append(choosing, r)
		default:
			comparing = append(comparing, r)
		}
	}
	o := &TuningOutcome{Choosing: len(choosing), Comparing: len(comparing), NDCG: make([]float64, len(t.Tried))}
	if err := enough(setName, len(choosing), len(comparing)); err != nil {
		return nil, err
	}
	present, chosen := slices.Index(t.Tried, t.Present), 0
	for i := range t.Tried {
		for _, r := range choosing {
			o.NDCG[i] += r.Tried[i] / float64(len(choosing))
		}
		// Of values that are as good, the one nearest to the present one.
		if c := cmp.Compare(o.NDCG[i], o.NDCG[chosen]+tuningTie); c > 0 || math.Abs(o.NDCG[i]-o.NDCG[chosen]) <= tuningTie &&
			math.Abs(t.Tried[i]-t.Present) < math.Abs(t.Tried[chosen]-t.Present) {
			chosen = i
		}
	}
	o.Chosen = t.Tried[chosen]
	tried := func(i int) []measure.Result {
		all := make([]measure.Result, len(comparing))
		for n, r := range comparing {
			all[n] = measure.Result{Answerable: true, Cuts: []measure.Cut{{K: tuningK, NDCG: r.Tried[i]}}}
		}
		return all
	}
	differences, err := measure.Compare(ctx, tried(present), tried(chosen), []int{tuningK}, false)
	if err != nil {
		return nil, err
	}
	name := measure.At(measure.NDCGAt, tuningK)
	at := slices.IndexFunc(differences, func(d measure.Difference) bool { return d.Name == name })
	if at < 0 {
		return nil, fmt.Errorf("a comparison of %d questions has no %s", len(comparing), name)
	}
	o.Difference = differences[at]
	return o, nil
}

// tuningTie is the largest difference of two means that count as the same.
const tuningTie = 1e-9

// wins reports whether the chosen value is better than the present one, whichever questions of the kind are asked.
func (o TuningOutcome) wins(t TuningSettings) bool {
	return o.Chosen != t.Present && o.Difference.Low > 0
}

// adopt stores the outcome of a tuning, and with the index the value that was chosen if it is wanted and better.
func (s *Service) adopt(ctx context.Context, tx *data.Tx, e Evaluation) error {
	t, o := *e.Settings.Tuning, e.Outcome
	if t.Adopt && o.wins(t) {
		err := s.Indexes.Adopt(ctx, tx, e.IndexName, t.IndexID, t.Present, index.Tuning{
			VectorLogOdds: o.Chosen, EmbeddingModel: t.EmbeddingModel, SetName: e.SetName, EvaluationID: e.ID, AdoptedAt: time.Now().UTC(),
		})
		if err != nil {
			return err
		}
		o.Adopted = true
		s.Logger.InfoContext(ctx, "an index was tuned", slog.String("index", e.IndexName), slog.Float64("vectorLogOdds", o.Chosen), slog.String("evaluation", e.ID))
	}
	_, err := tx.Exec(ctx, `UPDATE ragd_shared.evaluations SET tuning_outcome = $2 WHERE evaluation_id = $1::uuid`, e.ID, o)
	return err
}
