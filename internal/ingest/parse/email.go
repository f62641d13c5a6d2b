package parse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/emersion/go-message"
	"github.com/emersion/go-message/mail"

	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

const (
	maxParts  = 500     // of a message
	maxHeader = 1 << 20 // bytes
)

// email reads a message: subject, sender, recipients and body, and as members the
// attachments that can be read.
func (p *parser) email(ctx context.Context) error {
	content := p.src.Content
	if bytes.IndexByte(content[:min(len(content), 256)], 0) >= 0 && isSigned(content) { // saved as UTF-16
		text, err := p.utf8()
		if err != nil {
			return err
		}
		content = []byte(text)
	}
	entity, err := message.ReadWithOptions(bytes.NewReader(content), &message.ReadOptions{MaxHeaderBytes: maxHeader})
	if err != nil && !message.IsUnknownCharset(err) {
		return broken(p.format, err)
	}
	p.describeMessage(mail.Header{Header: entity.Header})
	repeats := entity.Header.Get(QuotedElsewhere) != ""
	m := &messageReader{pictures: p.src.Pictures}
	if err := entity.Walk(func(_ []int, part *message.Entity, err error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return m.part(part, err, p.budget)
	}); err != nil {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errBudget):
			return unpacksTooFar(p.format)
		case errors.Is(err, errParts):
			return tooLarge(p.format, "it has more than %d parts", maxParts)
		case len(m.plain)+len(m.rich)+len(m.formatted)+len(m.attached) == 0:
			return broken(p.format, err)
		}
		if err := p.skip("the end of the message", broken(p.format, err)); err != nil {
			return err
		}
	}
	if m.isEncrypted {
		return encrypted(p.format)
	}
	body, err := m.body()
	if err != nil {
		return broken(p.format, err)
	}
	if body == "" {
		if body, err = p.formatted(ctx, m.formatted); err != nil {
			return err
		}
	}
	if repeats || p.answersKnown() {
		body = withoutQuotation(body)
	}
	p.text.block(body)
	return p.attachments(ctx, m.attached)
}

func (p *parser) describeMessage(h mail.Header) {
	subject, _ := h.Subject()
	p.doc.Title = subject
	if subject = textlimit.OneLine(subject, maxTitle); subject != "" {
		p.text.block("# " + subject)
	}
	var about []string
	for _, field := range []string{"From", "To", "Cc"} {
		list, err := h.AddressList(field)
		text, _ := h.Text(field) // what cannot be decoded is left as it is
		if err == nil {
			var people []string
			for _, a := range list {
				people = append(people, strings.TrimSpace(a.Name+" <"+a.Address+">"))
			}
			text = strings.Join(people, ", ")
		}
		if text = textlimit.OneLine(text, maxProperty); text != "" {
			p.property(strings.ToLower(field), text)
			about = append(about, field+": "+text)
		}
	}
	if date, err := h.Date(); err == nil && !date.IsZero() {
		p.property("date", date.Format(time.RFC3339))
		about = append(about, "Date: "+date.Format("2 January 2006 15:04"))
	}
	if list, err := h.AddressList("Reply-To"); err == nil && len(list) > 0 {
		p.property("replyTo", list[0].Address)
	}
	p.describeThread(h)
	p.text.block(strings.Join(about, "\n"))
}

// maxReferences bounds the references of a message. Of more, the first and the latest
// are kept.
const maxReferences = 32

// describeThread stores the ids of the message and of those that it answers.
func (p *parser) describeThread(h mail.Header) {
	for key, field := range map[string]string{"messageId": "Message-Id", "inReplyTo": "In-Reply-To"} {
		p.property(key, firstID(h.Get(field)))
	}
	references := messageIDs(h.Get("References"))
	if over := len(references) - maxReferences; over > 0 {
		references = slices.Delete(references, 1, 1+over)
	}
	p.doc.References = references
}

// messageIDs returns the ids in a field, without their brackets. Other text around them
// is skipped. Some programs write an id without brackets.
func messageIDs(field string) (ids []string) {
	for part := range strings.SplitSeq(field, "<") {
		id, _, closed := strings.Cut(part, ">")
		if closed && strings.Contains(id, "@") {
			ids = append(ids, textlimit.OneLine(id, maxProperty))
		}
	}
	if field = strings.TrimSpace(field); len(ids) == 0 && strings.Contains(field, "@") && !strings.ContainsAny(field, " \t<>") {
		ids = append(ids, textlimit.OneLine(field, maxProperty))
	}
	return ids
}

// firstID returns the first id in a field, "" if it has none.
func firstID(field string) string {
	if ids := messageIDs(field); len(ids) > 0 {
		return ids[0]
	}
	return ""
}

