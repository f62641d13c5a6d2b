package parse

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"path"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// Members yields the files of a zip or tar archive, compressed or not, or the messages of a mailbox
// in their order. It skips folders, links, hidden files and __MACOSX. A member that cannot be
// read is yielded with its FileName and an error; an archive that cannot be read any
// further ends the sequence with an error and no FileName.
func Members(src Source) iter.Seq2[Source, error] { return members(src, newBudget()) }

func members(src Source, b *budget) iter.Seq2[Source, error] {
	return func(yield func(Source, error) bool) {
		format, err := Detect(src)
		switch {
		case err != nil:
			yield(Source{}, err)
		case format == Zip:
			zipMembers(src.Content, b, yield)
		case format == Tar:
			tarMembers(src.Content, b, yield)
		case format == Mailbox:
			mailboxMembers(src.Content, b, yield)
		default:
			yield(Source{}, fault.Field("content", "is a %s file, not an archive", format.Name()))
		}
	}
}

func zipMembers(content []byte, b *budget, yield func(Source, error) bool) {
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		yield(Source{}, broken(Zip, err))
		return
	}
	if len(archive.File) > maxMembers {
		yield(Source{}, tooLarge(Zip, "it has %d members, over the limit of %d", len(archive.File), maxMembers))
		return
	}
	for _, f := range archive.File {
		if !f.Mode().IsRegular() || passedOver(f.Name) {
			continue
		}
		if f.Flags&flagEncrypted != 0 {
			yield(Source{}, encrypted(Zip))
			return
		}
		data, err := readZipMember(f, b)
		if errors.Is(err, errBudget) {
			yield(Source{}, unpacksTooFar(Zip))
			return
		}
		if err != nil {
			err = broken(Zip, err)
		}
		if !yield(Source{Content: data, FileName: f.Name, Modified: f.Modified}, err) {
			return
		}
	}
}

func readZipMember(f *zip.File, b *budget) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return b.read(r)
}

func tarMembers(content []byte, b *budget, yield func(Source, error) bool) {
	var r io.Reader = bytes.NewReader(content)
	if !isTar(content) {
		unpacked, err := Decompress(content, r)
		if err != nil {
			yield(Source{}, broken(Tar, err))
			return
		}
		defer unpacked.Close()
		// Skipped members are unpacked as well, so the limit covers the whole stream.
		r = io.LimitReader(unpacked, maxUnpacked)
	}
	archive := tar.NewReader(r)
	for number := 0; ; number++ {
		header, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			yield(Source{}, broken(Tar, err))
			return
		case number >= maxMembers:
			yield(Source{}, tooLarge(Tar, "it has more than %d members", maxMembers))
			return
		case header.Typeflag != tar.TypeReg || passedOver(header.Name):
			continue
		}
		data, err := b.read(archive)
		switch {
		case errors.Is(err, errBudget):
			yield(Source{}, unpacksTooFar(Tar))
			return
		case err != nil: // the members after it cannot be found either
			yield(Source{}, broken(Tar, err))
			return
		}
		if !yield(Source{Content: data, FileName: header.Name, Modified: header.ModTime}, nil) {
			return
		}
	}
}

// passedOver reports whether a member is skipped: hidden, or made by an operating system.
func passedOver(name string) bool {
	for part := range strings.SplitSeq(strings.ReplaceAll(name, `\`, "/"), "/") {
		if part == "__MACOSX" || strings.HasPrefix(part, ".") && part != "." && part != ".." {
			return true
		}
	}
	return false
}

// archive joins all members of an archive into one document, each under its name as a
// heading. Members that cannot be read are listed in Document.Skipped.
func (p *parser) archive(ctx context.Context) error {
	if p.nesting == 0 {
		return tooLarge(p.format, "archives stand in each other more than %d deep", maxNesting)
	}
	for member, err := range members(p.src, p.budget) {
		if err != nil && member.FileName == "" {
			return err
		}
		if err == nil {
			err = p.member(ctx, member)
		}
		if err := p.skip(member.FileName, err); err != nil {
			return err
		}
		if p.text.full {
			return nil
		}
	}
	return nil
}

// joinedType is the content type of several joined files: Markdown in which the
// headings of different files are not related.
const joinedType = markdownType + "; variant=joined"

// skip records that a member could not be read. It returns err if the member is not the
// cause: the context has ended, or the budget is used up.
func (p *parser) skip(name string, err error) error {
	if err == nil {
		return nil
	}
	if !isInvalid(err) {
		return err
	}
	if len(p.doc.Skipped) < maxSkipped {
		p.doc.Skipped = append(p.doc.Skipped, textlimit.OneLine(name, maxProperty)+": "+strings.TrimPrefix(fault.Public(err), "content: "))
	}
	return nil
}

const maxSkipped = 100

// member appends a file's text with its spans.
func (p *parser) member(ctx context.Context, src Source) error {
	src.Recognize, src.Pictures, src.Convert = p.src.Recognize, p.src.Pictures, p.src.Convert
	src.Recordings, src.Transcripts = p.src.Recordings, p.src.Transcripts
	inner, err := parseWithin(ctx, src, p.budget, p.nesting-1)
	if err != nil {
		return err
	}
	if err := p.unheard(inner.Unheard); err != nil {
		return err
	}
	if p.doc.Scanned == nil {
		p.doc.Scanned = inner.Scanned
	}
	if inner.Text == "" {
		return noText(inner.Format, nil)
	}
	p.doc.ContentType = joinedType
	name := cmp.Or(textlimit.OneLine(path.Clean(strings.ReplaceAll(src.FileName, `\`, "/")), maxProperty), "unnamed")
	p.append(Span{Kind: Member, Name: name}, "# "+name, inner)
	return nil
}

// append appends the text of a file within this one under a heading, with its spans.
func (p *parser) append(as Span, heading string, inner Document) {
	_ = p.text.span(as, func() error {
		p.text.block(heading)
		if p.text.Len() > 0 {
			p.text.write("\n\n")
		}
		start := p.text.Len()
		p.text.write(inner.Text)
		if p.text.full {
			return nil
		}
		for _, s := range inner.Spans {
			if s.Kind == Member { // only the outer name is kept, because spans of one kind do not overlap
				continue
			}
			s.Start, s.End = s.Start+start, s.End+start
			p.text.spans = append(p.text.spans, s)
		}
		for _, f := range inner.Figures {
			f.Start, f.End = f.Start+start, f.End+start
			p.doc.Figures = append(p.doc.Figures, f)
		}
		p.doc.Skipped = append(p.doc.Skipped, inner.Skipped...)
		return nil
	})
}
