package mcp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/testing/mcptest"
)

// answersTo writes messages to standard input and returns the output.
func answersTo(t *testing.T, api API, messages ...string) string {
	t.Helper()
	var out strings.Builder // written under a lock
	if err := ServeStdio(t.Context(), Config{API: api}, strings.NewReader(strings.Join(messages, "\n")+"\n"), &out); err != nil {
		t.Error(err)
	}
	return out.String()
}

// All requests are answered when a script closes the input after sending them.
func TestStdioAnswersBeforeItEnds(t *testing.T) {
	t.Parallel()
	api := &fakeAPI{getJob: func(_ context.Context, req *ragdv1.GetJobRequest) (*ragdv1.Job, error) {
		time.Sleep(20 * time.Millisecond)
		return &ragdv1.Job{JobId: req.GetJobId(), Status: "succeeded"}, nil
	}}
	var messages []string
	for _, id := range []string{"1", "2", "3", `"four"`} {
		messages = append(messages, `{"jsonrpc":"2.0","id":`+id+`,"method":"tools/call","params":{"name":"get_job","arguments":{"jobId":"j`+strings.Trim(id, `"`)+`"}}}`, "")
	}
	out := answersTo(t, api, messages...)
	for _, id := range []string{"1", "2", "3", "four"} {
		if !strings.Contains(out, `"jobId":"j`+id+`"`) {
			t.Errorf("job %s was not answered: %s", id, out)
		}
	}
	if lines := strings.Count(out, "\n"); lines != 4 {
		t.Errorf("%d lines for 4 questions: %s", lines, out)
	}
}

// Progress is written while a call runs, and never after its answer.
func TestStdioProgress(t *testing.T) {
	t.Parallel()
	const steps = 3
	in, feed := io.Pipe()
	read, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		defer out.Close()
		served <- ServeStdio(t.Context(), Config{API: newJobs(steps)}, in, out)
	}()
	go func() {
		_, _ = io.WriteString(feed, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"upload_document","arguments":{"uri":"a","text":"x"},"_meta":{"progressToken":"p"}}}`+"\n")
	}()
	lines := bufio.NewScanner(read)
	var notified int
	for lines.Scan() && !strings.Contains(lines.Text(), `"id":1`) {
		notified++
		if notified == 1 { // the call still runs
			if err := feed.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if notified != steps+1 || !strings.Contains(lines.Text(), "succeeded") || lines.Scan() {
		t.Errorf("%d notifications before %s", notified, lines.Text())
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// On standard input the tools of the key's tenant are listed.
func TestStdioListsTheTenantsTools(t *testing.T) {
	t.Parallel()
	settings := &structpb.Struct{Fields: map[string]*structpb.Value{"indexName": structpb.NewStringValue("laws"), "topK": structpb.NewNumberValue(3)}}
	var asked, answer proto.Message = nil, &ragdv1.VectorQueryResponse{}
	api := recordingAPI(&asked, &answer)
	api.listIndexes = noIndexes
	api.tools = []*ragdv1.Tool{{ToolName: "ask_laws", Kind: "vector_query", Settings: settings, Arguments: []string{"queryText"}}}
	out := answersTo(t, api, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if !strings.Contains(out, "ask_laws") || strings.Contains(out, anyTool) {
		t.Errorf("listed %s", out)
	}
	out = answersTo(t, api, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask_laws","arguments":{"queryText":"a"}}}`)
	want := message[ragdv1.VectorQueryRequest](t, `{"queryText": "a", "indexName": "laws", "topK": 3}`)
	if diff := cmp.Diff(proto.Message(want), asked, protocmp.Transform()); diff != "" {
		t.Errorf("%s: %s", out, diff)
	}
}

