package rpc

import (
	"context"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tool/prompt"
)

// CreatePrompt implements PromptService.
func (h *Handlers) CreatePrompt(ctx context.Context, req *ragdv1.CreatePromptRequest) (*ragdv1.Prompt, error) {
	messages, err := promptMessages(req.GetMessages())
	if err != nil {
		return nil, err
	}
	made, err := h.Prompts.Create(ctx, prompt.Prompt{Name: req.GetPromptName(), VersionName: req.GetVersionName(), Definition: prompt.Definition{
		Title: req.GetTitle(), Description: req.GetDescription(), Arguments: promptArguments(req.GetArguments()), Messages: messages,
	}})
	return promptMessage(made, err)
}

// GetPrompt implements PromptService.
func (h *Handlers) GetPrompt(ctx context.Context, req *ragdv1.GetPromptRequest) (*ragdv1.Prompt, error) {
	found, err := h.Prompts.Get(ctx, req.GetPromptName(), req.GetVersion())
	return promptMessage(found, err)
}

// ListPrompts implements PromptService.
func (h *Handlers) ListPrompts(ctx context.Context, req *ragdv1.ListPromptsRequest) (*ragdv1.ListPromptsResponse, error) {
	found, next, err := h.Prompts.List(ctx, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	prompts, err := convertAll(ctx, found, func(p prompt.Prompt) (*ragdv1.Prompt, error) { return promptMessage(p, nil) })
	return &ragdv1.ListPromptsResponse{Prompts: prompts, NextPageToken: next}, err
}

// UpdatePrompt implements PromptService.
func (h *Handlers) UpdatePrompt(ctx context.Context, req *ragdv1.UpdatePromptRequest) (*ragdv1.Prompt, error) {
	messages, err := promptMessages(req.GetMessages().GetMessages())
	if err != nil {
		return nil, err
	}
	changed, err := h.Prompts.Update(ctx, req.GetPromptName(), req.GetEtag(), func(d *prompt.Definition) {
		if req.Title != nil {
			d.Title = req.GetTitle()
		}
		if req.Description != nil {
			d.Description = req.GetDescription()
		}
		if req.Arguments != nil {
			d.Arguments = promptArguments(req.GetArguments().GetArguments())
		}
		if req.Messages != nil {
			d.Messages = messages
		}
	}, req.VersionName)
	return promptMessage(changed, err)
}

// DeletePrompt implements PromptService.
func (h *Handlers) DeletePrompt(ctx context.Context, req *ragdv1.DeletePromptRequest) (*ragdv1.DeletePromptResponse, error) {
	return &ragdv1.DeletePromptResponse{}, h.Prompts.Delete(ctx, req.GetPromptName(), req.GetVersion())
}

// GetPromptMessages implements PromptService.
func (h *Handlers) GetPromptMessages(ctx context.Context, req *ragdv1.GetPromptMessagesRequest) (*ragdv1.GetPromptMessagesResponse, error) {
	found, err := h.Prompts.Messages(ctx, req.GetPromptName(), req.GetVersion(), req.GetArguments())
	message, err := promptMessage(found, err)
	if err != nil {
		return nil, err
	}
	for _, m := range message.GetMessages() {
		if m.GetResource() == nil {
			continue
		}
		if m.ResourceContent, err = h.ReadResource(ctx, m.GetResource().GetUri()); err != nil {
			return nil, err
		}
	}
	return &ragdv1.GetPromptMessagesResponse{
		Description: message.GetDescription(), Messages: message.GetMessages(), Version: message.GetVersion(), VersionName: message.GetVersionName(),
	}, nil
}

func promptArguments(given []*ragdv1.PromptArgument) []prompt.Argument {
	arguments := make([]prompt.Argument, len(given))
	for i, a := range given {
		arguments[i] = prompt.Argument{Name: a.GetName(), Title: a.GetTitle(), Description: a.GetDescription(), Required: a.GetRequired()}
	}
	return arguments
}

func promptMessages(given []*ragdv1.PromptMessage) ([]prompt.Message, error) {
	messages := make([]prompt.Message, len(given))
	for i, m := range given {
		if m.GetContent() == nil {
			return nil, fault.Field("messages", "a message has exactly one of text, resourceLink, resource, image and audio")
		}
		messages[i] = prompt.Message{
			Role: m.GetRole(), Text: m.GetText(), Link: promptResource(m.GetResourceLink()), Resource: promptResource(m.GetResource()),
			Image: promptMedia(m.GetImage()), Audio: promptMedia(m.GetAudio()),
		}
	}
	return messages, nil
}

func promptResource(given *ragdv1.PromptResource) *prompt.Resource {
	if given == nil {
		return nil
	}
	return &prompt.Resource{
		URI: given.GetUri(), Name: given.GetName(), Title: given.GetTitle(), Description: given.GetDescription(), MIMEType: given.GetMimeType(),
	}
}

func promptMedia(given *ragdv1.PromptMedia) *prompt.Media {
	if given == nil {
		return nil
	}
	return &prompt.Media{MIMEType: given.GetMimeType(), Data: given.GetData()}
}

func promptMessage(p prompt.Prompt, err error) (*ragdv1.Prompt, error) {
	if err != nil {
		return nil, err
	}
	m := &ragdv1.Prompt{
		PromptName: p.Name, Version: int32(p.Version), VersionName: p.VersionName, Title: p.Title, Description: p.Description, CreateTime: timestamp(p.CreatedAt), Etag: p.ETag(),
	}
	for _, a := range p.Arguments {
		m.Arguments = append(m.Arguments, &ragdv1.PromptArgument{Name: a.Name, Title: a.Title, Description: a.Description, Required: a.Required})
	}
	for _, given := range p.Messages {
		message := &ragdv1.PromptMessage{Role: given.Role}
		switch {
		case given.Link != nil:
			message.Content = &ragdv1.PromptMessage_ResourceLink{ResourceLink: promptResourceMessage(given.Link)}
		case given.Resource != nil:
			message.Content = &ragdv1.PromptMessage_Resource{Resource: promptResourceMessage(given.Resource)}
		case given.Image != nil:
			message.Content = &ragdv1.PromptMessage_Image{Image: &ragdv1.PromptMedia{MimeType: given.Image.MIMEType, Data: given.Image.Data}}
		case given.Audio != nil:
			message.Content = &ragdv1.PromptMessage_Audio{Audio: &ragdv1.PromptMedia{MimeType: given.Audio.MIMEType, Data: given.Audio.Data}}
		default:
			message.Content = &ragdv1.PromptMessage_Text{Text: given.Text}
		}
		m.Messages = append(m.Messages, message)
	}
	for _, version := range p.Versions {
		m.Versions = append(m.Versions, int32(version))
	}
	return m, nil
}

func promptResourceMessage(r *prompt.Resource) *ragdv1.PromptResource {
	return &ragdv1.PromptResource{Uri: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MimeType: r.MIMEType}
}
