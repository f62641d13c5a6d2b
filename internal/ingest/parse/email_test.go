package parse

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/unicode"
)

func TestMessageIDs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, field string
		want        []string
	}{
		{"none", "", nil},
		{"one", "<1@example.org>", []string{"1@example.org"}},
		{"several without spaces", "<1@example.org><2@example.org>", []string{"1@example.org", "2@example.org"}},
		{"words around it", `Rosa's "message" of Monday <1@example.org> (was: fees)`, []string{"1@example.org"}},
		{"no brackets", " 1@example.org ", []string{"1@example.org"}},
		{"a name in brackets", "<Rosa> at the harbour", nil},
		{"a bracket that is not closed", "<1@example.org", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, messageIDs(tc.field)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// The first reference identifies the thread, the last one the message that is answered.
func TestLongThreadKeepsFirstAndLatestReferences(t *testing.T) {
	t.Parallel()
	var ids []string
	for i := range 100 {
		ids = append(ids, fmt.Sprintf("<%d@example.org>", i))
	}
	message := "From: a@example.org\nMessage-ID: <100@example.org>\nReferences: " + strings.Join(ids, "\n ") + "\n\nfine"
	d, err := Parse(t.Context(), Source{Content: []byte(message), FileName: "a.eml"})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(d.References); n != maxReferences || d.References[0] != "0@example.org" || d.References[1] != "69@example.org" || d.References[n-1] != "99@example.org" {
		t.Errorf("%d references: %v", n, d.References)
	}
}

func TestMessagesOfUnusualMakersAreRead(t *testing.T) {
	t.Parallel()
	wide, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String("From: a@example.org\r\nSubject: Mole\r\n\r\nDie Mole ist gesperrt.\r\n")
	if err != nil {
		t.Fatal(err)
	}
	const parts = "From: a@example.org\nSubject: Mole\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nDie Mole ist gesperrt.\n"
	for _, tc := range []struct {
		name, file, content, want string
		skipped                   bool
	}{
		{"saved as UTF-16", "a.eml", wide, "# Mole\n\nFrom: <a@example.org>\n\nDie Mole ist gesperrt.", false},
		{"cut off in a part", "a.eml", parts + "--b\nContent-Type: text/html\n\n<p>Die", "# Mole\n\nFrom: <a@example.org>\n\nDie Mole ist gesperrt.", true},
		{"cut off before a part", "a.eml", parts + "--b\nContent-Ty", "# Mole\n\nFrom: <a@example.org>\n\nDie Mole ist gesperrt.", true},
		{"a mailbox without headers", "a.mbox", "From harbour Mon Jun 01 10:00:00 2009\n\nfirst\n\nFrom harbour Mon Jun 01 11:00:00 2009\n\nsecond\n", "first\n\nsecond", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			d, err := Parse(t.Context(), Source{Content: []byte(tc.content), FileName: tc.file})
			if err != nil {
				t.Fatal(err)
			}
			check(t, d)
			if diff := cmp.Diff(tc.want, strings.TrimSpace(d.Text)); diff != "" || tc.skipped != (len(d.Skipped) > 0) {
				t.Errorf("skipped %q (-want +got)\n%s", d.Skipped, diff)
			}
		})
	}
}