func TestStdioAnswersNonsense(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ message, want string }{
		{`{`, `"code":-32700`},
		{`[]`, `"code":-32700`},
		{`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, `"code":-32601`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such"}}`, `"code":-32602`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
	} {
		if out := answersTo(t, &fakeAPI{}, tc.message); !strings.Contains(out, tc.want) || tc.want == "" && out != "" {
			t.Errorf("%s: %s", tc.message, out)
		}
	}
}

// A subscription without events is acknowledged and ends.
func TestStdioSubscription(t *testing.T) {
	t.Parallel()
	out := answersTo(t, &fakeAPI{}, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	first, second, _ := strings.Cut(out, "\n")
	if !strings.Contains(first, "acknowledged") || !strings.Contains(second, `"id":1`) {
		t.Error(out)
	}
}

func TestStdioEnds(t *testing.T) {
	t.Parallel()
	waiting := make(chan struct{})
	api := &fakeAPI{getJob: func(ctx context.Context, _ *ragdv1.GetJobRequest) (*ragdv1.Job, error) {
		close(waiting)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	in, write := io.Pipe()
	defer write.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ServeStdio(ctx, Config{API: api}, in, io.Discard) }()
	if _, err := io.WriteString(write, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_job","arguments":{"jobId":"j"}}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	<-waiting
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestStdioCancellation(t *testing.T) {
	t.Parallel()
	waiting := make(chan struct{})
	api := &fakeAPI{getJob: func(ctx context.Context, _ *ragdv1.GetJobRequest) (*ragdv1.Job, error) {
		close(waiting)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	in, write := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- ServeStdio(t.Context(), Config{API: api}, in, io.Discard) }()
	send := func(line string) {
		if _, err := io.WriteString(write, line+"\n"); err != nil {
			t.Error(err)
		}
	}
	send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_job","arguments":{"jobId":"j"}}}`)
	<-waiting
	send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	_ = write.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestStdioFailsWithItsOutput(t *testing.T) {
	t.Parallel()
	in, write := io.Pipe()
	defer write.Close()
	broken, other := io.Pipe()
	_ = broken.Close()
	ended := make(chan error, 1)
	go func() { ended <- ServeStdio(t.Context(), Config{API: &fakeAPI{}}, in, other) }()
	if _, err := io.WriteString(write, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

// Clients of both mcptest.Eras work over standard input and output with a remote server; the
// overrides of a call travel in a header.
func TestStdioOverARemoteServer(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.Handle(ragdv1connect.NewQueryServiceHandler(answering{}))
	var header string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Get("Ragd-Context")
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	for era, options := range mcptest.Eras {
		t.Run(era, func(t *testing.T) {
			toServer, fromClient := io.Pipe()
			toClient, fromServer := io.Pipe()
			ended := make(chan error, 1)
			go func() {
				ended <- ServeStdio(t.Context(), Config{API: NewClient(server.Client(), server.URL)}, toServer, fromServer)
			}()
			c := client.NewClient(transport.NewIO(toClient, fromClient, io.NopCloser(strings.NewReader(""))), options...)
			mcptest.Initialize(t, c)
			listed, err := c.ListTools(t.Context(), mcpgo.ListToolsRequest{})
			if err != nil || len(listed.Tools) != len(toolNames(t)) {
				t.Fatalf("%d tools, %v", len(listed.Tools), err)
			}
			result, text := mcptest.Call(t, c, "vector_query", map[string]any{"queryText": "a"}, map[string]any{metaContext: map[string]any{"topK": 2}})
			if result.IsError || text != "the answer to a" || header != `{"topK":2}` {
				t.Errorf("%q, header %q", text, header)
			}
			_ = fromClient.Close()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			_ = toClient.Close()
		})
	}
}

// answering is an API that answers queries.
type answering struct {
	ragdv1connect.UnimplementedQueryServiceHandler
}

func (answering) VectorQuery(_ context.Context, req *ragdv1.VectorQueryRequest) (*ragdv1.VectorQueryResponse, error) {
	return &ragdv1.VectorQueryResponse{RelevantContext: "the answer to " + req.GetQueryText()}, nil
}
