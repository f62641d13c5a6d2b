package llm_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/model/llm"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
)

func setup(t *testing.T) (*modelserver.Server, *llm.Client) {
	t.Helper()
	ai := modelserver.New(t)
	return ai, llm.New(llm.Config{Endpoints: endpoint.NewDirectory(nil, endpoint.NewEndpoint("openai", endpoint.OpenAI, endpoint.Config{
		BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, MinWait: time.Millisecond, MaxWait: time.Second, Timeout: time.Second,
	}))})
}

var schema = &llm.Schema{Name: "verdict", JSON: map[string]any{
	"type": "object", "properties": map[string]any{"ok": map[string]any{"type": "boolean"}}, "required": []string{"ok"}, "additionalProperties": false,
}}

func TestAsk(t *testing.T) {
	t.Parallel()
	ai, client := setup(t)
	ai.Chat = func(c modelserver.Chat) string {
		return " " + c.Model + "|" + c.System + "|" + c.User + "|" + c.Format + "\n"
	}
	answer, err := client.Ask(t.Context(), llm.Question{Model: "openai/some/model", System: "sys", User: "usr"})
	if err != nil {
		t.Fatal(err)
	}
	want := llm.Answer{Text: "some/model|sys|usr|", Usage: llm.Usage{Calls: 1, InputTokens: 2, OutputTokens: 6}}
	if diff := cmp.Diff(want, answer); diff != "" {
		t.Error(diff)
	}
}

// When a server refuses a mode, a simpler mode is tried, and the accepted mode is
// remembered.
func TestAskFallsBackToSupportedModes(t *testing.T) {
	t.Parallel()
	has := func(key, value string) func(modelserver.Request) bool {
		return func(r modelserver.Request) bool { return strings.Contains(r.Raw, `"`+key+`":`+value) }
	}
	for _, tc := range []struct {
		name   string
		refuse func(modelserver.Request) bool
		format string
		calls  int
	}{
		{"knows all", func(modelserver.Request) bool { return false }, "json_schema", 1},
		{"no temperature", has("temperature", ""), "json_schema", 2},
		{"no schema", func(r modelserver.Request) bool { return strings.Contains(r.Raw, "json_schema") }, "json_object", 3},
		{"no format at all", has("response_format", ""), "", 5},
		{"nothing but text at its own temperature", func(r modelserver.Request) bool {
			return strings.Contains(r.Raw, "response_format") || strings.Contains(r.Raw, "temperature")
		}, "", 6},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ai, client := setup(t)
			ai.Chat = func(c modelserver.Chat) string { return `{"ok":true,"format":"` + c.Format + `"}` }
			ai.Set(modelserver.Fault{Status: 400, When: tc.refuse})
			question := llm.Question{Model: "openai/m", User: "u", Schema: schema}
			answer, err := client.Ask(t.Context(), question)
			if err != nil {
				t.Fatal(err)
			}
			if want := `{"ok":true,"format":"` + tc.format + `"}`; answer.Text != want || answer.Usage.Calls != tc.calls {
				t.Errorf("%s after %d calls, want %s after %d", answer.Text, answer.Usage.Calls, want, tc.calls)
			}
			if again, err := client.Ask(t.Context(), question); err != nil || again.Usage.Calls != 1 {
				t.Errorf("the second time took %d calls, %v", again.Usage.Calls, err)
			}
			ai.Set(modelserver.Fault{Status: 400})
			if again, err := client.Ask(t.Context(), question); fault.KindOf(err) != fault.Invalid || again.Usage.Calls != 1 {
				t.Errorf("refused content took %d calls, %v", again.Usage.Calls, err)
			}
		})
	}
}

func TestAskRefusedInEveryMode(t *testing.T) {
	t.Parallel()
	ai, client := setup(t)
	ai.Set(modelserver.Fault{Status: 400})
	_, err := client.Ask(t.Context(), llm.Question{Model: "openai/m", User: "u", Schema: schema})
	if fault.KindOf(err) != fault.Invalid || fault.Public(err) != "the language model provider openai refused the request" {
		t.Error(err)
	}
}

func TestAskAgainWhenTheAnswerIsNotAccepted(t *testing.T) {
	t.Parallel()
	ai, client := setup(t)
	answers := []string{"prose", `{"ok":true}`, "prose", "prose", "prose"}
	ai.Chat = func(modelserver.Chat) string {
		next := answers[0]
		answers = answers[1:]
		return next
	}
	question := llm.Question{Model: "openai/m", User: "12345678", Schema: schema, Accept: func(answer string) error {
		if !strings.HasPrefix(answer, "{") {
			return endpoint.BadAnswer("not an object")
		}
		return nil
	}}
	answer, err := client.Ask(t.Context(), question)
	if err != nil || answer.Text != `{"ok":true}` {
		t.Errorf("%q, %v", answer.Text, err)
	}
	if want := (llm.Usage{Calls: 2, InputTokens: 4, OutputTokens: 5}); answer.Usage != want {
		t.Errorf("usage %+v, want %+v", answer.Usage, want)
	}
	answer, err = client.Ask(t.Context(), question)
	if fault.KindOf(err) != fault.Unavailable || answer.Usage.Calls != 2 || answer.Usage.InputTokens != 4 {
		t.Errorf("%v after %+v", err, answer.Usage)
	}
}

