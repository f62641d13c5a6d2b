package toolset

// View is how a named server shows tools. The zero View shows each as it is. Which tools a
// server shows at all is said by the bounds of the request.
type View struct {
	presented map[string]Presentation // by the name of the builtin or own tool
	sources   map[string]string       // those names by the names in the view, where they differ
}

// Presentation is how a view shows a tool. Empty fields leave the tool's own.
type Presentation struct {
	Name        string
	Title       string
	Description string
}

// NewView returns a view of tools, by the name of the builtin or own tool.
func NewView(tools map[string]Presentation) View {
	v := View{presented: tools, sources: map[string]string{}}
	for name, p := range tools {
		if p.Name != "" {
			v.sources[p.Name] = name
		}
	}
	return v
}

// source returns the name of the tool that the view shows under a name.
func (v View) source(name string) string {
	if source, ok := v.sources[name]; ok {
		return source
	}
	return name
}

// show returns the tool as the view shows it, or false if another tool has its name there.
func (v View) show(t *tool) (*tool, bool) {
	p, ok := v.presented[t.definition.Source]
	if !ok {
		return t, v.source(t.definition.Source) == t.definition.Source
	}
	shown := *t
	d := &shown.definition
	for to, text := range map[*string]string{&d.Name: p.Name, &d.Title: p.Title, &d.Description: p.Description} {
		if text != "" {
			*to = text
		}
	}
	return &shown, true
}
