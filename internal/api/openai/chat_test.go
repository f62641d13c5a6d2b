package openai_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

const (
	chatPath     = "/v1/chat/completions"
	responsePath = "/v1/responses"
)

// chatting starts a service with a scripted chat model, and a tenant with the indexes "terms" and "harbour" and
// the agent "lawyer".
func chatting(t *testing.T) (*servicetest.Service, *modelserver.Server, servicetest.Client) {
	t.Helper()
	ai := modelserver.New(t)
	s := servicetest.New(t, service.Config{Providers: service.Providers{
		OpenAI: endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1, Models: []string{"*"}},
	}})
	client := s.Tenant(t, "acme")
	for index, documents := range map[string]map[string]string{
		"terms": {
			"terms.md":                          "# Warranty\n\nThe warranty lasts two years from the day of delivery. It covers all parts.",
			"https://example.com/returns?a=1&b": "# Returns\n\nGoods may be returned within thirty days. The buyer pays the parcel.",
		},
		"harbour": {"tide.md": "# Tide\n\nThe tide turns at noon. Ferries leave from berth nine."},
	} {
		client.Index(t, index)
		for uri, text := range documents {
			client.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: index, Uri: uri, Source: servicetest.Text(text), Metadata: servicetest.Object(t, map[string]any{"team": index})})
		}
	}
	_, err := client.CreateAgent(t.Context(), &ragdv1.CreateAgentRequest{AgentName: "lawyer", Definition: servicetest.Object(t, map[string]any{"description": "Knows terms.", "model": "openai/m"})})
	if err != nil {
		t.Fatal(err)
	}
	return s, ai, client
}

var searching = modelserver.Turn{Calls: []modelserver.Call{{Name: "vector_query", Arguments: `{"queryText": "warranty and returns", "indexName": "terms"}`}}}

// at returns the value at a path of names and numbers in decoded JSON; nil if there is none.
func at(value any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := value.(map[string]any)
			value = object[step]
		case int:
			list, _ := value.([]any)
			if step >= len(list) {
				return nil
			}
			value = list[step]
		}
	}
	return value
}

func user(text string) []any { return []any{map[string]any{"role": "user", "content": text}} }

// sent is an event of a stream.
type sent struct {
	name string
	data map[string]any
}

// events sends a request and returns the events of the answer without the last [DONE], and whether there was one.
func (c caller) events(t *testing.T, path string, body any) (all []sent, done bool) {
	t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url+path, strings.NewReader(string(encoded)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.secret)
	for i := 0; i+1 < len(c.headers); i += 2 {
		req.Header.Set(c.headers[i], c.headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("%s: %s %s", path, res.Status, res.Header.Get("Content-Type"))
	}
	name := ""
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = text
		}
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case !ok:
		case text == "[DONE]":
			done = true
		default:
			e := sent{name: name}
			if err := json.Unmarshal([]byte(text), &e.data); err != nil {
				t.Fatalf("%v in %q", err, text)
			}
			all = append(all, e)
		}
	}
	return all, done
}

