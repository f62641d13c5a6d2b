package prompt

import (
	"context"
	"time"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

type row struct {
	PromptName  string
	Version     int
	VersionName string
	Definition  Definition
	CreatedAt   time.Time
}

func (r row) prompt() Prompt {
	return Prompt{Name: r.PromptName, Version: r.Version, VersionName: r.VersionName, Definition: r.Definition, CreatedAt: r.CreatedAt}
}

func promptsOf(rows []row) []Prompt {
	all := make([]Prompt, len(rows))
	for i, r := range rows {
		all[i] = r.prompt()
	}
	return all
}

const columns = `prompt_name, version, version_name, definition, created_at`

// prompts is the table of prompts: the latest version of each.
var prompts = catalog.Table[row]{
	Noun: "prompt", Plural: "prompts", Most: maxPrompts,
	Name:     func(r row) string { return r.PromptName },
	CountSQL: `SELECT count(DISTINCT prompt_name) FROM ragd_shared.prompts`,
	FindSQL:  `SELECT ` + columns + ` FROM ragd_shared.prompts WHERE prompt_name = $1 ORDER BY version DESC LIMIT 1`,
	ListSQL: `
		SELECT DISTINCT ON (prompt_name) ` + columns + ` FROM ragd_shared.prompts WHERE prompt_name > $1
		ORDER BY prompt_name, version DESC LIMIT $2`,
}

// versions returns all versions of a prompt, the newest first.
func versions(ctx context.Context, q data.Queryer, name string) ([]Prompt, error) {
	rows, err := data.Select[row](ctx, q, `SELECT `+columns+` FROM ragd_shared.prompts WHERE prompt_name = $1 ORDER BY version DESC`, name)
	return promptsOf(rows), err
}

// insert stores version 1 of a prompt.
func insert(ctx context.Context, h *data.Handle, p Prompt) (made Prompt, err error) {
	err = h.Tx(ctx, func(tx *data.Tx) error {
		if err := prompts.CheckFree(ctx, tx, p.Name); err != nil {
			return err
		}
		if err := prompts.CheckQuota(ctx, tx); err != nil {
			return err
		}
		p.Version = 1
		made, err = write(ctx, tx, p)
		return err
	})
	return made, err
}

// write stores a version that must not exist.
func write(ctx context.Context, tx *data.Tx, p Prompt) (Prompt, error) {
	stored, err := prompts.Update(ctx, tx, p.Name, `
		INSERT INTO ragd_shared.prompts (prompt_name, version, version_name, definition)
		VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING `+columns, p.Name, p.Version, p.VersionName, p.Definition)
	return stored.prompt(), err
}

// insertVersion stores a definition as the version after that of p, which must be the latest.
func insertVersion(ctx context.Context, h *data.Handle, p Prompt) (made Prompt, err error) {
	err = h.Tx(ctx, func(tx *data.Tx) error {
		if err := prompts.Lock(ctx, tx); err != nil {
			return err
		}
		stored, err := versions(ctx, tx, p.Name)
		switch {
		case err != nil:
			return err
		case len(stored) == 0 || stored[0].Version != p.Version:
			return prompts.Changed(p.Name)
		case len(stored) >= maxVersions:
			return fault.New(fault.Exhausted, "a prompt may have %d versions: delete one that is no longer needed", maxVersions)
		}
		p.Version++
		if err := takeName(ctx, tx, p); err != nil {
			return err
		}
		made, err = write(ctx, tx, p)
		return err
	})
	return made, err
}

// nameVersion gives a version its name.
func nameVersion(ctx context.Context, h *data.Handle, p Prompt) (named Prompt, err error) {
	err = h.Tx(ctx, func(tx *data.Tx) error {
		if err := prompts.Lock(ctx, tx); err != nil {
			return err
		}
		if err := takeName(ctx, tx, p); err != nil {
			return err
		}
		stored, err := prompts.Update(ctx, tx, p.Name, `
			UPDATE ragd_shared.prompts SET version_name = $3 WHERE prompt_name = $1 AND version = $2 RETURNING `+columns, p.Name, p.Version, p.VersionName)
		named = stored.prompt()
		return err
	})
	return named, err
}

// takeName takes the name of a version from other versions.
func takeName(ctx context.Context, tx *data.Tx, p Prompt) error {
	if p.VersionName == "" {
		return nil
	}
	_, err := tx.Exec(ctx, `UPDATE ragd_shared.prompts SET version_name = '' WHERE prompt_name = $1 AND version_name = $2`, p.Name, p.VersionName)
	return err
}

// remove deletes a version of a prompt, or all of them for 0.
func remove(ctx context.Context, h *data.Handle, name string, version int) error {
	_, err := h.Exec(ctx, `DELETE FROM ragd_shared.prompts WHERE prompt_name = $1 AND ($2 = 0 OR version = $2)`, name, version)
	return err
}
