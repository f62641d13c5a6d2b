package parse

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// Detect returns the format of a file. A signature in its bytes decides first; among the
// text formats the declared content type, then the name, then the text itself. Errors:
// Invalid for a file that cannot be read, such as a picture or an encrypted file, and for a file whose declared type is wrong.
func Detect(src Source) (Format, error) {
	format, err := bySignature(src)
	if format != "" || err != nil {
		return format, err
	}
	declared, known := FormatOf(src.ContentType)
	if known && !src.reads(declared) {
		return "", unread(declared)
	}
	if !known {
		declared, known = formatOfName(src.FileName)
		known = known && src.reads(declared)
	}
	if bytes.IndexByte(src.Content[:min(len(src.Content), 8<<10)], 0) >= 0 && !isSigned(src.Content) {
		if known && !declared.IsText() {
			return "", broken(declared, nil)
		}
		return "", unsupported("binary data of no known format", "send text, Markdown, HTML, PDF, an Office document, an email or an archive of these")
	}
	switch {
	case known && declared == Mailbox && startsMailbox(src.Content):
		return Mailbox, nil
	case known && (declared == Email || declared == Mailbox):
		return Email, nil // a mailbox has a signature
	case known && !declared.IsText() && len(bytes.TrimSpace(src.Content)) == 0:
		return "", noText(declared, nil)
	case known && !declared.IsText():
		return "", broken(declared, nil)
	case known && declared == Man && !looksLikeRoff(src.Content):
		return Text, nil // its name ends with a number, as those of old logs do
	case known:
		return declared, nil
	case strings.HasPrefix(src.ContentType, "text/plain"):
		return Text, nil
	}
	return byLook(src.Content), nil
}

// reads reports whether files of a format can be read: pictures and recordings by what the operator has set up alone.
func (s Source) reads(f Format) bool {
	return (f != Picture || s.Pictures) && (f != Recording || s.Recordings > 0)
}

// unread returns the error for the content type of pictures or recordings, where these cannot be read.
func unread(f Format) error {
	what, remedy := "a picture", "an operator can have the text in pictures recognized with the setting ocr; or send their text"
	if f == Recording {
		what, remedy = "a recording", transcribe
	}
	return fault.Field("contentType", "is that of %s, which cannot be read: %s", what, remedy)
}

// bySignature returns the format whose signature the content begins with, "" for none.
func bySignature(src Source) (Format, error) {
	content := src.Content
	switch {
	case isPDF(content):
		return PDF, nil
	case bytes.HasPrefix(content, []byte("PK\x03\x04")), bytes.HasPrefix(content, []byte("PK\x05\x06")):
		return zipFormat(src)
	case bytes.HasPrefix(content, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		return compoundFormat(src)
	case isTar(content):
		return Tar, nil
	case IsCompressed(content):
		return compressedFormat(compressionOf(content), src)
	case isMailbox(content):
		return Mailbox, nil
	case bytes.HasPrefix(content, []byte(`{\rtf`)):
		return RTF, nil
	case bytes.HasPrefix(content, []byte("7z\xbc\xaf\x27\x1c")), bytes.HasPrefix(content, []byte("Rar!\x1a\x07")):
		return "", unsupported("an archive of another kind than zip and tar", "pack it as zip or tar.gz")
	case hasBinary(content):
		if format, ok, err := detectRecording(src); ok {
			return format, err
		}
		kind, _, _ := strings.Cut(PictureType(content), "/")
		if kind == "image" && src.Pictures {
			return Picture, nil
		}
		if kind == "image" || kind == "audio" || kind == "video" || kind == "font" {
			return "", unsupported("of the kind "+kind, "only what has text can be searched")
		}
	}
	return "", nil
}

// pdfHeader matches the first line of a PDF file.
var pdfHeader = regexp.MustCompile(`^\s*%PDF-[0-9]\.[0-9]\s*?([\r\n]|$)`)

// isPDF reports whether content is a PDF file. The first bytes alone do not tell: a text
// about PDF may begin with them.
func isPDF(content []byte) bool {
	head := content[:min(len(content), 1024)]
	at := bytes.Index(head, []byte("%PDF-"))
	switch {
	case at < 0 || len(bytes.TrimSpace(head[:at])) > 0 && !hasBinary(content):
		return false
	case pdfHeader.Match(head):
		return true
	}
	return hasBinary(content[:min(len(content), 4096)]) || bytes.Contains(content, []byte(" obj")) || bytes.Contains(content, []byte("startxref"))
}

// hasBinary reports whether content is not plain UTF-8 text.
func hasBinary(content []byte) bool {
	head := content[:min(len(content), 4096)]
	if bytes.IndexByte(head, 0) >= 0 {
		return true
	}
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		if r == utf8.RuneError && n == 1 {
			return utf8.FullRune(head) // otherwise the head ends inside a character
		}
		head = head[n:]
	}
	return false
}

