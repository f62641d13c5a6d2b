package parse

import (
	"path"
	"strings"
)

// describeOffice stores the properties in docProps/core.xml of an Office file.
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
		case "created", "subject", "keywords", "language":
			p.property(key, string(child.content))
		}
	}
	return nil
}

// relations returns the targets of a part's relations by their ids, as the names of
// parts.
func (p *pack) relations(of string) (map[string]string, error) {
	data, err := p.optional(path.Join(path.Dir(of), "_rels", path.Base(of)+".rels"))
	if err != nil || data == nil {
		return nil, err
	}
	list, err := tree(data)
	if err != nil {
		return nil, broken(p.format, err)
	}
	targets := map[string]string{}
	for _, r := range list.children {
		if r.attr("TargetMode") == "External" {
			continue
		}
		target := strings.ReplaceAll(r.attr("Target"), `\`, "/")
		if strings.HasPrefix(target, "/") {
			target = strings.TrimPrefix(target, "/")
		} else {
			target = path.Join(path.Dir(of), target)
		}
		targets[r.attr("Id")] = target
	}
	return targets, nil
}
