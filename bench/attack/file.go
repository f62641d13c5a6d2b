package main

import (
	stdzip "archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"time"
)

// Files that are small and need much time or memory to read.

// fileAttacks returns the attacks with files.
func fileAttacks() []attack {
	return []attack{
		{name: "epub-spines", what: "12 EPUBs of 9,000 spine entries that name one chapter, while the other tenant uploads DOCX files, with a write key", run: repeatChapters},
		fileBomb("docx-bomb", "a DOCX whose text is 1 GB of A", docx(func(w io.Writer) { repeat(w, "AAAAAAAAAAAAAAAA", 1<<26) })),
		fileBomb("docx-elements", "a DOCX of 30 million empty paragraphs", docx(func(w io.Writer) { repeat(w, "<w:p/>", 30_000_000) })),
		fileBomb("xlsx-bomb", "a workbook with a row of 100 million cells", archive(
			member{"[Content_Types].xml", `<Types/>`},
			member{"xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>`},
			member{"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>`},
			member{"xl/worksheets/sheet1.xml", func(w io.Writer) {
				fmt.Fprint(w, "<worksheet><sheetData><row>")
				repeat(w, "<c><v>1</v></c>", 100_000_000)
				fmt.Fprint(w, "</row></sheetData></worksheet>")
			}},
		)),
		fileBomb("zip-in-zip", "an archive of 100 archives of 100 MB of A each", nested()),
	}
}

// member is a file of an archive. content is a string or a func(io.Writer).
type member struct {
	name    string
	content any
}

// archive returns a function that makes an archive.
func archive(members ...member) func() []byte {
	return func() []byte {
		var b bytes.Buffer
		z := stdzip.NewWriter(&b)
		for _, m := range members {
			w, err := z.Create(m.name)
			if err != nil {
				panic(err) // a buffer does not fail
			}
			switch content := m.content.(type) {
			case string:
				_, _ = io.WriteString(w, content)
			case []byte:
				_, _ = w.Write(content)
			case func(io.Writer):
				content(w)
			}
		}
		_ = z.Close() // a buffer does not fail
		return b.Bytes()
	}
}

// docx returns a function that makes a document with the given content.
func docx(content func(io.Writer)) func() []byte {
	return archive(
		member{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/word/document.xml" ` +
			`ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`},
		member{"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" ` +
			`Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`},
		member{"word/document.xml", func(w io.Writer) {
			fmt.Fprint(w, `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>`)
			content(w)
			fmt.Fprint(w, `</w:t></w:r></w:p></w:body></w:document>`)
		}},
	)
}

// epub returns a book whose reading order names the same chapter again and again.
func epub(number, entries int) []byte {
	chapter := fmt.Sprintf("<html><body><p>book %d %s</p></body></html>", number, strings.Repeat("harbour quarry ", 1800))
	return archive(
		member{"mimetype", "application/epub+zip"},
		member{"META-INF/container.xml", `<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>`},
		member{"book.opf", func(w io.Writer) {
			fmt.Fprint(w, `<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine>`)
			repeat(w, `<itemref idref="a"/>`, entries)
			fmt.Fprint(w, `</spine></package>`)
		}},
		member{"a.xhtml", chapter},
	)()
}

func nested() func() []byte {
	return func() []byte {
		inner := archive(member{"a.txt", func(w io.Writer) { repeat(w, "AAAAAAAAAA", 10_000_000) }})()
		members := make([]member, 100)
		for i := range members {
			members[i] = member{fmt.Sprintf("%d.zip", i), inner}
		}
		return archive(members...)()
	}
}

// fileBomb returns an attack that uploads a file twice at once, under two names, because
// two files are read at a time.
func fileBomb(name, what string, file func() []byte) attack {
	return attack{name: name, what: "2x " + what, run: func(ctx context.Context, s *arena) (result, error) {
		content := file()
		answers := times(2, func(n int) answer { return s.uploadFile(ctx, s.attacker, fmt.Sprintf("%s-%d", name, n), content) })
		r := reject(answers)
		bounded, cancel := context.WithTimeout(ctx, 10*time.Minute)
		defer cancel()
		start := time.Now()
		if err := s.awaitIngest(bounded, s.attacker); err != nil {
			r.breaks("the files were not read to an end: %v", err)
			return r, nil
		}
		for n := range answers {
			d, err := s.document(ctx, s.attacker, fmt.Sprintf("%s-%d", name, n))
			if err != nil {
				return r, err
			}
			r.answer += fmt.Sprintf("; %s after %.0f s: %s", d.Status, time.Since(start).Seconds(), brief(d.Error))
		}
		return r, nil
	}}
}

func (s *arena) uploadFile(ctx context.Context, keys tenantKeys, uri string, content []byte) answer {
	return s.rpc(ctx, keys.write, "DocumentService/UploadDocument", object{
		"indexName": "docs", "uri": uri, "content": base64.StdEncoding.EncodeToString(content),
	})
}

// document is a stored document.
type document struct {
	DocumentID, Status, Error string
	ChunkCount                int
}

func (s *arena) document(ctx context.Context, keys tenantKeys, uri string) (d document, err error) {
	return d, s.must(ctx, keys.read, "DocumentService/GetDocument", object{"indexName": "docs", "uri": uri}, &d)
}

// repeatChapters measures how long the other tenant's uploads take until they can be
// searched.
func repeatChapters(ctx context.Context, s *arena) (result, error) {
	alone, err := s.uploadDocx(ctx, "alone", 5)
	if err != nil {
		return result{}, err
	}
	answers := times(12, func(n int) answer {
		return s.uploadFile(ctx, s.attacker, fmt.Sprintf("book-%d.epub", n), epub(n, 9000))
	})
	r := reject(answers)
	time.Sleep(time.Second) // until the books are being read
	attacked, err := s.uploadDocx(ctx, "attacked", 5)
	if err != nil {
		return r, err
	}
	r.answer += fmt.Sprintf("; the other tenant's upload takes %.2f s alone, at most %.2f s under attack", alone.Seconds(), attacked.Seconds())
	if attacked > 2*alone+time.Second {
		r.breaks("the other tenant's upload took %.0fx", attacked.Seconds()/alone.Seconds())
	}
	return r, nil
}

// uploadDocx uploads documents of the other tenant one after another and returns the
// longest time until one was ready.
func (s *arena) uploadDocx(ctx context.Context, name string, n int) (longest time.Duration, err error) {
	for i := range n {
		content := docx(func(w io.Writer) { fmt.Fprintf(w, "harbour %s %d", name, i) })()
		start := time.Now()
		if a := s.uploadFile(ctx, s.victim, fmt.Sprintf("%s-%d.docx", name, i), content); a.code != "ok" {
			return 0, fmt.Errorf("upload: %s: %s", a.code, brief(a.text))
		}
		if err := s.awaitIngest(ctx, s.victim); err != nil {
			return 0, err
		}
		longest = max(longest, time.Since(start))
	}
	return longest, nil
}