func TestChatCompletionsAskAnAgent(t *testing.T) {
	t.Parallel()
	s, ai, client := chatting(t)
	acme := of(s, client)
	body := map[string]any{
		"model": "agent/lawyer", "temperature": 0.2, "messages": []any{
			map[string]any{"role": "system", "content": "Be kind."},
			map[string]any{"role": "user", "content": []any{map[string]any{"type": "text", "text": "Who are you?"}}},
			map[string]any{"role": "assistant", "content": "A lawyer [1].\n\n- [1] terms.md"},
			map[string]any{"role": "user", "content": "How long is the warranty?"},
		},
	}
	ai.Script(searching, modelserver.Turn{Text: "Two years [1], thirty days [2]; é [9] and again [1]."})
	answer := acme.want(t, http.StatusOK, http.MethodPost, chatPath, body)
	message, _ := at(answer, "choices", 0, "message").(map[string]any)
	text, _ := message["content"].(string)
	if !strings.HasPrefix(text, "Two years [1], thirty days [2]; é and again [1].\n\n- [1] ") || !strings.Contains(text, "[returns?a=1&b](<https://example.com/returns?a=1&b>)") || !strings.Contains(text, "terms.md") {
		t.Errorf("content %q", text)
	}
	annotations, _ := message["annotations"].([]any)
	if len(annotations) != 3 {
		t.Fatalf("annotations %v", annotations)
	}
	for i, want := range []string{"[1]", "[2]", "[1]"} {
		from, _ := at(annotations[i], "url_citation", "start_index").(float64)
		to, _ := at(annotations[i], "url_citation", "end_index").(float64)
		if got := string([]rune(text)[int(from):int(to)]); got != want {
			t.Errorf("annotation %d is at %q", i, got)
		}
	}
	if at(answer, "choices", 0, "finish_reason") != "stop" || at(answer, "object") != "chat.completion" || at(answer, "usage", "prompt_tokens").(float64) == 0 || at(answer, "usage", "completion_tokens").(float64) == 0 {
		t.Error(answer)
	}
	var roles []string
	asked := chats(ai)
	messages, _ := asked[0].Body["messages"].([]any)
	for _, m := range messages {
		roles = append(roles, at(m, "role").(string))
	}
	if !slices.Equal(roles, []string{"system", "user", "assistant", "user"}) || at(messages, 1, "content") != "Be kind.\n\nWho are you?" || at(messages, 2, "content") != "A lawyer [1]." {
		t.Errorf("the model read %v", messages)
	}

	ai.Script(searching, modelserver.Turn{Text: "Two years [1]."})
	body["stream"], body["stream_options"] = true, map[string]any{"include_usage": true}
	quiet := of(s, client, "Ragd-Footnotes", "false")
	streamed, done := quiet.events(t, chatPath, body)
	var said strings.Builder
	pieces := 0
	for _, e := range streamed {
		if piece, _ := at(e.data, "choices", 0, "delta", "content").(string); piece != "" {
			said.WriteString(piece)
			pieces++
		}
	}
	last := streamed[len(streamed)-1].data
	if !done || said.String() != "Two years [1]." || pieces < 2 || len(at(last, "choices").([]any)) != 0 || at(last, "usage", "total_tokens").(float64) == 0 {
		t.Errorf("%q in %d pieces; the last event is %v, done %v", said.String(), pieces, last, done)
	}
	if at(streamed[0].data, "choices", 0, "delta", "role") != "assistant" || at(streamed[len(streamed)-2].data, "choices", 0, "finish_reason") != "stop" {
		t.Error(streamed)
	}
}

// chats returns the requests to the chat model so far.
func chats(ai *modelserver.Server) []modelserver.Request {
	return slices.DeleteFunc(ai.Requests(), func(r modelserver.Request) bool { return r.Path != chatPath })
}

func TestResponsesAskAnAgent(t *testing.T) {
	t.Parallel()
	s, ai, client := chatting(t)
	acme := of(s, client)
	ai.Script(searching, modelserver.Turn{Text: "Thirty days [2], two years [1]."})
	answer := acme.want(t, http.StatusOK, http.MethodPost, responsePath, map[string]any{"model": "agent/lawyer", "input": "What of returns?", "instructions": "Be kind.", "conversation": "c-1"})
	if at(answer, "output", 0, "content", 0, "text") != "Thirty days [2], two years [1]." || at(answer, "status") != "completed" || at(answer, "usage", "total_tokens").(float64) == 0 {
		t.Error(answer)
	}
	kinds := map[any]bool{}
	for i := range 2 {
		kinds[at(answer, "output", 0, "content", 0, "annotations", i, "type")] = true
	}
	if !kinds["url_citation"] || !kinds["file_citation"] {
		t.Errorf("annotations %v", at(answer, "output", 0, "content", 0, "annotations"))
	}
	thread, err := client.GetThread(t.Context(), &ragdv1.GetThreadRequest{AgentName: "lawyer", ThreadId: "c-1"})
	if err != nil || len(thread.GetMessages()) != 2 {
		t.Error(thread, err)
	}

	ai.Script(searching, modelserver.Turn{Text: "Thirty days [1]."})
	streamed, _ := acme.events(t, responsePath, map[string]any{
		"model": "agent/lawyer", "stream": true, "input": []any{
			map[string]any{"role": "user", "content": []any{map[string]any{"type": "input_text", "text": "What of returns?"}}},
		},
	})
	var said strings.Builder
	for i, e := range streamed {
		if e.name != e.data["type"] || e.data["sequence_number"] != float64(i) {
			t.Errorf("event %d is %q: %v", i, e.name, e.data)
		}
		if e.name == "response.output_text.delta" {
			said.WriteString(e.data["delta"].(string))
		}
	}
	last := streamed[len(streamed)-1]
	if streamed[0].name != "response.created" || last.name != "response.completed" || said.String() != "Thirty days [1]." ||
		at(last.data, "response", "output", 0, "content", 0, "text") != said.String() || at(last.data, "response", "output", 0, "content", 0, "annotations", 0, "type") == nil {
		t.Error(said.String(), last)
	}
}

