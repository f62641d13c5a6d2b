package localmodel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ragdhq/ragd/internal/model/localmodel/transformer"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// queued returns items of a tenant with this many tokens each.
func queued(ctx context.Context, model *loaded, tokens ...int) []*item {
	var items []*item
	for _, n := range tokens {
		items = append(items, &item{
			ctx: ctx, model: model, sequence: transformer.Sequence{Tokens: make([]int32, n)},
			done: func(*transformer.States, int, error) {},
		})
	}
	return items
}

// sizes returns the tokens of the items of a batch.
func sizes(batch []*item) []int {
	var out []int
	for _, it := range batch {
		out = append(out, len(it.sequence.Tokens))
	}
	return out
}

// idle returns a scheduler that computes nothing by itself.
func idle() *scheduler {
	s := newScheduler(1, nil)
	s.running = s.threads
	return s
}

func TestTenantsTakeTurnsAndUrgentClassesGoFirst(t *testing.T) {
	t.Parallel()
	s, model := idle(), new(loaded)
	s.submit("busy", passages, queued(t.Context(), model, 100, 101, 102, 103))
	s.submit("other", passages, queued(t.Context(), model, 90, 91))
	s.submit("busy", pairs, queued(t.Context(), model, 70, 71))
	s.submit("other", questions, queued(t.Context(), model, 10))
	var got [][]int
	for batch, _ := s.next(classes); batch != nil; batch, _ = s.next(classes) {
		got = append(got, sizes(batch))
	}
	want := "[[10] [70] [71] [100] [90] [101] [91] [102] [103]]"
	if fmt.Sprint(got) != want {
		t.Errorf("the order is %v, want %s", got, want)
	}
	if len(s.waiting[passages].tenants) != 0 || s.waiting[passages].order.Len() != 0 {
		t.Error("tenants without items are kept")
	}
}

func TestSmallSequencesOfSeveralTenantsAreComputedTogether(t *testing.T) {
	t.Parallel()
	s, model, other := idle(), new(loaded), new(loaded)
	s.submit("a", questions, queued(t.Context(), model, 30, 31, 32))
	s.submit("b", questions, queued(t.Context(), model, 20))
	s.submit("c", questions, queued(t.Context(), other, 10))
	batch, _ := s.next(classes)
	if got := sizes(batch); !slices.Equal(got, []int{30, 20, 31, 32}) {
		t.Errorf("the batch has %v tokens", got)
	}
	if batch, _ := s.next(classes); len(batch) != 1 || batch[0].model != other {
		t.Errorf("the next batch is %v", sizes(batch))
	}
}

func TestItemsOfEndedRequestsAreDropped(t *testing.T) {
	t.Parallel()
	s, model := idle(), new(loaded)
	ctx, cancel := context.WithCancel(t.Context())
	var ended []error
	gone := queued(ctx, model, 10, 11)
	for _, it := range gone {
		it.done = func(_ *transformer.States, _ int, err error) { ended = append(ended, err) }
	}
	s.submit("a", passages, gone)
	s.submit("b", passages, queued(t.Context(), model, 20))
	cancel()
	if batch, _ := s.next(classes); !slices.Equal(sizes(batch), []int{20}) {
		t.Errorf("the batch has %v tokens", sizes(batch))
	}
	if len(ended) != 2 || !errors.Is(ended[0], context.Canceled) {
		t.Errorf("the ended requests got %v", ended)
	}
}

func TestAQuestionIsComputedInTheMiddleOfAPassage(t *testing.T) {
	t.Parallel()
	models := New(Config{Dir: testModels, Threads: 1})
	model, release, err := models.acquire("", "bert-mean")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	var order []string
	sequence := transformer.Sequence{Tokens: model.encode("What is the capital of France?").Tokens}
	add := func(name string) *item {
		return &item{ctx: t.Context(), model: model, sequence: sequence, done: func(_ *transformer.States, _ int, err error) {
			if err != nil {
				t.Error(err)
			}
			order = append(order, name)
		}}
	}
	s := idle()
	s.submit("a", questions, []*item{add("question")})
	s.compute(t.Context(), []*item{add("passage")}, passages) // has begun before the question is seen
	if !slices.Equal(order, []string{"question", "passage"}) {
		t.Errorf("the order is %v", order)
	}
}

