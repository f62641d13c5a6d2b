package parse

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/emersion/go-message"
	"github.com/emersion/go-message/mail"

	"github.com/ragdhq/ragd/internal/ingest/parse/mailbox"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// isMailbox reports whether content begins with the line before a message, and a message.
func isMailbox(content []byte) bool {
	line, rest, _ := bytes.Cut(content[:min(len(content), 32<<10)], []byte("\n"))
	return mailbox.IsPostmark(line) && looksLikeEmail(rest)
}

// startsMailbox reports whether content begins with the line before a message, whatever the message looks like.
func startsMailbox(content []byte) bool {
	line, _, _ := bytes.Cut(content[:min(len(content), 32<<10)], []byte("\n"))
	return mailbox.IsPostmark(line)
}

// mailboxMembers yields the messages of a mailbox as files, each named as MessageName says.
func mailboxMembers(content []byte, b *budget, yield func(Source, error) bool) {
	number := 0
	for raw, err := range mailbox.Messages(bytes.NewReader(content), maxUnpacked) {
		if number++; number > maxMembers {
			yield(Source{}, tooLarge(Mailbox, "it has more than %d messages", maxMembers))
			return
		}
		if err != nil || int64(len(raw)) > b.left {
			yield(Source{}, unpacksTooFar(Mailbox))
			return
		}
		b.left -= int64(len(raw))
		if !yield(Source{Content: raw, ContentType: Email.MediaType(), FileName: MessageName(raw, number)}, nil) {
			return
		}
	}
}

// MessageName returns the name of a message of a mailbox as a file: its id, so that it keeps its name when
// others are added or deleted, else its number.
func MessageName(raw []byte, number int) string {
	if id, _ := MessageIDs(raw); id != "" {
		return strings.ReplaceAll(id, "/", "_") + ".eml"
	}
	return fmt.Sprintf("message %d.eml", number)
}

// MessageIDs returns the id of a message and that of the message that it answers, "" if it does not say them.
func MessageIDs(raw []byte) (id, answered string) {
	header := headerOf(raw)
	return firstID(header.Get("Message-Id")), answeredID(firstID(header.Get("In-Reply-To")), messageIDs(header.Get("References")))
}

// QuotedElsewhere is a field of the header of a message that says that what it quotes at its end is a document of its
// own, and not to be read again.
const QuotedElsewhere = "X-Ragd-Quoted-Elsewhere"

// headerOf returns the header of a message, an empty one if it is broken.
func headerOf(raw []byte) mail.Header {
	entity, err := message.ReadWithOptions(bytes.NewReader(raw), &message.ReadOptions{MaxHeaderBytes: maxHeader})
	if entity == nil || err != nil && !message.IsUnknownCharset(err) {
		return mail.Header{}
	}
	return mail.Header{Header: entity.Header}
}

// joinMailbox joins the messages of a mailbox into one document, each under its subject. What a
// message quotes at its end of one that is also in the mailbox is left out.
func (p *parser) joinMailbox(ctx context.Context) error {
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
	if err := p.unheard(d.Unheard); err != nil {
		return err
	}
	p.doc.ContentType = joinedType
	p.append(Span{Kind: Member, Name: textlimit.OneLine(src.FileName, maxProperty)}, "", d)
	return nil
}
