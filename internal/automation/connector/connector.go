// Package connector keeps documents of an index the same as the items of a source, such as the
// pages of a website.
//
// A run of a connector is a task of the job queue. It walks the source, uploads items that are
// new or changed, and remembers what it saw; when the walk is complete, it deletes the documents
// of items that are gone. Every step can be done twice: a run that was interrupted begins anew,
// and what it had stored is unchanged then. Between two runs the task waits for the next one.
//
// A source implements the interface kind, one file each. All its requests go through fetcher,
// which bounds them.
package connector

import (
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/ragdhq/ragd/internal/chunk"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/ingest/extract"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/secure/outbound"
)

// Limits.
const (
	maxConnectors       = 20 // of a tenant
	maxDescriptionBytes = 1000
	maxMetadata         = 20
	maxMetadataName     = 100
	maxItems            = 1_000_000 // of a connector
	maxVisitedItems     = 50_000    // of one whose source is not listed in an order: they are remembered during a run
	maxFiles            = 200_000   // of one of files
	defaultItems        = 1000
	minInterval         = 5 * time.Minute
	maxScheduleBytes    = 100
	maxItemBytes        = ingest.MaxContentBytes
	maxRunBytes         = 1 << 30
	bytesPerItem        = 16 << 10 // of maxItems, if that is more
	maxRunRequests      = 50_000
	requestsPerItem     = 2 // of maxItems, if that is more
	maxRunTime          = 4 * time.Hour
	maxAtOncePerTenant  = 2 // runs of an instance
	requestTimeout      = 30 * time.Second
	maxTestItems        = 20
	maxTestTime         = 45 * time.Second
	maxReasonBytes      = 500
)

// Definition is what a connector does. It is stored as JSON.
type Definition struct {
	Description string            `json:"description,omitempty"`
	Web         *Web              `json:"web,omitempty"` // one of the sources
	Feed        *Feed             `json:"feed,omitempty"`
	Git         *Git              `json:"git,omitempty"`
	S3          *S3               `json:"s3,omitempty"`
	Folder      *Folder           `json:"folder,omitempty"`
	MCP         *MCP              `json:"mcp,omitempty"`
	Postgres    *Postgres         `json:"postgres,omitempty"`
	MySQL       *MySQL            `json:"mysql,omitempty"`
	SQLite      *SQLite           `json:"sqlite,omitempty"`
	HTTP        *HTTP             `json:"http,omitempty"`
	Schedule    string            `json:"schedule,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"` // expressions
	Chunking    chunk.Settings    `json:"chunking"`
	Extract     *extract.Settings `json:"extract,omitempty"`
	MaxItems    int               `json:"maxItems"`
	// PushSecret is the secret with which the source signs announcements of changes; empty: it makes none.
	PushSecret string `json:"pushSecret,omitempty"`
}

// Counts counts the items of a run. It is stored as JSON.
type Counts struct {
	Seen      int   `json:"seen"`
	Added     int   `json:"added"`
	Updated   int   `json:"updated"`
	Unchanged int   `json:"unchanged"`
	Skipped   int   `json:"skipped"`
	Failed    int   `json:"failed"`
	Deleted   int   `json:"deleted"`
	Requests  int   `json:"requests"`
	Bytes     int64 `json:"bytes"`
}

// Connector is a connector of a tenant, with its last run.
type Connector struct {
	Definition

	Name         string
	IndexName    string
	Namespace    string
	Paused       bool
	PausedReason string // why the service paused it
	Status       Status
	Error        string
	Counts       Counts
	StartedAt    *time.Time
	EndedAt      *time.Time // nil while it runs
	NextRunAt    *time.Time
	CreatedAt    time.Time
	UpdatedAt    time.Time
	// Authorization is needed if a user has to sign in at the source, granted if there is a token, else
	// empty.
	Authorization string
	// PushURL is where the source announces changes; empty for a connector that takes no announcements.
	PushURL string
	// Runs are the last runs that have ended, newest first.
	Runs []Run
}

// Run is a run of a connector that has ended.
type Run struct {
	Status    Status    `json:"status"`
	Error     string    `json:"error"`
	Counts    Counts    `json:"counts"`
	StartedAt time.Time `json:"startedAt"`
	EndedAt   time.Time `json:"endedAt"`
}

// keptRuns is how many runs of a connector are kept.
const keptRuns = 20

// Status is the state of the last run of a connector, empty before the first.
type Status string

// The states of a run. The constraint of the table lists the same.
const (
	Running   Status = "running"
	Succeeded Status = "succeeded"
	Failed    Status = "failed"
)

