package mcp

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// jobs is an API whose jobs advance one step each time they are read.
type jobs struct {
	*fakeAPI
	steps int

	mu    sync.Mutex
	looks map[string]int
}

func newJobs(steps int) *jobs {
	j := &jobs{steps: steps, looks: map[string]int{}}
	j.fakeAPI = &fakeAPI{listIndexes: noIndexes, getJob: j.look}
	j.uploadDocument = func(_ context.Context, req *ragdv1.UploadDocumentRequest) (*ragdv1.UploadDocumentResponse, error) {
		return &ragdv1.UploadDocumentResponse{
			Document: &ragdv1.Document{Uri: req.GetUri(), Status: "pending"}, Job: j.at(req.GetUri(), 0),
		}, nil
	}
	j.getDocument = func(context.Context, *ragdv1.GetDocumentRequest) (*ragdv1.Document, error) {
		return &ragdv1.Document{Status: "ready"}, nil
	}
	return j
}

func (j *jobs) at(id string, step int) *ragdv1.Job {
	job := &ragdv1.Job{JobId: id, Kind: "ingest", Status: "running", Progress: &ragdv1.JobProgress{Done: int32(step), Total: int32(j.steps), Unit: "chunks"}}
	if step == j.steps {
		job.Status = "succeeded"
	}
	return job
}

func (j *jobs) look(_ context.Context, req *ragdv1.GetJobRequest) (*ragdv1.Job, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.looks[req.GetJobId()] = min(j.looks[req.GetJobId()]+1, j.steps)
	return j.at(req.GetJobId(), j.looks[req.GetJobId()]), nil
}

// Each caller receives the progress of its own upload, up to the last step, and of no
// other.
func TestProgressReachesItsCaller(t *testing.T) {
	t.Parallel()
	const steps = 4
	address := serve(t, newJobs(steps), nil)
	for era, options := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			var all sync.WaitGroup
			for _, who := range []string{"acme alice", "acme bob", "globex eve"} {
				c := connectClient(t, address, options, map[string]string{"Authorization": "Bearer " + who})
				heard := mcptest.WatchProgress(c)
				all.Go(func() {
					token := who + era
					result, text := mcptest.Call(t, c, "upload_document", map[string]any{"uri": token, "text": "x"}, map[string]any{"progressToken": token})
					if result.IsError || !strings.Contains(text, "It can be searched.") {
						t.Errorf("%s: %s", token, text)
					}
					var got []float64
					wait.For(t, "the end, which the client may deliver after the answer", func() bool {
						got = heard.Of(token)
						return len(got) > 0 && got[len(got)-1] == steps
					})
					for i := 1; i < len(got); i++ {
						if got[i] <= got[i-1] {
							t.Errorf("%s heard %v, which does not grow", token, got)
						}
					}
					if calls := heard.Calls(); calls != 1 {
						t.Errorf("%s heard of %d calls", token, calls)
					}
				})
			}
			all.Wait()
		})
	}
}

// The last notification always arrives before the answer.
func TestTheLastProgressIsDelivered(t *testing.T) {
	t.Parallel()
	api := newJobs(1)
	address := serve(t, api, nil)
	for era, options := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			c := connectClient(t, address, options, nil)
			heard := mcptest.WatchProgress(c)
			for range 30 {
				token := era + time.Now().String()
				mcptest.Call(t, c, "get_job", map[string]any{"jobId": token}, map[string]any{"progressToken": token})
				wait.For(t, "the last notification", func() bool { return len(heard.Of(token)) > 0 })
			}
		})
	}
}

func TestWaitingForAJob(t *testing.T) {
	t.Parallel()
	c := connectClient(t, serve(t, newJobs(3), nil), nil, nil)
	upload := func(uri string, more map[string]any, meta map[string]any) string {
		arguments := map[string]any{"uri": uri, "text": "x"}
		for name, value := range more {
			arguments[name] = value
		}
		_, text := mcptest.Call(t, c, "upload_document", arguments, meta)
		return text
	}
	if text := upload("a", nil, nil); !strings.Contains(text, "Job a is running") {
		t.Errorf("without a wait: %s", text)
	}
	if text := upload("b", map[string]any{"waitSeconds": 5}, nil); !strings.Contains(text, "It can be searched.") {
		t.Errorf("with a wait: %s", text)
	}
	if text := upload("c", map[string]any{"waitSeconds": 0}, map[string]any{"progressToken": "c"}); !strings.Contains(text, "Job c is running") {
		t.Errorf("without a wait though progress is wanted: %s", text)
	}
	if _, text := mcptest.Call(t, c, "get_job", map[string]any{"jobId": "a", "waitSeconds": 5}, nil); !strings.Contains(text, "succeeded") {
		t.Errorf("get_job with a wait: %s", text)
	}
	if result, text := mcptest.Call(t, c, "get_job", map[string]any{"jobId": "a", "waitSeconds": 500}, nil); !result.IsError || !strings.Contains(text, "waitSeconds") {
		t.Errorf("a long wait: %s", text)
	}
}

// A client that cancels ends its call at once; the job continues.
func TestCancellingEndsTheWait(t *testing.T) {
	t.Parallel()
	api := newJobs(1 << 20) // never ends
	address := serve(t, api, nil)
	for era, options := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			c := connectClient(t, address, options, nil)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			var req mcpgo.CallToolRequest
			req.Params.Name, req.Params.Arguments = "upload_document", map[string]any{"uri": era, "text": "x", "waitSeconds": 50}
			began := time.Now()
			if _, err := c.CallTool(ctx, req); err == nil || time.Since(began) > 30*time.Second {
				t.Errorf("answered after %v: %v", time.Since(began), err)
			}
			looks := func() int {
				api.mu.Lock()
				defer api.mu.Unlock()
				return api.looks[era]
			}
			same := func(a, b int) bool { return a == b }
			wait.Rest(t, "the looks at the job, one in a second,", 3*time.Second, same, looks)
		})
	}
}
