package index

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/index/analyzer"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// executor runs statements on the tables of an index: a transaction or a session.
type executor interface {
	Script(ctx context.Context, statements ...string) error
}

// makeTables creates the chunk table of an index with its Postgres indexes, except the one
// over the embeddings, which is built later, and the table of words. The table also holds ready-made vectors, which
// have no document. The other tables are made when they are first used: see makeOnce.
//
// Definitions take no parameters. The values in their text are numbers, names from
// lists in this package or from languagePattern, and field names as the filter compiler
// quotes them.
func makeTables(ctx context.Context, tx *data.Tx, i Index) error {
	return i.executeAll(ctx, tx, slices.Concat(i.makeChunks(tx.Distributed()), i.makeTriggers(), makeWords(), []string{allWords}))
}

// makeOnce runs the statements that make a table of an index, unless it exists. Of concurrent
// calls one makes it. The index is not deleted meanwhile. Errors: NotFound if it has been.
func makeOnce(ctx context.Context, h *data.Handle, i Index, table string, statements []string) error {
	return h.Tx(ctx, func(tx *data.Tx) error {
		if err := tx.Lock(ctx, fmt.Sprintf("%s_%d", table, i.ID)); err != nil {
			return err
		}
		made, err := data.Value[bool](ctx, tx, `
			SELECT to_regclass('tenant.`+table+`') IS NOT NULL FROM tenant.indexes AS i WHERE i.index_id = $1 FOR KEY SHARE`, i.ID)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return errDeleted
		case err != nil || made:
			return err
		}
		return i.executeAll(ctx, tx, statements)
	})
}

// makeChunks returns the statements that create the chunk table.
func (i Index) makeChunks(distributed bool) []string {
	return append(i.makeBareChunks(distributed), i.indexChunks()...)
}

// makeBareChunks returns the statements that create the chunk table without its Postgres indexes,
// but for that of the primary key.
func (i Index) makeBareChunks(distributed bool) []string {
	if !distributed {
		return i.defineChunks(`CREATE TABLE tenant.chunk`, `tenant.chunk`)
	}
	// Citus does not change how the columns of a table are stored, but makes a table like another one.
	const model = `pg_temp.chunk_model`
	return append(i.defineChunks(`CREATE TEMP TABLE chunk_model`, model),
		`CREATE TABLE tenant.chunk (LIKE `+model+` INCLUDING ALL)`,
		fmt.Sprintf(`ALTER TABLE tenant.chunk SET (toast_tuple_target = %d)`, i.toastTarget()),
		`DROP TABLE `+model)
}

// defineChunks returns the statements that create a table of chunks, which the first one names.
func (i Index) defineChunks(create, table string) []string {
	return []string{
		create + ` (
			document_id  uuid,
			ordinal      int NOT NULL DEFAULT 0,
			start_byte   int NOT NULL DEFAULT 0,
			end_byte     int NOT NULL DEFAULT 0,
			token_count  int NOT NULL DEFAULT 0,
			embedding    ` + i.columnType() + ` NOT NULL,
			term_weights sparsevec,
			namespace    text COLLATE "C" NOT NULL DEFAULT '` + DefaultNamespace + `',
			chunk_id     text COLLATE "C" NOT NULL,
			metadata     jsonb NOT NULL,
			sparse       sparsevec, -- of a ready-made vector, beside its embedding; null for none
			content_keys text[], -- keys of metadata that were read from the content; null for none
			title        text NOT NULL DEFAULT '',
			text         text NOT NULL DEFAULT '',
			terms        tsvector,
			PRIMARY KEY (namespace, chunk_id)
		)`,
		i.storage(table),
		// LZ4 takes a fraction of the time of the default. A server may be built without it.
		`DO $$ BEGIN
			IF (SELECT 'lz4' = ANY(s.enumvals) FROM pg_catalog.pg_settings AS s WHERE s.name = 'default_toast_compression') THEN
				ALTER TABLE ` + table + ` ALTER term_weights SET COMPRESSION lz4, ALTER metadata SET COMPRESSION lz4,
					ALTER text SET COMPRESSION lz4, ALTER terms SET COMPRESSION lz4;
			END IF;
		END $$`,
	}
}

