package rpc_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// agents starts a service with a scripted model and two tenants, each with the index "laws" and one
// document.
func agents(t *testing.T) (s *servicetest.Service, ai *modelserver.Server, acme, bolt servicetest.Client) {
	t.Helper()
	ai = modelserver.New(t)
	s = servicetest.New(t, service.Config{Providers: service.Providers{
		OpenAI: endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1, Models: []string{"*"}},
	}})
	acme, bolt = s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	for _, c := range []servicetest.Client{acme, bolt} {
		c.Index(t, "laws")
		c.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "laws", Uri: "tax-" + c.Secret[len(c.Secret)-4:], Title: "Tax law",
			Source: &ragdv1.UploadDocumentRequest_Text{Text: "Every cat pays a tax of five coins in spring."}})
	}
	return s, ai, acme, bolt
}

func createAgent(t *testing.T, c servicetest.Client, name, definition string) {
	t.Helper()
	if _, err := c.CreateAgent(t.Context(), &ragdv1.CreateAgentRequest{AgentName: name, Definition: object(t, definition)}); err != nil {
		t.Fatal(err)
	}
}

func object(t *testing.T, text string) *structpb.Struct {
	t.Helper()
	o := &structpb.Struct{}
	if err := o.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return o
}

func askAgent(ctx context.Context, c servicetest.Client, name, message string) (*ragdv1.AskAgentResponse, error) {
	return c.AskAgent(ctx, &ragdv1.AskAgentRequest{AgentName: name, Message: message})
}

const lawyer = `{"description": "Knows the law.", "model": "openai/m"}`

var search = modelserver.Turn{Calls: []modelserver.Call{{Name: "vector_query", Arguments: `{"queryText": "cat tax"}`}}}

