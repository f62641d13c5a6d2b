package rpc

import (
	"cmp"
	"context"
	"encoding/json"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/ingest"
	"github.com/ragdhq/ragd/internal/ingest/parse/pdftext"
	"github.com/ragdhq/ragd/internal/query"
)

// boxOrigin is the corner of a page from which boxes are measured.
const boxOrigin = "top-left"

// furtherPages is how many pages before and after those of a chunk its source may be from, if it was expanded.
const furtherPages = 2

// passageOf returns the passage of a source that is to be located: its text as a whole, and the best sentences in it if
// they are known. A source that is not from a page has no First page.
func passageOf(s query.Source, indexName string) ingest.Passage {
	p := ingest.Passage{IndexName: cmp.Or(s.IndexName, indexName), DocumentID: s.DocumentID}
	var of struct {
		Position struct {
			Page, PageEnd int
			File          string
		}
	}
	if json.Unmarshal([]byte(s.Metadata), &of) != nil || of.Position.Page < 1 || of.Position.File != "" {
		return p
	}
	p.Text, p.First, p.Last = s.Text, of.Position.Page, max(of.Position.Page, of.Position.PageEnd)
	if s.Chunk != nil {
		p.First, p.Last = max(1, p.First-furtherPages), p.Last+furtherPages
	}
	p.Parts = []pdftext.Part{{Start: 0, End: len(s.Text)}}
	if s.Highlight != nil {
		p.Parts = append(p.Parts, pdftext.Part(s.Highlight.Passage))
	}
	return p
}

// addBoxes adds to the messages of sources where they stand on their pages. It returns warnings.
func (h *Handlers) addBoxes(ctx context.Context, indexName string, sources []query.Source, messages []*ragdv1.Source) ([]string, error) {
	passages := make([]ingest.Passage, len(sources))
	for n, s := range sources {
		passages[n] = passageOf(s, indexName)
	}
	located, warnings, err := h.Ingest.Locate(ctx, passages)
	if err != nil {
		return nil, err
	}
	for n, parts := range located {
		if len(parts) == 0 {
			continue
		}
		position := messages[n].GetMetadata().GetFields()["position"].GetStructValue()
		if position.GetFields() != nil && len(parts[0]) > 0 {
			position.Fields["boxes"] = boxesValue(parts[0])
		}
		if highlight := messages[n].GetHighlight(); highlight != nil && len(parts) > 1 {
			highlight.Boxes = boxesMessages(parts[1])
		}
	}
	return warnings, nil
}

func boxesMessages(areas []pdftext.Area) []*ragdv1.PageBoxes {
	messages := make([]*ragdv1.PageBoxes, len(areas))
	for n, area := range areas {
		messages[n] = &ragdv1.PageBoxes{Page: int32(area.Page), Width: area.Width, Height: area.Height, Origin: boxOrigin}
		for _, b := range area.Boxes {
			messages[n].Boxes = append(messages[n].Boxes, &ragdv1.Box{Left: b.Left, Top: b.Top, Right: b.Right, Bottom: b.Bottom})
		}
	}
	return messages
}

// boxesValue returns areas as a list of metadata, which has the JSON of boxesMessages.
func boxesValue(areas []pdftext.Area) *structpb.Value {
	number := structpb.NewNumberValue
	object := func(fields map[string]*structpb.Value) *structpb.Value {
		return structpb.NewStructValue(&structpb.Struct{Fields: fields})
	}
	list := func(values []*structpb.Value) *structpb.Value {
		return structpb.NewListValue(&structpb.ListValue{Values: values})
	}
	pages := make([]*structpb.Value, len(areas))
	for n, area := range areas {
		boxes := make([]*structpb.Value, len(area.Boxes))
		for i, b := range area.Boxes {
			boxes[i] = object(map[string]*structpb.Value{"left": number(b.Left), "top": number(b.Top), "right": number(b.Right), "bottom": number(b.Bottom)})
		}
		pages[n] = object(map[string]*structpb.Value{
			"page": number(float64(area.Page)), "width": number(area.Width), "height": number(area.Height),
			"origin": structpb.NewStringValue(boxOrigin), "boxes": list(boxes),
		})
	}
	return list(pages)
}
