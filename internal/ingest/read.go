package ingest

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// Limits of reading documents, in bytes.
const (
	// MaxTextRange is the largest range of a text that one call returns.
	MaxTextRange = 4 << 20
	// DefaultTextRange is the range of a call that names no end.
	DefaultTextRange = 1 << 20
	// pieceBytes is how much of a content one statement reads.
	pieceBytes = 1 << 20
)

// Range is a range of bytes. An End of 0 means that the caller named none.
type Range struct{ Start, End int64 }

// check requires a range within size bytes.
func (r Range) check(size int64) error {
	switch {
	case r.Start < 0 || r.Start > size:
		return fault.Field("startByte", "must be from 0 to %d, the size in bytes, got %d", size, r.Start)
	case r.End != 0 && r.End < r.Start:
		return fault.Field("endByte", "must be at least startByte, got %d", r.End)
	}
	return nil
}

// Download calls begin with a document and the name of its index, and send with the bytes of a
// range of its content as it was uploaded, in pieces of at most 1 MiB, which it reads one after
// the other. Errors: NotFound, also for a document that the mandatory filter hides; Invalid for
// a range outside of the content; Conflict if the content is replaced meanwhile; those of begin
// and send.
func (s *Service) Download(ctx context.Context, indexName string, ref Ref, part Range, begin func(Document, string) error, send func([]byte) error) error {
	return s.onIndex(ctx, access.Read, indexName, func(t target) error {
		if err := ref.check(); err != nil {
			return err
		}
		d, err := documentByRef(ctx, t.handle, t.index.ID, ref, t.visible)
		if err != nil {
			return err
		}
		if err := part.check(d.ByteSize); err != nil {
			return err
		}
		if part.End == 0 || part.End > d.ByteSize {
			part.End = d.ByteSize
		}
		if err := begin(d, t.index.Name); err != nil {
			return err
		}
		return t.download(ctx, d, part, send)
	})
}

func (t target) download(ctx context.Context, d Document, part Range, send func([]byte) error) error {
	for at := part.Start; at < part.End; {
		piece, err := t.piece(ctx, d, at, min(part.End-at, pieceBytes))
		if err != nil {
			return err
		}
		if err := send(piece); err != nil {
			return err
		}
		at += int64(len(piece))
	}
	return nil
}

// piece returns up to most bytes of a content from a position on, all of one segment. Errors:
// Conflict if the content has been replaced or the document is no longer visible.
func (t target) piece(ctx context.Context, d Document, at, most int64) ([]byte, error) {
	within := at % segmentBytes
	args := filter.NewArgs(d.DocumentID, d.ContentSHA256, t.index.ID, at/segmentBytes, within+1, min(most, segmentBytes-within))
	piece, err := data.Value[[]byte](ctx, t.handle, `
		SELECT substring(c.content FROM $5::int FOR $6::int)
		FROM tenant.documents AS d JOIN tenant.document_contents AS c ON c.document_id = d.document_id AND c.segment = $4
		WHERE d.document_id = $1 AND d.content_sha256 = $2 AND d.index_id = $3 AND `+t.visible.SQL("d.metadata", args), args.Values()...)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && len(piece) == 0 {
		return nil, fault.New(fault.Conflict, "the document was changed or deleted meanwhile: download it again from the start")
	}
	return piece, err
}

// Text is a range of the text that was read from a document. Positions of the document's chunks
// are bytes of this text.
type Text struct {
	Document    Document
	IndexName   string
	ContentType string // of the text
	Text        string
	Range       Range // of Text; begins and ends between characters
	Size        int64 // of the whole text, in bytes
}

// readText is the text that a worker read from a document.
type readText struct {
	contentType string
	size        int64
	stored      string // the text if it differs from the content, else ""
}

// readText returns what is stored of the text of the task's document.
func (t *task) readText(parsed parse.Document) readText {
	read := readText{contentType: parsed.ContentType, size: int64(len(parsed.Text))}
	if parsed.Text != string(t.content) {
		read.stored = parsed.Text
	}
	return read
}

// Text returns a range of the text that was read from a document: that of the version that
// queries find. The range is widened to whole characters. Without an end it has up to 1 MiB.
// Errors: NotFound, also for a document that the mandatory filter hides; Invalid for a range
// outside of the text or over MaxTextRange; Precondition for a document that has not been read,
// or is processed again with other metadata.
func (s *Service) Text(ctx context.Context, indexName string, ref Ref, part Range) (text Text, err error) {
	err = s.onIndex(ctx, access.Read, indexName, func(t target) error {
		if err := ref.check(); err != nil {
			return err
		}
		text, err = t.text(ctx, ref, part)
		return err
	})
	return text, err
}