// indexChunks returns the statements that create the Postgres indexes on chunks, except the one over
// the embeddings.
func (i Index) indexChunks() []string {
	statements := []string{
		`CREATE INDEX ON tenant.chunk (document_id, ordinal) WHERE document_id IS NOT NULL`,
		`CREATE INDEX ON tenant.chunk USING gin (terms)`,
		`CREATE INDEX ON tenant.chunk USING gin (metadata jsonb_path_ops)`,
	}
	onMetadata := i.metadataIndexes()
	for _, name := range slices.Sorted(maps.Keys(onMetadata)) {
		statements = append(statements, onMetadata[name])
	}
	return statements
}

// Sizes of PostgreSQL's storage, in bytes.
const (
	pageBytes    = 8168 // of a page for rows, without its header
	pointerBytes = 4    // of a page for each row
	alignment    = 8
	// toastTarget is the size to which PostgreSQL shrinks larger rows by default, by moving
	// their values to the TOAST table. maxToastTarget is the largest that can be set.
	toastTarget    = 2032
	maxToastTarget = 8160
	// searchedBytes is about what searches read of a chunk besides its embedding.
	searchedBytes = 600
)

// storage returns the statement that says which columns are stored inside the row of a
// chunk: those that a search reads of thousands of chunks. Of the others, text and terms
// go to the TOAST table as soon as fewer rows would fit into a page. With the default
// target, embeddings that are stored inside a row would drive all other columns out of it,
// each with a row and an index entry of its own.
func (i Index) storage(table string) string {
	change := `ALTER TABLE ` + table + ` ALTER chunk_id SET STORAGE MAIN, ALTER namespace SET STORAGE MAIN, ALTER title SET STORAGE MAIN,
			ALTER metadata SET STORAGE MAIN, ALTER term_weights SET STORAGE MAIN, ALTER sparse SET STORAGE MAIN`
	if i.Dimension > traits[i.VectorType].maxInline {
		return change
	}
	return change + fmt.Sprintf(`, ALTER embedding SET STORAGE PLAIN, SET (toast_tuple_target = %d)`, i.toastTarget())
}

// toastTarget returns the size to which rows of chunks are shrunk.
func (i Index) toastTarget() int {
	if i.Dimension > traits[i.VectorType].maxInline {
		return toastTarget
	}
	rows := max(1, pageBytes/(i.VectorType.bytes(i.Dimension)+searchedBytes))
	return max(toastTarget, min(maxToastTarget, (pageBytes/rows-pointerBytes)/alignment*alignment))
}

// columnType returns the SQL type of the embeddings.
func (i Index) columnType() string { return fmt.Sprintf("%s(%d)", i.VectorType, i.Dimension) }

// makeTriggers returns the statements that make the triggers of the chunk table.
func (i Index) makeTriggers() []string { return append(i.makeTermsTrigger(), i.makeEdgesTrigger()) }

// makeTermsTrigger returns the statements that make the trigger that sets the terms of a chunk that is
// written without them; none where writers make the terms.
func (i Index) makeTermsTrigger() []string {
	if analyzer.Knows(i.TextLanguage) {
		return nil
	}
	return []string{`CREATE TRIGGER weigh_terms BEFORE INSERT OR UPDATE OF metadata ON tenant.chunk FOR EACH ROW
		WHEN (NEW.terms IS NULL AND (NEW.text <> '' OR NEW.title <> '' OR NEW.document_id IS NULL AND jsonb_typeof(NEW.metadata->'text') = 'string'))
		EXECUTE FUNCTION ragd_shared.weigh_terms('` + i.TextLanguage + `')`}
}

// executeAll runs statements, if there are any, in one round trip.
func (i Index) executeAll(ctx context.Context, on executor, statements []string) error {
	if len(statements) == 0 {
		return nil
	}
	if err := on.Script(ctx, statements...); err != nil {
		return fmt.Errorf("change the tables of index %d: %w", i.ID, err)
	}
	return nil
}

