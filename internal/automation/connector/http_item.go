package connector

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/automation/connector/manifest"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// document visits the document of a record, and those of its attachments.
func (x *apiWalk) document(ctx context.Context, s *manifest.Stream, record, scope map[string]any) error {
	item, err := x.item(ctx, s, record, scope)
	if err != nil {
		return err
	}
	metadata := item.Metadata
	if err := x.emit(item); err != nil {
		return err
	}
	if s.Document == nil || s.Document.Attachments == nil || item.Skipped != "" {
		return nil
	}
	return x.attachments(ctx, s, item, metadata, scope)
}

const deletedAtSource = "it was deleted at the source"

// item returns what a record is. Errors are about the run.
func (x *apiWalk) item(ctx context.Context, s *manifest.Stream, record, scope map[string]any) (Item, error) {
	d := s.Document
	if d == nil {
		return x.plain(s, record, scope)
	}
	id, err := d.ID.Text(ctx, scope)
	if d.ID.IsZero() {
		id, err = x.id(s, record, scope)
	}
	if err != nil {
		return Item{}, err
	}
	item := Item{ID: id, ContentType: d.ContentType, State: State{Known: true}}
	fails := func(err error) (Item, error) {
		if fault.KindOf(err) != fault.Invalid {
			return item, err
		}
		// A document whose readers cannot be told is not kept for those of the last walk.
		if why := fault.Public(err); d.HasAccess() {
			item.Skipped, item.State.Skipped = why, textlimit.OneLine(why, maxReasonBytes)
		} else {
			item.Failed = why
		}
		return item, nil
	}
	for why, t := range map[string]manifest.Template{deletedAtSource: d.Deleted, "the manifest leaves it out": d.Skip} {
		is, err := t.True(ctx, scope)
		if err != nil {
			return fails(err)
		}
		if is && item.Skipped == "" {
			item.Skipped, item.State.Skipped = why, why
		}
	}
	if item.Skipped != "" {
		return item, nil
	}
	if item.Metadata, err = x.metadata(ctx, s, scope); err != nil {
		return fails(err)
	}
	title, err := d.Title.Text(ctx, scope)
	if err != nil {
		return fails(err)
	}
	item.Title, item.Attributes = textlimit.OneLine(title, maxReasonBytes), record
	modified, err := d.Modified.Text(ctx, scope)
	if err != nil {
		return fails(err)
	}
	formats := []string{"%s"}
	if s.Cursor != nil {
		formats = append(slices.Clone(s.Cursor.Formats), formats...)
	}
	if at, ok := manifest.ParseTime(formats, modified); ok {
		item.Modified = at
	}
	if len(d.Parts) > 0 {
		if item.State.ETag, err = x.version(ctx, d, modified, item, scope); err != nil {
			return fails(err)
		}
		known, err := x.known(ctx, id)
		if err != nil {
			return item, err
		}
		if same, ok := known.unchanged(id, item.State.ETag); ok {
			same.Metadata = item.Metadata
			return same, nil
		}
	}
	text, err := d.Text.Text(ctx, scope)
	if err != nil {
		return fails(err)
	}
	if text, err = x.parts(ctx, d, text, record, scope); err != nil {
		return item, err
	}
	if item.Content = []byte(text); len(text) > maxItemBytes {
		return item.tooLarge(), nil
	}
	if strings.TrimSpace(text) == "" {
		item.Skipped, item.State.Skipped = "it has no text", "it has no text"
	}
	return item, nil
}

// plain returns a record of a stream without document: its text is the record as JSON.
func (x *apiWalk) plain(s *manifest.Stream, record, scope map[string]any) (Item, error) {
	id, err := x.id(s, record, scope)
	if err != nil {
		return Item{}, err
	}
	raw, err := json.MarshalIndent(record, "", "  ")
	return Item{ID: id, ContentType: "application/json", Content: raw, Attributes: record, State: State{Known: true}}, err
}

// id returns the id of a record that the manifest names none for: its partition and primary key, or a hash of
// a record without key.
func (x *apiWalk) id(s *manifest.Stream, record, scope map[string]any) (string, error) {
	steps := []string{s.Name}
	partition := scope["stream_partition"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(partition)) {
		text, err := manifest.Text(partition[name])
		if err != nil {
			return "", err
		}
		steps = append(steps, text)
	}
	for _, path := range s.PrimaryKey {
		text, err := manifest.Text(valueAt(record, path))
		if err != nil {
			return "", err
		}
		steps = append(steps, text)
	}
	if len(s.PrimaryKey) == 0 {
		raw, err := json.Marshal(record)
		if err != nil {
			return "", err
		}
		steps = append(steps, shortHash(raw))
	}
	return pathURI(apiURL(x.connector), strings.Join(steps, "/")), nil
}

// version returns a hash that changes with each change of a document which the record shows.
func (x *apiWalk) version(ctx context.Context, d *manifest.Document, modified string, item Item, scope map[string]any) (string, error) {
	stated, err := d.Version.Text(ctx, scope)
	if err != nil || d.Stateless() {
		return "", err
	}
	raw, err := json.Marshal([]any{cmp.Or(stated, modified), item.Title, item.Metadata})
	return shortHash(raw), err
}

// shortHash returns a hash of 128 bits.
func shortHash(raw []byte) string {
	hash := sha256.Sum256(raw)
	return hex.EncodeToString(hash[:16])
}

// parts returns the text of a document with those of its parts.
func (x *apiWalk) parts(ctx context.Context, d *manifest.Document, text string, record, scope map[string]any) (string, error) {
	texts := []string{text}
	size := len(text)
	for _, p := range d.Parts {
		if !p.When.IsZero() {
			has, err := p.When.True(ctx, scope)
			if err != nil {
				return "", err
			}
			if !has {
				continue
			}
		}
		err := x.part(ctx, p, record, scope, 0, func(one string) error {
			if size <= maxItemBytes { // the one that is too much shows that the document is too large
				texts, size = append(texts, one), size+len(one)
			}
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return strings.Join(texts, "\n\n"), nil
}

// part calls add with the texts of the records of a part, and of those below them.
func (x *apiWalk) part(ctx context.Context, p manifest.Part, of, scope map[string]any, depth int, add func(string) error) error {
	key := valueAt(of, p.Key)
	if key == nil || depth > maxPartDepth {
		return nil
	}
	return x.read(ctx, withoutCursor(p.Stream), inPartition(scope, p.Field, key, of), func(record, scope map[string]any) error {
		text, err := p.Text.Text(ctx, scope)
		if err != nil {
			return err
		}
		if text != "" {
			if err := add(text); err != nil {
				return err
			}
		}
		more, err := p.Recurse.True(ctx, scope)
		if err != nil || !more {
			return err
		}
		return x.part(ctx, p, record, scope, depth+1, add)
	})
}