func TestAgentsAnswerWithCheckedCitations(t *testing.T) {
	t.Parallel()
	_, ai, acme, _ := agents(t)
	createAgent(t, acme, "lawyer", lawyer)
	ai.Script(search, modelserver.Turn{Text: `A cat "pays a tax of five coins" [1]. Dogs "pay nothing at all" [1], as said [7]. In spring [1, 9].`})
	stream, err := acme.AskAgentStream(t.Context(), &ragdv1.AskAgentStreamRequest{Ask: &ragdv1.AskAgentRequest{AgentName: "lawyer", Message: "What do cats pay?"}})
	if err != nil {
		t.Fatal(err)
	}
	var text, kinds strings.Builder
	var answer *ragdv1.AskAgentResponse
	for stream.Receive() {
		switch e := stream.Msg().GetEvent().(type) {
		case *ragdv1.AskAgentEvent_Step:
			kinds.WriteString("step ")
		case *ragdv1.AskAgentEvent_ToolCall:
			kinds.WriteString(e.ToolCall.GetToolName() + " ")
		case *ragdv1.AskAgentEvent_ToolResult:
			kinds.WriteString("result" + e.ToolResult.GetError() + " ")
		case *ragdv1.AskAgentEvent_Text:
			text.WriteString(e.Text)
		case *ragdv1.AskAgentEvent_Answer:
			answer = e.Answer
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	const want = `A cat "pays a tax of five coins" [1]. Dogs "pay nothing at all", as said. In spring [1].`
	if answer.GetText() != want || text.String() != want || kinds.String() != "step vector_query result step " {
		t.Errorf("%s\n%s\n%s", answer.GetText(), text.String(), kinds.String())
	}
	citations := answer.GetCitations()
	if len(citations) != 1 || citations[0].GetTitle() != "Tax law" || citations[0].GetUri() == "" || citations[0].GetEndByte() != 45 {
		t.Errorf("citations %v", citations)
	}
	if u := answer.GetUsage(); u.GetRemovedCitations() != 3 || u.GetSteps() != 2 || u.GetToolCalls() != 1 || u.GetInputTokens() == 0 {
		t.Errorf("usage %v", u)
	}
}

func TestAgentsOfTenantsWithEqualNamesAreSeparate(t *testing.T) {
	t.Parallel()
	_, ai, acme, bolt := agents(t)
	createAgent(t, acme, "lawyer", lawyer)
	if _, err := askAgent(t.Context(), bolt, "lawyer", "hi"); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("another tenant asks: %v", err)
	}
	createAgent(t, bolt, "lawyer", `{"description": "Bolt's own.", "model": "openai/m", "instructions": "Speak for {{tenant}}."}`)
	var heard []string
	ai.Turn = func(c modelserver.Chat) modelserver.Turn {
		heard = append(heard, c.System)
		if len(c.Results()) == 0 {
			return search
		}
		heard = append(heard, c.Results()...)
		return modelserver.Turn{Text: "five [1]"}
	}
	for _, c := range []servicetest.Client{acme, bolt} {
		if _, err := c.AskAgent(t.Context(), &ragdv1.AskAgentRequest{AgentName: "lawyer", Message: "hi", ThreadId: "t1"}); err != nil {
			t.Fatal(err)
		}
		own := "tax-" + c.Secret[len(c.Secret)-4:]
		if found := heard[len(heard)-1]; !strings.Contains(found, own) || strings.Count(found, "tax-") != 1 {
			t.Errorf("the model read %s", found)
		}
	}
	if _, err := acme.DeleteAgent(t.Context(), &ragdv1.DeleteAgentRequest{AgentName: "lawyer"}); err != nil {
		t.Fatal(err)
	}
	thread, err := bolt.GetThread(t.Context(), &ragdv1.GetThreadRequest{AgentName: "lawyer", ThreadId: "t1"})
	if err != nil || len(thread.GetMessages()) != 2 {
		t.Errorf("%v, %v", thread, err)
	}
}

// What a model does wrong is told to it, ends at a limit or is not done at all.
func TestModelsThatMisbehave(t *testing.T) {
	t.Parallel()
	_, ai, acme, _ := agents(t)
	createAgent(t, acme, "lawyer", `{"description": "x", "model": "openai/m", "limits": {"steps": 4}}`)
	createAgent(t, acme, "former", `{"description": "x", "model": "openai/m", "outputSchema": {"type": "object", "properties": {"coins": {"type": "integer"}}, "required": ["coins"]}}`)
	call := func(name, arguments string) modelserver.Turn {
		return modelserver.Turn{Calls: []modelserver.Call{{Name: name, Arguments: arguments}}}
	}
	for _, tc := range []struct {
		name, agent string
		turns       []modelserver.Turn
		told        string // in the last result of a tool
		text        string
		code        connect.Code
	}{
		{"a tool that does not exist", "lawyer", []modelserver.Turn{call("fly", "{}"), {Text: "sorry"}}, "there is no tool", "sorry", 0},
		{"arguments that are no JSON", "lawyer", []modelserver.Turn{call("vector_query", `{"queryText": `), {Text: "sorry"}}, "no valid JSON", "sorry", 0},
		{"arguments that do not fit", "lawyer", []modelserver.Turn{call("vector_query", `{"queryText": "x", "topK": "many"}`), {Text: "sorry"}}, "topK", "sorry", 0},
		{"a tool that writes", "lawyer", []modelserver.Turn{call("delete_documents", `{"indexName": "laws", "filter": {}}`), {Text: "sorry"}}, "there is no tool", "sorry", 0},
		{"the same call again and again", "lawyer", []modelserver.Turn{search}, "already", "", connect.CodeResourceExhausted},
		{"nothing", "lawyer", []modelserver.Turn{{}}, "", "", connect.CodeUnavailable},
		{"JSON in the end", "former", []modelserver.Turn{{Text: "five"}, {Text: `{"coins": "five"}`}, {Text: "```json\n{\"coins\": 5}\n```"}}, "", `{"coins": 5}`, 0},
		{"never JSON", "former", []modelserver.Turn{{Text: "five"}}, "", "", connect.CodeUnavailable},
	} {
		ai.Script(tc.turns...)
		before := len(ai.Requests())
		answer, err := askAgent(t.Context(), acme, tc.agent, "What do cats pay?")
		if tc.code == 0 && (err != nil || answer.GetText() != tc.text) || tc.code != 0 && connect.CodeOf(err) != tc.code {
			t.Errorf("%s: %v, %v", tc.name, answer, err)
		}
		requests := ai.Requests()
		if len(requests)-before > 4 || !strings.Contains(requests[len(requests)-1].Raw, tc.told) {
			t.Errorf("%s: %d requests, the last %s", tc.name, len(requests)-before, requests[len(requests)-1].Raw)
		}
	}
	left, err := acme.ListDocuments(t.Context(), &ragdv1.ListDocumentsRequest{IndexName: "laws"})
	if err != nil || len(left.GetDocuments()) != 1 {
		t.Errorf("documents %v, %v", left, err)
	}
}

// Whatever an endpoint reports, the tokens of an agent are limited.
func TestEndpointsThatCountNoTokens(t *testing.T) {
	t.Parallel()
	_, ai, acme, _ := agents(t)
	createAgent(t, acme, "lawyer", `{"description": "x", "model": "openai/m", "limits": {"steps": 40, "tokens": 2000}}`)
	for name, usage := range map[string]map[string]any{
		"nothing": {}, "negative": {"prompt_tokens": -1_000_000, "completion_tokens": -1_000_000},
		"too much": {"prompt_tokens": 1 << 60, "completion_tokens": 1 << 60},
	} {
		n := 0
		ai.Turn = func(modelserver.Chat) modelserver.Turn {
			n++
			return modelserver.Turn{Usage: usage, Calls: []modelserver.Call{{Name: "vector_query", Arguments: fmt.Sprintf(`{"queryText": "cat tax %d"}`, n)}}}
		}
		if _, err := askAgent(t.Context(), acme, "lawyer", "What do cats pay?"); connect.CodeOf(err) != connect.CodeResourceExhausted || !strings.Contains(err.Error(), "limits.tokens") {
			t.Errorf("%s: %v after %d turns", name, err, n)
		}
	}
}

// What the agents take that an agent asks counts towards its own limits.
func TestTokensOfInnerAgentsCount(t *testing.T) {
	t.Parallel()
	_, ai, acme, _ := agents(t)
	createAgent(t, acme, "inner", `{"description": "x", "model": "openai/m", "instructions": "inner", "tools": [], "prices": {"input": 1}}`)
	createAgent(t, acme, "outer", `{"description": "x", "model": "openai/m", "tools": ["ask_inner"], "limits": {"tokens": 100000, "steps": 10}}`)
	small := map[string]any{"prompt_tokens": 10, "completion_tokens": 10}
	ai.Turn = func(c modelserver.Chat) modelserver.Turn {
		switch n := len(c.Results()); {
		case strings.HasPrefix(c.System, "inner"):
			return modelserver.Turn{Text: "inner", Usage: map[string]any{"prompt_tokens": 60_000, "completion_tokens": 0}}
		case n == 0 || strings.Contains(c.User, "more"):
			return modelserver.Turn{Calls: []modelserver.Call{{Name: "ask_inner", Arguments: fmt.Sprintf(`{"message": "question %d"}`, n)}}, Usage: small}
		}
		return modelserver.Turn{Text: "done", Usage: small}
	}
	answer, err := askAgent(t.Context(), acme, "outer", "Once")
	if u := answer.GetUsage(); err != nil || u.GetInputTokens() != 60_020 || u.GetOutputTokens() != 20 || u.GetCost() != 0.06 {
		t.Errorf("%v, %v", u, err)
	}
	if _, err := askAgent(t.Context(), acme, "outer", "Once more"); connect.CodeOf(err) != connect.CodeResourceExhausted || !strings.Contains(err.Error(), "limits.tokens") {
		t.Errorf("error %v", err)
	}
}

// The agent of the reference chooses its instructions, model and tools by tier and language.
func TestAgentsByTierAndLanguage(t *testing.T) {
	t.Parallel()
	s, ai, acme, _ := agents(t)
	for _, key := range []string{"tier", "language"} {
		if _, err := acme.DeclareContextKey(t.Context(), &ragdv1.DeclareContextKeyRequest{Key: &ragdv1.ContextKey{Name: key, Schema: object(t, `{"type": "string"}`), Source: "caller"}}); err != nil {
			t.Fatal(err)
		}
	}
	createAgent(t, acme, "support", `{"description": "Helps.", "model": "openai/small", "tools": ["vector_query"],
		"instructions": "Help in {{context.language ?? \"English\"}}.",
		"rules": {
			"model": [{"when": "context.?tier.orValue('free') == 'enterprise'", "value": "openai/large"}],
			"tools": [{"when": "context.?tier.orValue('free') in ['pro', 'enterprise']", "value": ["vector_query", "graph_rag"]}],
			"instructions": [{"when": "context.?tier.orValue('free') == 'enterprise'", "value": "Help thoroughly in {{context.language ?? \"English\"}}."}]}}`)
	var heard modelserver.Chat
	ai.Turn = func(c modelserver.Chat) modelserver.Turn {
		heard = c
		return modelserver.Turn{Text: "ok"}
	}
	for context, want := range map[string]string{
		`{}`:                                "small vector_query Help in English.",
		`{"tier": "pro", "language": "de"}`: "small graph_rag,vector_query Help in de.",
		`{"tier": "enterprise"}`:            "large graph_rag,vector_query Help thoroughly in English.",
	} {
		if _, err := askAgent(t.Context(), s.Client(acme.Secret, "Ragd-Context", context), "support", "hi"); err != nil {
			t.Fatal(err)
		}
		got := heard.Model + " " + strings.Join(heard.Tools, ",") + " " + heard.System
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", context, got)
		}
	}
}

