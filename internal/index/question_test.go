package index_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/dataset/synthetic"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// measuredIndex returns a client of a new tenant with an index of vectors that is built, and
// whose search width is measured with samples.
func measuredIndex(t *testing.T, s *servicetest.Service, name string, values [][]float32, config *ragdv1.IndexConfig) servicetest.Client {
	t.Helper()
	const batch = 500
	c := s.Tenant(t, name)
	_, err := c.CreateIndex(t.Context(), &ragdv1.CreateIndexRequest{IndexName: "v", Dimension: int32(len(values[0])), IndexConfig: config})
	must(t, err)
	for from := 0; from < len(values); from += batch {
		req := &ragdv1.UpsertRequest{IndexName: "v"}
		for n := from; n < min(from+batch, len(values)); n++ {
			req.Entries = append(req.Entries, &ragdv1.Entry{Id: strconv.Itoa(n), Values: values[n]})
		}
		_, err := c.Upsert(t.Context(), req)
		must(t, err)
	}
	_, err = c.BuildIndex(t.Context(), &ragdv1.BuildIndexRequest{IndexName: "v"})
	must(t, err)
	wait.For(t, "the width is measured", func() bool { return described(t, c).SearchWidth != nil })
	return c
}

func described(t *testing.T, c servicetest.Client) *ragdv1.Index {
	t.Helper()
	i, err := c.DescribeIndex(t.Context(), &ragdv1.DescribeIndexRequest{IndexName: "v"})
	must(t, err)
	return i
}

// ask asks a question, and returns how it was answered.
func ask(t *testing.T, c servicetest.Client, question []float32) *ragdv1.Explain {
	t.Helper()
	res, err := c.Query(t.Context(), &ragdv1.QueryRequest{IndexName: "v", QueryVector: question, Explain: true})
	must(t, err)
	return res.Explain
}

// narrowest asks all questions for a recall target and returns the response of the least search width: a search that
// missed a chunk of the service's random sample, as some do, is made again with a larger one.
func narrowest(t *testing.T, c servicetest.Client, questions [][]float32, target *float64) (least *ragdv1.QueryResponse) {
	t.Helper()
	for _, q := range questions {
		res, err := c.Query(t.Context(), &ragdv1.QueryRequest{IndexName: "v", QueryVector: q, Explain: true, RecallTarget: target})
		must(t, err)
		if least == nil || res.Explain.SearchWidth < least.Explain.SearchWidth {
			least = res
		}
	}
	return least
}