// looksLikeUTF16 reports whether the low bytes of the UTF-16 units of content are at the even
// positions (low = 0) or at the odd ones.
func looksLikeUTF16(content []byte, low int) bool {
	const least, most = 16, 512 // units
	units := min(len(content)/2, most)
	ascii := 0
	for i := range units {
		letter, high := content[2*i+low], content[2*i+1-low]
		if high != 0 {
			continue
		}
		if letter < ' ' && letter != '\n' && letter != '\r' && letter != '\t' || letter == 0x7f {
			return false
		}
		ascii++
	}
	return units >= least && ascii*4 >= units*3
}

func isTar(content []byte) bool {
	return len(content) >= 512 && bytes.Equal(content[257:262], []byte("ustar"))
}

// zipFormat returns the format of a zip file by its members.
func zipFormat(src Source) (Format, error) {
	archive, err := zip.NewReader(bytes.NewReader(src.Content), int64(len(src.Content)))
	if err != nil {
		format, known := formatOfName(src.FileName)
		if !known || format.IsText() {
			format, known = FormatOf(src.ContentType)
		}
		if !known || format.IsText() {
			format = Zip
		}
		return "", broken(format, err)
	}
	for _, member := range archive.File {
		switch {
		case strings.HasPrefix(member.Name, "word/document"):
			return DOCX, nil
		case strings.HasPrefix(member.Name, "ppt/presentation"):
			return PPTX, nil
		case strings.HasPrefix(member.Name, "xl/workbook"):
			return XLSX, nil
		case member.Name == "mimetype":
			if format := openDocument(member); format != "" {
				return format, nil
			}
		case member.Name == "META-INF/container.xml":
			return EPUB, nil
		}
	}
	return Zip, nil
}

// openDocument returns the format that the first part of an OpenDocument file says, "" for
// another file.
func openDocument(member *zip.File) Format {
	r, err := member.Open()
	if err != nil {
		return ""
	}
	defer r.Close()
	said, _ := io.ReadAll(io.LimitReader(r, 128)) // less than that is another file
	format, _ := FormatOf(string(said))
	if format == ODT || format == ODS || format == ODP {
		return format
	}
	return ""
}

// compoundStreams are the names of streams by which the format of a compound file is known. A message comes first: it may
// have files of the others attached.
var compoundStreams = []struct {
	name   string
	format Format
}{{"__nameid_version1.0", Outlook}, {"WordDocument", DOC}, {"PowerPoint Document", PPT}, {"Workbook", XLS}, {"Book", XLS}}

