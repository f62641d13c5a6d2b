package pdftext

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// font decodes the codes of a string to text and widths.
type font struct {
	composite bool        // codes have two bytes, unless mapped gives another length
	unicode   bool        // codes are UTF-16 text
	mapped    *charMap    // ToUnicode, nil if there is none
	simple    [256]string // text of one-byte codes
	widths    map[int]float64
	missing   float64 // width of codes that are not in widths
}

// font returns the font of a resource. Fonts are cached per file.
func (r *reader) font(o types.Object) *font {
	if o == nil {
		return nil
	}
	key := fmt.Sprintf("%p", o)
	if ref, ok := o.(types.IndirectRef); ok {
		key = ref.ObjectNumber.String()
	} else if d, ok := o.(types.Dict); ok {
		key = fmt.Sprintf("%p", d)
	}
	if f, ok := r.fonts[key]; ok {
		return f
	}
	f := r.newFont(r.dict(o))
	r.fonts[key] = f
	return f
}

func (r *reader) newFont(d types.Dict) *font {
	if d == nil {
		return nil
	}
	f := &font{widths: map[int]float64{}}
	if data, err := r.stream(d["ToUnicode"]); err == nil && len(data) > 0 {
		f.mapped = readCharMap(data)
	}
	if r.name(d["Subtype"]) == "Type0" {
		r.composite(f, d)
		return f
	}
	r.simple(f, d)
	return f
}

// composite loads the widths and the encoding of a font whose codes have several bytes.
func (r *reader) composite(f *font, d types.Dict) {
	f.composite = true
	encoding := r.name(d["Encoding"])
	f.unicode = strings.Contains(encoding, "UCS2") || strings.Contains(encoding, "UTF16")
	f.missing = 1000
	descendants := r.array(d["DescendantFonts"])
	if len(descendants) == 0 {
		return
	}
	below := r.dict(descendants[0])
	if below["DW"] != nil {
		f.missing = r.number(below["DW"])
	}
	r.compositeWidths(f, r.array(below["W"]))
}

// maxWidths bounds the entries in the width table of a font.
const maxWidths = 1 << 17

// compositeWidths reads a list of widths in the forms "first [w w ...]" and
// "first last w" (ISO 32000-1, 9.7.4.3).
func (r *reader) compositeWidths(f *font, w types.Array) {
	for i := 0; i+1 < len(w) && len(f.widths) < maxWidths; {
		first := int(r.number(w[i]))
		if list := r.array(w[i+1]); list != nil {
			for j, width := range list {
				f.widths[first+j] = r.number(width)
			}
			i += 2
			continue
		}
		if i+2 >= len(w) {
			return
		}
		last, width := int(r.number(w[i+1])), r.number(w[i+2])
		for code := first; code <= min(last, first+1<<16); code++ {
			f.widths[code] = width
		}
		i += 3
	}
}

// simple loads the widths and the encoding of a font of one-byte codes.
func (r *reader) simple(f *font, d types.Dict) {
	descriptor := r.dict(d["FontDescriptor"])
	f.missing = r.number(descriptor["MissingWidth"])
	first := int(r.number(d["FirstChar"]))
	widths := r.array(d["Widths"])
	for i, w := range widths[:min(len(widths), 256)] {
		f.widths[first+i] = r.number(w)
	}
	if len(widths) == 0 { // one of the standard fonts, whose widths the file may omit
		f.missing = 500
		if strings.Contains(r.name(d["BaseFont"]), "Courier") {
			f.missing = 600
		}
	}
	f.simple = standardEncoding()
	if strings.Contains(r.name(d["BaseFont"]), "Symbol") {
		f.simple = symbolEncoding()
	}
	encoding := r.object(d["Encoding"])
	base := r.name(encoding)
	asDict := r.dict(encoding)
	if asDict != nil {
		base = r.name(asDict["BaseEncoding"])
	}
	switch base {
	case "WinAnsiEncoding":
		f.simple = winAnsiEncoding()
	case "MacRomanEncoding":
		f.simple = macRomanEncoding()
	case "":
		r.builtinEncoding(f, descriptor)
	}
	code := 0
	for _, o := range r.array(asDict["Differences"]) {
		switch o := r.object(o).(type) {
		case types.Integer:
			code = int(o)
		case types.Name:
			if code >= 0 && code < 256 {
				f.simple[code] = glyphText(string(o))
			}
			code++
		}
	}
	if r.name(d["Subtype"]) == "Type3" { // its widths are in units of its font matrix
		scale := 1.0
		if m := r.array(d["FontMatrix"]); len(m) == 6 {
			scale = r.number(m[0]) * 1000
		}
		for code := range f.widths {
			f.widths[code] *= scale
		}
	}
}

// builtinEncoding reads the encoding from an embedded Type 1 font, where it is listed
// unencrypted as "dup 65 /A put".
func (r *reader) builtinEncoding(f *font, descriptor types.Dict) {
	data, err := r.stream(descriptor["FontFile"])
	if err != nil {
		return
	}
	words := strings.Fields(string(data[:min(len(data), 16<<10)]))
	for i := 0; i+3 < len(words); i++ {
		if words[i] == "eexec" {
			return
		}
		if words[i] != "dup" || words[i+3] != "put" || !strings.HasPrefix(words[i+2], "/") {
			continue
		}
		if code, err := strconv.Atoi(words[i+1]); err == nil && code >= 0 && code < 256 {
			f.simple[code] = glyphText(words[i+2][1:])
		}
	}
}

// decode returns the text of a string, the number of its codes, the sum of their widths
// in thousandths of the font size, the number of one-byte codes 32, and the number of
// codes without text.
func (f *font) decode(raw string) (text string, glyphs int, width float64, spaces, unreadable int) {
	var out strings.Builder
	for len(raw) > 0 {
		n := f.codeLength(raw)
		code := 0
		for _, c := range []byte(raw[:n]) {
			code = code<<8 | int(c)
		}
		t, ok := f.text(raw[:n], code)
		if !ok {
			unreadable++
		}
		out.WriteString(t)
		if w, ok := f.widths[code]; ok {
			width += w
		} else {
			width += f.missing
		}
		if n == 1 && code == ' ' {
			spaces++
		}
		glyphs++
		raw = raw[n:]
	}
	return out.String(), glyphs, width, spaces, unreadable
}

func (f *font) codeLength(raw string) int {
	if !f.composite {
		return 1
	}
	if f.mapped != nil {
		if n := f.mapped.codeLength(raw); n > 0 {
			return n
		}
	}
	return min(2, len(raw))
}

func (f *font) text(raw string, code int) (string, bool) {
	if f.mapped != nil {
		if t, ok := f.mapped.text(len(raw), code); ok {
			return t, true
		}
	}
	switch {
	case f.composite && f.unicode && len(raw) == 2:
		return string(rune(code)), true
	case f.composite:
		return "", false
	}
	t := f.simple[code]
	return t, t != ""
}

// utf16Text decodes big-endian UTF-16 and drops null characters.
func utf16Text(raw []byte) string {
	units := make([]uint16, 0, len(raw)/2)
	for i := 0; i+1 < len(raw); i += 2 {
		units = append(units, uint16(raw[i])<<8|uint16(raw[i+1]))
	}
	if len(raw) == 1 {
		units = append(units, uint16(raw[0]))
	}
	var out []byte
	for _, r := range utf16.Decode(units) {
		if r != 0 {
			out = utf8.AppendRune(out, r)
		}
	}
	return string(out)
}
