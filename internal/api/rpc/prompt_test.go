package rpc_test

import (
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

func textMessage(text string) *ragdv1.PromptMessage {
	return &ragdv1.PromptMessage{Content: &ragdv1.PromptMessage_Text{Text: text}}
}

func answerPrompt(text string) *ragdv1.CreatePromptRequest {
	return &ragdv1.CreatePromptRequest{
		PromptName: "answer", Arguments: []*ragdv1.PromptArgument{{Name: "question", Required: true}, {Name: "tone"}}, Messages: []*ragdv1.PromptMessage{textMessage(text)},
	}
}

func TestPromptsHaveVersions(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{NoWorkers: true}).Tenant(t, "acme")
	ctx := t.Context()
	first, err := c.CreatePrompt(ctx, answerPrompt("Answer {{arguments.question}} for {{tenant}}."))
	if err != nil || first.Version != 1 || first.Title != "answer" {
		t.Fatal(first, err)
	}
	_, err = c.CreatePrompt(ctx, answerPrompt("x"))
	servicetest.WantCode(t, "a second prompt of the name", err, connect.CodeAlreadyExists)
	update := &ragdv1.UpdatePromptRequest{PromptName: "answer", Messages: &ragdv1.PromptMessages{Messages: []*ragdv1.PromptMessage{textMessage("Say {{arguments.tone ?? context.tone ?? \"well\"}}: {{ arguments.question }}")}}}
	for what, want := range map[string]int32{"a change": 2, "the same again": 2} {
		_ = what
		if second, err := c.UpdatePrompt(ctx, update); err != nil || second.Version != want {
			t.Fatal(second, err)
		}
	}
	stable := "stable"
	if named, err := c.UpdatePrompt(ctx, &ragdv1.UpdatePromptRequest{PromptName: "answer", VersionName: &stable}); err != nil || named.Version != 2 || named.VersionName != stable {
		t.Fatal(named, err)
	}
	title := "Answer"
	if third, err := c.UpdatePrompt(ctx, &ragdv1.UpdatePromptRequest{PromptName: "answer", Title: &title}); err != nil || third.Version != 3 || third.VersionName != "" {
		t.Fatal(third, err)
	}
	for version, want := range map[string]string{"": "Say calm: why?", "latest": "Say calm: why?", "3": "Say calm: why?", "stable": "Say calm: why?", "1": "Answer why? for acme."} {
		got, err := c.GetPromptMessages(ctx, &ragdv1.GetPromptMessagesRequest{PromptName: "answer", Version: version, Arguments: map[string]string{"question": "why?", "tone": "calm"}})
		if err != nil || len(got.Messages) != 1 || got.Messages[0].GetText() != want || got.Messages[0].Role != "user" {
			t.Errorf("version %q: %v, %v", version, got, err)
		}
	}
	if got, err := c.GetPromptMessages(ctx, &ragdv1.GetPromptMessagesRequest{PromptName: "answer", Arguments: map[string]string{"question": "why?"}}); err != nil || got.Messages[0].GetText() != "Say well: why?" {
		t.Errorf("without a tone: %v, %v", got, err)
	}
	for _, version := range []string{"4", "0", "03", "Stable", "tip"} {
		_, err := c.GetPrompt(ctx, &ragdv1.GetPromptRequest{PromptName: "answer", Version: version})
		servicetest.WantCode(t, "version "+version, err, connect.CodeNotFound)
	}
	_, err = c.DeletePrompt(ctx, &ragdv1.DeletePromptRequest{PromptName: "answer", Version: "3"})
	servicetest.WantCode(t, "deleting the latest version", err, connect.CodeFailedPrecondition)
	if _, err = c.DeletePrompt(ctx, &ragdv1.DeletePromptRequest{PromptName: "answer", Version: "1"}); err != nil {
		t.Error(err)
	}
	if left, err := c.GetPrompt(ctx, &ragdv1.GetPromptRequest{PromptName: "answer"}); err != nil || fmt.Sprint(left.Versions) != "[3 2]" {
		t.Errorf("versions left: %v, %v", left, err)
	}
	if _, err := c.DeletePrompt(ctx, &ragdv1.DeletePromptRequest{PromptName: "answer"}); err != nil {
		t.Error(err)
	}
	_, err = c.GetPrompt(ctx, &ragdv1.GetPromptRequest{PromptName: "answer", Version: "2"})
	servicetest.WantCode(t, "a version of a deleted prompt", err, connect.CodeNotFound)
}

