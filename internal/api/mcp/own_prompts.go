package mcp

import (
	"context"
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// metaVersionName is the key in a prompt's _meta that holds the name of its version.
const metaVersionName = "ragd/versionName"

// promptPage is the page size of the list of prompts.
const promptPage = 100

// versionOf returns the version that a call asks for in its _meta, as a number or a name; "" for
// none. Errors: Invalid.
func versionOf(req *mcpgo.GetPromptRequest) (string, error) {
	if req.Params.Meta == nil {
		return "", nil
	}
	switch version := req.Params.Meta.AdditionalFields[metaVersion].(type) {
	case nil:
		return "", nil
	case string:
		return version, nil
	case float64:
		if version == math.Trunc(version) {
			return strconv.FormatFloat(version, 'f', -1, 64), nil
		}
	}
	return "", fault.Field(metaVersion, "must be the number or the name of a version")
}

// versionMeta returns the _meta that says which version of a prompt something is.
func versionMeta(version int32, name string) *mcpgo.Meta {
	fields := map[string]any{metaVersion: version}
	if name != "" {
		fields[metaVersionName] = name
	}
	return mcpgo.NewMetaFromMap(fields)
}

// promptToken returns the page token of ListPrompts in a cursor. Errors: Invalid.
func promptToken(ctx context.Context, given mcpgo.Cursor) (token string, err error) {
	encoded, err := base64.StdEncoding.DecodeString(string(given))
	if err != nil {
		return "", fault.Field("cursor", "is not one that this list gave out")
	}
	err = access.Pages(ctx, "mcp prompts").Decode(string(encoded), &token)
	return token, fault.Rename("pageToken", "cursor", err)
}

// listPrompts replaces the library's list of prompts by a page of the caller's: the builtin ones
// on the first page, then those of the tenant.
func (s *protocol) listPrompts(ctx context.Context, _ any, req *mcpgo.ListPromptsRequest, result *mcpgo.ListPromptsResult) {
	result.Prompts = []mcpgo.Prompt{}
	token := ""
	if given := req.Params.Cursor; given != "" {
		var err error
		if token, err = promptToken(ctx, given); err != nil {
			httpserver.Fail(ctx, err)
			return
		}
	} else {
		builtin := s.prompts()
		slices.SortFunc(builtin, func(a, b prompt) int { return strings.Compare(a.definition.Name, b.definition.Name) })
		for _, p := range builtin {
			if access.BoundsOf(ctx).MayUsePrompt(p.definition.Name) {
				p.definition.Meta = mcpgo.NewMetaFromMap(map[string]any{metaVersion: p.version})
				result.Prompts = append(result.Prompts, p.definition)
			}
		}
	}
	page, err := s.api.ListPrompts(ctx, &ragdv1.ListPromptsRequest{PageSize: promptPage, PageToken: token})
	if err != nil {
		httpserver.Fail(ctx, err)
		return
	}
	for _, p := range page.GetPrompts() {
		result.Prompts = append(result.Prompts, listedPrompt(p))
	}
	if next := page.GetNextPageToken(); next != "" {
		result.NextCursor = mcpgo.Cursor(base64.StdEncoding.EncodeToString([]byte(access.Pages(ctx, "mcp prompts").Encode(next))))
	}
}

func listedPrompt(p *ragdv1.Prompt) mcpgo.Prompt {
	listed := mcpgo.Prompt{Name: p.GetPromptName(), Title: p.GetTitle(), Description: p.GetDescription(), Meta: versionMeta(p.GetVersion(), p.GetVersionName())}
	for _, a := range p.GetArguments() {
		listed.Arguments = append(listed.Arguments, mcpgo.PromptArgument{Name: a.GetName(), Title: a.GetTitle(), Description: a.GetDescription(), Required: a.GetRequired()})
	}
	return listed
}

// getOwnPrompt returns the messages of a tenant's prompt.
func (s *protocol) getOwnPrompt(ctx context.Context, version string, req *mcpgo.GetPromptRequest) (*mcpgo.GetPromptResult, error) {
	res, err := s.api.GetPromptMessages(ctx, &ragdv1.GetPromptMessagesRequest{PromptName: req.Params.Name, Version: version, Arguments: req.Params.Arguments})
	if err != nil {
		return nil, err
	}
	result := &mcpgo.GetPromptResult{
		Result: mcpgo.Result{Meta: versionMeta(res.GetVersion(), res.GetVersionName())}, Description: res.GetDescription(),
	}
	for _, m := range res.GetMessages() {
		for _, content := range promptContents(m) {
			result.Messages = append(result.Messages, mcpgo.NewPromptMessage(mcpgo.Role(m.GetRole()), content))
		}
	}
	return result, nil
}

// promptContents returns the contents of a message: several for a resource that has several.
func promptContents(m *ragdv1.PromptMessage) []mcpgo.Content {
	switch {
	case m.GetResourceLink() != nil:
		link := m.GetResourceLink()
		name := link.GetName()
		if name == "" {
			name = link.GetUri()
		}
		content := mcpgo.NewResourceLink(link.GetUri(), name, link.GetDescription(), link.GetMimeType())
		content.Title = link.GetTitle()
		return []mcpgo.Content{content}
	case m.GetResource() != nil:
		contents := make([]mcpgo.Content, len(m.GetResourceContent()))
		for i, part := range m.GetResourceContent() {
			contents[i] = mcpgo.NewEmbeddedResource(resourceContents(part))
		}
		return contents
	case m.GetImage() != nil:
		return []mcpgo.Content{mcpgo.NewImageContent(base64.StdEncoding.EncodeToString(m.GetImage().GetData()), m.GetImage().GetMimeType())}
	case m.GetAudio() != nil:
		return []mcpgo.Content{mcpgo.NewAudioContent(base64.StdEncoding.EncodeToString(m.GetAudio().GetData()), m.GetAudio().GetMimeType())}
	}
	return []mcpgo.Content{mcpgo.NewTextContent(m.GetText())}
}
