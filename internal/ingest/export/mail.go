package export

import (
	"bufio"
	"bytes"
	"errors"
	"hash/maphash"
	"strings"

	"github.com/emersion/go-message"
	_ "github.com/emersion/go-message/charset" // headers in other encodings than UTF-8
	"github.com/emersion/go-message/mail"

	"github.com/ragdhq/ragd/internal/ingest/parse"
	"github.com/ragdhq/ragd/internal/ingest/parse/mailbox"
)

func isMailbox(name string, head []byte) bool {
	format, err := parse.Detect(parse.Source{Content: head, FileName: name})
	return err == nil && format == parse.Mailbox
}

// mailMessages yields the messages of a mailbox. Their text is read by package parse, without what they quote at their
// end of other messages of the mailbox.
func mailMessages(open opener, yield yielder) {
	seed, known := maphash.MakeSeed(), map[uint64]bool{} // hashes of ids
	opened(open, "mailbox", func(r *bufio.Reader, _ yielder) {
		for raw := range mailbox.Messages(r, MaxItem) {
			if id, _ := parse.MessageIDs(raw); id != "" && len(known) < maxNames {
				known[maphash.String(seed, id)] = true
			}
		}
	})(func(Item, error) bool { return false })
	opened(open, "mailbox", func(r *bufio.Reader, yield yielder) {
		messages(r, func(item Item, err error) bool {
			if _, answered := parse.MessageIDs(item.Content); answered != "" && known[maphash.String(seed, answered)] {
				item.Origin.Links = []string{answered}
				item.Content = append([]byte(parse.QuotedElsewhere+": yes\r\n"), item.Content...)
			}
			return yield(item, err)
		})
	})(yield)
}

// messages yields the messages of a mailbox as they are.
func messages(r *bufio.Reader, yield yielder) {
	number := 0
	for raw, err := range mailbox.Messages(r, MaxItem) {
		number++
		item := Item{ContentType: parse.Email.MediaType(), Content: raw}
		switch {
		case errors.Is(err, mailbox.ErrTooLarge):
			err = errTooLarge()
		case err != nil:
			yield(Item{}, broken("mailbox", err))
			return
		}
		item.Name = parse.MessageName(raw, number)
		item.Title, item.Origin = aboutMessage(raw)
		if !yield(item, err) {
			return
		}
	}
}

// aboutMessage returns the subject of a message, and what its header says, including the labels and
// the thread that Google adds.
func aboutMessage(raw []byte) (subject string, origin Origin) {
	entity, err := message.Read(bytes.NewReader(raw))
	if entity == nil || err != nil && !message.IsUnknownCharset(err) {
		return "", origin
	}
	header := mail.Header{Header: entity.Header}
	subject, _ = header.Subject()
	if from, err := header.AddressList("From"); err == nil && len(from) > 0 {
		origin.Author = strings.TrimSpace(from[0].Name + " <" + from[0].Address + ">")
	}
	if at, err := header.Date(); err == nil {
		origin.Created = at
	}
	if labels, err := header.Text("X-Gmail-Labels"); err == nil && labels != "" {
		for l := range strings.SplitSeq(labels, ",") {
			origin.Labels = append(origin.Labels, strings.TrimSpace(l))
		}
	}
	if thread := header.Get("X-GM-THRID"); thread != "" { //nolint:misspell // the name that Google gave it
		origin.Properties = map[string]string{"thread": thread}
	}
	return subject, origin
}
