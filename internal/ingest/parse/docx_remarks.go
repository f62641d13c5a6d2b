package parse

import "strconv"

// remark is a note or a comment.
type remark struct {
	blocks []block
	author string // of a comment
	mark   string // of a note that was referred to, such as [^1]
}

// readRemarks reads a part with notes or comments.
func (w *wordReader) readRemarks(kind string) error {
	for _, name := range ofKind(w.relations, kind) {
		data, err := w.from.optional(name)
		if err != nil || data == nil {
			return err
		}
		relations, err := w.from.relations(name)
		if err != nil {
			return err
		}
		part := &wordReader{ctx: w.ctx, from: w.from, relations: relations, styles: w.styles, lists: w.lists, flow: flow{out: &textBuilder{}}, remarks: w.remarks, kind: kind}
		if err := part.read(data); err != nil {
			return err
		}
	}
	return nil
}

// refer writes the mark of a note, and the note or comment after the paragraph. What is
// referred to again is not written again.
func (w *wordReader) refer(kind, id string) {
	p := w.paragraph()
	key := kind + id
	r, ok := w.remarks[key]
	if p == nil || !ok || w.kind != "" {
		return
	}
	begun := "Comment by " + r.author + ": "
	if kind != "comments" {
		if r.mark == "" {
			w.flow.notes++
			r.mark = "[^" + strconv.Itoa(w.flow.notes) + "]"
		}
		w.add(r.mark)
		begun = r.mark + ": "
	} else if r.author == "" {
		begun = "Comment: "
	}
	if text := inline(r.blocks); text != "" {
		p.after = append(p.after, block{text: begun + text})
	}
	r.blocks = nil
	w.remarks[key] = r
}
