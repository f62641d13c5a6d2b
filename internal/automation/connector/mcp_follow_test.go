package connector_test

import (
	"slices"
	"testing"

	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service/testing/wait"
)

// A change that the server announces starts a run, without a schedule.
func TestChangesThatAnMCPServerAnnouncesAreFollowed(t *testing.T) {
	t.Parallel()
	for _, era := range eras {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			up := newMCPServer(t, era, map[string]string{"doc://a": "The text of a", "doc://b": "The text of b"})
			s := newService(t)
			acme, bolt := newTenant(t, s, "acme"), newTenant(t, s, "bolt")
			create(t, acme, mcpRequest(&ragdv1.McpSource{Url: up.endpoint(era)}))
			has := func(what string, want ...string) {
				t.Helper()
				wait.For(t, what, func() bool { return slices.Equal(versions(t, acme), want) })
			}
			has("first run", "doc://a v1", "doc://b v1")
			wait.For(t, "the subscription", func() bool { return followerOf(t, s) != "" })
			up.set(map[string]string{"doc://c": "The text of c"})
			has("a resource comes", "doc://a v1", "doc://b v1", "doc://c v1")
			up.mu.Lock()
			up.texts["doc://a"] = "Another text of a"
			up.mu.Unlock()
			wait.For(t, "a resource changes", func() bool {
				up.mcp.SendNotificationToAllClients(mcpgo.MethodNotificationResourceUpdated, map[string]any{"uri": "doc://a"})
				return slices.Equal(versions(t, acme), []string{"doc://a v2", "doc://b v1", "doc://c v1"})
			})
			equal(t, "documents of another tenant", versions(t, bolt), []string{})

			// After a pause nobody follows.
			if _, err := acme.PauseConnector(t.Context(), &ragdv1.PauseConnectorRequest{ConnectorName: "site"}); err != nil {
				t.Fatal(err)
			}
			wait.For(t, "the end of the subscription", func() bool { return followerOf(t, s) == "" })
		})
	}
}

// One instance at a time follows a connector. When it is gone, another one does, and looks for what has
// changed meanwhile.
func TestAnotherInstanceTakesASubscriptionOver(t *testing.T) {
	t.Parallel()
	up := newMCPServer(t, "stateless", map[string]string{"doc://a": "The text of a"})
	s := newService(t)
	acme := newTenant(t, s, "acme")
	create(t, acme, mcpRequest(&ragdv1.McpSource{Url: up.endpoint("")}))
	wait.For(t, "the subscription", func() bool { return followerOf(t, s) != "" })
	wait.For(t, "the run for what changed before the subscription", func() (rests bool) {
		err := s.Pool.QueryRow(t.Context(), `SELECT run >= 2 AND status = 'succeeded' AND next_run_at IS NULL FROM ragd_shared.connectors`).Scan(&rests)
		return err == nil && rests
	})
	servicetest.New(t, service.Config{AllowedPrivateNetworks: []string{"127.0.0.1"}, AdminPool: s.Pool})

	// The instance that follows dies: its claim runs out, and a change is announced to nobody.
	up.mu.Lock()
	up.texts["doc://a"] = "Another text of a"
	up.mu.Unlock()
	if _, err := s.Pool.Exec(t.Context(), `UPDATE ragd_shared.connectors SET follower = 'dead', followed_until = now() - interval '1 second'`); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "another subscription", func() bool { now := followerOf(t, s); return now != "" && now != "dead" })
	wait.For(t, "a run", func() bool { return slices.Equal(versions(t, acme), []string{"doc://a v2"}) })
}

// followerOf returns the instance that follows the connector.
func followerOf(t *testing.T, s *servicetest.Service) (instance string) {
	t.Helper()
	err := s.Pool.QueryRow(t.Context(), `SELECT coalesce(max(follower), '') FROM ragd_shared.connectors`).Scan(&instance)
	if err != nil {
		t.Fatal(err)
	}
	return instance
}
