package mcp_test

import (
	"context"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/mark3labs/mcp-go/client"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service/testing/mcptest"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// topics answers the questions for arguments of prompts.
type topics struct{}

func (topics) Elicit(_ context.Context, req mcpgo.ElicitationRequest) (*mcpgo.ElicitationResult, error) {
	return &mcpgo.ElicitationResult{ElicitationResponse: mcpgo.ElicitationResponse{
		Action: mcpgo.ElicitationResponseActionAccept, Content: map[string]any{"topic": "bees", "question": req.Params.Message},
	}}, nil
}

// Prompts have images and sounds, and clients are asked for required arguments that are missing.
func TestPromptsWithImagesAndQuestions(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, loopback)
	acme := s.Tenant(t, "acme")
	create := func(name string, messages ...*ragdv1.PromptMessage) error {
		_, err := acme.CreatePrompt(t.Context(), &ragdv1.CreatePromptRequest{
			PromptName: name, Arguments: []*ragdv1.PromptArgument{{Name: "topic", Title: "Topic", Required: true}}, Messages: messages,
		})
		return err
	}
	image := func(mimeType, data string) *ragdv1.PromptMessage {
		return &ragdv1.PromptMessage{Content: &ragdv1.PromptMessage_Image{Image: &ragdv1.PromptMedia{MimeType: mimeType, Data: []byte(data)}}}
	}
	sound := &ragdv1.PromptMessage{Content: &ragdv1.PromptMessage_Audio{Audio: &ragdv1.PromptMedia{MimeType: "audio/wav", Data: []byte("la")}}}
	text := &ragdv1.PromptMessage{Content: &ragdv1.PromptMessage_Text{Text: "Say something about {{arguments.topic}}."}}
	if err := create("describe", image("image/png", "pixels"), sound, text); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []*ragdv1.PromptMessage{image("text/html", "x"), image("image/png", "")} {
		servicetest.WantCode(t, "an image that is none", create("wrong", wrong), connect.CodeInvalidArgument)
	}
	for era, options := range mcptest.Eras {
		headers := map[string]string{"Authorization": "Bearer " + acme.Secret}
		c := mcptest.Connect(t, s.URL+mcphttp.Path, append([]client.ClientOption{client.WithElicitationHandler(topics{})}, options...), headers)
		var req mcpgo.GetPromptRequest
		req.Params.Name = "describe"
		got, err := c.GetPrompt(t.Context(), req)
		if err != nil || len(got.Messages) != 3 {
			t.Fatalf("%s: %+v, %v", era, got, err)
		}
		picture, audio, said := got.Messages[0].Content.(mcpgo.ImageContent), got.Messages[1].Content.(mcpgo.AudioContent), got.Messages[2].Content.(mcpgo.TextContent)
		if picture.MIMEType != "image/png" || picture.Data != "cGl4ZWxz" || audio.MIMEType != "audio/wav" || said.Text != "Say something about bees." {
			t.Errorf("%s: %+v", era, got.Messages)
		}
		req.Params.Name = "answer_with_sources"
		if got, err = c.GetPrompt(t.Context(), req); err != nil || !strings.Contains(got.Messages[0].Content.(mcpgo.TextContent).Text, "needs more to go on") {
			t.Errorf("%s: a builtin prompt: %+v, %v", era, got, err)
		}
		silent := mcptest.Connect(t, s.URL+mcphttp.Path, options, headers)
		if got, err := silent.GetPrompt(t.Context(), req); err == nil || !strings.Contains(err.Error(), "question") {
			t.Errorf("%s: a client that cannot ask gets %+v, %v", era, got, err)
		}
	}
}
