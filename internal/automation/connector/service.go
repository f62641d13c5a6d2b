package connector

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/ragdhq/ragd/internal/automation/connector/manifest"
	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/ingest/extract"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/operate/pagination"
	"github.com/ragdhq/ragd/internal/secure/oauthclient"
	"github.com/ragdhq/ragd/internal/secure/outbound"
	"github.com/ragdhq/ragd/internal/secure/seal"
	"github.com/ragdhq/ragd/internal/secure/secret"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/job"
	"github.com/ragdhq/ragd/internal/tenant/quota"
	"github.com/ragdhq/ragd/internal/tool/expression"
	"github.com/ragdhq/ragd/internal/tool/mcptool"
	"github.com/ragdhq/ragd/internal/tool/remote"
)

// Config are the parts that a Service uses. All are required but Enter and Folders.
type Config struct {
	DB     *data.DB
	Work   *data.DB // for runs
	Queue  *job.Queue
	Auth   *credential.Authenticator
	Guard  *outbound.Guard
	Remote *remote.Client // for MCP servers
	Tools  *mcptool.Runner
	Keys   *seal.Keys // nil if there are none
	// PublicURL is the address of the service for browsers.
	PublicURL string
	Indexes   *index.Service
	Documents *ingest.Service
	Secrets   *secret.Service
	Folders   []string // that connectors of operators may read, absolute; may be empty
	Logger    *slog.Logger
	// Instance is the name of this instance, which no other one has.
	Instance string
	// Enter waits for a slot of the processor for a long evaluation of an expression. nil is no
	// limit.
	Enter expression.Enter
	// WaitFactor multiplies the pauses that connectors make of their own accord; leases, timeouts, schedules and what servers
	// ask for stay. Tests wait less. Default: 1.
	WaitFactor float64
}

// wait returns a pause as this service makes it.
func (c Config) wait(of time.Duration) time.Duration {
	return time.Duration(float64(of) * cmp.Or(c.WaitFactor, 1))
}

// Service manages the connectors of the calling tenant and runs them. Safe for concurrent use.
type Service struct {
	Config

	env       *expression.Environment
	manifests *expression.Environment // of web APIs
	client    *http.Client
	slots     *limit.Limiter[tenant.ID] // runs of this instance
	followers *followers
	oauth     *oauthclient.Client
	watchers  watchers
}

// New returns a Service.
func New(config Config) (*Service, error) {
	env, err := expression.New(config.Enter, "item")
	if err != nil {
		return nil, err
	}
	manifests, err := manifest.Environment(config.Enter)
	return &Service{Config: config, env: env, manifests: manifests, client: config.Guard.Client(connections, requestTimeout), slots: limit.New[tenant.ID](0, maxAtOncePerTenant), followers: newFollowers(), oauth: oauthclient.New(config.Guard)}, err
}

// manage returns the caller and a handle of its tenant. Errors: Denied unless the caller may write
// to the whole tenant.
func (s *Service) manage(ctx context.Context) (*access.Request, *data.Handle, error) {
	r, err := access.RequireUnfiltered(ctx, access.Admin)
	if err != nil {
		return nil, nil, err
	}
	if !r.Bounds.IsZero() {
		return nil, nil, fault.New(fault.Denied, "a credential that is bound to servers, indexes, tools or prompts cannot use connectors")
	}
	return r, s.DB.Handle(r.Tenant), nil
}

// use is manage for what lets a connector read its source. Errors: also Denied if the tenant's plan has no connectors.
func (s *Service) use(ctx context.Context) (*access.Request, *data.Handle, error) {
	r, h, err := s.manage(ctx)
	if err != nil {
		return nil, nil, err
	}
	return r, h, r.Quotas.Check(quota.Connectors)
}

