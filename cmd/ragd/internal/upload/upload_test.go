package upload

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/localfiles"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
)

// service is a fake of ragd: a job takes a second, and jobs run one at a time.
type service struct {
	ragdv1connect.DocumentServiceClient
	ragdv1connect.IndexServiceClient

	// before, if set, may fail a call. Its argument is the number of the call, from 1.
	before func(call int, uri string) error
	hidden bool // jobs are not listed

	mu        sync.Mutex
	calls     int
	described int
	listed    int
	inFlight  int
	most      int // uploads at once
	jobs      []*ragdv1.Job
	documents map[string]*stored
	others    int // pending documents of other clients
}

type stored struct {
	text string
	job  *ragdv1.Job
	req  *ragdv1.UploadDocumentRequest
}

func (s *service) client() Client { return Client{Documents: s, Indexes: s, batch: s.batch} }

// batch uploads one document after the other, as the service does with a stream.
func (s *service) batch(ctx context.Context, items []*item) ([]*ragdv1.UploadResult, error) {
	results := make([]*ragdv1.UploadResult, len(items))
	for i, it := range items {
		req := proto.CloneOf(it.header)
		req.Source = &ragdv1.UploadDocumentRequest_Content{Content: it.content}
		res, err := s.UploadDocument(ctx, req)
		if ctx.Err() != nil || connect.CodeOf(err) == connect.CodeUnknown && err != nil {
			return nil, err
		}
		results[i] = &ragdv1.UploadResult{Job: res.GetJob()}
		if err != nil {
			results[i].Error = &ragdv1.UploadError{
				Code: connect.CodeOf(err).String(), Message: message(err), RetryDelaySeconds: askedPause(err).Seconds(),
			}
		}
	}
	return results, nil
}

func (s *service) UploadDocument(ctx context.Context, req *ragdv1.UploadDocumentRequest) (*ragdv1.UploadDocumentResponse, error) {
	s.mu.Lock()
	s.calls++
	call := s.calls
	s.inFlight++
	s.most = max(s.most, s.inFlight)
	s.mu.Unlock()
	select {
	case <-time.After(10 * time.Millisecond):
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
	if ctx.Err() != nil {
		return nil, connect.NewError(connect.CodeCanceled, ctx.Err())
	}
	if s.before != nil {
		if err := s.before(call, req.GetUri()); err != nil {
			return nil, err
		}
	}
	text := req.GetText() + string(req.GetContent())
	if s.documents == nil {
		s.documents = map[string]*stored{}
	}
	doc := s.documents[req.GetUri()]
	if doc == nil || doc.text != text {
		if doc != nil && doc.job.GetStatus() == "queued" {
			doc.job.Status = "cancelled"
		}
		job := &ragdv1.Job{JobId: strconv.Itoa(len(s.jobs)), CreateTime: timestamppb.Now()}
		s.jobs = append(s.jobs, job)
		doc = &stored{text: text, job: job, req: req}
		s.documents[req.GetUri()] = doc
	}
	s.advance()
	return &ragdv1.UploadDocumentResponse{Job: proto.CloneOf(doc.job)}, nil
}

// advance ends the jobs that have run for a second. Documents with the text "bad" fail.
func (s *service) advance() {
	for _, doc := range s.documents {
		n, _ := strconv.Atoi(doc.job.GetJobId())
		doc.job.Status = "queued"
		doc.job.Progress = &ragdv1.JobProgress{Done: int32(time.Since(doc.job.GetCreateTime().AsTime()).Seconds() * 10), Total: 10 * int32(n+1)}
		if time.Since(doc.job.GetCreateTime().AsTime()) > time.Duration(n+1)*time.Second {
			doc.job.Status = "succeeded"
			if doc.text == "bad" {
				doc.job.Status, doc.job.Error = "failed", "cannot be embedded"
			}
		}
	}
}

func (s *service) DescribeIndex(context.Context, *ragdv1.DescribeIndexRequest) (*ragdv1.Index, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.described++
	s.advance()
	pending := s.others
	for _, doc := range s.documents {
		if doc.job.GetStatus() == "queued" {
			pending++
		}
	}
	return &ragdv1.Index{PendingDocumentCount: int32(pending)}, nil
}

func (s *service) ListJobs(_ context.Context, req *ragdv1.ListJobsRequest) (*ragdv1.ListJobsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed++
	if s.hidden {
		return &ragdv1.ListJobsResponse{}, nil
	}
	var newest []*ragdv1.Job
	for _, job := range slices.Backward(s.jobs) {
		newest = append(newest, proto.CloneOf(job))
	}
	from, _ := strconv.Atoi(req.GetPageToken())
	to := min(from+3, len(newest)) // small pages
	res := &ragdv1.ListJobsResponse{Jobs: newest[from:to]}
	if to < len(newest) {
		res.NextPageToken = strconv.Itoa(to)
	}
	return res, nil
}

func (s *service) GetDocument(_ context.Context, req *ragdv1.GetDocumentRequest) (*ragdv1.Document, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.advance()
	doc := s.documents[req.GetUri()]
	status := map[string]string{"succeeded": "ready", "failed": "failed", "queued": "pending"}[doc.job.GetStatus()]
	return &ragdv1.Document{Status: status, Error: doc.job.GetError()}, nil
}

// texts returns documents whose uris are the positions of their texts: 0, 1, ...
func texts(all ...string) iter.Seq2[localfiles.Document, error] {
	return func(yield func(localfiles.Document, error) bool) {
		for i, text := range all {
			if !yield(localfiles.Document{Location: fmt.Sprintf("c:%d", i+1), URI: strconv.Itoa(i), Text: text, InputBytes: 10}, nil) {
				return
			}
		}
	}
}

func many(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = "text " + strconv.Itoa(i)
	}
	return all
}

