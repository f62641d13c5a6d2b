package index

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/ragdhq/ragd/internal/index/analyzer"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// versionColumns returns the columns of a new index that say who makes its terms and what is embedded, and their
// values, each after a comma. A schema that is a migration behind may lack some.
func versionColumns(ctx context.Context, q data.Queryer, textLanguage string) (columns, values string, err error) {
	versions := map[string]int{"embedded_form": EmbeddedForm}
	if analyzer.Knows(textLanguage) {
		versions["text_analysis"] = analyzer.Version
	}
	there, err := data.Values[string](ctx, q, `
		SELECT a.attname::text FROM pg_catalog.pg_attribute AS a WHERE a.attrelid = 'tenant.indexes'::regclass AND a.attname = ANY ($1)`,
		slices.Collect(maps.Keys(versions)))
	for _, column := range there {
		columns, values = columns+", "+column, values+", "+strconv.Itoa(versions[column])
	}
	return columns, values, err
}

// languageExists reports whether texts of a language can be searched: by the analyzer, or by a text
// search configuration of the database.
func languageExists(ctx context.Context, q data.Queryer, language string) (bool, error) {
	if analyzer.Knows(language) {
		return true, nil
	}
	return data.Value[bool](ctx, q, `SELECT EXISTS (SELECT FROM pg_catalog.pg_ts_config WHERE cfgname = $1)`, language)
}

// MakesTerms reports whether whoever writes a chunk makes its terms; otherwise a trigger does.
func (i Index) MakesTerms() bool { return analyzer.Knows(i.TextLanguage) }

// LanguageOf returns the language of a document, or of a text that stands for itself; empty if the
// index says which language its texts have, and in a schema that cannot keep it yet.
func (i Index) LanguageOf(text string) string {
	if i.TextLanguage != analyzer.Auto || i.analysis == nil {
		return ""
	}
	return analyzer.Detect(text)
}

// NoteLanguages notes the languages of documents that are being written, each of which questions are stemmed
// in.
func (i Index) NoteLanguages(ctx context.Context, tx *data.Tx, languages []string) error {
	added := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(languages))), func(language string) bool {
		return language == "" || slices.Contains(i.Languages, language)
	})
	if len(added) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO tenant.index_counts AS c (index_id, slot, languages) SELECT $1, pg_backend_pid() % 16, $2
		ON CONFLICT (index_id, slot) DO UPDATE SET languages = c.languages || excluded.languages
		WHERE NOT c.languages @> excluded.languages`, i.ID, added)
	return err
}

// languagesSQL is the SQL of the languages of an index i, in order. A schema that is a migration behind has no such
// column.
const languagesSQL = `CASE i.text_language WHEN '` + analyzer.Auto + `' THEN ARRAY(
	SELECT DISTINCT l FROM tenant.index_counts AS c, jsonb_array_elements_text(to_jsonb(c)->'languages') AS l
	WHERE c.index_id = i.index_id ORDER BY l) ELSE '{}' END`

// AskedLanguages returns the languages in which the analyzer stems questions, for an index whose documents have
// the given languages; none if no chunk has terms of it.
func (i Index) AskedLanguages(noted []string) []string {
	switch {
	case !analyzer.Knows(i.TextLanguage):
		return nil
	case i.TextLanguage != analyzer.Auto:
		return []string{i.TextLanguage}
	case slices.Contains(noted, analyzer.English):
		return noted
	}
	return append([]string{analyzer.English}, noted...) // of texts that are too short to tell
}

// Parsed reports whether some chunks have terms of PostgreSQL's parser: those of an index with a language
// that only PostgreSQL knows, and of one that was made before there was an analyzer, and with it the language auto.
func (i Index) Parsed() bool {
	old := i.analysis == nil || *i.analysis == 0
	return old && i.TextLanguage != analyzer.Auto || !analyzer.Knows(i.TextLanguage)
}

// PhraseSQL returns the SQL of a tsquery for a phrase, given the SQL of its text and of what Phrase
// made of it.
func (i Index) PhraseSQL(text, made string) string {
	parsed := "phraseto_tsquery('" + i.TextLanguage + "', " + text + ")"
	switch {
	case !analyzer.Knows(i.TextLanguage):
		return parsed
	case i.Parsed():
		return "(" + made + "::tsquery || " + parsed + ")"
	}
	return made + "::tsquery"
}
