package connector

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Reasons for which a restored connector is paused.
const (
	pausedAsCopy   = "it was imported with a tenant of another name: resume it if it is to run beside the first one"
	pausedFolder   = "it was imported with its tenant and reads a folder of the server: an operator must create it again"
	pausedUnusable = "it was imported with its tenant, and this service does not accept its definition: "
)

// Limits of the definitions of a restored tenant.
const (
	maxRestoredBytes = 4 << 20
	restoredBatch    = 20 // definitions that are read at once
)

// Restored lets the connectors of a restored tenant run again, for this tenant alone. It pauses all of them if the
// tenant had another name, and otherwise those that read folders or whose definition Create would refuse. Errors:
// Invalid for a definition that cannot be decoded.
func (s *Service) Restored(ctx context.Context, tx *data.Tx, from tenant.ID) error {
	err := credential.MoveDelegations(ctx, tx, credential.DelegationColumn{Table: "ragd_shared.connectors", Key: "connector_name", KeyType: "text", Column: "access"})
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `
		UPDATE ragd_shared.connectors SET status = 'failed', error = 'the run had not ended when the tenant was exported', ended_at = now(), next_run_at = now()
		WHERE status = 'running'`)
	if err != nil {
		return err
	}
	if err := s.restoreDefinitions(ctx, tx); err != nil {
		return err
	}
	if tx.Tenant() != from {
		// The replication slots are those of the first one.
		_, err := tx.Exec(ctx, `UPDATE ragd_shared.connectors SET source_state = (source_state::jsonb - 'slot')::json WHERE source_state->'slot' IS NOT NULL`)
		if err == nil {
			_, err = tx.Exec(ctx, `UPDATE ragd_shared.connectors SET paused = true, paused_reason = $1 WHERE NOT paused`, pausedAsCopy)
		}
		return err
	}
	type sleeping struct {
		ConnectorName string
		Paused        bool
		NextRunAt     *time.Time
	}
	found, err := data.Select[sleeping](ctx, tx, `SELECT connector_name, paused, next_run_at FROM ragd_shared.connectors ORDER BY connector_name`)
	if err != nil {
		return err
	}
	for _, r := range found {
		if err := s.wake(ctx, tx, row{ConnectorName: r.ConnectorName, Paused: r.Paused, NextRunAt: r.NextRunAt}); err != nil {
			return err
		}
	}
	return nil
}

// restoreDefinitions stores the definitions of a restored tenant as Go decodes them, with their defaults.
func (s *Service) restoreDefinitions(ctx context.Context, tx *data.Tx) error {
	type stored struct {
		ConnectorName string
		Definition    json.RawMessage // nil if it is too large
		Counts        json.RawMessage
	}
	for after := (*string)(nil); ; {
		found, err := data.Select[stored](ctx, tx, `
			SELECT connector_name, CASE WHEN octet_length(definition::text) <= $2 THEN definition END AS definition,
				CASE WHEN octet_length(counts::text) <= $2 THEN counts END AS counts
			FROM ragd_shared.connectors WHERE $1::text IS NULL OR connector_name > $1 ORDER BY connector_name LIMIT $3`, after, maxRestoredBytes, restoredBatch)
		if err != nil || len(found) == 0 {
			return err
		}
		for _, r := range found {
			after = &r.ConnectorName
			var d Definition
			var counts Counts
			if r.Definition == nil || json.Unmarshal(r.Definition, &d) != nil || json.Unmarshal(r.Counts, &counts) != nil {
				return fault.New(fault.Invalid, "the archive has a connector whose definition or counts cannot be read")
			}
			reason := s.restore(&d)
			raw, err := json.Marshal(d)
			if err != nil {
				return err
			}
			if reason == "" && bytes.Equal(raw, r.Definition) {
				continue
			}
			_, err = tx.Exec(ctx, `
				UPDATE ragd_shared.connectors SET definition = $2::text::json, paused = paused OR $3 <> '', paused_reason = CASE WHEN paused OR $3 = '' THEN paused_reason ELSE $3 END
				WHERE connector_name = $1`, r.ConnectorName, string(raw), reason)
			if err != nil {
				return err
			}
		}
	}
}

// restore fills in the defaults of a restored definition. It returns why its connector is to be paused, empty if it may run.
func (s *Service) restore(d *Definition) (reason string) {
	err := d.complete(s.Guard)
	if w := d.Web; w != nil { // complete has not set them if it failed
		w.MaxDepth, w.DelayMS = cmp.Or(w.MaxDepth, new(defaultDepth)), cmp.Or(w.DelayMS, new(int(defaultDelay.Milliseconds())))
	}
	switch {
	case d.Folder != nil, d.SQLite != nil: // only an operator may create one
		return pausedFolder
	case err != nil:
		return pausedUnusable + textlimit.OneLine(fault.Public(err), maxReasonBytes)
	}
	return ""
}
