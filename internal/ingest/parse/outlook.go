package parse

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"mime"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-message"
	"github.com/emersion/go-message/mail"
	"github.com/emersion/go-message/textproto"

	"github.com/ragdhq/ragd/internal/operate/textlimit"
)

// outlook reads a message that Outlook has saved (MS-OXMSG): it is written as it would be sent, and read as an email.
func (p *parser) outlook(ctx context.Context) error {
	root, err := openOutlook(p.src.Content, newBudget())
	if err != nil {
		return broken(p.format, err)
	}
	w := outlookWriter{ctx: ctx}
	content, err := w.message(root)
	switch {
	case errors.Is(err, errBudget):
		return unpacksTooFar(p.format)
	case err != nil:
		return err
	}
	p.src.Content = content
	if err := p.email(ctx); err != nil {
		return err
	}
	for _, lost := range w.lost {
		if err := p.skip(lost.name, lost.err); err != nil {
			return err
		}
	}
	return nil
}

// outlookWriter writes messages of Outlook as they would be sent.
type outlookWriter struct {
	ctx  context.Context
	lost []lostAttachment
}

// lostAttachment is an attachment that has no content that could be read.
type lostAttachment struct {
	name string
	err  error
}

// Parts of the names of storages.
const (
	outlookAttachment = "__attach_version1.0_#"
	outlookRecipient  = "__recip_version1.0_#"
)

// message returns a message as it would be sent: its header, its text as plain text, else HTML, else RTF, and its
// attachments.
func (w *outlookWriter) message(s *outlookStorage) ([]byte, error) {
	h := s.header()
	attachments := slices.DeleteFunc(slices.Sorted(maps.Keys(s.within)), func(name string) bool { return !strings.HasPrefix(name, outlookAttachment) })
	if len(attachments) > maxParts {
		attachments = attachments[:maxParts+1] // which email rejects
	}
	var out bytes.Buffer
	if len(attachments) == 1 && strings.HasPrefix(s.text(propClass), "IPM.Note.SMIME") {
		signed := s.within[attachments[0]]
		if strings.HasPrefix(signed.text(propMediaType), "multipart/signed") {
			err := textproto.WriteHeader(&out, h.Header.Header)
			out.Truncate(max(0, out.Len()-2)) // the attachment begins with the rest of the header
			out.Write(signed.bytes(propData))
			return out.Bytes(), cmp.Or(err, signed.failure())
		}
	}
	h.SetContentType("multipart/mixed", nil)
	to, err := message.CreateWriter(&out, h.Header)
	if err != nil {
		return nil, err
	}
	kind, text := s.body()
	if err := addPart(to, partHeader(kind), []byte(text)); err != nil {
		return nil, err
	}
	for _, name := range attachments {
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
		if err := w.attachment(to, s.within[name]); err != nil {
			return nil, err
		}
	}
	if err := to.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), s.failure()
}

func partHeader(mediaType string) (h message.Header) {
	h.Set("Content-Type", mediaType)
	h.Set("Content-Transfer-Encoding", "base64")
	return h
}

func addPart(to *message.Writer, h message.Header, content []byte) error {
	part, err := to.CreatePart(h)
	if err != nil {
		return err
	}
	if _, err := part.Write(content); err != nil {
		return err
	}
	return part.Close()
}

// attachment adds an attachment to a message: a file, or another message.
func (w *outlookWriter) attachment(to *message.Writer, s *outlookStorage) error {
	name := textlimit.OneLine(cmp.Or(s.text(propLongName), s.text(propShortName), s.text(propName), "attachment"), maxProperty)
	mediaType := "application/octet-stream"
	if declared, parameters, err := mime.ParseMediaType(s.text(propMediaType)); err == nil && !strings.HasPrefix(declared, "multipart/") {
		mediaType = declared
		if kind := parameters["smime-type"]; kind != "" {
			mediaType = mime.FormatMediaType(declared, map[string]string{"smime-type": kind})
		}
	}
	content := s.bytes(propData)
	switch inner := s.within[propData.stream(typeObject)]; {
	case s.broken != nil:
		if errors.Is(s.broken, errBudget) {
			return errBudget
		}
		w.lose(name, broken(Outlook, s.broken))
		return nil
	case inner != nil && inner.streams[outlookProperties] == nil:
		w.lose(name, unsupported("an object of another program", "attach it as a file"))
		return nil
	case inner != nil:
		var err error
		if content, err = w.message(inner); err != nil {
			return err
		}
		mediaType = Email.MediaType()
	case len(content) == 0 && s.streams[propData.stream(typeBinary)] == nil:
		w.lose(name, unsupported("a link to a file", "attach the file itself"))
		return nil
	}
	disposition := "attachment"
	if s.number(propHidden) != 0 || s.number(propAttachmentFlags)&flagInHTML != 0 {
		disposition = "inline"
		if kind := PictureType(content); strings.HasPrefix(kind, "image/") {
			mediaType = kind
		}
	}
	h := partHeader(mediaType)
	h.SetContentDisposition(disposition, map[string]string{"filename": name})
	return addPart(to, h, content)
}

