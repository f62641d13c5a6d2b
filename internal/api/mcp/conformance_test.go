//go:build thirdparty

package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ragdhq/ragd/internal/api/mcp/mcphttp"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/forward"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// revisions are those whose scenarios are run, each by its own wire protocol.
var revisions = []string{"2025-11-25", "2026-07-28"}

// notOffered are the scenarios of the suite for what the product has not. docs/reference/mcp.md
// says why.
var notOffered = []string{
	"tasks-status-notifications", "sep-2640-skills-directory", "sep-2640-skills-enumeration", "sep-2640-skills-manifest",
}

// ofTasks are the scenarios of the extension for tasks, which belongs to no revision of its own. The suite's tools are
// workflows of the tenant there, on a server of their own.
var ofTasks = []string{
	"tasks-capability-negotiation", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input", "tasks-request-headers",
	"tasks-dispatch-and-envelope", "tasks-lifecycle", "tasks-required-task-error", "tasks-mrtr-composition",
}

// suite is the installed conformance suite.
type suite struct{ node, program string }

// The official conformance suite accepts the product's own server, with tools, prompts and documents
// that are created over its API. Each of the suite's scenarios for servers is run or listed as not
// offered. The suite is installed in the directory RAGD_MCP_CONFORMANCE by
// hack/mcp-conformance.sh.
func TestConformanceOfTheService(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("RAGD_MCP_CONFORMANCE")
	if folder == "" {
		t.Fatal("RAGD_MCP_CONFORMANCE is not set: run make test-mcp-conformance")
	}
	c := suite{filepath.Join(folder, "node_modules", "node", "bin", "node"), filepath.Join(folder, "node_modules", ".bin", "conformance")}
	s := servicetest.New(t, service.Config{AllowedPrivateNetworks: []string{"127.0.0.0/8"}})
	acme := s.Tenant(t, "acme")
	loadConformanceFixtures(t, acme)
	address := withCredential(t, s.URL, acme.Secret) + mcphttp.Path
	for scenario, of := range c.scenarios(t) {
		run := slices.Contains(ofTasks, scenario)
		if run {
			t.Run(scenario, func(t *testing.T) { c.run(t, address+"/"+taskServer, revisions[1], scenario) })
		}
		for _, revision := range revisions {
			if !slices.Contains(of, revision) {
				continue
			}
			run = true
			t.Run(revision+" "+scenario, func(t *testing.T) { c.run(t, address, revision, scenario) })
		}
		if run == slices.Contains(notOffered, scenario) {
			t.Errorf("%s of %v: run: %v, listed as not offered: %v", scenario, of, run, !run)
		}
	}
}

// The reference names each scenario that is not offered.
func TestScenariosThatAreNotOfferedAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/reference/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, scenario := range notOffered {
		if !strings.Contains(string(page), "`"+scenario+"`") {
			t.Errorf("docs/reference/mcp.md lacks %s", scenario)
		}
	}
}

// scenarioLine matches a line of the suite's list, such as "  - ping [2025-06-18,2025-11-25]".
var scenarioLine = regexp.MustCompile(`(?m)^  - (\S+) \[(.*)\]$`)

// scenarios returns the revisions of each scenario for servers; "extension" for those of none.
func (c suite) scenarios(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), c.node, c.program, "list", "--server").Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, match := range scenarioLine.FindAllStringSubmatch(string(out), -1) {
		found[match[1]] = strings.Split(match[2], ",")
	}
	if lines := strings.Count(string(out), "\n  - "); len(found) < 50 || len(found) != lines {
		t.Fatalf("%d scenarios are understood of a list of %d:\n%s", len(found), lines, out)
	}
	return found
}

// scenarioAttempts is how often a scenario runs whose only fault is a warning: the suite waits for
// notifications for a moment, which is too short on a busy machine.
const scenarioAttempts = 3

// run runs a scenario. A check of it that fails, or warns each time, fails the test.
func (c suite) run(t *testing.T, address, revision, scenario string) {
	t.Helper()
	for attempt := 1; ; attempt++ {
		warnings := c.check(t, address, revision, scenario)
		switch {
		case len(warnings) == 0:
			return
		case attempt == scenarioAttempts || t.Failed():
			t.Error(strings.Join(warnings, "\n"))
			return
		}
	}
}

// check runs a scenario once and returns its warnings.
func (c suite) check(t *testing.T, address, revision, scenario string) (warnings []string) {
	t.Helper()
	results := t.TempDir()
	cmd := exec.CommandContext(t.Context(), c.node, c.program, "server", "--url", address, "--spec-version", revision, "--scenario", scenario, "-o", results, "--force") // also a scenario of no revision
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("results: %v, %v\n%s", files, err, out)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var checks []struct{ ID, Status, ErrorMessage string }
	if err := json.Unmarshal(raw, &checks); err != nil || len(checks) == 0 {
		t.Fatalf("checks: %s, %v", raw, err)
	}
	for _, check := range checks {
		said := fmt.Sprintf("%s: %s: %s", check.ID, check.Status, check.ErrorMessage)
		switch check.Status {
		case "SUCCESS", "INFO":
		case "WARNING":
			warnings = append(warnings, said)
		default:
			t.Error(said)
		}
	}
	return warnings
}

// withCredential returns the address of a proxy that adds a key to each request, because
// the suite cannot send one.
func withCredential(t *testing.T, address, key string) string {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(forward.Handler(&httputil.ReverseProxy{
		FlushInterval: -1,
		Transport:     &http.Transport{DisableKeepAlives: true}, // one connection for each request
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			if host := r.In.Host; !strings.HasPrefix(host, "127.0.0.1") {
				r.Out.Host = host // the service decides about foreign names
			}
			r.Out.Header.Set("Authorization", "Bearer "+key)
		},
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}