// Create stores a new connector, which has a run that is due. Errors: Denied; Invalid; Exists;
// NotFound for the index; Exhausted when the tenant has too many; Precondition for an address
// inside the network of the service.
func (s *Service) Create(ctx context.Context, wanted Connector) (Connector, error) {
	caller, h, err := s.use(ctx)
	if err != nil {
		return Connector{}, err
	}
	if err := catalog.CheckName("connectorName", wanted.Name, 64); err != nil {
		return Connector{}, err
	}
	into, err := s.Indexes.Resolve(ctx, caller.Tenant, wanted.IndexName)
	if err != nil {
		return Connector{}, err
	}
	namespace, err := index.Namespace(wanted.Namespace)
	if err != nil {
		return Connector{}, err
	}
	r := row{ConnectorName: wanted.Name, IndexName: into.Name, Namespace: namespace, Paused: wanted.Paused}
	if r.Definition, r.Access, err = s.encode(ctx, caller, &wanted.Definition); err != nil {
		return Connector{}, err
	}
	var made row
	err = h.Tx(ctx, func(tx *data.Tx) error {
		if made, err = insert(ctx, tx, r); err != nil {
			return err
		}
		return s.wake(ctx, tx, made)
	})
	if err != nil {
		return Connector{}, err
	}
	return s.shown(h, made)
}

// shown returns a connector as its tenant sees it.
func (s *Service) shown(h *data.Handle, r row) (Connector, error) {
	c, err := r.connector()
	c.PushURL = s.pushURL(h.Tenant(), c)
	return c, err
}

// encode completes and checks a definition and returns it as it is stored, with the rights of the
// caller.
func (s *Service) encode(ctx context.Context, caller *access.Request, d *Definition) (definition, access json.RawMessage, err error) {
	if err := d.complete(s.Guard); err != nil {
		return nil, nil, err
	}
	if err := s.permit(ctx, d); err != nil {
		return nil, nil, err
	}
	if err := s.checkPush(ctx, caller.Tenant, d.PushSecret); err != nil {
		return nil, nil, err
	}
	if _, err := s.mapping(ctx, d.Metadata); err != nil {
		return nil, nil, err
	}
	if d.MCP != nil {
		if err := s.checkSecrets(ctx, d.MCP); err != nil {
			return nil, nil, err
		}
	}
	if definition, err = json.Marshal(d); err != nil {
		return nil, nil, err
	}
	delegation, err := s.Auth.Delegate(ctx, caller)
	if err != nil {
		return nil, nil, err
	}
	access, err = json.Marshal(delegation)
	return definition, access, err
}

// permit checks whether the caller may define a source. Errors: NotFound for a secret; Denied.
func (s *Service) permit(ctx context.Context, d *Definition) error {
	source, err := d.kind()
	if err != nil {
		return err
	}
	if f := d.Folder; f != nil {
		return s.allowPath(ctx, "folder.path", f.Path)
	}
	if db := d.SQLite; db != nil {
		return s.allowPath(ctx, "sqlite.path", db.Path)
	}
	if p := d.Postgres; p != nil {
		address, err := s.Secrets.Address(ctx, p.Secret)
		if err == nil {
			_, err = connection(s.Guard, address)
		}
		return err
	}
	if m := d.MySQL; m != nil {
		address, err := s.Secrets.Address(ctx, m.Secret)
		if err == nil {
			_, err = mysqlConfig(s.Guard, address, &allowance{})
		}
		return err
	}
	if h := d.HTTP; h != nil {
		return s.checkHTTP(ctx, h)
	}
	if source, ok := source.(keyed); ok {
		if name, to := source.key(); name != "" {
			return s.Secrets.CheckUse(ctx, []string{name}, to)
		}
	}
	return nil
}

// Change are changes to a connector. nil fields stay as they are.
type Change struct {
	// ETag is that of the connector as the caller knows it; empty for any.
	ETag string

	Description *string
	Web         *Web // a new source
	Feed        *Feed
	Git         *Git
	S3          *S3
	Folder      *Folder
	MCP         *MCP
	Postgres    *Postgres
	MySQL       *MySQL
	SQLite      *SQLite
	HTTP        *HTTP
	Schedule    *string
	Metadata    map[string]string // nil: as it is
	Chunking    *chunk.Settings
	Extract     *extract.Settings
	MaxItems    *int
	PushSecret  *string
}

