package mcp

import (
	"context"
	"maps"
	"slices"
	"strings"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/api/httpserver"
	"github.com/ragdhq/ragd/internal/api/jsonmessage"
)

const (
	// maxCompletions is the protocol's limit.
	maxCompletions = 100
	// completionDocuments is the number of documents read for a completion.
	completionDocuments = 1000
)

// completer completes values of prompt and resource template arguments. Errors yield no
// completions, because an error would only interrupt the user's typing.
type completer struct{ *protocol }

// CompletePromptArgument implements server.PromptCompletionProvider.
func (c completer) CompletePromptArgument(ctx context.Context, _ string, argument mcpgo.CompleteArgument, given mcpgo.CompleteContext) (*mcpgo.Completion, error) {
	return c.complete(ctx, argument, given), nil
}

// CompleteResourceArgument implements server.ResourceCompletionProvider.
func (c completer) CompleteResourceArgument(ctx context.Context, _ string, argument mcpgo.CompleteArgument, given mcpgo.CompleteContext) (*mcpgo.Completion, error) {
	return c.complete(ctx, argument, given), nil
}

func (c completer) complete(ctx context.Context, argument mcpgo.CompleteArgument, given mcpgo.CompleteContext) *mcpgo.Completion {
	if hidesResources(ctx) {
		return &mcpgo.Completion{Values: []string{}}
	}
	index := given.Arguments["index"]
	if index == "" {
		index = given.Arguments[indexArgument]
	}
	var values []string
	switch argument.Name {
	case "index", indexArgument:
		values = c.tools.IndexNames(ctx)
	case "documentId":
		for _, d := range c.someDocuments(ctx, index) {
			values = append(values, d.GetDocumentId())
		}
	case "uri", "firstUri", "secondUri":
		for _, d := range c.someDocuments(ctx, index) {
			values = append(values, d.GetUri())
		}
	case "metadataKey":
		values = slices.Sorted(maps.Keys(samples(c.someDocuments(ctx, index))))
	}
	typed := strings.ToLower(argument.Value)
	fitting := []string{}
	for _, value := range values {
		if strings.HasPrefix(strings.ToLower(value), typed) {
			fitting = append(fitting, value)
		}
	}
	shown := fitting[:min(len(fitting), maxCompletions)]
	return &mcpgo.Completion{Values: shown, HasMore: len(shown) < len(fitting)}
}

// someDocuments returns the first documents of an index; "" means the tenant's only
// index.
func (c completer) someDocuments(ctx context.Context, index string) []*ragdv1.Document {
	res, err := c.api.ListDocuments(ctx, &ragdv1.ListDocumentsRequest{IndexName: index, PageSize: completionDocuments})
	if err != nil {
		httpserver.Fail(ctx, err)
		return nil
	}
	return res.GetDocuments()
}

// samples returns the metadata keys of the documents, each with up to three different
// values as JSON.
func samples(documents []*ragdv1.Document) map[string][]string {
	const most = 3
	found := map[string][]string{}
	for _, d := range documents {
		for key, value := range d.GetMetadata().GetFields() {
			raw, err := jsonmessage.Append(nil, value)
			if have := found[key]; err == nil && len(have) < most && !slices.Contains(have, string(raw)) {
				found[key] = append(have, string(raw))
			}
		}
	}
	return found
}