// answeredID returns the id of the message that one answers, which names it, or else messages of its thread, oldest first.
func answeredID(inReplyTo string, references []string) string {
	if n := len(references); inReplyTo == "" && n > 0 {
		return references[n-1]
	}
	return inReplyTo
}

// answersKnown reports whether the message answers one whose text is known.
func (p *parser) answersKnown() bool {
	id := answeredID(p.doc.Properties["inReplyTo"], p.doc.References)
	_, found := slices.BinarySearch(p.answered, strings.ReplaceAll(id, "/", "_"))
	return found && id != ""
}

func (p *parser) attachments(ctx context.Context, attached []Source) error {
	for _, a := range attached {
		var err error
		if p.nesting == 0 {
			err = tooLarge(Email, "messages and archives stand in each other more than %d deep", maxNesting)
		} else {
			err = p.member(ctx, a)
		}
		if err := p.skip(a.FileName, err); err != nil {
			return err
		}
	}
	return nil
}

// messageReader collects the parts of a message.
type messageReader struct {
	parts       int
	plain, rich []string
	formatted   [][]byte // RTF
	attached    []Source
	isEncrypted bool
	pictures    bool // attached ones are read
}

var errParts = errors.New("too many parts")

func (m *messageReader) part(part *message.Entity, err error, b *budget) error {
	if m.parts++; m.parts > maxParts {
		return errParts
	}
	if err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
		return err
	}
	mediaType, params, _ := part.Header.ContentType()
	if mediaType == "" {
		mediaType = "text/plain"
	}
	if strings.HasPrefix(mediaType, "multipart/") {
		m.isEncrypted = m.isEncrypted || mediaType == "multipart/encrypted"
		return nil
	}
	if strings.HasSuffix(mediaType, "pkcs7-mime") && params["smime-type"] != "signed-data" {
		m.isEncrypted = true
		return nil
	}
	disposition, _, _ := part.Header.ContentDisposition()
	fileName, _ := (&mail.AttachmentHeader{Header: part.Header}).Filename()
	if !strings.HasPrefix(mediaType, "text/") && disposition == "inline" && fileName == "" || strings.HasPrefix(mediaType, "image/") && (disposition != "attachment" || !m.pictures) {
		return nil // pictures in the text
	}
	content, err := b.read(part.Body)
	if errors.Is(err, errBudget) {
		return err
	}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && len(content) == 0 {
		return err
	}
	switch {
	case disposition == "attachment" || fileName != "" || !strings.HasPrefix(mediaType, "text/"):
		if fileName == "" {
			fileName = fmt.Sprintf("attachment %d", len(m.attached)+1)
		}
		m.attached = append(m.attached, Source{Content: content, ContentType: mediaType, FileName: fileName})
	case mediaType == rtfType:
		m.formatted = append(m.formatted, content)
	case mediaType == "text/html":
		m.rich = append(m.rich, string(content))
	default:
		m.plain = append(m.plain, strings.ReplaceAll(decodedText(content), "\r\n", "\n"))
	}
	return nil
}

// decodedText returns a text in an encoding that the message does not tell.
func decodedText(content []byte) string {
	known, _ := shiftedEncoding(content)
	if known == nil && !utf8.Valid(content) {
		known, _ = encodingOf(content)
	}
	if known != nil {
		if decoded, err := known.NewDecoder().Bytes(content); err == nil {
			content = decoded
		}
	}
	return string(content)
}

// rtfType is the media type of a text in RTF within a message.
const rtfType = "text/rtf"

// formatted returns the text of parts in RTF.
func (p *parser) formatted(ctx context.Context, parts [][]byte) (string, error) {
	var all []string
	for _, part := range parts {
		inner := &parser{src: Source{Content: part, Hidden: p.src.Hidden}, format: RTF, budget: p.budget}
		err := inner.rtf(ctx)
		if err := p.skip("the text", err); err != nil {
			return "", err
		}
		all = append(all, inner.text.String())
	}
	return strings.Join(all, "\n\n"), nil
}

// body returns the text of the message, the plain part if there is one, else that in HTML.
func (m *messageReader) body() (string, error) {
	if text := strings.TrimSpace(strings.Join(m.plain, "\n\n")); text != "" {
		return text, nil
	}
	var all []string
	for _, rich := range m.rich {
		page, err := parsePage([]byte(rich))
		if err != nil {
			return "", err
		}
		text, _, err := pageText(page, false, nil)
		if err != nil {
			return "", err
		}
		all = append(all, text)
	}
	return strings.Join(all, "\n\n"), nil
}
