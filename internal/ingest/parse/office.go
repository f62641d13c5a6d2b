package parse

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/operate/fault"
)

// describeOffice stores the properties in docProps/core.xml and docProps/app.xml of an Office file.
func (p *parser) describeOffice(from *pack) error {
	data, err := from.optional("docProps/core.xml")
	if err != nil || data == nil {
		return err
	}
	core, _ := tree(data) // a broken part is ignored, because the text does not depend on it
	for _, child := range core.children {
		switch key := child.name; key {
		case "title":
			p.doc.Title = string(child.content)
		case "creator":
			p.property("author", string(child.content))
		case "lastModifiedBy":
			p.property("modifiedBy", string(child.content))
		case "created", "modified", "subject", "keywords", "description", "language":
			p.property(key, string(child.content))
		}
	}
	if data, err = from.optional("docProps/app.xml"); err != nil || data == nil {
		return err
	}
	app, _ := tree(data)
	for _, child := range app.children {
		if child.name == "Pages" || child.name == "Slides" {
			p.pages(string(child.content))
		}
	}
	return nil
}

// oldOffice reads a file of Office before 2007 as the newer one to which it is converted.
func (p *parser) oldOffice(ctx context.Context) error {
	if p.src.Convert == nil {
		return unsupported(p.format.aName()+" file of Office before 2007", "save it as DOCX, XLSX or PPTX, or ask the operator to install LibreOffice and to set libreoffice")
	}
	content, err := p.src.Convert(ctx, p.src.Content, "."+string(p.format))
	var known *fault.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &known):
		return err
	case err != nil:
		return broken(p.format, err)
	}
	old := p.format
	defer func() { p.format = old }()
	p.src.Content, p.format = content, map[Format]Format{DOC: DOCX, XLS: XLSX, PPT: PPTX}[old]
	return p.parse(ctx)
}

// relation is a relation of a part.
type relation struct {
	kind   string // the last segment of its type: slide, image, hyperlink, ...
	target string // the name of a part, or an address outside of the file
	beyond bool   // target is an address
}

// relations returns the relations of a part, or of the whole file for "", by their ids.
func (p *pack) relations(of string) (map[string]relation, error) {
	name := "_rels/.rels"
	if of != "" {
		name = path.Join(path.Dir(of), "_rels", path.Base(of)+".rels")
	}
	data, err := p.optional(name)
	if err != nil || data == nil {
		return nil, err
	}
	list, err := tree(data)
	if err != nil {
		return nil, broken(p.format, err)
	}
	all := map[string]relation{}
	for _, n := range list.children {
		r := relation{kind: path.Base(n.attr("Type")), target: n.attr("Target"), beyond: n.attr("TargetMode") == "External"}
		if !r.beyond {
			r.target = resolved(of, r.target)
		}
		all[n.attr("Id")] = r
	}
	return all, nil
}

// resolved returns the name of the part that a target in the part of names.
func resolved(of, target string) string {
	target = strings.ReplaceAll(target, `\`, "/")
	if strings.HasPrefix(target, "/") {
		return path.Clean(strings.TrimPrefix(target, "/"))
	}
	return path.Join(path.Dir(of), target)
}

// ofKind returns the targets of the relations of a kind, in the order of their ids.
func ofKind(all map[string]relation, kind string) []string {
	var targets []string
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if r := all[id]; r.kind == kind && !r.beyond {
			targets = append(targets, r.target)
		}
	}
	return targets
}

// mainPart returns the name of the part with which an Office file begins.
func (p *pack) mainPart(usual string) (string, error) {
	all, err := p.relations("")
	if err != nil {
		return "", err
	}
	if found := ofKind(all, "officeDocument"); len(found) > 0 {
		return found[0], nil
	}
	return usual, nil
}

// related returns the tree of the part to which a relation of the kind leads. It returns
// nil if there is no such part, or if the part is broken: it is not needed for the text.
func (p *pack) related(all map[string]relation, kind string) (*node, error) {
	for _, name := range ofKind(all, kind) {
		data, err := p.optional(name)
		if err != nil {
			return nil, err
		}
		if n, err := tree(data); err == nil {
			return n, nil
		}
	}
	return nil, nil
}
