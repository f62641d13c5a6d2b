package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/fault"
	"github.com/ragdhq/ragd/internal/tenant"
)

const (
	// waitArgument says how many seconds a call may wait for a job to end.
	waitArgument = "waitSeconds"
	// maxWait leaves room for the answer before the call's own deadline.
	maxWait = 50 * time.Second
	// maxWaiting bounds the calls of a tenant that wait at a time on an instance: each
	// looks at its job every second. More are answered at once.
	maxWaiting = 200
	// Pauses between two looks at a job that is waited for; they grow.
	minLook, maxLook = 100 * time.Millisecond, time.Second
	// settleProgress is how long the library is given to send the last notification
	// of a call before its answer: it would drop what is then still in its hands.
	settleProgress = 10 * time.Millisecond
)

// progress tells a client how far a call is, if the client asked to be told.
type progress struct {
	server *server.MCPServer
	token  mcpgo.ProgressToken
	told   bool
	done   float64 // as the client was told
}

type progressKey struct{}

// withProgress has the call's progress told to whoever sent req.
func withProgress(ctx context.Context, req mcpgo.CallToolRequest) (context.Context, *progress) {
	p := &progress{server: server.ServerFromContext(ctx)}
	if req.Params.Meta != nil && p.server != nil {
		p.token = req.Params.Meta.ProgressToken
	}
	return context.WithValue(ctx, progressKey{}, p), p
}

func progressOf(ctx context.Context) *progress {
	if p, ok := ctx.Value(progressKey{}).(*progress); ok {
		return p
	}
	return &progress{}
}

// wanted reports whether the client asked to be told.
func (p *progress) wanted() bool { return p.token != nil }

// tell sends how far a job is. What is not more than before is not sent: progress
// must grow, and a job that is tried again begins anew.
func (p *progress) tell(ctx context.Context, job *ragdv1.Job) {
	done := float64(job.GetProgress().GetDone())
	if !p.wanted() || p.told && done <= p.done {
		return
	}
	params := map[string]any{"progressToken": p.token, "progress": done, "message": "The job is " + job.GetStatus() + "."}
	if total := job.GetProgress().GetTotal(); total > 0 {
		params["total"] = float64(total)
		params["message"] = fmt.Sprintf("%d of %d %s", job.GetProgress().GetDone(), total, job.GetProgress().GetUnit())
	}
	// A client that does not take it is not worth failing the call for.
	if p.server.SendNotificationToClient(ctx, string(mcpgo.MethodNotificationProgress), params) == nil {
		p.told, p.done = true, done
	}
}

// settle lets the last notification go out before the answer.
func (p *progress) settle() {
	if p.told {
		time.Sleep(settleProgress)
	}
}

// takeWait takes the wait out of a call's arguments, which the API does not know,
// and returns how long it is. A client that wants to be told of progress waits
// unless it says otherwise.
func takeWait(ctx context.Context, arguments []byte) (rest []byte, wait time.Duration, err error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &given); err != nil {
		return nil, 0, fmt.Errorf("read the arguments: %w", err)
	}
	if progressOf(ctx).wanted() {
		wait = maxWait
	}
	if raw := given[waitArgument]; raw != nil {
		var seconds float64
		if err := json.Unmarshal(raw, &seconds); err != nil {
			return nil, 0, fault.Field(waitArgument, "must be a number of seconds")
		}
		wait = time.Duration(seconds * float64(time.Second))
		delete(given, waitArgument)
	}
	rest, err = json.Marshal(given)
	return rest, min(wait, maxWait), err
}

// newWaits counts the calls that wait for a job.
func newWaits() *tenant.Quota { return tenant.NewQuota(math.MaxInt64, maxWaiting) }

// waiting makes a run of a method whose answer has a job, which the run waits for
// if it is asked to. refresh brings an answer up to date after its job has moved
// on.
func (s *toolset) waiting(run run, jobOf func(proto.Message) *ragdv1.Job, refresh func(context.Context, proto.Message, *ragdv1.Job) (string, error)) run {
	return func(ctx context.Context, arguments []byte) (proto.Message, string, error) {
		began := time.Now()
		rest, wait, err := takeWait(ctx, arguments)
		if err != nil {
			return nil, "", err
		}
		answer, text, err := run(ctx, rest)
		if err != nil || wait == 0 {
			return answer, text, err
		}
		if !s.waits.Take(tenantOf(ctx), 1) {
			return answer, text, nil
		}
		defer s.waits.Release(tenantOf(ctx), 1)
		job, err := s.await(ctx, jobOf(answer), began.Add(wait))
		if err != nil {
			return nil, "", err
		}
		if text, err = refresh(ctx, answer, job); err != nil {
			return nil, "", err
		}
		return answer, text, nil
	}
}

// await returns a job once it has ended, or as it is at the deadline. When the
// client cancels the call, the waiting ends and the job goes on: clients cancel
// when they lose patience or their connection, and the document is stored.
func (s *toolset) await(ctx context.Context, job *ragdv1.Job, deadline time.Time) (*ragdv1.Job, error) {
	p := progressOf(ctx)
	for pause := minLook; ; pause = min(pause*3/2, maxLook) {
		p.tell(ctx, job)
		left := time.Until(deadline)
		if ended(job) || left <= 0 {
			return job, nil
		}
		select {
		case <-time.After(min(pause, left)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		now, err := s.api.GetJob(ctx, &ragdv1.GetJobRequest{JobId: job.GetJobId()})
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return job, nil // what is known is worth more than why no more is
		}
		job = now
	}
}

func ended(job *ragdv1.Job) bool {
	return slices.Contains([]string{"succeeded", "failed", "cancelled"}, job.GetStatus())
}

// upload is upload_document.
func (s *toolset) upload() run {
	return s.waiting(call(s.api.UploadDocument, uploadedText),
		func(m proto.Message) *ragdv1.Job { return m.(*ragdv1.UploadDocumentResponse).GetJob() },
		func(ctx context.Context, m proto.Message, job *ragdv1.Job) (string, error) {
			res := m.(*ragdv1.UploadDocumentResponse)
			res.Job = job
			document := res.GetDocument()
			now, err := s.api.GetDocument(ctx, &ragdv1.GetDocumentRequest{IndexName: document.GetIndexName(), DocumentId: document.GetDocumentId()})
			if err == nil {
				res.Document = now
			}
			return uploadedText(nil, res), ctx.Err()
		})
}

// getJob is get_job.
func (s *toolset) getJob() run {
	return s.waiting(call(s.api.GetJob, jobText),
		func(m proto.Message) *ragdv1.Job { return m.(*ragdv1.Job) },
		func(_ context.Context, m proto.Message, job *ragdv1.Job) (string, error) {
			if m != proto.Message(job) {
				proto.Reset(m)
				proto.Merge(m, job)
			}
			return jobText(nil, job), nil
		})
}