func TestAskRemovesCodeFences(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"plain":                         "plain",
		" \n plain\n":                   "plain",
		"```json\n{\"ok\":true}\n```":   `{"ok":true}`,
		"```\n{}\n```":                  "{}",
		"```json {}```":                 "```json {}```",
		"before ```json\n{}\n``` after": "before ```json\n{}\n``` after",
		"```":                           "```",
	} {
		t.Run(content, func(t *testing.T) {
			t.Parallel()
			ai, client := setup(t)
			ai.Chat = func(modelserver.Chat) string { return content }
			answer, err := client.Ask(t.Context(), llm.Question{Model: "openai/m", User: "u"})
			if err != nil || answer.Text != want {
				t.Errorf("%q, %v, want %q", answer.Text, err, want)
			}
		})
	}
}

func TestAskFaults(t *testing.T) {
	t.Parallel()
	choice := func(change func(choice, message map[string]any)) modelserver.Fault {
		return modelserver.Fault{Mangle: func(answer map[string]any) {
			c := answer["choices"].([]any)[0].(map[string]any)
			change(c, c["message"].(map[string]any))
		}}
	}
	const nonsense = "the language model provider openai gave an answer that makes no sense"
	for _, tc := range []struct {
		name   string
		fault  modelserver.Fault
		kind   fault.Kind
		public string
	}{
		{"key refused", modelserver.Fault{Status: 401}, fault.Precondition, "the language model provider openai refused its API key"},
		{"limited", modelserver.Fault{Status: 429, RetryAfter: "60"}, fault.Exhausted, "the language model provider openai limits how often it may be called"},
		{"down", modelserver.Fault{Status: 500}, fault.Unavailable, "the language model provider openai is failing"},
		{"silent", modelserver.Fault{Hang: true}, fault.Unavailable, "the language model provider openai did not answer within 1s"},
		{"not JSON", modelserver.Fault{Body: "<html>"}, fault.Unavailable, nonsense},
		{"no choices", modelserver.Fault{Mangle: func(a map[string]any) { a["choices"] = []any{} }}, fault.Unavailable, nonsense},
		{"cut off", choice(func(c, _ map[string]any) { c["finish_reason"] = "length" }), fault.Unavailable, nonsense},
		{"declined", choice(func(_, m map[string]any) { m["refusal"], m["content"] = "no", nil }), fault.Unavailable, nonsense},
		{"empty", choice(func(_, m map[string]any) { m["content"] = "  " }), fault.Unavailable, nonsense},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ai, client := setup(t)
			ai.Set(tc.fault)
			_, err := client.Ask(t.Context(), llm.Question{Model: "openai/m", User: "u"})
			if fault.KindOf(err) != tc.kind || fault.Public(err) != tc.public {
				t.Errorf("%v %q", fault.KindOf(err), fault.Public(err))
			}
			if strings.Contains(err.Error(), modelserver.Key) {
				t.Errorf("the error shows the key: %v", err)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	_, with := setup(t)
	without := llm.New(llm.Config{})
	for _, tc := range []struct {
		client *llm.Client
		model  string
		kind   fault.Kind
		ok     bool
	}{
		{with, "openai/gpt-5-mini", 0, true},
		{without, "openai/gpt-5-mini", fault.Precondition, false},
		{with, "gpt-5-mini", fault.Invalid, false},
		{with, "openai/", fault.Invalid, false},
		{with, "cohere/command", fault.Precondition, false},
		{with, "voyage/rerank-2", fault.Invalid, false},
		{with, "acme/command", fault.Invalid, false},
	} {
		err := tc.client.Check(t.Context(), "acme", tc.model)
		if (err == nil) != tc.ok || err != nil && fault.KindOf(err) != tc.kind {
			t.Errorf("%s: %v", tc.model, err)
		}
		if _, asked := tc.client.Ask(t.Context(), llm.Question{Model: tc.model, User: "u"}); (asked == nil) != tc.ok {
			t.Errorf("%s: Check says %v, Ask %v", tc.model, err, asked)
		}
	}
}

func TestAskLeavesNothingBehind(t *testing.T) {
	ai, client := setup(t)
	ai.Set(modelserver.Fault{Hang: true})
	ai.NoLeaks(t, func() {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		if _, err := client.Ask(ctx, llm.Question{Model: "openai/m", User: "u"}); fault.KindOf(err) != fault.Deadline {
			t.Error(err)
		}
	})
}