func (w *outlookWriter) lose(name string, err error) {
	if len(w.lost) < maxSkipped {
		w.lost = append(w.lost, lostAttachment{name, err})
	}
}

// header returns the header of a message: its properties and, of a message that was received, fields that it had.
func (s *outlookStorage) header() mail.Header {
	var h mail.Header
	received := headerOf([]byte(strings.TrimSpace(s.text(propHeaders)) + "\r\n\r\n"))
	for _, field := range []string{"From", "To", "Cc", "Date", "Reply-To", "Message-Id", "In-Reply-To", "References"} {
		if value := textlimit.OneLine(received.Get(field), maxReceived); value != "" {
			h.Set(field, value)
		}
	}
	subject := s.text(propSubject)
	if strings.HasPrefix(subject, "\x01") { // its length without "Re:" follows
		subject = strings.TrimLeft(subject, "\x01\x02\x03\x04\x05\x06\x07\x08")
	}
	h.SetSubject(textlimit.OneLine(cmp.Or(subject, s.text(propTopic)), maxTitle))
	missing := func(field, value string) {
		if h.Get(field) == "" && value != "" {
			h.SetText(field, textlimit.OneLine(value, maxReceived))
		}
	}
	missing("From", cmp.Or(
		person(s.text(propFromName), s.text(propFromSMTP), s.text(propFromAddress)),
		person(s.text(propSenderName), s.text(propSenderSMTP), s.text(propSenderAddress)),
	))
	to, cc := s.recipients()
	missing("To", cmp.Or(to, s.text(propDisplayTo)))
	missing("Cc", cmp.Or(cc, s.text(propDisplayCc)))
	missing("Message-Id", s.text(propMessageID))
	missing("In-Reply-To", s.text(propInReplyTo))
	missing("References", s.text(propReferences))
	for _, id := range []property{propSubmitted, propDelivered, propCreated} {
		if at := fileTime(s.number(id)); h.Get("Date") == "" && !at.IsZero() {
			h.SetDate(at)
		}
	}
	return h
}

// maxReceived bounds a field of the header of a message, in bytes.
const maxReceived = 32 << 10

// maxRecipients is how many recipients of a message are read.
const maxRecipients = 200

// recipients returns the recipients and those of copies.
func (s *outlookStorage) recipients() (to, cc string) {
	const isTo, isCc = 1, 2
	var all [3][]string
	names := slices.Sorted(maps.Keys(s.within))
	for _, name := range names {
		r := s.within[name]
		kind := r.number(propRecipientType)
		if !strings.HasPrefix(name, outlookRecipient) || kind != isTo && kind != isCc || len(all[kind]) >= maxRecipients {
			continue
		}
		if text := person(r.text(propName), r.text(propSMTP), r.text(propAddress)); text != "" {
			all[kind] = append(all[kind], text)
		}
	}
	return strings.Join(all[isTo], ", "), strings.Join(all[isCc], ", ")
}

// person returns a name and the first address that is one of the internet, as they stand in a header.
func person(name string, addresses ...string) string {
	name = strings.Trim(textlimit.OneLine(name, maxProperty), "'")
	at := slices.IndexFunc(addresses, func(address string) bool { return strings.Contains(address, "@") })
	if at < 0 {
		return name
	}
	address := mail.Address{Address: textlimit.OneLine(addresses[at], maxProperty)}
	if name != address.Address {
		address.Name = name
	}
	return address.String()
}

// fileTime returns a time that is counted in tenths of a microsecond from 1601, the zero time for one that no message has.
func fileTime(ticks uint64) time.Time {
	const perSecond, untilUnix = 10_000_000, 11_644_473_600
	at := time.Unix(int64(ticks/perSecond)-untilUnix, 0).UTC()
	if at.Year() < 1970 || at.Year() > 9999 {
		return time.Time{}
	}
	return at
}

// body returns the text of a message with its media type, "" if it has none.
func (s *outlookStorage) body() (mediaType, text string) {
	const plain = "text/plain; charset=utf-8"
	if text := s.text(propBody); strings.TrimSpace(text) != "" {
		return plain, text
	}
	page := s.text(propHTML)
	if page == "" {
		page = decodedPage(s.bytes(propHTML), s.codepage(propInternetCodepage, propCodepage))
	}
	if strings.TrimSpace(page) != "" {
		return "text/html; charset=utf-8", page
	}
	if text := decompressedRTF(s.bytes(propRTF)); len(text) > 0 {
		return rtfType, string(text)
	}
	return plain, ""
}
