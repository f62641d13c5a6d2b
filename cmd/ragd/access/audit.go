package access

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func auditCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show who changed what, and which calls were denied",
		Long: `Show the entries of the audit log, newest first: administrative actions with their
outcome, the calls that were denied, and what policies did to calls of tools, both
summed up by the minute. It needs a key with the scope admin. With the operator key it shows what is about the tenant that
--tenant names, or without it everything.

Times are dates, such as 2026-11-01, or RFC 3339, such as 2026-11-01T08:00:00Z.`,
		Example: `  ragd audit --limit 20
  ragd audit --method DeleteIndex --from 2026-11-01
  ragd audit --kind denied --csv > denied.csv`,
		Args: command.Arguments(),
	}
	flags := cmd.Flags()
	req := &ragdv1.ListAuditEntriesRequest{}
	from := flags.String("from", "", "only from this `TIME` on (default all)")
	to := flags.String("to", "", "only before this `TIME` (default all)")
	flags.StringVar(&req.Kind, "kind", "", "only action, denied, or policy (default all)")
	flags.StringVar(&req.Subject, "subject", "", "only calls of this key's id, or subject of a token (default all)")
	flags.StringVar(&req.Method, "method", "", "only calls of this method, such as DeleteIndex (default all)")
	flags.StringVar(&req.Outcome, "outcome", "", "only ok, unknown, the code of an error, such as denied, or what a policy did, such as redacted (default all)")
	asCSV := flags.Bool("csv", false, "print comma-separated values")
	limit := command.LimitFlag(flags)
	cmd.RunE = p.Call(client.ForUsage, func(ctx context.Context, c *client.Client, _ []string) (err error) {
		if req.StartTime, err = command.ParseTime("from", *from); err != nil {
			return err
		}
		if req.EndTime, err = command.ParseTime("to", *to); err != nil {
			return err
		}
		entries := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.AuditEntry, string, error) {
			req.PageSize, req.PageToken = size, token
			page, err := c.Audit.ListAuditEntries(ctx, req)
			return page.GetEntries(), page.GetNextPageToken(), err
		})
		if *asCSV {
			return writeAudit(p.Out.Stdout, entries)
		}
		return output.List(p.Out, "entries", entries, "TIME TENANT SUBJECT CLIENT METHOD OBJECT CALLS OUTCOME", func(e *ragdv1.AuditEntry) []any {
			return []any{
				output.Stamp(e.GetCreateTime()), e.GetTenantId(), e.GetSubject(), e.GetClientAddress(), lastPart(e.GetMethod()),
				joined(e.GetObject()), e.GetCalls(), cmp.Or(e.GetOutcome(), "unknown"),
			}
		})
	})
	return p.ClientFlags(cmd)
}

// lastPart returns the name of a method without its service.
func lastPart(method string) string {
	if service, name, ok := strings.Cut(method, "/"); ok && strings.HasPrefix(service, "ragd.") {
		return name
	}
	return method
}

// joined returns names as field=name, in the order of fields.
func joined(names map[string]string) string {
	var parts []string
	for _, field := range slices.Sorted(maps.Keys(names)) {
		parts = append(parts, field+"="+names[field])
	}
	return strings.Join(parts, " ")
}

// writeAudit writes entries as comma-separated values, as they arrive.
func writeAudit(w io.Writer, entries iter.Seq2[*ragdv1.AuditEntry, error]) error {
	columns := []string{"entry", "time", "kind", "tenant", "subject", "issuer", "client", "method", "object", "request", "calls", "outcome", "ended", "result"}
	return output.CSV(w, columns, entries, func(e *ragdv1.AuditEntry) []string {
		ended := ""
		if e.GetEndTime() != nil {
			ended = exactTime(e.GetEndTime())
		}
		return []string{
			e.GetEntryId(), exactTime(e.GetCreateTime()), e.GetKind(), e.GetTenantId(), spreadsheetSafe(e.GetSubject()), spreadsheetSafe(e.GetIssuer()), e.GetClientAddress(),
			e.GetMethod(), namesJSON(e.GetObject()), spreadsheetSafe(e.GetRequestId()), strconv.Itoa(int(e.GetCalls())), e.GetOutcome(), ended, namesJSON(e.GetResult()),
		}
	})
}

func exactTime(t *timestamppb.Timestamp) string { return t.AsTime().Format(time.RFC3339Nano) }

// spreadsheetSafe returns a text that no spreadsheet takes for a formula.
func spreadsheetSafe(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

// namesJSON returns names as a JSON object, "" for none. It begins with a brace, so that no
// spreadsheet takes it for a formula.
func namesJSON(names map[string]string) string {
	if len(names) == 0 {
		return ""
	}
	text, _ := json.Marshal(names) // strings always can be
	return string(text)
}