// An agent that answers in JSON does so here, in one piece.
func TestAnAgentWithAnOutputSchemaAnswersInJSON(t *testing.T) {
	t.Parallel()
	s, ai, client := chatting(t)
	_, err := client.CreateAgent(t.Context(), &ragdv1.CreateAgentRequest{AgentName: "counter", Definition: servicetest.Object(t, map[string]any{
		"description": "Counts years.", "model": "openai/m", "outputSchema": map[string]any{"type": "object", "required": []any{"years"}},
	})})
	if err != nil {
		t.Fatal(err)
	}
	ai.Script(searching, modelserver.Turn{Text: `{"years": 2}`}, searching, modelserver.Turn{Text: `{"years": 2}`})
	acme, body := of(s, client), map[string]any{"model": "agent/counter", "messages": user("How many years?")}
	answer := acme.want(t, http.StatusOK, http.MethodPost, chatPath, body)
	if got := at(answer, "choices", 0, "message", "content"); got != `{"years": 2}` {
		t.Error(answer)
	}
	body["stream"] = true
	streamed, _ := acme.events(t, chatPath, body)
	if got := at(streamed[1].data, "choices", 0, "delta", "content"); got != `{"years": 2}` {
		t.Error(streamed)
	}
}

// A call of a function of the caller ends the turn, and its result continues it.
func TestFunctionsOfTheCaller(t *testing.T) {
	t.Parallel()
	s, ai, client := chatting(t)
	acme := of(s, client)
	weather := map[string]any{"name": "weather", "description": "Tells the weather.", "parameters": map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}}}
	call := modelserver.Turn{Calls: []modelserver.Call{{Name: "weather", Arguments: `{"city": "Lima"}`}}}

	ai.Script(searching, call)
	body := map[string]any{"model": "agent/lawyer", "messages": user("How is it in Lima?"), "tools": []any{map[string]any{"type": "function", "function": weather}}}
	answer := acme.want(t, http.StatusOK, http.MethodPost, chatPath, body)
	if at(answer, "choices", 0, "finish_reason") != "tool_calls" || at(answer, "choices", 0, "message", "tool_calls", 0, "function", "name") != "weather" {
		t.Fatal(answer)
	}
	if tools, _ := chats(ai)[0].Body["tools"].([]any); !strings.Contains(jsonOf(t, tools), `"weather"`) || !strings.Contains(jsonOf(t, tools), `"vector_query"`) {
		t.Errorf("the model was offered %v", tools)
	}
	ai.Script(modelserver.Turn{Text: "It rains."})
	body["messages"] = append(user("How is it in Lima?"), at(answer, "choices", 0, "message"),
		map[string]any{"role": "tool", "tool_call_id": at(answer, "choices", 0, "message", "tool_calls", 0, "id"), "content": "rain"})
	if answer = acme.want(t, http.StatusOK, http.MethodPost, chatPath, body); at(answer, "choices", 0, "message", "content") != "It rains." {
		t.Error(answer)
	}
	asked := chats(ai)
	messages, _ := asked[len(asked)-1].Body["messages"].([]any)
	if at(messages, len(messages)-1, "role") != "tool" || at(messages, len(messages)-1, "content") != "rain" {
		t.Errorf("the model read %v", messages)
	}

	ai.Script(call)
	body["stream"] = true
	streamed, _ := acme.events(t, chatPath, body)
	if !slices.ContainsFunc(streamed, func(e sent) bool {
		return at(e.data, "choices", 0, "delta", "tool_calls", 0, "function", "arguments") == `{"city": "Lima"}`
	}) {
		t.Error(streamed)
	}

	weather["type"] = "function"
	asking := map[string]any{"model": "agent/lawyer", "input": "How is it in Lima?", "tools": []any{weather}, "stream": true}
	streamed, _ = acme.events(t, responsePath, asking)
	output := at(streamed[len(streamed)-1].data, "response", "output", 0)
	if at(output, "type") != "function_call" || at(output, "arguments") != `{"city": "Lima"}` {
		t.Fatal(streamed)
	}
	ai.Script(modelserver.Turn{Text: "It rains."})
	asking["stream"], asking["input"] = false, []any{
		map[string]any{"role": "user", "content": "How is it in Lima?"}, output,
		map[string]any{"type": "function_call_output", "call_id": at(output, "call_id"), "output": "rain"},
	}
	if answer = acme.want(t, http.StatusOK, http.MethodPost, responsePath, asking); at(answer, "output", 0, "content", 0, "text") != "It rains." {
		t.Error(answer)
	}
}