func TestPromptsAreChecked(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{NoWorkers: true}).Tenant(t, "acme")
	for what, change := range map[string]func(*ragdv1.CreatePromptRequest){
		"a builtin's name":      func(r *ragdv1.CreatePromptRequest) { r.PromptName = "Build_Filter" },
		"a reserved name":       func(r *ragdv1.CreatePromptRequest) { r.PromptName = "ragd_answer" },
		"an odd name":           func(r *ragdv1.CreatePromptRequest) { r.PromptName = "a b" },
		"no message":            func(r *ragdv1.CreatePromptRequest) { r.Messages = nil },
		"an empty message":      func(r *ragdv1.CreatePromptRequest) { r.Messages[0] = &ragdv1.PromptMessage{} },
		"an empty text":         func(r *ragdv1.CreatePromptRequest) { r.Messages[0] = textMessage("") },
		"a role":                func(r *ragdv1.CreatePromptRequest) { r.Messages[0].Role = "system" },
		"an unknown argument":   func(r *ragdv1.CreatePromptRequest) { r.Messages[0] = textMessage("{{arguments.who}}") },
		"an open placeholder":   func(r *ragdv1.CreatePromptRequest) { r.Messages[0] = textMessage("{{arguments.question") },
		"a secret":              func(r *ragdv1.CreatePromptRequest) { r.Messages[0] = textMessage("{{secrets.key}}") },
		"an argument twice":     func(r *ragdv1.CreatePromptRequest) { r.Arguments[1].Name = "question" },
		"too long a text":       func(r *ragdv1.CreatePromptRequest) { r.Messages[0] = textMessage(strings.Repeat("a", 65<<10)) },
		"a null character":      func(r *ragdv1.CreatePromptRequest) { r.Messages[0] = textMessage("a\x00b") },
		"a number as a version": func(r *ragdv1.CreatePromptRequest) { r.VersionName = "2" },
		"latest as a version":   func(r *ragdv1.CreatePromptRequest) { r.VersionName = "latest" },
		"a resource of elsewhere": func(r *ragdv1.CreatePromptRequest) {
			r.Messages[0].Content = &ragdv1.PromptMessage_Resource{Resource: &ragdv1.PromptResource{Uri: "file:///etc/passwd"}}
		},
	} {
		req := answerPrompt("Answer {{arguments.question}}")
		change(req)
		_, err := c.CreatePrompt(t.Context(), req)
		servicetest.WantCode(t, what, err, connect.CodeInvalidArgument)
	}
	if _, err := c.CreatePrompt(t.Context(), answerPrompt("Answer {{arguments.question}}")); err != nil {
		t.Fatal(err)
	}
	for what, arguments := range map[string]map[string]string{"a missing argument": nil, "a blank one": {"question": " "}, "an unknown one": {"question": "a", "who": "b"}, "a long one": {"question": strings.Repeat("a", 17<<10)}} {
		_, err := c.GetPromptMessages(t.Context(), &ragdv1.GetPromptMessagesRequest{PromptName: "answer", Arguments: arguments})
		servicetest.WantCode(t, what, err, connect.CodeInvalidArgument)
	}
	// A value is text: it is not a template again.
	got, err := c.GetPromptMessages(t.Context(), &ragdv1.GetPromptMessagesRequest{PromptName: "answer", Arguments: map[string]string{"question": "{{tenant}} {{arguments.question}}"}})
	if err != nil || got.Messages[0].GetText() != "Answer {{tenant}} {{arguments.question}}" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestAPromptWithAResourceNamesTheArgumentThatItNeeds(t *testing.T) {
	t.Parallel()
	c := servicetest.New(t, service.Config{NoWorkers: true}).Tenant(t, "acme")
	req := answerPrompt("Answer {{arguments.question}}")
	req.Messages = append(req.Messages, &ragdv1.PromptMessage{Content: &ragdv1.PromptMessage_Resource{
		Resource: &ragdv1.PromptResource{Uri: "ragd://indexes/docs/documents/{{arguments.documentId}}/text"},
	}})
	if req.Arguments[1].Name = "documentId"; req.Arguments[1].Required {
		t.Fatal("the argument is required")
	}
	if _, err := c.CreatePrompt(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	_, err := c.GetPromptMessages(t.Context(), &ragdv1.GetPromptMessagesRequest{PromptName: "answer", Arguments: map[string]string{"question": "a"}})
	if fieldOf(err) != "documentId" {
		t.Errorf("without the document: %v", err)
	}
}

// Tenants with prompts of the same name see and change only their own, and credentials only those
// that they may use.
func TestPromptsAreSeparated(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	ctx := t.Context()
	for text, c := range map[string]servicetest.Client{"of acme": acme, "of bolt": bolt} {
		if _, err := c.CreatePrompt(ctx, answerPrompt(text)); err != nil {
			t.Fatal(err)
		}
	}
	other := answerPrompt("another")
	other.PromptName = "only_bolts"
	if _, err := bolt.CreatePrompt(ctx, other); err != nil {
		t.Fatal(err)
	}
	list, err := acme.ListPrompts(ctx, &ragdv1.ListPromptsRequest{})
	if err != nil || len(list.Prompts) != 1 || list.Prompts[0].Messages[0].GetText() != "of acme" {
		t.Errorf("%v, %v", list, err)
	}
	_, err = acme.GetPrompt(ctx, &ragdv1.GetPromptRequest{PromptName: "only_bolts"})
	servicetest.WantCode(t, "GetPrompt", err, connect.CodeNotFound)
	_, err = acme.GetPromptMessages(ctx, &ragdv1.GetPromptMessagesRequest{PromptName: "only_bolts", Arguments: map[string]string{"question": "a"}})
	servicetest.WantCode(t, "GetPromptMessages", err, connect.CodeNotFound)
	title := "stolen"
	_, err = acme.UpdatePrompt(ctx, &ragdv1.UpdatePromptRequest{PromptName: "only_bolts", Title: &title})
	servicetest.WantCode(t, "UpdatePrompt", err, connect.CodeNotFound)
	_, err = acme.DeletePrompt(ctx, &ragdv1.DeletePromptRequest{PromptName: "only_bolts"})
	servicetest.WantCode(t, "DeletePrompt", err, connect.CodeNotFound)
	if _, err := acme.DeletePrompt(ctx, &ragdv1.DeletePromptRequest{PromptName: "answer"}); err != nil {
		t.Error(err)
	}
	if kept, err := bolt.GetPrompt(ctx, &ragdv1.GetPromptRequest{PromptName: "answer"}); err != nil || kept.Title != "answer" || kept.Messages[0].GetText() != "of bolt" {
		t.Errorf("bolt's prompt is %v, %v", kept, err)
	}

	bound := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "bolt", Scopes: []string{"admin"}, Prompts: names("answer")}))
	reader := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "bolt", Scopes: []string{"read"}}))
	filtered := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "bolt", Scopes: []string{"admin"}, MandatoryFilter: servicetest.Object(t, map[string]any{"a": 1})}))
	if list, err := bound.ListPrompts(ctx, &ragdv1.ListPromptsRequest{}); err != nil || len(list.Prompts) != 1 || list.Prompts[0].PromptName != "answer" {
		t.Errorf("a bound key lists %v, %v", list, err)
	}
	_, err = bound.GetPrompt(ctx, &ragdv1.GetPromptRequest{PromptName: "only_bolts"})
	servicetest.WantCode(t, "a bound key", err, connect.CodeNotFound)
	_, err = bound.GetPrompt(ctx, &ragdv1.GetPromptRequest{PromptName: "only_bolt"})
	if servicetest.WantCode(t, "a bound key", err, connect.CodeNotFound); strings.Contains(err.Error(), "only_bolts") {
		t.Errorf("a hint names a hidden prompt: %v", err)
	}
	for who, c := range map[string]servicetest.Client{"a bound key": bound, "a reader": reader, "a filtered key": filtered} {
		_, err := c.UpdatePrompt(ctx, &ragdv1.UpdatePromptRequest{PromptName: "answer", Title: &title})
		servicetest.WantCode(t, who, err, connect.CodePermissionDenied)
	}
}

