package parse

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/emersion/go-message"
	"github.com/emersion/go-message/mail"
)

// The example of MS-OXRTFCP, and what is left of it.
func TestCompressedRTF(t *testing.T) {
	t.Parallel()
	whole, err := hex.DecodeString("2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0")
	if err != nil {
		t.Fatal(err)
	}
	const want = "{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
	if got := string(decompressedRTF(whole)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for n := range whole {
		if got := string(decompressedRTF(whole[:n])); !strings.HasPrefix(want, got) {
			t.Errorf("%d bytes: %q", n, got)
		}
	}
	plain := append(slices.Clone(whole[:16]), "{\\rtf1 a}"...)
	copy(plain[8:], "MELA")
	if got := string(decompressedRTF(plain)); got != "{\\rtf1 a}" {
		t.Errorf("not compressed: %q", got)
	}
}

// A compound file is a message or a document by its streams; of one in the other, the name tells which is outside.
func TestDetectCompoundFiles(t *testing.T) {
	t.Parallel()
	compound := func(streams ...string) []byte {
		content := []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
		for _, name := range streams {
			content = append(append(content, wide(name)...), 0, 0)
		}
		return content
	}
	for _, tc := range []struct {
		name, file string
		content    []byte
		want       Format
		err        string
	}{
		{"a message", "a", compound("__nameid_version1.0"), Outlook, ""},
		{"a message with a document", "a", compound("WordDocument", "__nameid_version1.0"), Outlook, ""},
		{"a message with an encrypted document", "a.msg", compound("EncryptedPackage", "__nameid_version1.0"), Outlook, ""},
		{"a document with a message", "a.doc", compound("WordDocument", "__nameid_version1.0"), DOC, ""},
		{"a document with an encrypted one", "a.xls", compound("Workbook", "EncryptedPackage"), XLS, ""},
		{"a document by its name", "a.ppt", compound(), PPT, ""},
		{"a message by its name", "a.MSG", compound(), Outlook, ""},
		{"an encrypted document", "a.docx", compound("EncryptedPackage"), "", "content: is an encrypted DOCX file"},
		{"another file", "a.msi", compound(), "", "content: is a compound file that is no Outlook message"},
	} {
		got, err := Detect(Source{Content: tc.content, FileName: tc.file})
		if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.HasPrefix(err.Error(), tc.err) {
			t.Errorf("%s: %q, %v", tc.name, got, err)
		}
	}
}

func TestAttachmentsWithoutAFile(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	var h mail.Header
	h.SetContentType("multipart/mixed", nil)
	to, err := message.CreateWriter(&out, h.Header)
	if err != nil {
		t.Fatal(err)
	}
	w := outlookWriter{ctx: t.Context()}
	for _, s := range []*outlookStorage{{}, {within: map[string]*outlookStorage{propData.stream(typeObject): {}}}} {
		if err := w.attachment(to, s); err != nil {
			t.Error(err)
		}
	}
	if len(w.lost) != 2 || !strings.HasPrefix(w.lost[0].err.Error(), "content: is a link to a file") || !strings.HasPrefix(w.lost[1].err.Error(), "content: is an object of another program") {
		t.Errorf("%v", w.lost)
	}
}

// A text in RTF is read as one, in a message that was sent too.
func TestFormattedTextOfAMessage(t *testing.T) {
	t.Parallel()
	const message = "Subject: Mole\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/rtf\n\n{\\rtf1 Die {\\b Mole}.\\par}\n--b--\n"
	d, err := Parse(t.Context(), Source{Content: []byte(message), FileName: "a.eml"})
	if want := "# Mole\n\nDie Mole."; err != nil || d.Text != want {
		t.Errorf("%q, %v; want %q", d.Text, err, want)
	}
}

// Texts that are not in Unicode are in the encoding of the sender's locale if no other is told.
func TestEncodingOfALocale(t *testing.T) {
	t.Parallel()
	for locale, want := range map[uint64]string{0x0411: "shift_jis", 0x0804: "gbk", 0x0404: "big5", 0x0419: "windows-1251", 0x0407: "", 0: ""} {
		if got := localeLabel(locale); got != want {
			t.Errorf("%#x: %q, want %q", locale, got, want)
		}
	}
}

// For any message of Outlook, its reader returns a valid document or an Invalid error.
func FuzzOutlook(f *testing.F) {
	for _, file := range []string{"files/fees.msg", "files/norms.msg", "files/notice.msg", "files/tides.msg", "hostile/encrypted.msg"} {
		f.Add(read(f, "testdata/"+file))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		checkRead(t, Source{Content: message, FileName: "a.msg"})
	})
}

// For any bytes, the decompressor of RTF returns no more than it may.
func FuzzCompressedRTF(f *testing.F) {
	f.Add([]byte("\x2d\x00\x00\x00\x2b\x00\x00\x00LZFu\xf1\xc5\xc7\xa7\x03\x00\x0a\x00rcpg125\x42\x32\x0a\xf3 hel\x09\x00 bw\x05\xb0ld}\x0a\x80\x0f\xa0"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if got := decompressedRTF(content); len(got) > 17*len(content) {
			t.Errorf("%d bytes of %d", len(got), len(content))
		}
	})
}
