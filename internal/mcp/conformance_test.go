//go:build mcpconformance

package mcp_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/testing/servicetest"
)

// onePixel is an image in PNG of one red pixel.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"

// offered are the scenarios of the suite that the product has what they need for, by the
// revision of the protocol; docs/reference/mcp.md says why there are no others.
var offered = map[string][]string{
	"2025-11-25": {
		"server-initialize", "logging-set-level", "ping", "completion-complete", "tools-list",
		"tools-call-simple-text", "tools-call-image", "tools-call-error", "server-sse-multiple-streams",
		"resources-list", "resources-subscribe", "resources-unsubscribe", "prompts-list",
		"prompts-get-simple", "prompts-get-with-args", "dns-rebinding-protection",
		"server-session-lifecycle", "server-sse-polling",
	},
	"2026-07-28": {
		"completion-complete", "tools-list", "tools-call-simple-text", "tools-call-image",
		"tools-call-error", "server-sse-multiple-streams", "resources-list", "sep-2164-resource-not-found",
		"prompts-list", "prompts-get-simple", "prompts-get-with-args", "dns-rebinding-protection", "caching",
		"http-header-validation",
	},
}

// The official conformance suite accepts the product's own server, with tools and prompts
// that are created over its API. The suite is installed in the directory
// RAGD_MCP_CONFORMANCE by hack/mcp-conformance.sh.
func TestConformanceOfTheService(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("RAGD_MCP_CONFORMANCE")
	if folder == "" {
		t.Fatal("RAGD_MCP_CONFORMANCE is not set: run make test-mcp-conformance")
	}
	s := servicetest.New(t, service.Config{AllowedPrivateNetworks: []string{"127.0.0.0/8"}})
	acme := s.Tenant(t, "acme")
	loadFixtures(t, acme)
	address := withCredential(t, s.URL, acme.Secret) + mcphttp.Path
	node := filepath.Join(folder, "node_modules", "node", "bin", "node")
	suite := filepath.Join(folder, "node_modules", ".bin", "conformance")
	for revision, scenarios := range offered {
		for _, scenario := range scenarios {
			t.Run(revision+" "+scenario, func(t *testing.T) {
				cmd := exec.CommandContext(t.Context(), node, suite, "server", "--url", address,
					"--spec-version", revision, "--scenario", scenario, "-o", t.TempDir())
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// withCredential returns the address of a proxy that adds a key to each request, because
// the suite cannot send one.
func withCredential(t *testing.T, address, key string) string {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if host := r.In.Host; !strings.HasPrefix(host, "127.0.0.1") {
				r.Out.Host = host // the service decides about foreign names
			}
			r.Out.Header.Set("Authorization", "Bearer "+key)
		},
	})
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// loadFixtures creates the tools and prompts that the suite calls by their names.
func loadFixtures(t *testing.T, c servicetest.Client) {
	t.Helper()
	image, err := base64.StdEncoding.DecodeString(onePixel)
	if err != nil {
		t.Fatal(err)
	}
	answers := http.NewServeMux()
	answers.HandleFunc("/test_simple_text", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "This is a simple text response for testing.")
	})
	answers.HandleFunc("/test_image_content", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(image)
	})
	answers.HandleFunc("/test_error_handling", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "This tool intentionally returns an error for testing", http.StatusBadRequest)
	})
	endpoint := httptest.NewServer(answers)
	t.Cleanup(endpoint.Close)
	for _, name := range []string{"test_simple_text", "test_image_content", "test_error_handling"} {
		if _, err := c.CreateTool(t.Context(), &ragdv1.CreateToolRequest{
			ToolName: name, Kind: "http", Description: "The suite calls it.",
			Settings: servicetest.Object(t, map[string]any{"method": "GET", "url": endpoint.URL + "/" + name}),
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, req := range []*ragdv1.CreatePromptRequest{
		{PromptName: "test_simple_prompt", Messages: said("This is a simple prompt for testing.")},
		{
			PromptName: "test_prompt_with_arguments", Arguments: []*ragdv1.PromptArgument{{Name: "arg1", Required: true}, {Name: "arg2", Required: true}},
			Messages: said("Prompt with arguments: arg1='{{arguments.arg1}}', arg2='{{arguments.arg2}}'"),
		},
	} {
		req.Description = "The suite gets it."
		if _, err := c.CreatePrompt(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
}

func said(text string) []*ragdv1.PromptMessage {
	return []*ragdv1.PromptMessage{{Content: &ragdv1.PromptMessage_Text{Text: text}}}
}
