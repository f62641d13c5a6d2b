package toolset

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query/budget"
)

// maxFetchBytes limits the text that fetch returns, except for a chunk that is longer.
const maxFetchBytes = 64 << 10

// fetch returns the method of the tool fetch.
func (s *Set) fetch() method {
	return func(ctx context.Context, arguments accepted) (proto.Message, string, error) {
		var given struct {
			ID, EncodingName string
			MaxTokens        *float64
			StartByte        *float64
		}
		if err := json.Unmarshal(arguments.json, &given); err != nil {
			return nil, "", err
		}
		b, err := newBudget(given.MaxTokens, given.EncodingName)
		if err != nil {
			return nil, "", err
		}
		if at := given.StartByte; at != nil && (*at < 0 || *at > math.MaxUint32-maxFetchBytes) {
			return nil, "", fault.Field("startByte", "must be from 0 to the size of the text in bytes: give the nextStartByte of an answer")
		}
		document, ordinal, err := s.named(ctx, given.ID)
		if err != nil {
			return nil, "", err
		}
		f := fetching{set: s, document: document, id: given.ID}
		if b != nil {
			f.meter = new(meterOf(ctx, b))
		}
		if given.StartByte != nil {
			err = f.from(ctx, uint32(*given.StartByte))
		} else {
			err = f.around(ctx, ordinal)
		}
		if err != nil {
			return nil, "", err
		}
		answer := f.answer()
		switch {
		case f.err != nil:
			return nil, "", f.err
		case b != nil && f.tokens(f.text.GetText()) > b.Max:
			return nil, "", fault.Field("maxTokens", "is too small: the title and the url of the document alone take %d tokens", f.tokens(""))
		}
		return inBothForms(answer)
	}
}

// fetching is one call of fetch.
type fetching struct {
	set      *Set
	meter    *meter // nil without a budget
	document *ragdv1.Document
	id       string
	text     *ragdv1.ReadDocumentResponse // the part that is returned
	bare     bool                         // without the metadata of the document, which would take half of the budget
	err      error
}

func (f *fetching) read(ctx context.Context, start, end uint32) (*ragdv1.ReadDocumentResponse, error) {
	return f.set.api.ReadDocument(ctx, &ragdv1.ReadDocumentRequest{
		IndexName: f.document.GetIndexName(), DocumentId: f.document.GetDocumentId(), StartByte: start, EndByte: end,
	})
}

// from reads from a position on.
func (f *fetching) from(ctx context.Context, start uint32) (err error) {
	if f.text, err = f.read(ctx, start, start+maxFetchBytes); err == nil {
		f.shorten()
	}
	return err
}

// around reads a document from the start or, if it is long, the part around a chunk.
func (f *fetching) around(ctx context.Context, ordinal int) error {
	if err := f.from(ctx, 0); err != nil || !f.cut() || ordinal == 0 {
		return err
	}
	chunk, err := f.set.chunk(ctx, f.document, ordinal)
	if err != nil || chunk.GetEndByte() <= f.text.GetEndByte() {
		return err
	}
	most := uint32(maxFetchBytes)
	if f.meter != nil {
		most = f.text.GetEndByte() // which fits
	}
	passage := chunk.GetEndByte() - chunk.GetStartByte()
	margin := (most - min(passage, most)) / 2
	start := chunk.GetStartByte() - min(margin, chunk.GetStartByte())
	if f.text, err = f.read(ctx, start, max(start+maxFetchBytes, chunk.GetEndByte())); err != nil {
		return err
	}
	if f.meter == nil {
		f.shorten()
		return nil
	}
	// The part begins with a sentence, or with the chunk if that leaves too little room for it.
	f.skip(chunk.GetStartByte())
	before := proto.CloneOf(f.text)
	if f.shorten(); f.text.GetEndByte() < chunk.GetEndByte() {
		f.text = before
		text := f.text.GetText()[min(int(chunk.GetStartByte()-f.text.GetStartByte()), len(f.text.GetText())):]
		f.text.Text, f.text.StartByte = text, chunk.GetStartByte()
		f.shorten()
	}
	return nil
}

// skip lets the part begin with its first sentence that begins before a position, or at it.
func (f *fetching) skip(position uint32) {
	text := f.text.GetText()
	to := min(int(position-f.text.GetStartByte()), len(text))
	begin := to
	if f.text.GetStartByte() == 0 {
		begin = 0
	} else if ends := budget.Ends(text[:to], 0); len(ends) > 0 {
		begin = ends[0]
	}
	begin += len(text[begin:to]) - len(strings.TrimLeft(text[begin:to], " \t\r\n"))
	f.text.Text, f.text.StartByte = text[begin:], f.text.GetStartByte()+uint32(begin)
}

// shorten ends the part with a section or a sentence, and within the budget.
func (f *fetching) shorten() {
	text := f.text.GetText()
	most := len(text)
	fits := func(string) bool { return true }
	if f.meter != nil {
		most = f.meter.Prefix(text, f.meter.Max)
		fits = func(part string) bool { return f.tokens(part) <= f.meter.Max }
		f.bare = f.bare || f.tokens("") > f.meter.Max/2
	}
	end := budget.Shorten(text, most, f.text.GetContentType() == "text/markdown", f.text.GetEndByte() == f.text.GetByteSize(), fits)
	f.text.Text, f.text.EndByte = text[:end], f.text.GetStartByte()+uint32(end)
}

