package research

import (
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/query"
)

// Bounds of what is proven of a part.
const (
	provenPaths = 24 // of the best, of which the first that states all is taken
	besideWords = 20 // bytes between words of two relations that one phrase states
	maxBranches = 3  // names that a statement goes on to within its passage
)

// proof says for each relation of a part where it is stated; nil where it is not.
type proof []*statement

// stated returns the number of relations that are.
func (p proof) stated() (count int) {
	for _, s := range p {
		if s != nil {
			count++
		}
	}
	return count
}

// prover proves paths of a part. It is not safe for concurrent use.
type prover struct {
	part      *partRun
	relations []relation
	readings  map[string]*reading
}

// read returns a passage as it is read about a thing; see readAbout.
func (v *prover) read(p *passage, names []string) *reading {
	key := p.source.ID + "\x00" + strings.Join(names, "\x00")
	r := v.readings[key]
	if r == nil {
		r = readAbout(p, names, v.part.asked(p.source))
		v.readings[key] = r
	}
	return r
}

// prove returns what the passages of a path state of the relations, each about the thing that the one before leads to, from a name of
// the part on.
func (v *prover) prove(one path) proof {
	best := make(proof, len(v.relations))
	for _, names := range v.begins(one.steps[0].passage) {
		if p := v.from(one, names, 0, 0); p.stated() > best.stated() || len(best) == 0 {
			best = p
		}
	}
	return best
}

// begins returns the names of the things that the first passage of a path may be about.
func (v *prover) begins(p *passage) (all [][]string) {
	named := slices.Clone(v.part.carried)
	for _, s := range v.part.names {
		named = append(named, s.name)
	}
	if len(named) == 0 {
		return [][]string{nil}
	}
	for _, name := range named {
		switch {
		case len(spansOf(p.source.Title, []string{name})) > 0:
			all = append(all, []string{name, p.source.Title})
		case len(spansOf(p.source.Text, []string{name})) > 0:
			all = append(all, []string{name})
		}
	}
	return all
}

// from proves the relations from one on, of a thing that passage at of the path tells of.
func (v *prover) from(one path, names []string, at, relation int) proof {
	best := make(proof, len(v.relations))
	if relation == len(v.relations) {
		return best
	}
	better := func(p proof) {
		if p.stated() > best.stated() {
			best = p
		}
	}
	var next []string
	if at+1 < len(one.steps) && !v.namesake(one.steps[at].passage, one.steps[at+1]) {
		next = namesOf(one.steps[at+1])
		if one.steps[at+1].by.Name == "" { // goes on in the same document
			better(v.from(one, names, at+1, relation))
		}
	}
	r := v.read(one.steps[at].passage, names)
	for _, s := range r.statements(v.relations[relation], v.part.terms) {
		covered := relation + 1
		for covered < len(v.relations) && r.beside(s, v.relations[covered]) {
			covered++
		}
		better(v.on(one, s, next, at, relation, covered))
	}
	if next != nil { // the next passage may say it of itself: "Edwin Marsh founded Hallow Press"
		reversed := v.relations[relation]
		reversed.from = reversed.from.other()
		for _, s := range v.read(one.steps[at+1].passage, next).statements(reversed, v.part.terms) {
			if slices.ContainsFunc(s.values, func(value string) bool { return isOneOf(value, names) }) {
				p := v.from(one, next, at+1, relation+1)
				p[relation] = &s
				better(p)
			}
		}
	}
	if best.stated() < len(v.relations)-relation { // what is stated of the others
		better(v.from(one, names, at, relation+1))
		if next != nil {
			better(v.from(one, next, at+1, relation+1))
		}
	}
	return best
}

// on proves the relations after a statement, which states those from relation up to covered.
func (v *prover) on(one path, s statement, next []string, at, relation, covered int) proof {
	best := make(proof, len(v.relations))
	switch {
	case covered == len(v.relations):
	case next != nil && slices.ContainsFunc(s.values, func(value string) bool { return isOneOf(value, next) }):
		best = v.from(one, next, at+1, covered)
	default:
		for _, value := range s.values[:min(len(s.values), maxBranches)] {
			if p := v.from(one, []string{value}, at, covered); p.stated() > best.stated() {
				best = p
			}
		}
	}
	for n := relation; n < covered; n++ {
		best[n] = &s
	}
	return best
}

// namesake reports whether a passage links by the same name to another passage that has it as its title, or to several that have more to
// their titles than it.
func (v *prover) namesake(from *passage, to step) bool {
	if to.by.Name == "" || sameName(to.by.Name, to.source.Title) {
		return false
	}
	return slices.ContainsFunc(from.links, func(other mention) bool {
		p := v.part.known[other.To]
		return other.To.DocumentID != to.ref.DocumentID && sameName(other.Name, to.by.Name) && p != nil && len(spansOf(p.source.Title, []string{to.by.Name})) > 0
	})
}

// other returns the other side.
func (s side) other() side {
	switch s {
	case acting:
		return actedOn
	case actedOn:
		return acting
	}
	return s
}

// namesOf returns how a passage calls what it is about, and what the passage before calls it.
func namesOf(s step) []string {
	names := []string{s.by.Name, s.source.Title}
	return slices.DeleteFunc(names, func(n string) bool { return n == "" })
}

// isOneOf reports whether a name is one of several.
func isOneOf(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return sameName(n, name) })
}

// beside reports whether the phrase of a statement states another relation, too: "headed the drawing office".
func (r *reading) beside(s statement, rel relation) bool {
	for _, head := range rel.heads {
		for _, hit := range r.hits[head] {
			between := query.Span{Start: min(hit.End, s.hit.End), End: max(hit.Start, s.hit.Start)}
			if hit.End == 0 || hit == s.hit || hit.Start < s.at.Start || hit.End > s.at.End || between.End < between.Start || between.End-between.Start > besideWords {
				continue
			}
			if !strings.ContainsAny(r.source.Text[between.Start:between.End], ",;.") && len(written("x "+r.source.Text[between.Start:between.End])) == 0 &&
				!personal.MatchString(r.source.Text[between.Start:between.End]) {
				return true
			}
		}
	}
	return false
}
