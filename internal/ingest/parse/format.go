package parse

import "strings"

// Format is the format of a file.
type Format string

// The formats. Text is the format of any text of which nothing more is known; Code is
// source code in any language.
const (
	Text      Format = "text"
	Code      Format = "code"
	Markdown  Format = "markdown"
	HTML      Format = "html"
	JSON      Format = "json"
	JSONLines Format = "jsonl"
	CSV       Format = "csv"
	XML       Format = "xml"
	RST       Format = "rst"
	Man       Format = "man"
	AsciiDoc  Format = "asciidoc"
	Org       Format = "org"
	MediaWiki Format = "mediawiki"
	LaTeX     Format = "latex"
	PDF       Format = "pdf"
	DOCX      Format = "docx"
	PPTX      Format = "pptx"
	XLSX      Format = "xlsx"
	ODT       Format = "odt"
	ODS       Format = "ods"
	ODP       Format = "odp"
	RTF       Format = "rtf"
	DOC       Format = "doc"
	XLS       Format = "xls"
	PPT       Format = "ppt"
	EPUB      Format = "epub"
	Email     Format = "email"
	Outlook   Format = "outlook"
	Mailbox   Format = "mbox"
	Notebook  Format = "notebook"
	Subtitles Format = "subtitles"
	Zip       Format = "zip"
	Tar       Format = "tar"
	Gzip      Format = "gzip"
	Zstd      Format = "zstd"
	XZ        Format = "xz"
	Bzip2     Format = "bzip2"
	Picture   Format = "picture"
	Recording Format = "recording"
)