func TestAComputationThatNobodyWaitsForEnds(t *testing.T) {
	t.Parallel()
	models := New(Config{Dir: testModels})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := models.Embed(ctx, "acme", "bert-mean", []string{"text"}, false); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	s := idle()
	if err := s.pause(t.Context(), queued(ctx, nil, 1, 2), passages); !errors.Is(err, errAbandoned) {
		t.Errorf("the pause returned %v", err)
	}
}

func TestNamesReachNoOtherFolder(t *testing.T) {
	t.Parallel()
	models := New(Config{Dir: filepath.Join(testModels, "bert-mean")})
	for _, name := range []string{"../bert-max", "..", ".", "", "1_Pooling/..", "/etc", `..\bert-max`, ".hidden", "a/b", "a\x00"} {
		if _, err := models.Describe(name); fault.KindOf(err) != fault.Invalid {
			t.Errorf("the model %q is described: %v", name, err)
		}
		if _, err := models.Embed(t.Context(), "acme", name, []string{"x"}, false); fault.KindOf(err) != fault.Invalid {
			t.Errorf("the model %q is computed: %v", name, err)
		}
		if err := models.Check(name); fault.KindOf(err) != fault.Invalid {
			t.Errorf("the model %q is a cross-encoder: %v", name, err)
		}
	}
}

func TestAModelOfTheOtherKindIsRefused(t *testing.T) {
	t.Parallel()
	models := New(Config{Dir: testModels})
	if _, err := models.Describe("cross-bert"); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a cross-encoder has vectors: %v", err)
	}
	if err := models.Check("bert-mean"); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a model without a head has scores: %v", err)
	}
}

func TestAnEmptyTextOfAModelWithoutSpecialTokensIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "plain")
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(testModels, "bert-mean"))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "tokenizer.json")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var tokenizer map[string]any
	if err := json.Unmarshal(raw, &tokenizer); err != nil {
		t.Fatal(err)
	}
	delete(tokenizer, "post_processor")
	if raw, err = json.Marshal(tokenizer); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	models := New(Config{Dir: dir})
	if _, err := models.Embed(t.Context(), "acme", "plain", []string{"some text", " "}, false); fault.KindOf(err) != fault.Invalid {
		t.Errorf("the error is %v", err)
	}
	if _, err := models.Embed(t.Context(), "acme", "plain", []string{"some text"}, false); err != nil {
		t.Errorf("a text with words: %v", err)
	}
}

func TestModelsAreUnloadedWhenNobodyUsesThem(t *testing.T) {
	t.Parallel()
	models := New(Config{Dir: testModels, Idle: time.Nanosecond})
	if used := models.Usage(); used.Loaded != 0 {
		t.Errorf("before a use %d models are loaded", used.Loaded)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				if _, err := models.Embed(t.Context(), "acme", "bert-mean", []string{"some text"}, false); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	wait.For(t, "the model to be unloaded", func() bool { return models.Usage().Loaded == 0 })
}

// Batches take slots of the processor, which other computations of the service take too.
func TestBatchesWaitForASlotOfTheProcessor(t *testing.T) {
	t.Parallel()
	processor := limit.NewProcessor(1)
	models := New(Config{Dir: testModels, Threads: 2, Processor: processor})
	leave, err := processor.Enter(t.Context(), "bolt")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := models.Embed(ctx, "acme", "bert-mean", []string{"text"}, false)
		ended <- err
	}()
	wait.For(t, "the batch to be taken, and to wait", func() bool {
		models.work.mu.Lock()
		defer models.work.mu.Unlock()
		return models.work.running == 1 && models.work.waiting[passages].order.Len() == 0
	})
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("without a slot it ended with %v", err)
	}
	leave()
	if _, err := models.Embed(t.Context(), "acme", "bert-mean", []string{"text"}, false); err != nil {
		t.Errorf("with a slot: %v", err)
	}
}
