package rpc_test

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// randomPart matches ids, secrets and times, and ids of events, that differ in every answer.
var randomPart = regexp.MustCompile(`(?m)^id: .*$|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[0-9:.]+Z|ragd_[A-Za-z0-9_]+|"requestId":"[a-z0-9]+"|"etag":"[A-Za-z0-9_-]+"|request id [a-z0-9]+`)

// neutralNames returns an answer without the names and ids of a target, longest first.
func (to target) neutralNames(answer string) string {
	answer = to.neutralIDs(answer)
	fields := slices.SortedFunc(maps.Keys(to), func(a, b string) int { return len(to[b]) - len(to[a]) })
	for _, field := range fields {
		if len(to[field]) > len(otherPrefix) {
			answer = strings.ReplaceAll(answer, to[field], "<"+field+">")
		}
	}
	return randomPart.ReplaceAllString(answer, "<random>")
}

// addedPart matches ids that are made of the content, and counts.
var addedPart = regexp.MustCompile(`"[0-9a-f]{16}"|"count":\d+`)

// Prefixes of the names of another tenant and of nobody. They are equally far from the caller's own names,
// which some errors suggest.
const otherPrefix, nobodyPrefix = "kumquat", "nobodys"

// A tenant names what only another tenant has: each thing alone among its own, and all at once. Every method
// answers as for names that nobody has. The owner's answers show that the things are there.
func TestNamesOfAnotherTenantAreLikeThoseOfNobody(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	s := servicetest.New(t, service.Config{
		MasterKeys: masterKeys(t, "1"), Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1}},
	})
	own, admin := world(t, s, "acme", "apricot")
	theirs, owner := prefixedWorld(t, s, "bolt", otherPrefix, otherPrefix)
	nobody := prefixed(nobodyPrefix)
	maps.Copy(nobody, unknown)
	const theirTask = "0198c3a4-0000-7000-8000-0000000000a1"
	_, err := s.Pool.Exec(t.Context(), `
		INSERT INTO ragd_shared.tool_tasks (tenant_id, task_id, owner_hash, tool_name, status) VALUES ('bolt', $1, sha256('somebody'), 'vector_query', 'working')`, theirTask)
	noError(t, err)
	before := s.RowSums(t, "bolt")
	for _, method := range []string{"tasks/get", "tasks/cancel", "tasks/update"} {
		ask := func(id string) (int, string) {
			status, answer := mcpCaller{url: s.URL + "/mcp", secret: admin}.ask(t, method, params{"taskId": id, "inputResponses": params{"1.a": params{"action": "accept"}}})
			return status, strings.ReplaceAll(answer, id, "<task>")
		}
		theirStatus, theirAnswer := ask(theirTask)
		if noStatus, noAnswer := ask(unknown["job_id"]); theirStatus != noStatus || theirAnswer != noAnswer {
			t.Errorf("%s answers, for a task of another tenant\n%d %s\nand for what nobody has\n%d %s", method, theirStatus, theirAnswer, noStatus, noAnswer)
		}
	}
	all := methods(t)
	walkOrder(all)
	taken := map[string]bool{} // names that some method takes
	for _, m := range all {
		path := "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
		streams := m.IsStreamingClient() || m.IsStreamingServer()
		ask := func(secret string, message map[string]any) (int, string) {
			return call(t, s, secret, path, streams, message)
		}
		for _, mix := range mixes(own) {
			request, absent := message(m, mix(theirs)), message(m, mix(nobody))
			creates := strings.HasPrefix(string(m.Name()), "Upload") && mix(theirs)["index_name"] == own["index_name"]
			if creates || mustJSON(t, request) == mustJSON(t, message(m, own)) {
				continue
			}
			theirStatus, theirAnswer := ask(admin, request)
			noStatus, noAnswer := ask(admin, absent)
			if strings.HasPrefix(string(m.Name()), "Put") { // both are added to what the caller's own index has
				theirAnswer, noAnswer = addedPart.ReplaceAllString(theirAnswer, "<added>"), addedPart.ReplaceAllString(noAnswer, "<added>")
			}
			if got, want := theirs.neutralNames(theirAnswer), nobody.neutralNames(noAnswer); theirStatus != noStatus || got != want {
				t.Errorf("%s answers, for %v of another tenant\n%d %s\nand for what nobody has\n%d %s", m.Name(), request, theirStatus, got, noStatus, want)
			}
		}
		for field := range worldNames {
			if strings.Contains(mustJSON(t, message(m, theirs)), `"`+theirs[field]+`"`) {
				taken[field] = true
			}
		}
	}
	for field := range worldNames {
		if !taken[field] {
			t.Errorf("no method takes %s", field)
		}
	}
	after := s.RowSums(t, "bolt")
	for table, sum := range before {
		if after[table] != sum {
			t.Errorf("rows of %s were changed: %s before, %s after", table, sum, after[table])
		}
	}
	for _, m := range all {
		request := message(m, theirs)
		if !reads.MatchString(string(m.Name())) || mustJSON(t, request) == mustJSON(t, message(m, own)) || m.Name() == "GetTenant" || m.Name() == "GetImport" || m.Name() == "ListTenantMoves" { // of operators
			continue
		}
		path, streams := "/"+string(m.Parent().FullName())+"/"+string(m.Name()), m.IsStreamingClient() || m.IsStreamingServer()
		if status, found := call(t, s, owner, path, streams, request); status != http.StatusOK || streams && strings.Contains(found, `"error":{`) {
			t.Errorf("%s answers the owner %d %s, so that the test shows nothing", m.Name(), status, found)
		}
	}
}

// message returns a request of a method about a target. Documents are named by id, where there is one, as
// methods take these or uris.
func message(m protoreflect.MethodDescriptor, to target) map[string]any {
	request := to.fields(m.Input(), 1)
	if request["documentId"] != nil || request["documentIds"] != nil {
		delete(request, "uri")
		delete(request, "uris")
	}
	return request
}

// mixes return targets with what another target has: all of it, and each of its things among the caller's own.
func mixes(own target) (all []func(other target) target) {
	all = append(all, func(other target) target { return other })
	for field := range own {
		all = append(all, func(other target) target {
			mixed := maps.Clone(own)
			mixed[field] = other[field]
			return mixed
		})
	}
	return all
}