// kind returns the source. Errors: Invalid if there is none.
func (d *Definition) kind() (kind, error) {
	switch {
	case d.Web != nil:
		return d.Web, nil
	case d.Feed != nil:
		return d.Feed, nil
	case d.Git != nil:
		return d.Git, nil
	case d.S3 != nil:
		return d.S3, nil
	case d.Folder != nil:
		return d.Folder, nil
	case d.MCP != nil:
		return d.MCP, nil
	case d.Postgres != nil:
		return d.Postgres, nil
	case d.MySQL != nil:
		return d.MySQL, nil
	case d.SQLite != nil:
		return d.SQLite, nil
	case d.HTTP != nil:
		return d.HTTP, nil
	}
	return nil, fault.Field("source", "is missing: give one, such as web")
}

// mostItems returns the greatest maxItems of the source.
func (d *Definition) mostItems() int {
	switch {
	case d.Web != nil, d.Feed != nil, d.MCP != nil, d.HTTP != nil:
		return maxVisitedItems
	case d.Git != nil, d.Folder != nil:
		return maxFiles
	}
	return maxItems
}

// complete sets the defaults of empty fields and checks the definition but its expressions.
// Errors: Invalid; Precondition for an address inside the network of the service.
func (d *Definition) complete(guard *outbound.Guard) error {
	if err := textlimit.Check("description", d.Description, maxDescriptionBytes); err != nil {
		return err
	}
	if d.MaxItems == 0 {
		d.MaxItems = defaultItems
	}
	if d.MaxItems < 1 || d.MaxItems > maxItems {
		return fault.Field("maxItems", "must be between 1 and %d, got %d", maxItems, d.MaxItems)
	}
	if most := d.mostItems(); d.MaxItems > most {
		return fault.Field("maxItems", "must be at most %d for this source, got %d", most, d.MaxItems)
	}
	if _, err := parseSchedule(d.Schedule); err != nil {
		return err
	}
	if len(d.Metadata) > maxMetadata {
		return fault.Field("metadata", "must be at most %d expressions, got %d", maxMetadata, len(d.Metadata))
	}
	for name := range d.Metadata {
		if name == "" || len(name) > maxMetadataName {
			return fault.Field("metadata", "names must have 1 to %d bytes", maxMetadataName)
		}
		if name == ownMetadata {
			return fault.Field("metadata", "%q is the name of the connector and cannot be set", ownMetadata)
		}
	}
	source, err := d.kind()
	if err != nil {
		return err
	}
	return source.complete(guard)
}

// ownMetadata is the metadata of all documents of connectors: the name of the connector.
const ownMetadata = "connector"

// checkedRuns is how many runs of a schedule are compared with the shortest interval.
const checkedRuns = 60

// parseSchedule returns the schedule in a text, nil for an empty one. Errors: Invalid.
func parseSchedule(text string) (cron.Schedule, error) {
	if text == "" {
		return nil, nil
	}
	if len(text) > maxScheduleBytes || strings.Contains(text, "=") { // times are UTC
		return nil, fault.Field("schedule", "must be a cron line in UTC of at most %d bytes, without a time zone", maxScheduleBytes)
	}
	schedule, err := cron.ParseStandard(text)
	if err != nil {
		return nil, fault.Field("schedule", `is no cron line of five fields such as "0 3 * * *", nor @hourly, @daily, @weekly or "@every 6h": %s`, textlimit.OneLine(err.Error(), maxReasonBytes))
	}
	at := schedule.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC))
	if at.IsZero() {
		return nil, fault.Field("schedule", "names no time that ever comes")
	}
	for range checkedRuns {
		next := schedule.Next(at)
		if !next.IsZero() && next.Sub(at) < minInterval {
			return nil, fault.Field("schedule", "has two runs within %v of each other, but they must be at least %v apart", next.Sub(at), minInterval)
		}
		at = next
	}
	return schedule, nil
}

// maxJitter bounds what is added to the time of a run at random.
const maxJitter = 5 * time.Minute

// nextRun returns when a connector runs after now, nil without a schedule. random is in [0, 1).
func nextRun(text string, now time.Time, random float64) *time.Time {
	schedule, err := parseSchedule(text)
	if err != nil || schedule == nil {
		return nil
	}
	next := schedule.Next(now.UTC())
	if next.IsZero() {
		return nil
	}
	jitter := min(schedule.Next(next).Sub(next)/10, maxJitter)
	next = next.Add(time.Duration(random * float64(max(jitter, 0))))
	return &next
}