// ETag returns the etag of the connector. It does not change with its runs.
func (c Connector) ETag() string { return catalog.ETag(c.Name, c.UpdatedAt) }

func (c Change) apply(d *Definition) {
	if c.Description != nil {
		d.Description = *c.Description
	}
	if c.Web != nil || c.Feed != nil || c.MCP != nil || c.Git != nil || c.S3 != nil || c.Folder != nil || c.Postgres != nil || c.MySQL != nil || c.SQLite != nil || c.HTTP != nil {
		d.Web, d.Feed, d.MCP, d.Git, d.S3, d.Folder, d.Postgres, d.MySQL, d.SQLite, d.HTTP = c.Web, c.Feed, c.MCP, c.Git, c.S3, c.Folder, c.Postgres, c.MySQL, c.SQLite, c.HTTP
	}
	if c.Schedule != nil {
		d.Schedule = *c.Schedule
	}
	if c.Metadata != nil {
		d.Metadata = c.Metadata
	}
	if c.Chunking != nil {
		d.Chunking = *c.Chunking
	}
	if c.Extract != nil {
		d.Extract = c.Extract
	}
	if c.MaxItems != nil {
		d.MaxItems = *c.MaxItems
	}
	if c.PushSecret != nil {
		d.PushSecret = *c.PushSecret
	}
}

// Update changes a connector, which then runs with the rights of the caller. A run that reads all items
// again is due. Errors: as Create; NotFound; Conflict.
func (s *Service) Update(ctx context.Context, name string, change Change) (Connector, error) {
	caller, h, err := s.use(ctx)
	if err != nil {
		return Connector{}, err
	}
	r, err := connectors.Get(ctx, h, name)
	if err != nil {
		return Connector{}, err
	}
	c, err := r.connector()
	if err != nil {
		return Connector{}, err
	}
	if err := catalog.Expect(connectors.Noun, name, change.ETag, c.ETag()); err != nil {
		return Connector{}, err
	}
	change.apply(&c.Definition)
	if r.Definition, r.Access, err = s.encode(ctx, caller, &c.Definition); err != nil {
		return Connector{}, err
	}
	if r.SourceState, err = s.keepSlot(ctx, r, c.Definition); err != nil {
		return Connector{}, err
	}
	var changed row
	err = h.Tx(ctx, func(tx *data.Tx) (err error) {
		if changed, err = update(ctx, tx, r); err != nil {
			return err
		}
		return s.wake(ctx, tx, changed)
	})
	if err != nil {
		return Connector{}, err
	}
	return s.shown(h, changed)
}

// Get returns a connector. Errors: NotFound.
func (s *Service) Get(ctx context.Context, name string) (Connector, error) {
	_, h, err := s.manage(ctx)
	if err != nil {
		return Connector{}, err
	}
	r, err := connectors.Get(ctx, h, name)
	if err != nil {
		return Connector{}, err
	}
	return s.shown(h, r)
}

// List returns a page of the connectors in the order of their names.
func (s *Service) List(ctx context.Context, pageSize int32, pageToken string) ([]Connector, string, error) {
	_, h, err := s.manage(ctx)
	if err != nil {
		return nil, "", err
	}
	rows, next, err := connectors.Page(ctx, h, pageSize, pageToken)
	all, err := catalog.Decoded(rows, err, func(r row) (Connector, error) { return s.shown(h, r) })
	return all, next, err
}

// Deletion is what was deleted with a connector.
type Deletion struct {
	Documents int
	// KeptSlot is the replication slot that the service has created in the source, if it could not be dropped.
	KeptSlot string
}

