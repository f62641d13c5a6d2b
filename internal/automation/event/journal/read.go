package journal

import (
	"context"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// scope is which events a watcher asks for and may see.
type scope struct {
	types          []string
	indexes, tools []string // nil: all
	visible        filter.Filter
	bounds         access.Bounds
	subject        string
	everyone       bool // whether events of tools that others called, of alerts of others, and of keys, are visible
}

func scopeOf(r *access.Request, types []string, wanted Watch) scope {
	s := scope{
		types: types, visible: r.Principal.MandatoryFilter, bounds: r.Bounds, subject: r.Principal.Subject,
		everyone: r.Principal.Has(access.Admin) && r.Principal.MandatoryFilter.IsZero() && r.Bounds.IsZero(),
	}
	if len(wanted.Indexes) > 0 {
		s.indexes = wanted.Indexes
	}
	if len(wanted.Tools) > 0 {
		s.tools = wanted.Tools
	}
	return s
}

// sql returns a condition on events AS e. The arguments that it adds are lists, of which null
// allows everything.
func (s scope) sql(args *filter.Args) string {
	types, indexes, tools := args.Add(s.types), args.Add(s.indexes), args.Add(s.tools)
	within, named := args.Add(s.bounds.Indexes), func(names []string) string { return args.Add(names) + `::text[]` }
	sql := `e.type = ANY(` + types + `::text[])
			AND (` + indexes + `::text[] IS NULL OR e.index_name = ANY(` + indexes + `) OR e.index_name = '' AND NOT e.type LIKE 'tool.%')
			AND (` + within + `::text[] IS NULL OR e.index_name = ANY(` + within + `) OR e.index_name = '')
			AND e.index_name <> '` + access.MemoryIndex + `'
			AND (` + tools + `::text[] IS NULL OR NOT e.type LIKE 'tool.%' OR e.tool_name = ANY(` + tools + `))`
	for name, names := range map[string][]string{"tools.changed": s.bounds.Tools, "prompts.changed": s.bounds.Prompts, "server.changed": s.bounds.Servers} {
		if names != nil {
			sql += ` AND (e.type <> '` + name + `' OR e.data->>'name' = ANY(` + named(names) + `))`
		}
	}
	if s.bounds.Tools != nil {
		sql += ` AND (NOT e.type LIKE 'tool.%' OR e.tool_name = ANY(` + named(s.bounds.Tools) + `))`
	}
	if !s.everyone {
		sql += ` AND (NOT (e.type LIKE 'tool.%' OR e.type LIKE 'alert.%') OR e.subject = ` + args.Add(s.subject) + `) AND NOT e.type LIKE 'key.%' AND NOT e.type LIKE 'hook.%'`
	}
	return sql
}

// seen returns the documents among those of the events that the watcher may see. It is a statement of its own, because
// Citus joins no table that tenants share with one of a tenant.
func (s scope) seen(ctx context.Context, q data.Queryer, page []eventRow) (map[string]bool, error) {
	if s.visible.IsZero() {
		return nil, nil
	}
	var ids []string
	for _, row := range page {
		if row.boundByDocument() && row.DocumentID != nil {
			ids = append(ids, *row.DocumentID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	args := filter.NewArgs(ids)
	found, err := data.Values[string](ctx, q, `
		SELECT d.document_id::text FROM tenant.documents AS d WHERE d.document_id = ANY($1::text[]::uuid[]) AND `+s.visible.SQL("d.metadata", args), args.Values()...)
	seen := make(map[string]bool, len(found))
	for _, id := range found {
		seen[id] = true
	}
	return seen, err
}

// allows reports whether the watcher may see an event of a page, of whose documents it may see these.
func (s scope) allows(row eventRow, seen map[string]bool) bool {
	return s.visible.IsZero() || !row.boundByDocument() || row.DocumentID != nil && seen[*row.DocumentID]
}

type eventRow struct {
	Xid       string
	Number    int64
	EventID   string
	Type      string
	CreatedAt time.Time
	Data      map[string]any

	DocumentID *string
}

// boundByDocument reports whether those may see the event who may see its document.
func (r eventRow) boundByDocument() bool {
	return strings.HasPrefix(r.Type, "document.") || strings.HasPrefix(r.Type, "job.") || strings.HasPrefix(r.Type, "alert.")
}

func (r eventRow) event() *Event {
	return &Event{EventID: r.EventID, Type: r.Type, CreatedAt: r.CreatedAt, Data: r.Data}
}

// pageSize is how many events are read at once: each may have a quarter of a megabyte.
const pageSize = 50

// begin sets the cursor before events that are not visible yet.
func (s *stream) begin(ctx context.Context) (err error) {
	s.at = cursor{At: time.Now()}
	if s.at.Database, err = s.handle.Database(ctx); err != nil {
		return err
	}
	if s.at.Seen, err = snapshot(ctx, s.handle); err != nil {
		return err
	}
	return s.check(ctx)
}

// check returns an error unless the tenant lives where the cursor is a position. Errors: Precondition.
func (s *stream) check(ctx context.Context) error {
	name, err := s.handle.Database(ctx)
	if err == nil && name != s.at.Database {
		err = fault.New(fault.Precondition, "the tenant was moved to another database, in which the cursor is no position: leave it out to receive events from now on")
	}
	return err
}

func snapshot(ctx context.Context, q data.Queryer) (string, error) {
	return data.Value[string](ctx, q, `SELECT pg_current_snapshot()::text`)
}

// read sends all events that are visible now and were not sent yet. It reports whether there
// were any.
func (s *stream) read(ctx context.Context) (sent bool, err error) {
	for {
		started := time.Now()
		if s.at.Target == "" {
			s.at.Xid, s.at.Number = "0", 0
			if s.at.Target, err = snapshot(ctx, s.handle); err != nil {
				return sent, err
			}
		}
		page, err := s.page(ctx)
		if err != nil {
			return sent, err
		}
		seen, err := s.scope.seen(ctx, s.handle, page)
		if err == nil {
			err = s.check(ctx)
		}
		if err != nil {
			return sent, err
		}
		for i, row := range page {
			s.at.Xid, s.at.Number = row.Xid, row.Number
			if i == len(page)-1 && len(page) < pageSize {
				s.at = cursor{Seen: s.at.Target, At: started, Database: s.at.Database}
			}
			if !s.scope.allows(row, seen) {
				continue
			}
			if err := s.send(Message{row.event(), s.tokens.encode(s.at)}); err != nil {
				return true, err
			}
			sent = true
		}
		if len(page) < pageSize {
			if s.at.Target != "" { // the page was empty
				s.at = cursor{Seen: s.at.Target, At: started, Database: s.at.Database}
			}
			return sent, nil
		}
	}
}

func (s *stream) page(ctx context.Context) ([]eventRow, error) {
	args := filter.NewArgs(s.at.Seen, s.at.Target, s.at.Xid, s.at.Number, pageSize)
	return data.Select[eventRow](ctx, s.handle, `
		SELECT e.xid::text AS xid, e.number, e.event_id::text AS event_id, e.type, e.created_at, e.data, e.document_id::text AS document_id
		FROM ragd_shared.events AS e
		WHERE e.xid >= pg_snapshot_xmin($1::text::pg_snapshot) AND NOT pg_visible_in_snapshot(e.xid, $1::text::pg_snapshot)
			AND pg_visible_in_snapshot(e.xid, $2::text::pg_snapshot) AND (e.xid, e.number) > ($3::text::xid8, $4::bigint)
			AND `+s.scope.sql(args)+`
		ORDER BY e.xid, e.number LIMIT $5`, args.Values()...)
}
