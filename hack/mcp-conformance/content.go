package main

import (
	"context"
	"errors"
	"strings"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const (
	// png is an image of one red pixel.
	png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
	// wav is a sound of one silent sample.
	wav = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA=="
)

// richSchema has the keywords that the suite expects to find unchanged.
const richSchema = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {
		"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}
	},
	"properties": {
		"name": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"},
		"email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": false
}`

// tool adds a tool, without arguments unless there are options for them.
func tool(s *server.MCPServer, name string, handler server.ToolHandlerFunc, arguments ...mcpgo.ToolOption) {
	s.AddTool(mcpgo.NewTool(name, append(arguments, mcpgo.WithDescription("The suite calls "+name+"."))...), handler)
}

// always returns a handler with a constant answer.
func always(content ...mcpgo.Content) server.ToolHandlerFunc {
	return func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		return &mcpgo.CallToolResult{Content: content}, nil
	}
}

func embedded(uri, mediaType, text string) mcpgo.EmbeddedResource {
	return mcpgo.NewEmbeddedResource(mcpgo.TextResourceContents{URI: uri, MIMEType: mediaType, Text: text})
}

func addContentTools(s *server.MCPServer) {
	tool(s, "test_simple_text", always(mcpgo.NewTextContent("This is a simple text response for testing.")))
	tool(s, "test_image_content", always(mcpgo.NewImageContent(png, "image/png")))
	tool(s, "test_audio_content", always(mcpgo.NewAudioContent(wav, "audio/wav")))
	tool(s, "test_embedded_resource", always(
		embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")))
	tool(s, "test_multiple_content_types", always(
		mcpgo.NewTextContent("Multiple content types test:"),
		mcpgo.NewImageContent(png, "image/png"),
		embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)))
	tool(s, "test_header", always(mcpgo.NewTextContent("Called.")),
		mcpgo.WithString("region", func(schema map[string]any) { schema["x-mcp-header"] = "Region" }))
	schemaTool := mcpgo.NewToolWithRawSchema("json_schema_2020_12_tool", "The suite reads the schema.", []byte(richSchema))
	s.AddTool(schemaTool, always(mcpgo.NewTextContent("Called.")))
	tool(s, "test_error_handling", func(context.Context, mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		return mcpgo.NewToolResultError("This tool intentionally returns an error for testing"), nil
	})
}

func addResources(s *server.MCPServer) {
	add := func(uri, mediaType string, contents mcpgo.ResourceContents) {
		resource := mcpgo.NewResource(uri, strings.TrimPrefix(uri, "test://"),
			mcpgo.WithResourceDescription("The suite reads "+uri+"."), mcpgo.WithMIMEType(mediaType))
		s.AddResource(resource, func(context.Context, mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) {
			return []mcpgo.ResourceContents{contents}, nil
		})
	}
	add("test://static-text", "text/plain", mcpgo.TextResourceContents{
		URI: "test://static-text", MIMEType: "text/plain", Text: "This is the content of the static text resource."})
	add("test://static-binary", "image/png", mcpgo.BlobResourceContents{
		URI: "test://static-binary", MIMEType: "image/png", Blob: png})
	add("test://watched-resource", "text/plain", mcpgo.TextResourceContents{
		URI: "test://watched-resource", MIMEType: "text/plain", Text: "Nothing happens here."})

	template := mcpgo.NewResourceTemplate("test://template/{id}/data", "template",
		mcpgo.WithTemplateDescription("The suite fills in the id."), mcpgo.WithTemplateMIMEType("application/json"))
	s.AddResourceTemplate(template, func(_ context.Context, req mcpgo.ReadResourceRequest) ([]mcpgo.ResourceContents, error) {
		ids, _ := req.Params.Arguments["id"].([]string)
		if len(ids) != 1 {
			return nil, errors.New("the template has one id")
		}
		text := `{"id":"` + ids[0] + `","templateTest":true,"data":"Data for ID: ` + ids[0] + `"}`
		return []mcpgo.ResourceContents{mcpgo.TextResourceContents{URI: req.Params.URI, MIMEType: "application/json", Text: text}}, nil
	})
}

func addPrompts(s *server.MCPServer) {
	add := func(name string, messages func(arguments map[string]string) []mcpgo.Content, arguments ...string) {
		options := []mcpgo.PromptOption{mcpgo.WithPromptDescription("The suite gets " + name + ".")}
		for _, argument := range arguments {
			options = append(options, mcpgo.WithArgument(argument, mcpgo.RequiredArgument()))
		}
		s.AddPrompt(mcpgo.NewPrompt(name, options...), func(_ context.Context, req mcpgo.GetPromptRequest) (*mcpgo.GetPromptResult, error) {
			result := &mcpgo.GetPromptResult{}
			for _, content := range messages(req.Params.Arguments) {
				result.Messages = append(result.Messages, mcpgo.PromptMessage{Role: mcpgo.RoleUser, Content: content})
			}
			return result, nil
		})
	}
	add("test_simple_prompt", func(map[string]string) []mcpgo.Content {
		return []mcpgo.Content{mcpgo.NewTextContent("This is a simple prompt for testing.")}
	})
	add("test_prompt_with_arguments", func(given map[string]string) []mcpgo.Content {
		return []mcpgo.Content{mcpgo.NewTextContent("Prompt with arguments: arg1='" + given["arg1"] + "', arg2='" + given["arg2"] + "'")}
	}, "arg1", "arg2")
	add("test_prompt_with_embedded_resource", func(given map[string]string) []mcpgo.Content {
		return []mcpgo.Content{
			embedded(given["resourceUri"], "text/plain", "Embedded resource content for testing."),
			mcpgo.NewTextContent("Please process the embedded resource above."),
		}
	}, "resourceUri")
	add("test_prompt_with_image", func(map[string]string) []mcpgo.Content {
		return []mcpgo.Content{mcpgo.NewImageContent(png, "image/png"), mcpgo.NewTextContent("Please analyze the image above.")}
	})
	s.AddPrompt(mcpgo.NewPrompt("test_input_required_result_prompt", mcpgo.WithPromptDescription("The suite is asked for context.")),
		func(_ context.Context, req mcpgo.GetPromptRequest) (*mcpgo.GetPromptResult, error) {
			answer := server.ElicitationResponse(req.Params.InputResponses, "user_context")
			if answer == nil {
				return server.NewInputRequestBuilder("").
					Elicit("user_context", form("What context should the prompt use?", "context", "string")).PromptResult(), nil
			}
			return &mcpgo.GetPromptResult{Messages: []mcpgo.PromptMessage{
				{Role: mcpgo.RoleUser, Content: mcpgo.NewTextContent("Use this context: " + answered(answer, "context"))},
			}}, nil
		})
}
