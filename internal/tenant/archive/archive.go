// Package archive exports a tenant as an archive and imports it again, in the same service or in
// another one, while other tenants are served: everything of the tenant, from one snapshot of the database.
// Package frame has the frames of which an archive consists.
//
// The first frame says of what the archive is (Header). Then each table has a frame that names its columns
// (section), and frames with its rows, in the binary format of PostgreSQL's COPY. Columns are found by
// name, so that an archive of an older version of the schemas can be imported: what is new has its default. The
// last frame says how many rows of each table there are (manifest).
//
// An export keeps nothing on the server. Who was cut off calls again and says which frames it has: those are
// not sent again. So a resumed export is as consistent as the first one, and may go on after a restart
// and on any instance.
//
// An import stores rows and how many frames it has stored in one transaction, so it goes on where it
// was after any interruption. Until its end the tenant has the status importing, and nobody sees it.
package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/limit"
	"github.com/ragdhq/ragd/internal/tenant"
	"github.com/ragdhq/ragd/internal/tenant/access/credential"
	"github.com/ragdhq/ragd/internal/tenant/data"
	"github.com/ragdhq/ragd/internal/tenant/provision"
	"github.com/ragdhq/ragd/migrations"
)

const (
	// MaxAtOnce is how many exports, and how many imports, an instance does at once. Each export takes two
	// connections, each import one and batchBytes of memory.
	MaxAtOnce = 2
	// MaxKnown is how many frames a caller may say that it has.
	MaxKnown = 500_000
	// MaxTime ends an export: while it reads its snapshot, PostgreSQL cannot remove dead rows.
	MaxTime = 12 * time.Hour
	// batchBytes is how many bytes of rows an import stores in a transaction.
	batchBytes = 8 << 20
	// maxFrameRows is how many rows a frame may have. A frame that an export makes has fewer: see maxFrame.
	maxFrameRows = 1_000_000
	// maxDescription is how many bytes of JSON the first frame and that of a section may have.
	maxDescription = 64 << 10
	// maxManifestEntry is how many bytes the last frame may have for each section, besides maxDescription.
	maxManifestEntry = 200
)

// Config has what a Service uses. All but Logger and MaxIndexes are required.
type Config struct {
	Tenants *provision.Service
	// Credentials check the keys and issuers of archives.
	Credentials *credential.Service
	// DB has the connections for exports and imports.
	DB *data.DB
	// Version is that of ragd, for the headers of archives.
	Version string
	// MaxIndexes is how many indexes a tenant may have whose settings do not say it. Default: index.DefaultMaxIndexes.
	MaxIndexes int
	// Settle makes the rows of a restored tenant right that depend on its name, its service, or work
	// that has not ended. from is the name of the tenant in the archive. It returns the names of secrets that
	// no key opens.
	Settle func(ctx context.Context, tx *data.Tx, from tenant.ID) (lost []string, err error)
	// Wake is called when an imported tenant is there.
	Wake   func(tenant.ID)
	Logger *slog.Logger
}

// Service exports and imports tenants. Safe for concurrent use.
type Service struct {
	config  Config
	exports *limit.Limiter[string]
	imports *limit.Limiter[string]
}

// New returns a Service.
func New(config Config) *Service {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	config.MaxIndexes = cmp.Or(config.MaxIndexes, index.DefaultMaxIndexes)
	return &Service{config: config, exports: limit.New[string](MaxAtOnce, MaxAtOnce), imports: limit.New[string](MaxAtOnce, MaxAtOnce)}
}

// Header says what an archive is of. It is the same for two exports of a tenant, unless it was migrated between them.
type Header struct {
	TenantID tenant.ID `json:"tenantId"`
	Ragd     string    `json:"ragd"` // version
	Schemas  Schemas   `json:"schemas"`
	PGVector string    `json:"pgvector"` // version of the extension
	// WithoutKeys says that API keys and issuers were left out.
	WithoutKeys bool `json:"withoutKeys,omitempty"`
	// Asleep says that it is the archive of a tenant that sleeps in its service: rows of the control schema, which
	// stay there, were left out, and rows that mean nothing elsewhere were not.
	Asleep bool `json:"asleep,omitempty"`
}

// Schemas are the versions of the schemas that an archive was read from.
type Schemas struct {
	Control int `json:"control"`
	Shared  int `json:"shared"`
	Tenant  int `json:"tenant"`
}

// newest are the versions of this ragd.
func newest() Schemas {
	return Schemas{migrations.Newest(migrations.Control()), migrations.Newest(migrations.Shared()), migrations.Newest(migrations.Tenant())}
}

// check returns an error for the header of an archive that this ragd cannot import. Errors: Invalid.
func (h Header) check() error {
	if _, err := tenant.ParseID(string(h.TenantID)); err != nil {
		return fault.New(fault.Invalid, "the archive does not say of which tenant it is")
	}
	if have := newest(); h.Schemas.Control > have.Control || h.Schemas.Shared > have.Shared || h.Schemas.Tenant > have.Tenant {
		return fault.New(fault.Invalid, "the archive was made by ragd %s with the versions %d, %d and %d of the schemas (control, shared, tenant), and this ragd knows them up to %d, %d and %d: import it with ragd %[1]s or a newer one",
			shorten(h.Ragd), h.Schemas.Control, h.Schemas.Shared, h.Schemas.Tenant, have.Control, have.Shared, have.Tenant)
	}
	return nil
}

// column is a column of a section.
type column struct {
	Name string `json:"name"`
	Type string `json:"type"` // such as vector(384)
}

// section says of which table the following rows are.
type section struct {
	Table   string   `json:"table"`             // such as tenant/documents
	IndexID int64    `json:"indexId,omitempty"` // of a table of an index
	LastID  int64    `json:"lastId,omitempty"`  // of tenant/indexes: the highest id that was given
	Columns []column `json:"columns"`
}

// key names the rows of a section, such as index/chunk/1.
func (s section) key() string {
	if s.IndexID == 0 {
		return s.Table
	}
	return s.Table + "/" + itoa(s.IndexID)
}

// manifest says what an archive has.
type manifest struct {
	ExportedAt time.Time        `json:"exportedAt"`
	Rows       map[string]int64 `json:"rows"` // by section
}

// decode reads the JSON of a frame, of at most most bytes. Errors: Invalid.
func decode(content []byte, into any, most int) error {
	if len(content) > most {
		return fault.New(fault.Invalid, "the archive has a frame of JSON with %d bytes, and it may have %d", len(content), most)
	}
	if err := json.Unmarshal(content, into); err != nil {
		return fault.Wrap(fault.Invalid, err, "the archive has a frame that cannot be read")
	}
	return nil
}
