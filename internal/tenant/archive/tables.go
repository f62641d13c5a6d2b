package archive

import (
	"slices"

	"github.com/ragdhq/ragd/internal/index"
)

// place is where the rows of a table are.
type place string

const (
	own     place = "tenant"  // a table of the tenant's schema
	ofIndex place = "index"   // a table of an index in the tenant's schema
	shared  place = "shared"  // a table with rows of all tenants, which row level security separates
	control place = "control" // a table of the control schema
)

// table is a table whose rows of a tenant are archived.
type table struct {
	place place
	name  string
	// order sorts the rows. Empty for the order in which they are stored: large tables are read
	// without sorting them.
	order string
	// where selects the rows, of r, that are archived; empty for all.
	where string
	// credentials says that the rows are ways to call the service in the tenant's name. They are left out when
	// the tenant is imported under another name, and on request.
	credentials bool
	// ofName says that the rows are about what happened under the tenant's name, so that they are
	// left out when it is imported under another one.
	ofName bool
	// ofService says that the rows mean nothing in another service, and are in no archive but that of a tenant
	// that sleeps in this one.
	ofService bool
}

// String returns the name of the table in archives, such as tenant/documents.
func (t table) String() string { return string(t.place) + "/" + t.name }

// tables are the archived tables in the order of their sections: what a row refers to comes before the
// row, and hooks come after all that could make events. Those of the place index have a section for each
// index that has the table. A table that is added to the database belongs here or to LeftOut.
var tables = slices.Concat(
	[]table{
		{place: control, name: "tenants"},
		{place: own, name: "indexes", order: "index_id"},
		{place: own, name: "documents"},
		{place: own, name: "document_contents", where: notDeleted},
		{place: own, name: "jobs"},
	},
	tablesOfIndexes(),
	[]table{
		{place: own, name: "index_counts", order: "index_id, slot"}, // after all that changes them
		{place: shared, name: "tools", order: "tool_name"},
		{place: shared, name: "endpoints", order: "endpoint_name"},
		{place: shared, name: "question_sets", order: "set_name"},
		{place: shared, name: "questions", order: "set_name, question_id"},
		{place: shared, name: "feedback", order: "set_name, question_id, uri, start_byte, end_byte, caller_hash"},
		{place: shared, name: "evaluations", order: "evaluation_id"},
		{place: shared, name: "evaluation_results", order: "evaluation_id, batch"},
		{place: shared, name: "asked_questions", order: "index_id, slot"},
		{place: shared, name: "secrets", order: "secret_name"},
		{place: shared, name: "tool_policies", order: "policy_name"},
		{place: shared, name: "quota_warnings", order: "quota"},
		{place: shared, name: "servers", order: "server_name"},
		{place: shared, name: "prompts", order: "prompt_name, version"},
		{place: shared, name: "context_keys", order: "key_name"},
		{place: shared, name: "workflows", order: "workflow_name, version"},
		{place: shared, name: "workflow_runs", order: "run_id"},
		{place: shared, name: "workflow_steps", order: "run_id, path"},
		{place: shared, name: "agents", order: "agent_name"},
		{place: shared, name: "agent_threads", order: "agent_name, subject, thread_id"},
		{place: shared, name: "files", order: "file_id"},
		{place: shared, name: "file_contents", order: "file_id, segment"},
		{place: shared, name: "vector_stores", order: "index_name"},
		{place: shared, name: "vector_store_files", order: "file_id, index_name"},
		{place: shared, name: "file_batches", order: "batch_id"},
		{place: shared, name: "connectors", order: "connector_name"},
		{place: shared, name: "connector_items", order: "connector_name, item_id"},
		{place: shared, name: "alerts", order: "alert_id"},
		{place: shared, name: "alert_matches", order: "alert_id, document_id, passage"},
		{place: shared, name: "hooks", order: "hook_name"},
		{place: control, name: "issuers", order: "issuer_name", credentials: true},
		{place: control, name: "api_keys", order: "api_key_id", credentials: true},
		{place: control, name: "usage", order: "hour, index_name, stage, model", ofName: true},
		{place: shared, name: "connector_tokens", order: "connector_name", ofService: true},
		{place: shared, name: "notable_questions", order: "index_id, kind, namespace, question_id", ofService: true},
	},
)

