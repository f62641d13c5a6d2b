package export

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/ingest/parse"
)

// warc yields the pages and files of a WARC file: the bodies of the answers that were a success, and resources. What
// nobody can read, such as pictures and scripts, is passed over.
func warc(r *bufio.Reader, yield yielder) {
	for {
		header, length, err := warcHeader(r)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			yield(Item{}, broken("WARC file", err))
			return
		}
		block := &io.LimitedReader{R: r, N: length}
		item, err := warcItem(header, block)
		if item.Name != "" && !yield(item, err) {
			return
		}
		if _, err := io.Copy(io.Discard, block); err != nil || block.N > 0 {
			yield(Item{}, broken("WARC file", io.ErrUnexpectedEOF))
			return
		}
	}
}

// maxWARCHeader bounds the header of a record, in bytes.
const maxWARCHeader = 1 << 20

// warcHeader reads the header of the next record and the length of its block. Errors: io.EOF at the end.
func warcHeader(r *bufio.Reader) (textproto.MIMEHeader, int64, error) {
	for { // empty lines stand between records
		next, err := r.Peek(1)
		if err != nil {
			return nil, 0, err
		}
		if next[0] != '\r' && next[0] != '\n' {
			break
		}
		_, _ = r.Discard(1)
	}
	var head bytes.Buffer
	for {
		line, err := r.ReadSlice('\n')
		if err != nil || head.Len() > maxWARCHeader {
			return nil, 0, errors.New("the header of a record is cut off or too large")
		}
		if len(bytes.TrimSpace(line)) == 0 {
			break
		}
		head.Write(line)
	}
	if !bytes.HasPrefix(head.Bytes(), []byte("WARC/")) {
		return nil, 0, errors.New("a record does not begin with its version")
	}
	head.WriteString("\r\n")
	lines := textproto.NewReader(bufio.NewReader(&head))
	if _, err := lines.ReadLine(); err != nil {
		return nil, 0, err
	}
	header, err := lines.ReadMIMEHeader()
	if err != nil {
		return nil, 0, err
	}
	length, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64)
	if err != nil || length < 0 {
		return nil, 0, errors.New("a record has no length")
	}
	return header, length, nil
}

// warcItem returns the item in a record, without a name for none.
func warcItem(header textproto.MIMEHeader, block io.Reader) (Item, error) {
	address := strings.Trim(header.Get("Warc-Target-Uri"), "<>")
	target, err := url.Parse(address)
	if err != nil || target.Scheme != "http" && target.Scheme != "https" || target.Host == "" || header.Get("Warc-Segment-Number") > "1" {
		return Item{}, nil
	}
	name := target.Host + "/" + strings.TrimPrefix(target.EscapedPath(), "/")
	if target.RawQuery != "" {
		name += "?" + target.RawQuery
	}
	item := Item{ContentType: header.Get("Content-Type"), Origin: Origin{URL: address}}
	if strings.HasSuffix(name, "/") {
		name += "index"
	}
	if at, err := time.Parse(time.RFC3339, header.Get("Warc-Date")); err == nil {
		item.Origin.Updated = at
		item.Origin.Properties = map[string]string{"captured": at.UTC().Format(time.RFC3339)}
	}
	packed := false
	switch header.Get("Warc-Type") {
	case "resource":
	case "response":
		res, err := http.ReadResponse(bufio.NewReader(block), nil)
		if err != nil || res.StatusCode != http.StatusOK {
			return Item{}, nil //nolint:nilerr // what is no answer of HTTP, such as one of DNS, is no page
		}
		defer res.Body.Close()
		item.ContentType = res.Header.Get("Content-Type")
		if at, err := http.ParseTime(res.Header.Get("Last-Modified")); err == nil {
			item.Origin.Updated = at
		}
		packed = res.Header.Get("Content-Encoding") != ""
		if block, err = decoded(res); err != nil {
			item.Name = name
			return item, err
		}
	default:
		return Item{}, nil
	}
	if isForPrograms(item.ContentType) {
		return Item{}, nil
	}
	item.Name = name
	item.Content, err = io.ReadAll(io.LimitReader(block, MaxItem+1))
	switch {
	case len(item.Content) > MaxItem:
		return item, errTooLarge()
	case err != nil && (packed || !errors.Is(err, io.ErrUnexpectedEOF)): // servers often close too early
		return item, broken("record of a WARC file", err)
	case len(item.Content) == 0:
		item.Name = ""
	}
	return item, nil
}

// decoded returns the body of an answer as it was before it was compressed. Writers of WARC files keep the header that says
// that it is, even if they have unpacked the body.
func decoded(res *http.Response) (io.Reader, error) {
	body := bufio.NewReader(res.Body)
	head, _ := body.Peek(16) // an empty body is none
	switch res.Header.Get("Content-Encoding") {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip", "zstd":
		unpacked, err := parse.Decompress(head, body)
		if err != nil {
			return nil, broken("record of a WARC file", err)
		}
		return unpacked, nil
	}
	if kind := http.DetectContentType(head); strings.HasPrefix(kind, "text/") {
		return body, nil
	}
	return nil, broken("record of a WARC file", fmt.Errorf("its encoding is %q", res.Header.Get("Content-Encoding")))
}

// isForPrograms reports whether a file with a media type is a picture, a font, a script or the like.
func isForPrograms(contentType string) bool {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	kind = strings.TrimSpace(kind)
	for _, prefix := range []string{"image/", "font/", "audio/", "video/", "text/css", "text/javascript", "application/javascript", "application/x-javascript", "application/font", "application/json", "application/octet-stream"} {
		if strings.HasPrefix(kind, prefix) {
			return true
		}
	}
	return false
}