// Delete deletes a connector, the replication slot that it has created and, if asked, its documents. Errors: NotFound.
func (s *Service) Delete(ctx context.Context, name string, documents bool) (gone Deletion, err error) {
	_, h, err := s.manage(ctx)
	if err != nil {
		return gone, err
	}
	r, err := s.pause(ctx, h, name) // so that a run stores no more
	if err != nil {
		return gone, err
	}
	if documents {
		r.Run++ // all items are older
		if gone.Documents, err = s.deleteDocuments(ctx, h, r); err != nil && fault.KindOf(err) != fault.NotFound {
			return gone, err
		}
	}
	s.followers.stop(followKey{h.Tenant(), name})
	if _, err := s.keepSlot(ctx, r, Definition{}); err != nil {
		if ctx.Err() != nil {
			return gone, err
		}
		s.Logger.WarnContext(ctx, "a replication slot was not dropped", "tenant", h.Tenant(), "connector", name, "err", err)
		var state State
		if err := json.Unmarshal(r.SourceState, &state); err != nil {
			return gone, err
		}
		gone.KeptSlot = state.Slot
	}
	_, err = h.Exec(ctx, `DELETE FROM ragd_shared.connectors WHERE connector_name = $1 AND created_at = $2`, name, r.CreatedAt)
	return gone, err
}

// keepSlot returns the source state of a connector whose definition changes: the replication slot that the service has
// created, which it drops if the new definition does not use it. Errors: Precondition if it cannot be dropped.
func (s *Service) keepSlot(ctx context.Context, r row, changed Definition) (json.RawMessage, error) {
	old, err := r.connector()
	var state State
	if err := errors.Join(err, json.Unmarshal(r.SourceState, &state)); err != nil {
		return nil, err
	}
	state = State{Slot: state.Slot}
	uses := changed.replicates() && changed.Postgres.Replication.Slot == state.Slot && old.replicates() && changed.Postgres.Secret == old.Postgres.Secret
	if state.Slot == "" || uses || !old.replicates() {
		return json.Marshal(state)
	}
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	rows, err := old.Postgres.open(limited, walking{fetch: s.fetcher(old.MaxItems), guard: s.Guard, address: s.Secrets.Address})
	if err == nil {
		err = slotReader{rows, &Replication{Slot: state.Slot}}.drop(limited)
		rows.close(ctx)
	}
	if err != nil {
		return nil, fault.New(fault.Precondition, "the replication slot %q, which the service has created, cannot be dropped: %s. Drop it in the database, or delete the connector", state.Slot, fault.Public(err))
	}
	return json.Marshal(State{})
}

func (s *Service) pause(ctx context.Context, h *data.Handle, name string) (r row, err error) {
	err = h.Tx(ctx, func(tx *data.Tx) error {
		r, err = setPaused(ctx, tx, name, true, false)
		return err
	})
	return r, err
}

// Pause ends a run soon and starts no others. Errors: NotFound.
func (s *Service) Pause(ctx context.Context, name string) (Connector, error) {
	_, h, err := s.manage(ctx)
	if err != nil {
		return Connector{}, err
	}
	r, err := s.pause(ctx, h, name)
	if err != nil {
		return Connector{}, err
	}
	return s.shown(h, r)
}

// Resume ends a pause and makes a run due. With accept the next run deletes the documents of all
// items that are gone. Errors: NotFound.
func (s *Service) Resume(ctx context.Context, name string, accept bool) (Connector, error) {
	return s.waking(ctx, func(tx *data.Tx) (row, error) { return setPaused(ctx, tx, name, false, accept) })
}

// Sync makes a run due. Errors: NotFound; Precondition while the connector is paused.
func (s *Service) Sync(ctx context.Context, name string) (Connector, error) {
	return s.waking(ctx, func(tx *data.Tx) (row, error) { return makeDue(ctx, tx, name) })
}

// waking changes a connector and starts its task.
func (s *Service) waking(ctx context.Context, do func(tx *data.Tx) (row, error)) (Connector, error) {
	_, h, err := s.use(ctx)
	if err != nil {
		return Connector{}, err
	}
	var r row
	err = h.Tx(ctx, func(tx *data.Tx) error {
		if r, err = do(tx); err != nil {
			return err
		}
		return s.wake(ctx, tx, r)
	})
	if err != nil {
		return Connector{}, err
	}
	return s.shown(h, r)
}