var ignoreElapsed = cmpopts.IgnoreFields(Result{}, "Elapsed")

func TestRunUploadsWaitsAndReportsEveryDocument(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		docs := func(yield func(localfiles.Document, error) bool) {
			_ = yield(localfiles.Document{}, &localfiles.Skip{Location: ".git", Reason: "hidden"}) &&
				yield(localfiles.Document{InputBytes: 5}, &localfiles.Problem{Location: "c:9", Reason: "is not valid JSON"})
			texts("one", "bad", "three", "four", "five", "six", "seven")(yield)
		}
		var last Progress
		got, err := Run(t.Context(), s.client(), docs, Config{Index: "i", Concurrency: 2, Progress: func(p Progress) { last = p }})
		if err != nil {
			t.Fatal(err)
		}
		want := &Result{
			Uploaded: 7, Ready: 6,
			Failures: []Failure{{"c:9", "", "is not valid JSON"}, {"c:2", "1", "cannot be embedded"}},
			Skips:    []localfiles.Skip{{Location: ".git", Reason: "hidden"}},
		}
		if diff := cmp.Diff(want, got, ignoreElapsed); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(Progress{InputBytes: 75, Uploaded: 7, Failed: 2, Sent: true, Jobs: 7}, last); diff != "" {
			t.Error(diff)
		}
		if s.most > 2 {
			t.Errorf("%d uploads at once, want 2 at most", s.most)
		}
		if s.listed > 6 { // 7 jobs in pages of 3, once on the way and once at the end
			t.Errorf("listed jobs %d times", s.listed)
		}
	})
}

func TestRunReportsTheChunksOfFewDocuments(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		var told []string
		_, err := Run(t.Context(), s.client(), texts("one", "two", "three"), Config{Progress: func(p Progress) {
			if now := fmt.Sprintf("%d: %d of %d", p.Waiting, p.ChunksDone, p.Chunks); p.Chunks > 0 && !slices.Contains(told, now) {
				told = append(told, now)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if len(told) < 2 || told[0] == told[len(told)-1] {
			t.Errorf("told of %q", told)
		}
	})
}

func TestRunAgainChangesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		for range 2 {
			if _, err := Run(t.Context(), s.client(), texts("one", "two"), Config{}); err != nil {
				t.Fatal(err)
			}
		}
		got, err := Run(t.Context(), s.client(), texts("one", "two", "three"), Config{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&Result{Uploaded: 3, Unchanged: 2, Ready: 3}, got, ignoreElapsed); diff != "" {
			t.Error(diff)
		}
		if len(s.jobs) != 3 {
			t.Errorf("%d jobs for 3 documents", len(s.jobs))
		}
	})
}

func TestRunCountsADocumentGivenTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		docs := func(yield func(localfiles.Document, error) bool) {
			texts("same")(yield)
			texts("same")(yield)
		}
		got, err := Run(t.Context(), s.client(), docs, Config{})
		if err != nil || got.Uploaded != 2 || got.Ready != 2 {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestRunFollowsADocumentThatANewerVersionOvertook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		docs := func(yield func(localfiles.Document, error) bool) {
			texts("old")(yield)
			texts("new")(yield)
		}
		got, err := Run(t.Context(), s.client(), docs, Config{Concurrency: 1})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&Result{Uploaded: 2, Ready: 2}, got, ignoreElapsed); diff != "" {
			t.Error(diff)
		}
		if s.jobs[0].GetStatus() != "cancelled" {
			t.Errorf("the first job is %s", s.jobs[0].GetStatus())
		}
	})
}

func TestRunDoesNotSendWhatTheServiceWouldNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		docs := func(yield func(localfiles.Document, error) bool) {
			yield(localfiles.Document{Location: "c:1", URI: "u", Text: "t", Metadata: map[string]any{"k": strings.Repeat("x", maxHeader)}}, nil)
		}
		got, err := Run(t.Context(), s.client(), docs, Config{})
		if err != nil || s.calls != 0 || len(got.Failures) != 1 {
			t.Errorf("got %+v, %v after %d calls", got, err, s.calls)
		}
	})
}

func TestRunWithoutWaitingLeavesDocumentsPending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		got, err := Run(t.Context(), s.client(), texts("one", "two"), Config{NoWait: true})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&Result{Uploaded: 2, Pending: 2}, got, ignoreElapsed); diff != "" {
			t.Error(diff)
		}
		if s.described > 1 || s.listed != 0 { // it looks once whether the index is empty
			t.Error("asked for the jobs all the same")
		}
	})
}

func TestRunEndsThoughOthersKeepTheIndexBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{others: 1000}
		got, err := Run(t.Context(), s.client(), texts(many(5)...), Config{})
		if err != nil || got.Ready != 5 {
			t.Errorf("got %+v, %v", got, err)
		}
		if got.Elapsed > 12*time.Second {
			t.Errorf("took %v for 5 s of jobs", got.Elapsed)
		}
	})
}

func TestRunFallsBackOnDocumentsWhenJobsAreGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{hidden: true}
		got, err := Run(t.Context(), s.client(), texts("one", "bad"), Config{})
		if err != nil {
			t.Fatal(err)
		}
		want := &Result{Uploaded: 2, Ready: 1, Failures: []Failure{{"c:2", "1", "cannot be embedded"}}}
		if diff := cmp.Diff(want, got, ignoreElapsed); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRunRetriesTransientErrors(t *testing.T) {
	t.Parallel()
	busy := connect.NewError(connect.CodeResourceExhausted, errors.New("queue full"))
	detail, err := connect.NewErrorDetail(&errdetails.RetryInfo{RetryDelay: durationpb.New(7 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	busy.AddDetail(detail)
	limited := connect.NewError(connect.CodeResourceExhausted, errors.New("slow down"))
	limited.Meta().Set("Retry-After", "9")
	for _, c := range []struct {
		name    string
		err     error
		atLeast time.Duration
		atMost  time.Duration
	}{
		{"a restart", connect.NewError(connect.CodeUnavailable, errors.New("connection refused")), 0, time.Second},
		{"a broken answer", connect.NewError(connect.CodeUnknown, errors.New("unexpected EOF")), 0, time.Second},
		{"a lost race", connect.NewError(connect.CodeAborted, errors.New("try again")), 0, time.Second},
		{"a full queue that names its delay", busy, 14 * time.Second, 16 * time.Second},
		{"a proxy that names its delay", limited, 18 * time.Second, 20 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &service{before: func(call int, _ string) error {
					if call <= 2 {
						return c.err
					}
					return nil
				}}
				told := 0
				got, err := Run(t.Context(), s.client(), texts("one"), Config{NoWait: true, Retrying: func(error) { told++ }})
				if err != nil || got.Uploaded != 1 || told != 2 {
					t.Errorf("got %+v, %v, told %d times", got, err, told)
				}
				if got.Elapsed < c.atLeast || got.Elapsed > c.atMost {
					t.Errorf("took %v", got.Elapsed)
				}
			})
		})
	}
}