func TestPassagesAnswerWithoutAModel(t *testing.T) {
	t.Parallel()
	s, ai, client := chatting(t)
	acme := of(s, client, "Ragd-Footnotes", "false")
	ask := func(c caller, model, question string) (string, map[string]any) {
		answer := c.want(t, http.StatusOK, http.MethodPost, chatPath, map[string]any{"model": model, "messages": user(question)})
		text, _ := at(answer, "choices", 0, "message", "content").(string)
		return text, answer
	}
	text, answer := ask(acme, "passages", "How long does the warranty last from the day of delivery?")
	if text != "The warranty lasts two years from the day of delivery. It covers all parts. [1]" && text != "The warranty lasts two years from the day of delivery. [1]" {
		t.Errorf("%q", text)
	}
	if at(answer, "choices", 0, "message", "annotations", 0, "url_citation", "url") != "terms.md" || at(answer, "usage", "completion_tokens").(float64) == 0 {
		t.Error(answer)
	}
	instructed := acme.want(t, http.StatusOK, http.MethodPost, responsePath, map[string]any{"model": "passages/terms", "instructions": "You are a helpful assistant that speaks of everything.", "input": "How long does the warranty last from the day of delivery?"})
	if got := at(instructed, "output", 0, "content", 0, "text"); got != text {
		t.Errorf("%q with instructions, %q without", got, text)
	}
	if text, _ := ask(acme, "passages/harbour", "When does the tide turn?"); !strings.HasPrefix(text, "The tide turns at noon.") {
		t.Errorf("%q", text)
	}
	for _, question := range []string{"Who is the president of Peru?", "How long does the warranty last from the day of delivery?"} {
		if text, answer := ask(acme, "passages/harbour", question); text != "The documents have no passage that answers this." || at(answer, "choices", 0, "message", "annotations") != nil {
			t.Errorf("%q: %q", question, text)
		}
	}
	hidden := caller{url: s.URL, secret: s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "harbour"})})}
	if text, _ := ask(hidden, "passages", "How long does the warranty last from the day of delivery?"); strings.Contains(text, "two years") {
		t.Errorf("a filtered key reads %q", text)
	}
	bound := caller{url: s.URL, secret: s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Indexes: &ragdv1.AllowedNames{Names: []string{"harbour"}}})}
	if text, _ := ask(bound, "passages", "How long does the warranty last from the day of delivery?"); strings.Contains(text, "two years") {
		t.Errorf("a bound key reads %q", text)
	}
	bound.want(t, http.StatusNotFound, http.MethodPost, chatPath, map[string]any{"model": "passages/terms", "messages": user("warranty")})

	chosen := of(s, client, "Ragd-Footnotes", "false", "Ragd-Context", `{"indexName": "harbour"}`)
	if text, _ := ask(chosen, "passages", "How long does the warranty last from the day of delivery?"); strings.Contains(text, "two years") {
		t.Errorf("with the index of the request context: %q", text)
	}

	search := map[string]any{"type": "file_search", "vector_store_ids": []string{"vs_harbour"}, "max_num_results": 2}
	asking := map[string]any{"model": "passages", "input": "When does the tide turn?", "tools": []any{search}}
	answer = acme.want(t, http.StatusOK, http.MethodPost, responsePath, asking)
	if at(answer, "output", 0, "type") != "file_search_call" || !strings.HasPrefix(at(answer, "output", 1, "content", 0, "text").(string), "The tide turns at noon.") ||
		at(answer, "output", 1, "content", 0, "annotations", 0, "filename") != "tide.md" {
		t.Error(answer)
	}
	search["filters"] = map[string]any{"type": "eq", "key": "team", "value": "terms"}
	if answer = acme.want(t, http.StatusOK, http.MethodPost, responsePath, asking); at(answer, "output", 1, "content", 0, "text") != "The documents have no passage that answers this." {
		t.Error(answer)
	}
	search["vector_store_ids"] = []string{"vs_terms"}
	delete(search, "filters")
	asking["stream"] = true
	streamed, _ := acme.events(t, responsePath, asking)
	if text := at(streamed[len(streamed)-1].data, "response", "output", 1, "content", 0, "text"); text != "The documents have no passage that answers this." {
		t.Error(streamed)
	}
	if n := len(chats(ai)); n != 0 {
		t.Errorf("a chat model was asked %d times", n)
	}
}