// compoundFormat returns the format of a compound file: a message of Outlook or a file of Office before 2007, by the
// streams in it. Encrypted newer files of Office have the same signature.
func compoundFormat(src Source) (Format, error) {
	named, _ := formatOfName(src.FileName)
	var found []Format
	for _, stream := range compoundStreams {
		if bytes.Contains(src.Content, append(wide(stream.name), 0, 0)) {
			found = append(found, stream.format)
		}
	}
	switch {
	case slices.Contains(found, named): // one of them may be embedded in the other
		return named, nil
	case len(found) > 0 && found[0] == Outlook:
		return Outlook, nil
	case bytes.Contains(src.Content, wide("EncryptedPackage")):
		if named != "" && !named.IsText() {
			return "", encrypted(named)
		}
		return "", encrypted("Office")
	case len(found) > 0:
		return found[0], nil
	case named == Outlook, named == DOC, named == XLS, named == PPT:
		return named, nil // the streams may be listed after the part of a file that a client looks at
	}
	return "", unsupported("a compound file that is no Outlook message and no DOC, XLS or PPT file", "save it as DOCX, XLSX or PPTX")
}

// wide returns an ASCII text in UTF-16, as the names of streams are written.
func wide(text string) []byte {
	out := make([]byte, 0, 2*len(text))
	for _, c := range []byte(text) {
		out = append(out, c, 0)
	}
	return out
}

// maxJSONLook is the greatest size in bytes of a text that is checked for undeclared JSON.
const maxJSONLook = 1 << 20

// firstSubtitle matches the start of an SRT file.
var firstSubtitle = regexp.MustCompile(`^\d+\s*\n\d{1,5}:\d\d:\d\d,\d{1,3} --> `)

// byLook returns the format of a text without a declared type or a known name.
func byLook(content []byte) Format {
	trimmed := bytes.TrimSpace(bytes.TrimPrefix(content, []byte("\xef\xbb\xbf")))
	switch {
	case strings.HasPrefix(http.DetectContentType(trimmed), "text/html"):
		return HTML
	case bytes.HasPrefix(trimmed, []byte("<?xml ")):
		if bytes.Contains(trimmed[:min(len(trimmed), 1<<10)], []byte("<html")) {
			return HTML
		}
		return XML
	case looksLikeEmail(trimmed):
		return Email
	case bytes.HasPrefix(trimmed, []byte("WEBVTT")), firstSubtitle.Match(trimmed[:min(len(trimmed), 256)]):
		return Subtitles
	case looksLikeRoff(trimmed):
		return Man
	case bytes.Contains(trimmed[:min(len(trimmed), 8<<10)], []byte(`\documentclass`)):
		return LaTeX
	case len(trimmed) > 1 && len(trimmed) <= maxJSONLook && (trimmed[0] == '{' || trimmed[0] == '[') && json.Valid(trimmed):
		if bytes.Contains(trimmed, []byte(`"nbformat"`)) && bytes.Contains(trimmed, []byte(`"cell_type"`)) {
			return Notebook
		}
		return JSON
	}
	return Text
}

// roffStart matches the start of a manual page: a comment, its title, or a definition.
var roffStart = regexp.MustCompile(`^(?:[.'][ \t]*\\["#]|'\\"|\.(?:TH|Dd|Dt|SH|Sh|so|de|ig|ds|if|ie|nr|ft|hy|nh|ad|mso|do|Os)[ \t\r\n])`)

// looksLikeRoff reports whether a text begins as a manual page does.
func looksLikeRoff(content []byte) bool {
	return roffStart.Match(bytes.TrimLeft(content[:min(len(content), 4<<10)], " \t\r\n"))
}

// looksLikeEmail reports whether there is a header that only sent messages have.
func looksLikeEmail(content []byte) bool {
	var from, date, technical bool
	for line := range bytes.Lines(content[:min(len(content), 32<<10)]) {
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if line[0] == ' ' || line[0] == '\t' {
			continue
		}
		field, _, ok := bytes.Cut(line, []byte(":"))
		if !ok || len(field) == 0 || bytes.ContainsAny(field, " \t") {
			return false
		}
		switch strings.ToLower(string(field)) {
		case "from":
			from = true
		case "date":
			date = true
		case "message-id", "mime-version", "received", "return-path":
			technical = true
		}
	}
	return from && date && technical
}