// recorded returns the number of recorded questions of a tenant.
func recorded(t *testing.T, s *servicetest.Service, name string) (n int) {
	t.Helper()
	must(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM ragd_shared.asked_questions WHERE tenant_id = $1`, name).Scan(&n))
	return n
}

// record stores questions as if they had been asked just now.
func record(t *testing.T, s *servicetest.Service, name string, questions [][]float32) {
	t.Helper()
	for slot, question := range questions {
		_, err := s.Pool.Exec(t.Context(), `INSERT INTO ragd_shared.asked_questions (tenant_id, index_id, slot, generation, embedding) VALUES ($1, 1, $2, 0, $3)`, name, slot, question)
		must(t, err)
	}
}

// askUntilRecorded asks until a question was recorded: the first ones may come before the
// service knows that the index is built.
func askUntilRecorded(t *testing.T, s *servicetest.Service, c servicetest.Client, name string, question []float32) {
	t.Helper()
	wait.For(t, "a question is recorded", func() bool {
		ask(t, c, question)
		return recorded(t, s, name) > 0
	})
}

// askFor asks a question again and again for some time, since most questions are not taken for recording.
func askFor(t *testing.T, c servicetest.Client, question []float32, least time.Duration) {
	t.Helper()
	asked, begun := 0, time.Now()
	wait.For(t, "many questions", func() bool {
		ask(t, c, question)
		asked++
		return asked >= 10 && time.Since(begun) > least
	})
}

func TestTheSearchWidthIsMeasuredWithQuestionsThatWereAsked(t *testing.T) {
	t.Parallel()
	for _, config := range []*ragdv1.IndexConfig{{Type: "hnsw"}, {Type: "ivfflat"}} {
		t.Run(config.Type, func(t *testing.T) {
			t.Parallel()
			s := servicetest.New(t, service.Config{ListBytes: -1})
			values := synthetic.Vectors(2_500, 1)
			c := measuredIndex(t, s, "acme", values, config)
			before := described(t, c)
			if w := before.SearchWidth; w.OwnQuestions || w.Questions != 500 || w.MeasureTime == nil || w.Recall <= 0 || !before.RecordQuestions {
				t.Errorf("before: %v, records questions: %v", w, before.RecordQuestions)
			}
			record(t, s, "acme", synthetic.Vectors(100, 99))
			asked := 0
			wait.For(t, "the width is measured again", func() bool {
				asked++
				ask(t, c, values[asked%len(values)]) // recording a question starts it
				return described(t, c).SearchWidth.OwnQuestions
			})
			after := described(t, c).SearchWidth
			t.Logf("with samples %d, recall %.3f; with questions %d, recall %.3f", before.SearchWidth.Width, before.SearchWidth.Recall, after.Width, after.Recall)
			if after.Questions < 64 || after.Questions > 128 || after.Recall < 0.95 || !after.MeasureTime.AsTime().After(before.SearchWidth.MeasureTime.AsTime()) {
				t.Errorf("after: %v", after)
			}
			wait.For(t, "queries use it", func() bool {
				e := narrowest(t, c, values[:20], nil).Explain
				return e.Plan == "approximate" && e.SearchWidth == after.Width
			})
		})
	}
}

func TestQuestionsAreDeleted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(c servicetest.Client) error
	}{
		{"by a call", func(c servicetest.Client) error {
			res, err := c.DeleteAskedQuestions(t.Context(), &ragdv1.DeleteAskedQuestionsRequest{IndexName: "v"})
			if err == nil && res.Deleted == 0 {
				err = errors.New("nothing was deleted")
			}
			return err
		}},
		{"with the end of recording", func(c servicetest.Client) error {
			off := false
			i, err := c.UpdateIndex(t.Context(), &ragdv1.UpdateIndexRequest{IndexName: "v", RecordQuestions: &off})
			if err == nil && i.RecordQuestions {
				err = errors.New("questions are recorded still")
			}
			return err
		}},
		{"with the contents", func(c servicetest.Client) error {
			_, err := c.TruncateIndex(t.Context(), &ragdv1.TruncateIndexRequest{IndexName: "v"})
			return err
		}},
		{"with the index", func(c servicetest.Client) error {
			_, err := c.DeleteIndex(t.Context(), &ragdv1.DeleteIndexRequest{IndexName: "v"})
			return err
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := servicetest.New(t, service.Config{ListBytes: -1})
			values := synthetic.Vectors(20, 1)
			acme, bolt := measuredIndex(t, s, "acme", values, nil), measuredIndex(t, s, "bolt", values, nil)
			record(t, s, "acme", values)
			record(t, s, "bolt", values)
			must(t, tc.do(acme))
			if n := recorded(t, s, "acme"); n != 0 {
				t.Errorf("%d questions are left", n)
			}
			if n := recorded(t, s, "bolt"); n != len(values) {
				t.Errorf("another tenant has %d of %d questions", n, len(values))
			}
			ask(t, bolt, values[0])
		})
	}
}

// A question that is asked all the time does not fill the record.
func TestAQuestionIsRecordedOnce(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{ListBytes: -1})
	values := synthetic.Vectors(20, 1)
	c := measuredIndex(t, s, "acme", values, nil)
	askUntilRecorded(t, s, c, "acme", values[0])
	askFor(t, c, values[0], time.Second)
	wait.For(t, "another question to be recorded, after those before it", func() bool {
		ask(t, c, values[1])
		return recorded(t, s, "acme") > 1
	})
	if n := recorded(t, s, "acme"); n != 2 {
		t.Errorf("%d questions are recorded, want the first one once and another one", n)
	}
}

// Each tenant's questions are its own, also where the ids of the indexes are equal.
func TestQuestionsAreOfOneTenant(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{ListBytes: -1})
	values := synthetic.Vectors(60, 1)
	measuredIndex(t, s, "acme", values, nil)
	bolt := measuredIndex(t, s, "bolt", values, nil)
	record(t, s, "acme", synthetic.Vectors(128, 99))
	// A question of bolt lets its maintenance look for questions, and finds none of acme's.
	askUntilRecorded(t, s, bolt, "bolt", values[0])
	_, err := bolt.BuildIndex(t.Context(), &ragdv1.BuildIndexRequest{IndexName: "v"})
	must(t, err)
	first := described(t, bolt).SearchWidth.GetMeasureTime().AsTime()
	wait.For(t, "bolt is measured again", func() bool {
		w := described(t, bolt).SearchWidth
		return w != nil && w.MeasureTime.AsTime().After(first)
	})
	if w := described(t, bolt).SearchWidth; w.OwnQuestions {
		t.Errorf("measured with questions of another tenant: %v", w)
	}
	if n := recorded(t, s, "acme"); n != 128 {
		t.Errorf("acme has %d questions", n)
	}
}

func TestQuestionsAreNotRecordedWhereThatIsOff(t *testing.T) {
	t.Parallel()
	values := synthetic.Vectors(20, 1)
	t.Run("by the setting of the service", func(t *testing.T) {
		t.Parallel()
		s := servicetest.New(t, service.Config{RecordNoQuestions: true, ListBytes: -1})
		c := measuredIndex(t, s, "acme", values, nil)
		askFor(t, c, values[0], 6*time.Second) // the service has read by then that the index is built
		recording := servicetest.New(t, service.Config{AdminPool: s.Pool, ListBytes: -1})
		askUntilRecorded(t, s, recording.Client(c.Secret), "acme", values[1])
		if n := recorded(t, s, "acme"); n != 1 {
			t.Errorf("%d questions are recorded, want that of the other instance", n)
		}
	})
	t.Run("by the index, which another instance may not know yet", func(t *testing.T) {
		t.Parallel()
		s := servicetest.New(t, service.Config{ListBytes: -1})
		c, bolt := measuredIndex(t, s, "acme", values, nil), measuredIndex(t, s, "bolt", values, nil)
		askUntilRecorded(t, s, c, "acme", values[0])
		// The service's cache does not see this change.
		exec(t, s, `ALTER TABLE tenant_acme.indexes DISABLE TRIGGER changed`)
		exec(t, s, `UPDATE tenant_acme.indexes SET record_questions = false`)
		exec(t, s, `DELETE FROM ragd_shared.asked_questions`)
		askFor(t, c, values[0], time.Second)
		askUntilRecorded(t, s, bolt, "bolt", values[0]) // questions are stored in their order
		if n := recorded(t, s, "acme"); n != 0 {
			t.Errorf("%d questions are recorded", n)
		}
	})
}

// Few of many questions are taken for recording, and a query never waits for that.
func TestFewOfManyQuestionsAreRecorded(t *testing.T) {
	t.Parallel()
	now := time.Now()
	p := &index.Pace{}
	taken := 0
	for range 100_000 { // 1,000 a second
		if p.Allows(now) {
			taken++
		}
		now = now.Add(time.Millisecond)
	}
	if taken < index.MaxQuestions || taken > index.MaxQuestions+5 {
		t.Errorf("%d questions are recorded in 100 s", taken)
	}
}