func TestRunStopsAtErrorsThatConcernEveryDocument(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		code   connect.Code
		want   string
		within time.Duration
	}{
		{"a wrong key", connect.CodeUnauthenticated, "unauthenticated: no", 6 * time.Second},
		{"a missing index", connect.CodeNotFound, "not_found: no", 6 * time.Second},
		{"a service that stays away", connect.CodeUnavailable, "gave up after retrying for 2m0s: unavailable: no", patience + 10*time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &service{before: func(call int, _ string) error {
					if call > 3 {
						return connect.NewError(c.code, errors.New("no"))
					}
					return nil
				}}
				got, err := Run(t.Context(), s.client(), texts(many(500)...), Config{Concurrency: 1})
				if err == nil || err.Error() != c.want {
					t.Errorf("got %v, want %s", err, c.want)
				}
				if got.Uploaded != 3 || got.Pending != 3 || got.Elapsed > c.within {
					t.Errorf("got %+v", got)
				}
			})
		})
	}
}

func TestRunContinuesAfterErrorsThatConcernOneDocument(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{before: func(_ int, uri string) error {
			switch uri {
			case "1":
				return connect.NewError(connect.CodeInvalidArgument, errors.New("text: must not be empty"))
			case "2":
				wire := connect.NewWireError(connect.CodeInternal, errors.New("internal error"))
				return wire
			}
			return nil
		}}
		got, err := Run(t.Context(), s.client(), texts(many(4)...), Config{Concurrency: 1})
		if err != nil {
			t.Fatal(err)
		}
		want := &Result{Uploaded: 2, Ready: 2, Failures: []Failure{
			{"c:2", "1", "text: must not be empty"}, {"c:3", "2", "internal error"},
		}}
		if diff := cmp.Diff(want, got, ignoreElapsed); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRunStopsOnCancelThoughTheCorpusIsStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		stuck := make(chan struct{})
		docs := func(yield func(localfiles.Document, error) bool) {
			texts("one", "two")(yield)
			<-stuck
			yield(localfiles.Document{}, &localfiles.Problem{Location: "late", Reason: "too late"})
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, context.Canceled)
		defer cancel()
		got, err := Run(ctx, s.client(), docs, Config{Progress: func(Progress) {}})
		if !errors.Is(err, ctx.Err()) || got.Uploaded != 2 {
			t.Errorf("got %+v, %v", got, err)
		}
		close(stuck)
		synctest.Wait()
		if len(got.Failures) != 0 {
			t.Errorf("the result changed after its end: %+v", got.Failures)
		}
	})
}

func TestRunMergesMetadata(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		docs := func(yield func(localfiles.Document, error) bool) {
			yield(localfiles.Document{URI: "u", Content: []byte("c"), Metadata: map[string]any{"a": 1.0}}, nil)
		}
		cfg := Config{NoWait: true, Index: "i", Metadata: map[string]any{"a": 2.0, "b": true}}
		if _, err := Run(t.Context(), s.client(), docs, cfg); err != nil {
			t.Fatal(err)
		}
		req := s.documents["u"].req
		if diff := cmp.Diff(map[string]any{"a": 1.0, "b": true}, req.GetMetadata().AsMap()); diff != "" {
			t.Error(diff)
		}
		if string(req.GetContent()) != "c" || req.GetIndexName() != "i" {
			t.Errorf("sent %v", req)
		}
	})
}

// sink is a stream that accepts everything.
type sink struct{ messages int }

func (s *sink) Send(*ragdv1.UploadDocumentsRequest) error {
	s.messages++
	return nil
}

func TestALargeDocumentIsCountedMessageByMessage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name           string
		content, input int64
		want           []int64
	}{
		{"a file", 3*messageBytes + 5, 3*messageBytes + 5, []int64{messageBytes, messageBytes, messageBytes, 5, 0}},
		{"a compressed line", 2 * messageBytes, messageBytes + 1, []int64{messageBytes, 1, 0}},
		{"a small file", 5, 5, []int64{5}},
	} {
		it := &item{header: &ragdv1.UploadDocumentRequest{}, content: make([]byte, tc.content), input: tc.input}
		var got []int64
		if err := it.send(&sink{}, func(n int64) { got = append(got, n) }); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}