// file_search bounds what an agent searches.
func TestFileSearchBoundsAnAgent(t *testing.T) {
	t.Parallel()
	s, ai, client := chatting(t)
	ai.Script(searching, modelserver.Turn{Text: "I do not know."})
	of(s, client).want(t, http.StatusOK, http.MethodPost, responsePath, map[string]any{
		"model": "agent/lawyer", "input": "warranty?", "tools": []any{map[string]any{"type": "file_search", "vector_store_ids": []string{"vs_harbour"}}},
	})
	asked := chats(ai)
	if text := jsonOf(t, asked[len(asked)-1].Body); strings.Contains(text, "two years") {
		t.Errorf("the model read %s", text)
	}
}

func TestModelsThatAnswer(t *testing.T) {
	t.Parallel()
	s, _, client := chatting(t)
	names := func(c caller) (names []string) {
		models, _ := c.want(t, http.StatusOK, http.MethodGet, "/v1/models", nil)["data"].([]any)
		for _, m := range models {
			names = append(names, at(m, "id").(string))
		}
		return names
	}
	all := names(of(s, client))
	for _, want := range []string{"agent/lawyer", "passages", "passages/harbour", "passages/terms", "builtin/hash-512"} {
		if !slices.Contains(all, want) {
			t.Errorf("%s is not among %v", want, all)
		}
	}
	of(s, client).want(t, http.StatusOK, http.MethodGet, "/v1/models/agent/lawyer", nil)
	bound := caller{url: s.URL, secret: s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Indexes: &ragdv1.AllowedNames{Names: []string{"harbour"}}})}
	if seen := names(bound); slices.Contains(seen, "passages/terms") || !slices.Contains(seen, "passages/harbour") {
		t.Errorf("a bound key sees %v", seen)
	}
}