// ItemStatus is what a connector knows of an item.
type ItemStatus struct {
	ID        string
	Status    string // stored, skipped or failed; would_store in a test
	Reason    string
	UpdatedAt time.Time // zero in a test
	// Only in a test.
	Title       string
	ContentType string
	ByteSize    int64
	Metadata    map[string]any
}

// Items returns a page of the items of a connector in the order of their ids. An empty status means
// any. Errors: NotFound; Invalid.
func (s *Service) Items(ctx context.Context, name, status string, pageSize int32, pageToken string) ([]ItemStatus, string, error) {
	_, h, err := s.manage(ctx)
	if err != nil {
		return nil, "", err
	}
	switch status {
	case "", itemStored, itemSkipped, itemFailed:
	default:
		return nil, "", fault.Field("status", "unknown status %q; known are stored, skipped and failed", status)
	}
	if _, err := connectors.Get(ctx, h, name); err != nil {
		return nil, "", err
	}
	rows, next, err := pagination.List(access.Pages(ctx, "connector items", name, status), pageSize, pageToken, "", func(r itemRow) string { return r.ItemID }, func(after string, most int) ([]itemRow, error) {
		return items(ctx, h, name, status, after, most)
	})
	all := make([]ItemStatus, len(rows))
	for i, r := range rows {
		all[i] = ItemStatus{ID: r.ItemID, Status: r.Status, Reason: r.Reason, UpdatedAt: r.UpdatedAt}
	}
	return all, next, err
}

// errEnough ends a walk that has what it was for.
var errEnough = errors.New("enough items")

// Test returns the first items of the source of a connector, as a run would read them, and whether
// these are all. It stores nothing. Errors: NotFound; those of the source.
func (s *Service) Test(ctx context.Context, name string) (found []ItemStatus, complete bool, err error) {
	_, h, err := s.use(ctx)
	if err != nil {
		return nil, false, err
	}
	r, err := connectors.Get(ctx, h, name)
	if err != nil {
		return nil, false, err
	}
	c, err := r.connector()
	if err != nil {
		return nil, false, err
	}
	mapping, err := s.mapping(ctx, c.Metadata)
	if err != nil {
		return nil, false, err
	}
	if !s.slots.TryAcquire(h.Tenant(), 1) {
		return nil, false, fault.Retry(minInterval, "%d connectors of the tenant run now: try again later", maxAtOncePerTenant)
	}
	defer s.slots.Release(h.Tenant(), 1)
	limited, cancel := context.WithTimeoutCause(ctx, maxTestTime, errEnough)
	defer cancel()
	w := s.walking(h, c, s.fetcher(c.MaxItems), nothingKnown)
	w.preview = true
	all, err := s.walk(limited, c, w, func(item Item) error {
		status, err := tested(ctx, mapping, c.Name, item)
		if err != nil {
			return err
		}
		if found = append(found, status); len(found) == maxTestItems {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return found, false, nil
	}
	return found, err == nil && !all.keepOthers, err
}

func nothingExpected(context.Context, []string) error { return nil }

func nothingReached(context.Context, position) error { return nil }

// nothingKnown returns the state of an item that is new.
func nothingKnown(context.Context, string) (State, error) { return State{}, nil }

// tested returns what a run would do with an item.
func tested(ctx context.Context, m mapping, connector string, item Item) (ItemStatus, error) {
	status := ItemStatus{ID: item.ID, Status: "would_store", Title: cmp.Or(item.Title, item.FileName), ContentType: item.ContentType, ByteSize: int64(len(item.Content))}
	switch {
	case item.Failed != "":
		status.Status, status.Reason = itemFailed, item.Failed
		return status, nil
	case item.Skipped != "":
		status.Status, status.Reason = itemSkipped, item.Skipped
		return status, nil
	}
	var err error
	if status.Metadata, err = m.of(ctx, connector, item); fault.KindOf(err) == fault.Invalid {
		status.Status, status.Reason = itemFailed, fault.Public(err)
		return status, nil
	}
	return status, err
}
