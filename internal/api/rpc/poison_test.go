package rpc_test

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ragdhq/ragd/internal/model/endpoint"
	"github.com/ragdhq/ragd/internal/operate/postgres"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/modelserver"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
)

// poison runs statements on every connection of a pool, outside of a transaction, as a faulty
// statement of the service would.
func poison(t *testing.T, pool *pgxpool.Pool, statements string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var taken []*pgxpool.Conn
	for range pool.Config().MaxConns {
		conn, err := pool.Acquire(ctx)
		noError(t, err)
		taken = append(taken, conn)
		_, err = conn.Exec(ctx, statements, pgx.QueryExecModeSimpleProtocol)
		noError(t, err)
	}
	for _, conn := range taken {
		conn.Release()
	}
}

// untold are states of which the server, at least before PostgreSQL 18, does not tell the driver, so
// that the connection is used again: it denies statements then.
var untold = []string{"the role of another tenant", "no row level security", "its schema in the path", "no path", "prepared statements"}

// keyUses are the times at which keys were used, which come to the database later.
var keyUses = regexp.MustCompile(`,"(first|last)UseTime":"[^"]*"`)

// A connection that a tenant's statement leaves in any state shows nothing of it to the next tenant:
// every read is answered as over a clean connection, or with an error without a text of anybody.
func TestPoisonedConnectionsShowNothing(t *testing.T) {
	t.Parallel()
	ai := modelserver.New(t)
	s := servicetest.New(t, service.Config{
		MasterKeys: masterKeys(t, "1"), Providers: service.Providers{OpenAI: endpoint.Config{BaseURL: ai.URL + "/v1", APIKey: modelserver.Key, MaxAttempts: 1}},
	})
	own, admin := world(t, s, "acme", "apricot")
	theirs, _ := world(t, s, "bolt", "kumquat")
	type read struct {
		name string
		ask  func() (status int, answer string)
	}
	var all []read
	for _, m := range methods(t) {
		name, path := string(m.Name()), "/"+string(m.Parent().FullName())+"/"+string(m.Name())
		streams := m.IsStreamingClient() || m.IsStreamingServer()
		// ListUsage and GetQuotas count the reads themselves, and ListNotableQuestions the questions.
		if streams || name == "ListAuditEntries" || name == "ListUsage" || name == "GetQuotas" || name == "ListNotableQuestions" || !reads.MatchString(name) && !slices.Contains([]string{"VectorQuery", "GraphRag", "CountChunks", "Suggest", "Query", "DescribeIndex", "WhoAmI"}, name) {
			continue
		}
		message := own.fields(m.Input(), 1)
		if message["documentId"] != nil {
			delete(message, "uri")
		}
		all = append(all, read{name, func() (int, string) {
			status, answer := call(t, s, admin, path, false, message)
			return status, keyUses.ReplaceAllString(own.neutralIDs(answer), "")
		}})
	}
	reading := []string{"count_chunks", "describe_index", "fetch", "get_document", "get_job", "graph_rag", "list_documents", "list_indexes", "list_topics", "rerank", "search", "vector_query"}
	for _, request := range toolCalls(t, s, admin) {
		message := request(own)
		if slices.Contains(reading, message["toolName"].(string)) {
			all = append(all, read{"tool " + message["toolName"].(string), func() (int, string) {
				status, answer := call(t, s, admin, callTool, false, message)
				return status, own.neutralIDs(answer)
			}})
		}
	}
	for _, r := range all { // some start jobs
		r.ask()
	}
	s.RowSums(t, "acme") // nothing is running any more
	clean := map[string]string{}
	for _, r := range all {
		if status, answer := r.ask(); status == http.StatusOK {
			if _, again := r.ask(); again == answer { // what differs by itself cannot be compared
				clean[r.name] = answer
			}
		}
	}
	if len(clean) < 30 {
		t.Fatalf("only %d reads can be compared", len(clean))
	}
	for what, statements := range map[string]string{
		"the role of another tenant":   `SET ROLE tenant_bolt`,
		"its schema in the path":       `SET search_path = tenant_bolt, ragd_shared, public`,
		"no path":                      `SET search_path = ''`,
		"temporary tables":             `CREATE TEMP TABLE documents (document_id uuid, title text DEFAULT 'kumquat'); CREATE TEMP TABLE tools (tool_name text); CREATE TEMP TABLE tenants (tenant_id text); CREATE TEMP VIEW indexes AS SELECT 1 AS index_id, 'kumquat'::text AS index_name`,
		"prepared statements":          `DEALLOCATE ALL; PREPARE stmtcache_1 AS SELECT 'kumquat'; PREPARE lrupsc_1_1 AS SELECT 'kumquat'`,
		"no row level security":        `SET row_security = off`,
		"another style of dates":       `SET datestyle = 'SQL, DMY'; SET timezone = 'Asia/Kathmandu'; SET intervalstyle = 'sql_standard'`,
		"another precision of numbers": `SET extra_float_digits = 0; SET bytea_output = 'escape'`,
		"a search of little width":     `SET hnsw.ef_search = 1; SET enable_indexscan = off; SET enable_seqscan = off`,
		"read only transactions":       `SET default_transaction_read_only = on`,
		"another isolation":            `SET default_transaction_isolation = 'serializable'`,
		"backslashes in strings":       `SET standard_conforming_strings = off; SET backslash_quote = on`,
		"locks":                        `SELECT pg_advisory_lock_shared(1); LISTEN ragd_events; DECLARE left_over CURSOR WITH HOLD FOR SELECT 'kumquat'`,
		"an aborted transaction":       `BEGIN; SAVEPOINT a; DO $$ BEGIN RAISE EXCEPTION 'x'; EXCEPTION WHEN OTHERS THEN NULL; END $$`,
	} {
		if what == "another precision of numbers" && postgres.Distributed(s.Pool) {
			continue // the coordinator writes numbers for workers as text, so that scores differ in their last digits
		}
		poison(t, s.ServicePool, statements)
		failed := 0
		for _, r := range all {
			status, answer := r.ask()
			for _, word := range []string{"kumquat", "bolt", theirs["document_id"], theirs["run_id"]} {
				if strings.Contains(strings.ToLower(answer), word) {
					t.Errorf("%s: %s shows %q: %s", what, r.name, word, answer)
				}
			}
			switch want, compared := clean[r.name]; {
			case !compared:
			case status != http.StatusOK:
				failed++
				t.Logf("%s: %s: %d %.200s", what, r.name, status, answer)
			case answer != want:
				t.Errorf("%s: %s answers\n%s\nwant\n%s", what, r.name, answer, want)
			}
		}
		if failed > 0 && !slices.Contains(untold, what) {
			t.Errorf("%s: %d of %d reads failed", what, failed, len(clean))
		}
		s.ServicePool.Reset()
	}
}