// metadataPrefix begins the names of Postgres indexes on fields of the metadata.
const metadataPrefix = "metadata_"

// OnMetadataField reports whether a Postgres index of a chunk table, given by name, is one on
// a field of the metadata. The planner uses it only if it sees the name of the field.
func OnMetadataField(name string) bool { return strings.HasPrefix(name, metadataPrefix) }

// metadataIndexes returns the statements that create the Postgres indexes on metadata, three
// for each field, by the names of these indexes.
func (i Index) metadataIndexes() map[string]string {
	statements := map[string]string{}
	for _, field := range i.MetadataIndexes {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(field)) // never fails
		suffix := hex.EncodeToString(hash.Sum(nil))
		for kind, expression := range map[string]string{"text": filter.TextIndex("metadata", field), "number": filter.NumberIndex("metadata", field),
			"time": filter.InstantIndex("metadata", field)} {
			name := fmt.Sprintf(metadataPrefix+"%s_%s_%s", i.tables(), kind, suffix)
			statements[name] = fmt.Sprintf(`CREATE INDEX %s ON tenant.chunk (%s)`, name, expression)
		}
	}
	return statements
}

// metadataIndex is a Postgres index on metadata that exists.
type metadataIndex struct {
	Name  string
	Valid bool
}

// metadataIndexesOf returns the Postgres indexes on metadata of the chunk table, by name.
func metadataIndexesOf(ctx context.Context, q data.Queryer) ([]metadataIndex, error) {
	return data.Select[metadataIndex](ctx, q, `
		SELECT c.relname::text AS name, x.indisvalid AND x.indisready AS valid
		FROM pg_catalog.pg_index AS x JOIN pg_catalog.pg_class AS c ON c.oid = x.indexrelid
		WHERE x.indrelid = 'tenant.chunk'::regclass AND c.relname LIKE 'metadata\_%' ORDER BY c.relname`)
}

// matchMetadataIndexes makes the Postgres indexes on metadata match the settings of an
// index, whatever exists: it drops those that no setting names or that are not valid, and
// creates those that are missing.
func matchMetadataIndexes(ctx context.Context, tx *data.Tx, i Index) error {
	existing, err := metadataIndexesOf(ctx, tx)
	if err != nil {
		return err
	}
	missing := i.metadataIndexes()
	var statements []string
	for _, e := range existing {
		if _, wanted := missing[e.Name]; wanted && e.Valid {
			delete(missing, e.Name)
		} else {
			statements = append(statements, `DROP INDEX tenant.`+pgx.Identifier{e.Name}.Sanitize())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		statements = append(statements, missing[name])
	}
	return i.executeAll(ctx, tx, statements)
}

// dropBuilt drops the Postgres index over the embeddings.
func dropBuilt(ctx context.Context, on executor, i Index) error {
	return i.executeAll(ctx, on, []string{`DROP INDEX IF EXISTS tenant.` + i.builtName(), `DROP INDEX IF EXISTS tenant.` + i.unfinishedName()})
}

// dropUnfinished drops the unfinished Postgres index of a failed build.
func dropUnfinished(ctx context.Context, on executor, i Index) error {
	return i.executeAll(ctx, on, []string{fmt.Sprintf(`DROP INDEX IF EXISTS tenant.%s`, i.unfinishedName())})
}

// builtName returns the name of the Postgres index over the embeddings.
func (i Index) builtName() string { return "embedding_" + i.tables() }

// unfinishedName returns the name of the Postgres index over the embeddings while it is
// being built.
func (i Index) unfinishedName() string { return i.builtName() + "_new" }

// tables returns the part of the names of Postgres indexes that identifies the index and
// the generation of its chunks.
func (i Index) tables() string {
	if i.Generation == 0 {
		return strconv.FormatInt(i.ID, 10)
	}
	return fmt.Sprintf("%d_%d", i.ID, i.Generation)
}