// Callers over RPC get what MCP clients get: the content of resources, read with their own rights.
func TestMessagesOfPromptsHaveTheContentOfResources(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{})
	acme, bolt, ctx := s.Tenant(t, "acme"), s.Tenant(t, "bolt"), t.Context()
	for _, c := range []servicetest.Client{acme, bolt} {
		c.Index(t, "docs")
		uri := "ragd://indexes/docs/documents/{{arguments.documentId}}"
		_, err := c.CreatePrompt(ctx, &ragdv1.CreatePromptRequest{
			PromptName: "explain", Arguments: []*ragdv1.PromptArgument{{Name: "documentId"}},
			Messages: []*ragdv1.PromptMessage{
				{Content: &ragdv1.PromptMessage_Resource{Resource: &ragdv1.PromptResource{Uri: uri + "/text?start=4"}}},
				{Content: &ragdv1.PromptMessage_Resource{Resource: &ragdv1.PromptResource{Uri: uri + "/original"}}},
				{Content: &ragdv1.PromptMessage_Resource{Resource: &ragdv1.PromptResource{Uri: uri}}},
				{Content: &ragdv1.PromptMessage_ResourceLink{ResourceLink: &ragdv1.PromptResource{Uri: uri}}},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	d := acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "fees.md", Source: servicetest.Text("The fee is 7."), Metadata: servicetest.Object(t, map[string]any{"team": "red"})})
	req := &ragdv1.GetPromptMessagesRequest{PromptName: "explain", Arguments: map[string]string{"documentId": d.DocumentId}}
	got, err := acme.GetPromptMessages(ctx, req)
	if err != nil || len(got.Messages) != 4 {
		t.Fatalf("%v, %v", got, err)
	}
	text, original, whole := got.Messages[0].ResourceContent, got.Messages[1].ResourceContent, got.Messages[2].ResourceContent
	if len(text) != 1 || text[0].GetText() != "fee is 7." || text[0].MimeType == "" || text[0].Meta.AsMap()["ragd/range"].(map[string]any)["startByte"] != 4.0 {
		t.Errorf("text: %v", text)
	}
	if len(original) != 1 || string(original[0].GetBlob()) != "The fee is 7." {
		t.Errorf("original: %v", original)
	}
	if len(whole) != 2 || whole[0].GetText() != "The fee is 7." || !strings.Contains(whole[1].GetText(), `"fees.md"`) {
		t.Errorf("document: %v", whole)
	}
	if len(got.Messages[3].ResourceContent) != 0 {
		t.Errorf("a link has content: %v", got.Messages[3])
	}
	acme.Upload(t, &ragdv1.UploadDocumentRequest{IndexName: "docs", Uri: "notes:fees", Source: servicetest.Text("Fees rise.")})
	if _, err := acme.CreatePrompt(ctx, &ragdv1.CreatePromptRequest{
		PromptName: "quote", Arguments: []*ragdv1.PromptArgument{{Name: "uri"}},
		Messages: []*ragdv1.PromptMessage{{Content: &ragdv1.PromptMessage_Resource{Resource: &ragdv1.PromptResource{Uri: "{{arguments.uri}}"}}}},
	}); err != nil {
		t.Fatal(err)
	}
	quoted, err := acme.GetPromptMessages(ctx, &ragdv1.GetPromptMessagesRequest{PromptName: "quote", Arguments: map[string]string{"uri": "notes:fees"}})
	if err != nil || len(quoted.Messages[0].ResourceContent) != 1 || quoted.Messages[0].ResourceContent[0].GetText() != "Fees rise." {
		t.Errorf("a document by its own URI: %v, %v", quoted, err)
	}
	blue := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"read"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "blue"})}))
	for who, c := range map[string]servicetest.Client{"a hidden document": blue, "another tenant's document": bolt} {
		_, err := c.GetPromptMessages(ctx, req)
		servicetest.WantCode(t, who, err, connect.CodeNotFound)
	}
	req.Arguments["documentId"] = "../../other"
	_, err = acme.GetPromptMessages(ctx, req)
	servicetest.WantCode(t, "a URI of no resource", err, connect.CodeInvalidArgument)
}