// A definition that cannot work is refused, with the field and what to do.
func TestDefinitionsOfAgentsAreChecked(t *testing.T) {
	t.Parallel()
	s, ai, acme, _ := agents(t)
	createAgent(t, acme, "known", lawyer)
	for _, workflow := range []struct{ name, steps string }{
		{"reads", `[{"id": "a", "kind": "query", "input": {"queryText": {"value": "x"}}}, {"id": "b", "kind": "workflow", "workflow": "adds", "input": {}}]`},
		{"writes", `[{"id": "a", "kind": "workflow", "workflow": "files", "input": {}}]`},
	} {
		inner := map[string]string{"reads": "adds", "writes": "files"}[workflow.name]
		step := map[string]string{"adds": `[{"id": "a", "kind": "agent", "agent": "known", "input": {"prompt": {"value": "x"}}}]`, "files": `[{"id": "a", "kind": "upload", "input": {"text": {"value": "x"}, "indexName": {"value": "laws"}}}]`}[inner]
		for _, w := range [][2]string{{inner, step}, {workflow.name, workflow.steps}} {
			if _, err := acme.CreateWorkflow(t.Context(), &ragdv1.CreateWorkflowRequest{WorkflowName: w[0], Definition: object(t, `{"description": "x", "steps": `+w[1]+`}`)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tc := range []struct{ members, want string }{
		{`"tools": ["vektor_query"]`, `definition.tools: tool "vektor_query" not found; did you mean vector_query?`},
		{`"tools": ["ask_new"]`, `definition.tools: has "ask_new": an agent cannot ask itself`},
		{`"tools": ["vector_query", "upload_document"]`, `definition.mayWrite: lacks "upload_document" of tools, which may change something`},
		{`"tools": ["run_writes"]`, `definition.mayWrite: lacks "run_writes" of tools`},
		{`"rules": {"tools": [{"when": "true", "value": ["fly"]}]}`, `definition.rules.tools[0].value: tool "fly" not found`},
		{`"rules": {"tools": [{"when": "true"}]}`, `definition.rules.tools[0].value: is missing`},
		{`"rules": {"model": [{"value": "openai/m"}]}`, `definition.rules.model[0].when: is missing`},
		{`"rules": {"model": [{"when": "true", "value": "openai/m"}, {"when": "true", "value": "fly/m"}]}`, `definition.rules.model[1].value: there is no endpoint "fly"`},
		{`"rules": {"model": [{"when": "context.?tire.orValue(1) == 1", "value": "openai/m"}]}`, `definition.rules.model[0].when: refers to context.tire, which is not declared`},
		{`"instructions": "Speak {{context.langauge}}."`, `definition.instructions: refers to context.langauge, which is not declared`},
		{`"outputSchema": {"type": "string"}`, `definition.outputSchema: must be the schema of an object`},
		{`"sampling": {"temprature": 1}`, `definition.sampling.temprature: is not known here; did you mean temperature?`},
		{`"limits": {"steps": "8"}`, `definition.limits.steps: must be a whole number, got "8"`},
		{`"tools": "vector_query"`, `definition.tools: must be a list of strings, got "vector_query"`},
		{`"tools": ["ask_known", "run_reads", "upload_document"], "mayWrite": ["upload_document"]`, ``},
	} {
		definition := object(t, `{"description": "x", "model": "openai/m", `+tc.members+`}`)
		_, err := acme.CreateAgent(t.Context(), &ragdv1.CreateAgentRequest{AgentName: "new", Definition: definition})
		if tc.want == "" && err != nil || tc.want != "" && (connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v", tc.members, err)
		}
	}
	var offered []string
	ai.Turn = func(c modelserver.Chat) modelserver.Turn {
		offered = c.Tools
		return modelserver.Turn{Text: "ok"}
	}
	if _, err := askAgent(t.Context(), acme, "new", "hi"); err != nil || len(offered) != 3 {
		t.Errorf("%v, offered %v", err, offered)
	}
	// A rule that cannot be evaluated is a mistake of the agent, not of who asks.
	if _, err := acme.DeclareContextKey(t.Context(), &ragdv1.DeclareContextKeyRequest{Key: &ragdv1.ContextKey{Name: "tier", Source: "caller"}}); err != nil {
		t.Fatal(err)
	}
	createAgent(t, acme, "strict", `{"description": "x", "model": "openai/m", "rules": {"model": [{"when": "context.tier == 'pro'", "value": "openai/l"}]}}`)
	_, err := askAgent(t.Context(), acme, "strict", "hi")
	if connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(err.Error(), `agent "strict"`) || !strings.Contains(err.Error(), "rules.model[0].when") {
		t.Errorf("a missing value: %v", err)
	}
	if _, err := askAgent(t.Context(), s.Client(acme.Secret, "Ragd-Context", `{"tier": "pro"}`), "strict", "hi"); err != nil {
		t.Error(err)
	}
}

// What no passage says is listed, or removed before anybody reads it.
func TestAgentsCheckTheirAnswers(t *testing.T) {
	t.Parallel()
	_, ai, acme, _ := agents(t)
	createAgent(t, acme, "marker", `{"description": "x", "model": "openai/m", "grounding": "mark"}`)
	createAgent(t, acme, "remover", `{"description": "x", "model": "openai/m", "grounding": "remove"}`)
	const said = "Every cat pays a tax of five coins [1]. Dogs pay nine coins in autumn [1]. It is due in spring."
	ai.Turn = func(c modelserver.Chat) modelserver.Turn {
		if len(c.Results()) == 0 {
			return search
		}
		if strings.Contains(c.User, "dogs") {
			return modelserver.Turn{Text: "Dogs pay nine coins in autumn [1]."}
		}
		return modelserver.Turn{Text: said}
	}
	answer, err := askAgent(t.Context(), acme, "marker", "What do cats pay?")
	noError(t, err)
	g := answer.GetGrounding()
	if answer.GetText() != said || g.GetSupportedCount()+g.GetPartlyCount() != 2 || g.GetUnsupportedCount() != 1 || g.GetRemovedCount() != 0 {
		t.Fatalf("the answer is %v", answer)
	}
	for _, s := range g.GetSentences() {
		if said[s.GetRange().GetStartByte():s.GetRange().GetEndByte()] != s.GetText() || s.GetState() == "unsupported" != strings.HasPrefix(s.GetText(), "Dogs pay") {
			t.Errorf("a sentence is %v", s)
		}
	}
	ask := func(message, thread string) (text string, answer *ragdv1.AskAgentResponse) {
		stream, err := acme.AskAgentStream(t.Context(), &ragdv1.AskAgentStreamRequest{Ask: &ragdv1.AskAgentRequest{AgentName: "remover", Message: message, ThreadId: thread}})
		noError(t, err)
		for stream.Receive() {
			text += stream.Msg().GetText()
			answer = stream.Msg().GetAnswer()
		}
		noError(t, stream.Err())
		return text, answer
	}
	const left = "Every cat pays a tax of five coins [1]. It is due in spring."
	text, answer := ask("What do cats pay?", "t")
	if text != left || answer.GetText() != left || answer.GetGrounding().GetRemovedCount() != 1 || len(answer.GetCitations()) != 1 {
		t.Errorf("the stream is %q, then %v", text, answer)
	}
	thread, err := acme.GetThread(t.Context(), &ragdv1.GetThreadRequest{AgentName: "remover", ThreadId: "t"})
	noError(t, err)
	if got := thread.GetMessages()[1].GetText(); got != left {
		t.Errorf("the thread has %q", got)
	}
	text, answer = ask("What do dogs pay?", "")
	if strings.Contains(text, "nine") || text != answer.GetText() || len(answer.GetCitations()) != 0 {
		t.Errorf("the stream is %q, then %v", text, answer)
	}
	for _, definition := range []string{
		`{"description": "x", "model": "openai/m", "grounding": "sometimes"}`,
		`{"description": "x", "model": "openai/m", "grounding": "mark", "outputSchema": {"type": "object"}}`,
	} {
		_, err := acme.CreateAgent(t.Context(), &ragdv1.CreateAgentRequest{AgentName: "wrong", Definition: object(t, definition)})
		if connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), "definition.grounding") {
			t.Errorf("%s: %v", definition, err)
		}
	}
}
