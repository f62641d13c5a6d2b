package parse

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/richardlehane/mscfb"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
)

// property is the id of a property of a message, a recipient or an attachment (MS-OXPROPS).
type property uint16

const (
	propClass            property = 0x001A
	propSubject          property = 0x0037
	propSubmitted        property = 0x0039
	propFromName         property = 0x0042
	propFromAddress      property = 0x0065
	propTopic            property = 0x0070
	propHeaders          property = 0x007D
	propRecipientType    property = 0x0C15
	propSenderName       property = 0x0C1A
	propSenderAddress    property = 0x0C1F
	propDisplayCc        property = 0x0E03
	propDisplayTo        property = 0x0E04
	propDelivered        property = 0x0E06
	propBody             property = 0x1000
	propRTF              property = 0x1009
	propHTML             property = 0x1013
	propMessageID        property = 0x1035
	propReferences       property = 0x1039
	propInReplyTo        property = 0x1042
	propName             property = 0x3001
	propAddress          property = 0x3003
	propCreated          property = 0x3007
	propData             property = 0x3701
	propShortName        property = 0x3704
	propLongName         property = 0x3707
	propMediaType        property = 0x370E
	propAttachmentFlags  property = 0x3714
	propSMTP             property = 0x39FE
	propInternetCodepage property = 0x3FDE
	propLocale           property = 0x3FF1
	propCodepage         property = 0x3FFD
	propSenderSMTP       property = 0x5D01
	propFromSMTP         property = 0x5D02
	propHidden           property = 0x7FFE
)

// flagInHTML is the bit of propAttachmentFlags of a picture within the text.
const flagInHTML = 4

// Types of properties.
const (
	typeObject  = 0x000D
	typeString8 = 0x001E
	typeUnicode = 0x001F
	typeBinary  = 0x0102
)

// stream returns the name of the stream or storage that holds a property.
func (p property) stream(kind int) string {
	return fmt.Sprintf("__substg1.0_%04X%04X", uint16(p), kind)
}

// outlookProperties is the stream with the properties of a fixed size.
const outlookProperties = "__properties_version1.0"

// outlookStorage is a message, a recipient or an attachment.
type outlookStorage struct {
	streams  map[string]*mscfb.File
	within   map[string]*outlookStorage
	budget   *budget
	fixed    map[property]uint64
	encoding string // of texts that are not in Unicode
	broken   error  // the first stream that could not be read
}

// maxOutlookDepth is how many storages stand in each other at most: of a message an attachment, and of that a message, one
// deeper than email allows.
const maxOutlookDepth = 2 * (maxNesting + 2)

// openOutlook opens a message. What is read of it is deducted from the budget.
func openOutlook(content []byte, b *budget) (*outlookStorage, error) {
	file, err := mscfb.New(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	root := &outlookStorage{budget: b}
	for _, f := range file.File {
		if len(f.Path) <= maxOutlookDepth {
			root.add(f)
		}
	}
	if root.streams[outlookProperties] == nil {
		return nil, errors.New("it has no properties")
	}
	root.describe("")
	return root, nil
}

func (s *outlookStorage) storage(name string) *outlookStorage {
	if s.within[name] == nil {
		if s.within == nil {
			s.within = map[string]*outlookStorage{}
		}
		s.within[name] = &outlookStorage{budget: s.budget}
	}
	return s.within[name]
}

func (s *outlookStorage) add(f *mscfb.File) {
	for _, name := range f.Path {
		s = s.storage(name)
	}
	if f.FileInfo().IsDir() {
		s.storage(f.Name)
		return
	}
	if s.streams == nil {
		s.streams = map[string]*mscfb.File{}
	}
	s.streams[f.Name] = f
}

// describe reads the properties of a fixed size, here and in all storages within.
func (s *outlookStorage) describe(outer string) {
	const entry = 16 // bytes
	content := s.stream(outlookProperties)
	s.fixed = map[property]uint64{}
	content = content[len(content)%entry:] // the head is of 8, 24 or 32 bytes, of which whole entries are numbers of no property that is read
	for ; len(content) >= entry; content = content[entry:] {
		s.fixed[property(binary.LittleEndian.Uint16(content[2:]))] = binary.LittleEndian.Uint64(content[8:])
	}
	s.encoding = cmp.Or(s.codepage(propCodepage), localeLabel(s.number(propLocale)), s.codepage(propInternetCodepage), outer)
	for _, within := range s.within {
		within.describe(s.encoding)
	}
}

// number returns a property that is a number or a time, 0 for none.
func (s *outlookStorage) number(id property) uint64 { return s.fixed[id] }

// codepage returns the encoding that the first of the properties tells, "" for none.
func (s *outlookStorage) codepage(ids ...property) string {
	for _, id := range ids {
		if page := int32(s.number(id)); page > 0 && page != 1200 { // UTF-16
			return codepageLabel(int(page))
		}
	}
	return ""
}

// text returns a property that is a text, "" for none.
func (s *outlookStorage) text(id property) string {
	content := s.stream(id.stream(typeUnicode))
	if len(content) > 0 {
		content, _ = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewDecoder().Bytes(content)
	} else {
		content = []byte(decodedPage(s.stream(id.stream(typeString8)), s.encoding))
	}
	return strings.ReplaceAll(strings.ToValidUTF8(string(content), ""), "\x00", "")
}

// bytes returns a property that is bytes, nil for none.
func (s *outlookStorage) bytes(id property) []byte { return s.stream(id.stream(typeBinary)) }

// stream returns the content of a stream, nil for none.
func (s *outlookStorage) stream(name string) []byte {
	f := s.streams[name]
	if f == nil || f.Size == 0 {
		return nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil { // it may have been read before
		s.broken = cmp.Or(s.broken, err)
		return nil
	}
	content, err := s.budget.read(&smallReads{f})
	s.broken = cmp.Or(s.broken, err)
	return content
}

// failure returns why a message cannot be read any further, nil for streams that are broken.
func (s *outlookStorage) failure() error {
	if errors.Is(s.broken, errBudget) {
		return errBudget
	}
	return nil
}

// smallReads reads a stream in pieces: the time that mscfb takes for one grows with the square of its sectors.
type smallReads struct{ r io.Reader }

func (s *smallReads) Read(to []byte) (int, error) { return s.r.Read(to[:min(len(to), 32<<10)]) }

// decodedPage returns a text in the encoding of a label, or in the one that it looks like.
func decodedPage(content []byte, label string) string {
	if known, name := charset.Lookup(label); known != nil && (!utf8.Valid(content) || name == "iso-2022-jp") {
		if decoded, err := known.NewDecoder().Bytes(content); err == nil {
			return string(decoded)
		}
	}
	return decodedText(content)
}