// formats holds for each format its name in messages, its media type, further media
// types and the extensions of its files.
var formats = []struct {
	format     Format
	name       string
	mediaTypes string // MediaType returns the first
	endings    string
}{
	{Text, "text", "text/plain application/octet-stream", ".txt .text .log"},
	{Markdown, "Markdown", "text/markdown text/x-markdown", ".md .markdown .mdown .mkd .mdx"},
	{HTML, "HTML", "text/html application/xhtml+xml", ".html .htm .xhtml"},
	{JSON, "JSON", "application/json text/json", ".json .geojson .jsonld .webmanifest"},
	{JSONLines, "JSON Lines", "application/jsonl application/x-ndjson application/ndjson application/x-jsonlines", ".jsonl .ndjson"},
	{CSV, "CSV", "text/csv text/tab-separated-values application/csv", ".csv .tsv"},
	{XML, "XML", "application/xml text/xml", ".xml .rss .atom .opml .plist .docbook .dbk .dita .ditamap"},
	{RST, "reStructuredText", "text/x-rst text/prs.fallenstein.rst", ".rst .rest"},
	{Man, "manual page", "text/troff application/x-troff application/x-troff-man application/x-troff-mdoc text/x-troff", ".man .mdoc .1 .2 .3 .4 .5 .6 .7 .8 .9"},
	{AsciiDoc, "AsciiDoc", "text/asciidoc text/x-asciidoc", ".adoc .asciidoc"},
	{Org, "Org", "text/org text/x-org", ".org"},
	{MediaWiki, "MediaWiki", "text/x-wiki text/x-mediawiki text/mediawiki", ".mediawiki .wiki"},
	{LaTeX, "LaTeX", "application/x-latex application/x-tex text/x-tex text/x-latex", ".tex .latex .ltx"},
	{Code, "source code", "text/plain text/javascript application/javascript application/x-sh application/typescript application/yaml application/toml",
		".c .h .cc .cpp .cxx .hh .hpp .hxx .cs .go .java .kt .kts .scala .sc .js .mjs .cjs .jsx .ts .mts .cts .tsx .php .py .pyi .rb .rs .swift .sol .lua .pl .pm .hs .ex .exs .ps1 .psm1 .proto .cob .cbl .cpy .sh .sql .css .yaml .yml .toml .ini"},
	{PDF, "PDF", "application/pdf application/x-pdf", ".pdf"},
	{DOCX, "DOCX", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", ".docx .docm .dotx"},
	{PPTX, "PPTX", "application/vnd.openxmlformats-officedocument.presentationml.presentation", ".pptx .pptm .ppsx"},
	{XLSX, "XLSX", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".xlsx .xlsm .xltx"},
	{ODT, "ODT", "application/vnd.oasis.opendocument.text application/vnd.oasis.opendocument.text-template", ".odt .ott"},
	{ODS, "ODS", "application/vnd.oasis.opendocument.spreadsheet application/vnd.oasis.opendocument.spreadsheet-template", ".ods .ots"},
	{ODP, "ODP", "application/vnd.oasis.opendocument.presentation application/vnd.oasis.opendocument.presentation-template", ".odp .otp"},
	{DOC, "DOC", "application/msword", ".doc .dot"},
	{XLS, "XLS", "application/vnd.ms-excel", ".xls .xlt"},
	{PPT, "PPT", "application/vnd.ms-powerpoint", ".ppt .pps"},
	{RTF, "RTF", "application/rtf text/rtf text/richtext", ".rtf"},
	{EPUB, "EPUB", "application/epub+zip", ".epub"},
	{Email, "email", "message/rfc822", ".eml"},
	{Outlook, "Outlook", "application/vnd.ms-outlook", ".msg .oft"},
	{Mailbox, "mailbox", "application/mbox", ".mbox"},
	{Notebook, "notebook", "application/x-ipynb+json", ".ipynb"},
	{Subtitles, "subtitle", "application/x-subrip text/vtt text/srt", ".srt .vtt"},
	{Zip, "zip", "application/zip application/x-zip-compressed", ".zip"},
	{Tar, "tar", "application/x-tar application/x-gtar", ".tar .tgz .tzst .txz .tbz2 .tar.gz .tar.zst .tar.xz .tar.bz2"},
	{Gzip, "gzip", "application/gzip application/x-gzip", ".gz"},
	{Zstd, "Zstandard", "application/zstd application/x-zstd", ".zst"},
	{XZ, "xz", "application/x-xz", ".xz"},
	{Bzip2, "bzip2", "application/x-bzip2 application/x-bzip", ".bz2"},
	{Picture, "picture", "image/png image/jpeg image/tiff image/webp image/bmp image/gif", ".png .jpg .jpeg .tif .tiff .webp .bmp .gif"},
	{Recording, "recording", "audio/mpeg audio/mp3 audio/mp4 audio/x-m4a audio/wav audio/x-wav audio/wave audio/vnd.wave audio/flac audio/x-flac audio/ogg audio/opus application/ogg video/ogg audio/webm video/webm video/mp4 video/quicktime",
		".mp3 .mpga .m4a .wav .flac .ogg .oga .opus .webm .mp4"},
}

// Name returns the format's name in messages.
func (f Format) Name() string {
	for _, known := range formats {
		if known.format == f {
			return known.name
		}
	}
	return string(f)
}

// aName returns Name with its article.
func (f Format) aName() string {
	switch f {
	case HTML, XML, AsciiDoc, Org, XZ, XLSX, ODT, ODS, ODP, RTF, XLS, EPUB, Email, Outlook:
		return "an " + f.Name()
	}
	return "a " + f.Name()
}

// MediaType returns the content type of files of the format.
func (f Format) MediaType() string {
	for _, known := range formats {
		if known.format == f {
			first, _, _ := strings.Cut(known.mediaTypes, " ")
			return first
		}
	}
	return "text/plain"
}

// TextType returns the content type of the text that Parse returns for files of the
// format, or "" if that is the source itself.
func (f Format) TextType() string {
	switch {
	case f == CSV || f == JSONLines || f == Subtitles || f == Recording:
		return "text/plain"
	case f == HTML || f == Notebook || f.IsMarkup() || !f.IsText():
		return markdownType
	}
	return ""
}

// IsText reports whether files of the format are text that a person can read without
// Parse.
func (f Format) IsText() bool {
	switch f {
	case PDF, DOCX, PPTX, XLSX, ODT, ODS, ODP, RTF, DOC, XLS, PPT, EPUB, Email, Outlook, Mailbox, Zip, Tar, Gzip, Zstd, XZ, Bzip2, Picture, Recording:
		return false
	}
	return true
}

// IsContainer reports whether files of the format hold other files: see Members.
func (f Format) IsContainer() bool { return f == Zip || f == Tar || f == Mailbox }

// IsMarkup reports whether files of the format are read as Markdown by package markup.
func (f Format) IsMarkup() bool { return f == XML || markups[f] != nil }

// IsCompressed reports whether files of the format are single files that were compressed: Parse reads
// what they hold.
func (f Format) IsCompressed() bool { return f == Gzip || f == Zstd || f == XZ || f == Bzip2 }

// HoldsPDF reports whether files of the format are PDF files or may hold some.
func (f Format) HoldsPDF() bool {
	return f == PDF || f == Email || f == Outlook || f.IsContainer() || f.IsCompressed()
}

// FormatOf returns the format of a media type, or "" for one that is used for any file,
// such as text/plain and application/octet-stream.
func FormatOf(mediaType string) (Format, bool) {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	if mediaType == "" || mediaType == "text/plain" || mediaType == "application/octet-stream" {
		return "", false
	}
	for _, known := range formats {
		for t := range strings.FieldsSeq(known.mediaTypes) {
			if t == mediaType {
				return known.format, true
			}
		}
	}
	switch {
	case strings.HasSuffix(mediaType, "+json"):
		return JSON, true
	case strings.HasSuffix(mediaType, "+xml"):
		return XML, true
	case strings.HasPrefix(mediaType, "text/"):
		return Text, true // of a type without its own reader, such as text/x-go
	}
	return "", false
}

func formatOfName(name string) (Format, bool) {
	return formatOfEnding(strings.ToLower(baseName(addressPath(name))))
}

// formatOfEnding returns the format of a name in small letters by its ending.
func formatOfEnding(name string) (Format, bool) {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return "", false
	}
	for _, known := range formats {
		for ending := range strings.FieldsSeq(known.endings) {
			if name[dot:] == ending || strings.HasSuffix(name, ending) && strings.Count(ending, ".") > 1 {
				return known.format, true
			}
		}
	}
	return "", false
}