// cut reports whether the part is not the whole text.
func (f *fetching) cut() bool {
	return f.text.GetStartByte() > 0 || f.text.GetEndByte() < f.text.GetByteSize()
}

// tokens returns the tokens of an answer with a part of the text.
func (f *fetching) tokens(part string) int {
	_, encoded, err := inBothForms(f.answerWith(part, f.meter.Max))
	if err != nil {
		f.err = err
		return 0
	}
	n, err := f.meter.tokens(encoded, []byte(encoded))
	f.err = err
	return f.meter.Count(envelope) + n
}

// answer returns the answer with the part that was read.
func (f *fetching) answer() *structpb.Struct {
	used := 0
	if f.meter != nil {
		used = f.tokens(f.text.GetText())
	}
	return f.answerWith(f.text.GetText(), used)
}

func (f *fetching) answerWith(part string, used int) *structpb.Struct {
	fields := map[string]*structpb.Value{
		"id": structpb.NewStringValue(f.id), "title": structpb.NewStringValue(f.document.GetTitle()),
		"url": structpb.NewStringValue(f.document.GetUri()), "text": structpb.NewStringValue(part),
	}
	metadata := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for key, value := range f.document.GetMetadata().GetFields() {
		if !f.bare {
			metadata.Fields[key] = value
		}
	}
	end := f.text.GetStartByte() + uint32(len(part))
	if f.text.GetStartByte() > 0 || end < f.text.GetByteSize() {
		metadata.Fields["partial"] = structpb.NewBoolValue(true)
		fields["startByte"] = structpb.NewNumberValue(float64(f.text.GetStartByte()))
		fields["byteSize"] = structpb.NewNumberValue(float64(f.text.GetByteSize()))
		if end < f.text.GetByteSize() {
			fields["nextStartByte"] = structpb.NewNumberValue(float64(end))
		}
	}
	if len(metadata.Fields) > 0 {
		fields["metadata"] = structpb.NewStructValue(metadata)
	}
	if f.meter != nil {
		left := 0 // at as many bytes for each token
		if len(part) > 0 {
			left = int(int64(f.text.GetByteSize()-end) * int64(used) / int64(len(part)))
		}
		fields["budget"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			"maxTokens": structpb.NewNumberValue(float64(f.meter.Max)), "usedTokens": structpb.NewNumberValue(float64(used)),
			"encodingName": structpb.NewStringValue(f.meter.Encoding), "omittedTokens": structpb.NewNumberValue(float64(left)),
		}})
	}
	return &structpb.Struct{Fields: fields}
}

// named returns the document with an id of search, or with its own id or uri in the only
// index, and the number of the passage. Errors: NotFound.
func (s *Set) named(ctx context.Context, id string) (*ragdv1.Document, int, error) {
	req := &ragdv1.GetDocumentRequest{}
	rest := id
	if index, of, ok := strings.Cut(id, "/"); ok && isChunkID(of) {
		req.IndexName, rest = index, of
	}
	ordinal := 0
	switch {
	case isChunkID(rest):
		var number string
		req.DocumentId, number, _ = strings.Cut(rest, ":")
		ordinal, _ = strconv.Atoi(number)
	case len(rest) == documentIDBytes && strings.Count(rest, "-") == 4:
		req.DocumentId = rest
	default:
		req.Uri = rest
	}
	document, err := s.api.GetDocument(ctx, req)
	switch {
	case fault.KindOf(err) == fault.Invalid && req.IndexName == "" && strings.HasPrefix(fault.Public(err), indexArgument+":"):
		err = fault.Field("id", "must name the index, as there are several: write INDEX/ID, where ID is that of a passage")
	case fault.KindOf(err) == fault.Invalid:
		err = fault.Rename("documentId", "id", fault.Rename("uri", "id", err))
	}
	return document, ordinal, err
}

// documentIDBytes is the length of the id of a document.
const documentIDBytes = 36

// isChunkID reports whether an id is that of a chunk: the id of its document, a colon and
// its number.
func isChunkID(id string) bool {
	document, number, ok := strings.Cut(id, ":")
	_, err := strconv.Atoi(number)
	return ok && err == nil && len(document) == documentIDBytes
}

// chunk returns a chunk of a document by its number, nil if there is none.
func (s *Set) chunk(ctx context.Context, document *ragdv1.Document, ordinal int) (*ragdv1.Chunk, error) {
	const page = 1000
	for token := ""; ; {
		res, err := s.api.ListChunks(ctx, &ragdv1.ListChunksRequest{
			IndexName: document.GetIndexName(), DocumentId: document.GetDocumentId(), PageSize: page, PageToken: token,
		})
		if err != nil {
			return nil, err
		}
		for _, chunk := range res.GetChunks() {
			if int(chunk.GetOrdinal()) == ordinal {
				return chunk, nil
			}
		}
		if token = res.GetNextPageToken(); token == "" {
			return nil, nil
		}
	}
}
