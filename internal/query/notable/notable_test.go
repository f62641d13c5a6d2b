package notable_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/notable"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// newRecorder returns a recorder on the database of a service, and a context of a caller of acme with its index.
func newRecorder(t *testing.T) (*servicetest.Service, *notable.Recorder, context.Context, index.Index) {
	t.Helper()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	s.Tenant(t, "acme").Index(t, "docs")
	i, err := index.ByName(t.Context(), s.DB.Handle("acme"), "docs")
	if err != nil {
		t.Fatal(err)
	}
	ctx := access.NewContext(t.Context(), &access.Request{Tenant: "acme", Principal: access.Principal{Scopes: []access.Scope{access.Read}}})
	return s, notable.New(notable.Config{DB: s.DB, Work: s.DB, Logger: slog.New(slog.DiscardHandler)}), ctx, i
}

// stored returns the stored rows in the order of kind and text.
func stored(t *testing.T, s *servicetest.Service) (rows []string) {
	t.Helper()
	found, err := s.Pool.Query(t.Context(), `SELECT kind || ' ' || question || ' ' || asked || ' ' || coalesce(best_score::text, '-') || ' ' || slowest || ' ' || code FROM ragd_shared.notable_questions ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	for found.Next() {
		var row string
		if err := found.Scan(&row); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestWhichQuestionsAreNotable(t *testing.T) {
	t.Parallel()
	s, r, ctx, i := newRecorder(t)
	for _, a := range []notable.Asked{
		{Question: "good", Sources: 1, Best: new(0.3)},
		{Question: "weak", Sources: 1, Best: new(0.29), Took: time.Second},
		{Question: "of vectors", Sources: 1},
		{Question: "nothing", Sources: 0},
		{Question: "slow", Sources: 1, Took: 2 * time.Second},
		{Question: "slow and weak", Sources: 1, Best: new(0.1), Took: 3 * time.Second},
		{Question: "given up", Took: 4 * time.Second, Err: context.Canceled},
		{Question: "given up soon", Took: time.Second, Err: context.Canceled},
		{Question: "a bug", Err: fmt.Errorf("nil pointer")},
		{Question: "no model", Err: fault.New(fault.Unavailable, "secret")},
		{Question: "a short deadline", Took: time.Second, Err: context.DeadlineExceeded},
		{Question: "a long deadline", Took: time.Minute, Err: context.DeadlineExceeded},
		{Question: "invalid", Err: fault.Field("topK", "is too large")},
		{Question: "quota", Err: fault.New(fault.Exhausted, "later")},
		{Question: "  ", Sources: 0},
		{Question: "a\x00null", Sources: 0},
	} {
		r.Note(ctx, "acme", i, a)
	}
	r.Note(notable.Without(ctx), "acme", i, notable.Asked{Question: "of an evaluation"})
	r.Note(t.Context(), "acme", i, notable.Asked{Question: "of nobody"})
	r.Flush(t.Context())
	want := []string{
		"failed a bug 1 - 0 internal", "failed a long deadline 1 - 60 deadline_exceeded", "failed no model 1 - 0 unavailable",
		"slow given up 1 - 4 ", "slow slow 1 - 2 ", "slow slow and weak 1 0.1 3 ",
		"unanswered anull 1 - 0 ", "unanswered nothing 1 - 0 ", "unanswered slow and weak 1 0.1 3 ", "unanswered weak 1 0.29 1 ",
	}
	if got := stored(t, s); !slices.Equal(got, want) {
		t.Errorf("stored are\n%q, want\n%q", got, want)
	}
}

// Equal questions are one row, in memory and in the table, and another instance adds to it.
func TestEqualQuestionsAreMerged(t *testing.T) {
	t.Parallel()
	s, r, ctx, i := newRecorder(t)
	other := notable.New(notable.Config{DB: s.DB, Work: s.DB, Logger: slog.New(slog.DiscardHandler)})
	r.Note(ctx, "acme", i, notable.Asked{Question: "Price of tea", Sources: 1, Best: new(0.1), Took: time.Second})
	r.Note(ctx, "acme", i, notable.Asked{Question: "price  of\nTEA", Sources: 1, Best: new(0.2)})
	r.Note(ctx, "acme", i, notable.Asked{Question: "price of tea", Sources: 0})
	other.Note(ctx, "acme", i, notable.Asked{Question: "price of tea ", Sources: 1, Best: new(0.15)})
	r.Flush(t.Context())
	other.Flush(t.Context())
	if got, want := stored(t, s), []string{"unanswered price of tea 4 0.2 1 "}; !slices.Equal(got, want) {
		t.Errorf("stored are %q, want %q", got, want)
	}
}

// What cannot be written while the database does not answer is written later.
func TestQuestionsOutliveAFailedFlush(t *testing.T) {
	t.Parallel()
	s, r, ctx, i := newRecorder(t)
	r.Note(ctx, "acme", i, notable.Asked{Question: "tea"})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	r.Flush(gone)
	r.Note(ctx, "acme", i, notable.Asked{Question: "tea"})
	r.Note(ctx, "nobody", i, notable.Asked{Question: "of a tenant that is gone"})
	r.Flush(t.Context())
	r.Flush(t.Context())
	if got, want := stored(t, s), []string{"unanswered tea 2 - 0 "}; !slices.Equal(got, want) {
		t.Errorf("stored are %q, want %q", got, want)
	}
}

// The latest questions of a kind are kept, and those of the last days.
func TestOldQuestionsAreDeleted(t *testing.T) {
	t.Parallel()
	s, r, ctx, i := newRecorder(t)
	count := func() (n int) {
		t.Helper()
		if err := s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM ragd_shared.notable_questions`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for n := range 310 {
		r.Note(ctx, "acme", i, notable.Asked{Question: fmt.Sprint("question ", n)})
	}
	r.Flush(t.Context())
	if n := count(); n != 300 {
		t.Errorf("%d questions are kept, want 300", n)
	}
	for n := range 501 {
		r.Note(ctx, "acme", i, notable.Asked{Question: fmt.Sprint("later ", n)})
	}
	r.Note(ctx, "acme", i, notable.Asked{Question: "later 500", Took: time.Minute, Err: context.Canceled})
	r.Flush(t.Context())
	rows := stored(t, s)
	if len(rows) != 300 || slices.Contains(rows, "unanswered later 500 1 - 0 ") || slices.ContainsFunc(rows, func(row string) bool { return row[:15] == "unanswered ques" }) {
		t.Errorf("%d rows are kept: %q", len(rows), rows)
	}
	if _, err := s.Pool.Exec(t.Context(), `UPDATE ragd_shared.notable_questions SET asked_at = now() - interval '15 days' WHERE question <> 'later 400'`); err != nil {
		t.Fatal(err)
	}
	admin := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"admin"}}))
	list, err := admin.ListNotableQuestions(t.Context(), &ragdv1.ListNotableQuestionsRequest{})
	if err != nil || len(list.Questions) != 1 {
		t.Errorf("listed are %v, %v", list, err)
	}
	r.Note(ctx, "acme", i, notable.Asked{Question: "the last one"})
	r.Flush(t.Context())
	if n := count(); n != 2 {
		t.Errorf("%d questions are left, want 2", n)
	}
}