func TestConversationsThatAreRefused(t *testing.T) {
	t.Parallel()
	s, ai, client := chatting(t)
	acme := of(s, client)
	writer := caller{url: s.URL, secret: s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, Tools: &ragdv1.AllowedNames{Names: []string{"ask_lawyer"}}})}
	for _, path := range []string{chatPath, responsePath} {
		field := map[string]string{chatPath: "messages", responsePath: "input"}[path]
		base := map[string]any{"model": "agent/lawyer", field: user("Hello?")}
		if status, answer := writer.do(t, http.MethodPost, path, base); status != http.StatusForbidden {
			t.Errorf("a key bound to tools: %d %v", status, answer)
		}
		function := func(name string) []any {
			if path == chatPath {
				return []any{map[string]any{"type": "function", "function": map[string]any{"name": name}}}
			}
			return []any{map[string]any{"type": "function", "name": name}}
		}
		for name, c := range map[string]struct {
			change map[string]any
			status int
			param  string
		}{
			"no model":            {map[string]any{"model": ""}, 400, "model"},
			"a chat model":        {map[string]any{"model": "openai/m"}, 404, "model"},
			"no agent":            {map[string]any{"model": "agent/nobody"}, 404, "model"},
			"no index":            {map[string]any{"model": "passages/nothing"}, 404, "model"},
			"nothing said":        {map[string]any{field: []any{}}, 400, field},
			"the assistant last":  {map[string]any{field: append(user("a"), map[string]any{"role": "assistant", "content": "b"})}, 400, field},
			"a picture":           {map[string]any{field: []any{map[string]any{"role": "user", "content": []any{map[string]any{"type": "image_url"}}}}}, 400, field + "[0].content[0].type"},
			"an unknown role":     {map[string]any{field: []any{map[string]any{"role": "bishop", "content": "a"}}}, 400, field + "[0].role"},
			"a long message":      {map[string]any{field: append(user("a"), user(strings.Repeat("a", 65<<10))...)}, 400, field + "[1]"},
			"a forced tool":       {map[string]any{"tool_choice": "required"}, 400, "tool_choice"},
			"an unknown field":    {map[string]any{"colour": "red"}, 400, "colour"},
			"functions, passages": {map[string]any{"model": "passages", "tools": function("a")}, 400, "tools"},
		} {
			body := map[string]any{}
			for name, value := range base {
				body[name] = value
			}
			for name, value := range c.change {
				body[name] = value
			}
			for _, stream := range []bool{false, true} {
				body["stream"] = stream
				status, answer := acme.do(t, http.MethodPost, path, body)
				if status != c.status || errorOf(answer)["param"] != c.param {
					t.Errorf("%s, %s: %d %v", path, name, status, answer)
				}
			}
		}
		status, answer := acme.do(t, http.MethodPost, path, map[string]any{"model": "agent/lawyer", field: user("a"), "tools": function("vector_query")})
		if status != http.StatusBadRequest || errorOf(answer)["param"] != map[string]string{chatPath: "tools[0].function.name", responsePath: "tools[0].name"}[path] {
			t.Errorf("%s, a tool with the name of the agent's: %d %v", path, status, answer)
		}
	}
	for name, body := range map[string]map[string]any{
		"previous_response_id":         {"previous_response_id": "resp_1"},
		"background":                   {"background": true},
		"text.format.type":             {"text": map[string]any{"format": map[string]any{"type": "json_object"}}},
		"tools[0].type":                {"tools": []any{map[string]any{"type": "web_search"}}},
		"tools[0].vector_store_ids[0]": {"tools": []any{map[string]any{"type": "file_search", "vector_store_ids": []string{"vs_none"}}}},
		"tools[0].filters.type":        {"tools": []any{map[string]any{"type": "file_search", "vector_store_ids": []string{"vs_terms"}, "filters": map[string]any{"type": "like", "key": "a", "value": "b"}}}},
		"conversation":                 {"conversation": map[string]any{}},
	} {
		body["model"], body["input"] = "agent/lawyer", "Hello?"
		if status, answer := acme.do(t, http.MethodPost, responsePath, body); status/100 != 4 || errorOf(answer)["param"] != name {
			t.Errorf("%s: %d %v", name, status, answer)
		}
	}
	orphan := map[string]any{"model": "agent/lawyer", "messages": append(user("a"), map[string]any{"role": "tool", "tool_call_id": "c", "content": "b"})}
	if status, answer := acme.do(t, http.MethodPost, chatPath, orphan); status != 400 || errorOf(answer)["param"] != "messages[1].tool_call_id" {
		t.Error(status, answer)
	}
	// A model that breaks off is an error of the stream, once pieces were sent.
	ai.Script(modelserver.Turn{Text: "One two three four five six", Cut: true})
	streamed, done := acme.events(t, chatPath, map[string]any{"model": "agent/lawyer", "messages": user("a"), "stream": true})
	if last := streamed[len(streamed)-1].data; done || at(last, "error", "message") == nil {
		t.Error(streamed)
	}
	streamed, _ = acme.events(t, responsePath, map[string]any{"model": "agent/lawyer", "input": "a", "stream": true})
	if last := streamed[len(streamed)-1]; last.name != "response.failed" || at(last.data, "response", "error", "code") != "unavailable" {
		t.Error(last)
	}
}
