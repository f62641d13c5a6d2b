package parse

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/emersion/go-message"
	"github.com/emersion/go-message/mail"

	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// postmark matches the line before a message in a mailbox: the sender and the time.
var postmark = regexp.MustCompile(`^From \S+.* \d\d:\d\d(:\d\d)? .*\d{4}`)

// isMailbox reports whether content begins with the line before a message, and a message.
func isMailbox(content []byte) bool {
	line, rest, _ := bytes.Cut(content[:min(len(content), 32<<10)], []byte("\n"))
	return postmark.Match(line) && looksLikeEmail(rest)
}

// mailboxMembers yields the messages of a mailbox as files, each named after its id, so that
// a message keeps its name when others are added or deleted. A message without an id is
// named after its number.
func mailboxMembers(content []byte, b *budget, yield func(Source, error) bool) {
	number := 0
	for len(content) > 0 {
		if number++; number > maxMembers {
			yield(Source{}, tooLarge(Mailbox, "it has more than %d messages", maxMembers))
			return
		}
		var raw []byte
		raw, content = cutMessage(content)
		if int64(len(raw)) > b.left {
			yield(Source{}, unpacksTooFar(Mailbox))
			return
		}
		b.left -= int64(len(raw))
		name := fmt.Sprintf("message %d.eml", number)
		header := headerOf(raw)
		if ids := messageIDs(header.Get("Message-Id")); len(ids) > 0 {
			name = strings.ReplaceAll(ids[0], "/", "_") + ".eml"
		}
		if !yield(Source{Content: raw, ContentType: Email.MediaType(), FileName: name}, nil) {
			return
		}
	}
}

// cutMessage returns the first message of a mailbox, without the line before it and the ">"
// that writers put before lines beginning with From, and the rest of the mailbox.
func cutMessage(content []byte) (raw, rest []byte) {
	_, content, _ = bytes.Cut(content, []byte("\n"))
	at := 0
	quoted := false
	for at < len(content) {
		line := content[at:]
		if n := bytes.IndexByte(line, '\n'); n >= 0 {
			line = line[:n+1]
		}
		if bytes.HasPrefix(line, []byte("From ")) && (at == 0 || isBlankLine(content[:at])) && postmark.Match(line) {
			break
		}
		quoted = quoted || bytes.HasPrefix(line, []byte(">From "))
		at += len(line)
	}
	raw = content[:at]
	if quoted {
		raw = bytes.ReplaceAll(raw, []byte("\n>From "), []byte("\nFrom "))
	}
	return raw, content[at:]
}

// isBlankLine reports whether text ends with an empty line.
func isBlankLine(text []byte) bool {
	return bytes.HasSuffix(text, []byte("\n\n")) || bytes.HasSuffix(text, []byte("\n\r\n"))
}

// headerOf returns the header of a message, an empty one if it is broken.
func headerOf(raw []byte) mail.Header {
	entity, err := message.ReadWithOptions(bytes.NewReader(raw), &message.ReadOptions{MaxHeaderBytes: maxHeader})
	if entity == nil || err != nil && !message.IsUnknownCharset(err) {
		return mail.Header{}
	}
	return mail.Header{Header: entity.Header}
}

// mailbox joins the messages of a mailbox into one document, each under its subject. What a
// message quotes at its end of one that is also in the mailbox is left out.
func (p *parser) mailbox(ctx context.Context) error {
	var known []string
	for member, err := range members(p.src, newBudget()) {
		if err != nil {
			return err
		}
		if name := strings.TrimSuffix(member.FileName, ".eml"); name != member.FileName {
			known = append(known, name)
		}
	}
	slices.Sort(known)
	for member, err := range members(p.src, p.budget) {
		if err != nil {
			return err
		}
		err := p.message(ctx, member, known)
		if err := p.skip(member.FileName, err); err != nil {
			return err
		}
		if p.text.full {
			return nil
		}
	}
	return nil
}

// message appends a message of a mailbox.
func (p *parser) message(ctx context.Context, src Source, known []string) error {
	inner := &parser{src: src, format: Email, budget: p.budget, nesting: p.nesting, answered: known}
	inner.doc.Format, inner.doc.ContentType = Email, markdownType
	if err := inner.parse(ctx); err != nil {
		return err
	}
	d, err := inner.finish()
	if err != nil {
		return err
	}
	p.doc.ContentType = joinedType
	p.append(Span{Kind: Member, Name: textlimit.OneLine(src.FileName, maxProperty)}, "", d)
	return nil
}