// notDeleted leaves out rows r of deleted documents that can be restored.
const notDeleted = `NOT EXISTS (SELECT FROM ragd_shared.deleted_documents AS k WHERE k.document_id = r.document_id)`

func tablesOfIndexes() (all []table) {
	for _, name := range index.Archived {
		t := table{place: ofIndex, name: name}
		if name == "cells" {
			t.where = notDeleted
		}
		all = append(all, t)
	}
	return all
}

// LeftOut are the tables with rows of tenants that are not archived, with the reason.
var LeftOut = map[string]string{
	"tenant/schema_migrations": "an imported tenant has the newest version of the schema",
	"index/kept":               "deleted documents can be restored where they were deleted, and archives have none of them",
	"index/renewal":            "terms that are being made anew are made from the start after an import",
	"index/reembed":            "a change of the embedding model that has not ended does not go on after an import",
	"control/audit_log":        "the log is about what was done in this service, and stays in it",
	"control/backlog":          "it is made again from the documents that wait",
	"control/event_tenants":    "it is made again from the hooks",
	"control/idempotent_calls": "they are for the repeats of calls to this service, for a day",
	"control/imports":          "it is the progress of an import",
	"control/moves":            "they are about the databases of this service",
	"control/moved_work":       "it is work of a tenant that is being moved, which is made again",
	"control/tenant_plans":     "plans are of a service: the operator of the other one gives the tenant a plan of it",
	"control/sleeps":           "they are the archives of tenants that are asleep in this service",
	"shared/chunk_changes":     "they are kept for minutes, for instances of this service",
	"shared/connector_tokens":  "a token belongs to the service that signed in for it: users sign in again",
	"shared/deleted_documents": "deleted documents can be restored where they were deleted, and archives have none of them",
	"shared/events":            "they are kept for some days, for those who watch or were to be told",
	"shared/event_watchers":    "they are connections to this service",
	"shared/stopped_tenants":   "a tenant that is being moved is stopped for a moment",
	"shared/hook_deliveries":   "they go with their events",
	"shared/notable_questions": "they are kept for some days, for those who look after the documents",
	"shared/watched_indexes":   "instances of this service watch them",
	"shared/mcp_messages":      "they go with their sessions",
	"shared/mcp_sessions":      "they are connections to this service",
	"shared/tool_tasks":        "they are calls that run in this service, for minutes",
}

// leftOutColumns are columns that are not archived, with the reason, apart from tenant_id, which the
// import sets, and generated ones.
var leftOutColumns = map[string]string{
	"control/tenants.status":           "of the service",
	"shared/connectors.follower":       "of the service",
	"shared/connectors.followed_until": "of the service",
	"control/tenants.schema_version":   "of the service",
	"control/tenants.migration_error":  "of the service",
	"control/tenants.updated_at":       "of the service",
	"control/tenants.database_name":    "of the service",
	"control/tenants.archived_bytes":   "of the service",
	"control/tenants.asleep_since":     "of the service",
}

// gone are columns and tables that older archives have and this ragd does not, so that an import drops them. A
// migration that takes one away adds it here: a table as tenant/name, a column as tenant/name.column.
var gone = map[string]bool{}

// WhyLeftOut says why an import has not stored rows of a table, for people.
func WhyLeftOut(name string) string {
	for _, t := range tables {
		switch {
		case t.String() != name:
		case t.credentials:
			return "keys stay under the name that the tenant had, were not wanted, or have ids that this service has given already: make new ones"
		case t.ofName:
			return "it is about the tenant of the name in the archive"
		}
	}
	return ""
}

// Tables returns the names of the tables in archives that a service makes for others, such as tenant/documents.
func Tables() (all []string) {
	for _, t := range tables {
		if !t.ofService {
			all = append(all, t.String())
		}
	}
	return all
}