func (t target) text(ctx context.Context, ref Ref, part Range) (Text, error) {
	if part.End == 0 {
		part.End = part.Start + DefaultTextRange
	}
	if part.End-part.Start > MaxTextRange {
		return Text{}, fault.Field("endByte", "must be at most %d bytes after startByte: read the text in ranges", MaxTextRange)
	}
	if err := part.check(parse.MaxText); err != nil {
		return Text{}, err
	}
	from := max(part.Start-utf8.UTFMax+1, 0)
	row, err := textOf(ctx, t.handle, t.index.ID, ref, t.visible, Range{from, part.End + utf8.UTFMax - 1})
	if err != nil {
		return Text{}, err
	}
	if row.TextBytes == nil {
		return Text{}, notRead(row.Document)
	}
	if err := part.check(*row.TextBytes); err != nil {
		return Text{}, err
	}
	found := Text{Document: row.Document, IndexName: t.index.Name, ContentType: row.TextType, Size: *row.TextBytes}
	start, end := whole(row.Text, part.Start-from, part.End-from)
	found.Text, found.Range = string(row.Text[start:end]), Range{from + start, from + end}
	return found, nil
}

// whole widens a range of a text to whole characters, within the text.
func whole(text []byte, start, end int64) (int64, int64) {
	size := int64(len(text))
	start, end = min(start, size), min(end, size)
	for start > 0 && start < size && !utf8.RuneStart(text[start]) {
		start--
	}
	for end < size && !utf8.RuneStart(text[end]) {
		end++
	}
	return start, end
}

// textRow is a document with a range of its text.
type textRow struct {
	Document
	Text []byte
}

// textOf returns a document and a range of its text, whose end may be beyond that of the text,
// in one statement: the text is always one that the filter lets be seen.
func textOf(ctx context.Context, q data.Queryer, indexID int64, ref Ref, visible filter.Filter, part Range) (textRow, error) {
	args := filter.NewArgs(indexID, part.Start, part.End, segmentBytes, sentencesSegment)
	where := refSQL(ref, args)
	row, err := data.Get[textRow](ctx, q, `
		SELECT `+documentColumns+`, t.text
		FROM tenant.documents AS d CROSS JOIN LATERAL (
			SELECT string_agg(substring(s.content FROM (greatest($2::bigint - s.start, 0) + 1)::int FOR (least($3::bigint - s.start, $4::bigint) - greatest($2::bigint - s.start, 0))::int), ''::bytea ORDER BY s.start) AS text
			FROM (
				SELECT c.content, (CASE WHEN d.text_stored THEN -1 - c.segment ELSE c.segment END) * $4::bigint AS start
				FROM tenant.document_contents AS c
				WHERE c.document_id = d.document_id AND (c.segment < 0) = d.text_stored AND c.segment > $5 AND d.text_bytes IS NOT NULL
			) AS s
			WHERE s.start < $3::bigint AND s.start + $4::bigint > $2::bigint
		) AS t
		WHERE d.index_id = $1 AND `+where+` AND `+visible.SQL("d.metadata", args), args.Values()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return row, ref.notFound()
	}
	return row, err
}

// notRead returns the error for a document without text.
func notRead(d Document) error {
	if d.Status == DocumentFailed || d.Status == DocumentNeedsOCR {
		return fault.New(fault.Precondition, "the document could not be read: %s", d.Error)
	}
	return fault.New(fault.Precondition, "the document has no text to read yet: it is %s", d.Status)
}

// storeTexts stores the texts of documents that differ from their contents, in segments from -1
// downwards, in place of those of earlier versions.
func storeTexts(ctx context.Context, tx *data.Tx, tasks []*task, older []string) error {
	if len(older) > 0 {
		if _, err := tx.Exec(ctx, `DELETE FROM tenant.document_contents WHERE document_id = ANY($1::uuid[]) AND segment < 0 AND segment > $2`, older, sentencesSegment); err != nil {
			return err
		}
	}
	var next segments
	for _, t := range tasks {
		text := t.text.stored
		for n := 0; n*segmentBytes < len(text); n++ {
			next.add(t.DocumentID, -1-n, text[n*segmentBytes:min((n+1)*segmentBytes, len(text))])
			if next.bytes < segmentBytes {
				continue
			}
			if err := next.insert(ctx, tx); err != nil {
				return err
			}
		}
	}
	return next.insert(ctx, tx)
}

// segments are rows of document_contents by column.
type segments struct {
	documentIDs []string
	numbers     []int
	contents    [][]byte
	bytes       int
}

func (s *segments) add(documentID string, number int, content string) {
	s.documentIDs, s.numbers = append(s.documentIDs, documentID), append(s.numbers, number)
	s.contents, s.bytes = append(s.contents, []byte(content)), s.bytes+len(content)
}

// insert stores the rows in one statement and forgets them.
func (s *segments) insert(ctx context.Context, tx *data.Tx) error {
	if len(s.numbers) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `
		INSERT INTO tenant.document_contents (document_id, segment, content)
		SELECT given.document_id, given.segment, given.content
		FROM unnest($1::uuid[], $2::int[], $3::bytea[]) AS given (document_id, segment, content)`, s.documentIDs, s.numbers, s.contents)
	*s = segments{}
	return err
}
