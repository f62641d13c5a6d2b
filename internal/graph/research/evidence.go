package research

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ragdhq/ragd/internal/graph"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// response puts the evidence together: the best chains of all parts, passage by passage, then what the whole question found and the
// next best chains, in turn.
func (r *run) response(ctx context.Context) (Response, error) {
	out := Response{Stopped: r.stopped}
	e := evidence{at: map[graph.ChunkRef]int{}, most: r.request.passages}
	for n := 0; n < maxChain; n++ {
		for _, p := range r.parts {
			if len(p.paths) > 0 && n < len(p.paths[0].steps) {
				e.addStep(p, p.paths[0], n)
			}
		}
	}
	e.fill(r.parts, r.whole)
	for _, p := range r.parts {
		e.addStatements(p)
		p.result.Found = p.result.Found && len(p.result.Passages) == len(p.chain())
		out.Parts = append(out.Parts, p.result)
	}
	for _, p := range e.passages {
		out.Passages = append(out.Passages, *p)
	}
	out.Warnings = r.warned
	err := r.fit(ctx, &out)
	return out, err
}

// evidence is a list of passages without doubles.
type evidence struct {
	passages []*Passage
	at       map[graph.ChunkRef]int
	most     int
}

// add adds a source unless it is there or there is no space, and returns it; nil without space.
func (e *evidence) add(source query.Source) *Passage {
	ref := chunkOf(source)
	if n, ok := e.at[ref]; ok && source.DocumentID != "" {
		return e.passages[n]
	}
	if len(e.passages) >= e.most {
		return nil
	}
	e.at[ref] = len(e.passages)
	p := &Passage{Source: source}
	e.passages = append(e.passages, p)
	return p
}

// addStep adds step n of the best path of a part.
func (e *evidence) addStep(p *partRun, best path, n int) {
	s := best.steps[n]
	added := e.add(s.source)
	if added == nil {
		return
	}
	if !slices.Contains(added.Parts, p.number) {
		added.Parts = append(added.Parts, p.number)
	}
	if n > 0 && added.Via == "" {
		from := best.steps[n-1]
		added.Via = fmt.Sprintf("named by %q", from.source.Title)
		if s.by.Name == "" {
			added.Via = fmt.Sprintf("another part of %q", from.source.Title)
		}
		if s.by.at.End > 0 {
			unit := from.unitOf(s.by.at.Start)
			if before, ok := e.at[from.ref]; ok {
				e.passages[before].quote(unit, s.source.Title)
			}
		}
	}
	if n == len(best.steps)-1 {
		if unit, most := s.answering(p.terms, best.used); most > 0 {
			added.quote(unit, "")
		}
	}
	p.result.Passages = append(p.result.Passages, e.at[s.ref])
}

// addStatements adds to the relations of a part the sentences that state them.
func (e *evidence) addStatements(p *partRun) {
	for n, s := range p.proof {
		if s == nil {
			continue
		}
		if number, ok := e.at[s.passage.ref]; ok {
			quote := Quote{Span: s.at, Text: s.passage.source.Text[s.at.Start:s.at.End]}
			p.result.Relations[n].Statements = append(p.result.Relations[n].Statements, Statement{number, quote, s.value()})
		}
	}
}

// quote adds a quote, each once.
func (p *Passage) quote(at query.Span, names string) {
	if at.End <= at.Start || at.End > len(p.Text) || slices.ContainsFunc(p.Quotes, func(q Quote) bool { return q.Span == at && q.Names == names }) {
		return
	}
	p.Quotes = append(p.Quotes, Quote{at, p.Text[at.Start:at.End], names})
}

// answering returns the sentence of a passage that speaks most of the terms that no hop has used, and how much that is by their weights.
func (p *passage) answering(terms []term, used []float64) (best query.Span, most float64) {
	for _, u := range p.units {
		sum := 0.0
		for n, t := range terms {
			if slices.ContainsFunc(p.hits[n], func(s query.Span) bool { return s.End > 0 && s.Start >= u.Start && s.End <= u.End }) {
				sum += t.weight * max(1-used[n], revisited)
			}
		}
		if sum > most {
			most, best = sum, u
		}
	}
	return best, most
}

// fill adds what the whole question found and the next best paths, in turn.
func (e *evidence) fill(parts []*partRun, whole []query.Source) {
	var next []query.Source
	for n := 1; n < 4*beamWidth; n++ {
		for _, p := range parts {
			if n < len(p.paths) {
				for _, s := range p.paths[n].steps {
					next = append(next, s.source)
				}
			}
		}
	}
	for len(e.passages) < e.most && (len(next) > 0 || len(whole) > 0) {
		whole = e.addFirst(whole)
		for range fillPaths {
			next = e.addFirst(next)
		}
	}
}

// addFirst adds the first source that is not there yet, and returns those after it.
func (e *evidence) addFirst(sources []query.Source) []query.Source {
	for n, source := range sources {
		before := len(e.passages)
		if e.add(source); len(e.passages) > before {
			return sources[n+1:]
		}
	}
	return nil
}

// judge sets what a part has found: the path that states most of its relations, what that one states and speaks of, and whether it
// suffices.
func (p *partRun) judge() {
	stated := p.settle()
	total, covered := 0.0, 0.0
	for n, t := range p.terms {
		total += t.weight
		if len(p.paths) > 0 && slices.ContainsFunc(p.paths[0].steps, func(s step) bool { return len(s.hits[n]) > 0 }) {
			covered += t.weight
		} else {
			p.result.Missing = append(p.result.Missing, t.word)
		}
	}
	if total > 0 {
		p.result.Coverage = covered / total
	} else if len(p.paths) > 0 {
		p.result.Coverage = 1
	}
	unmentioned := p.unmentioned()
	p.result.Missing = append(p.result.Missing, unmentioned...)
	best := 0.0
	for _, source := range p.found {
		best = max(best, source.Score)
	}
	named := len(p.names)+len(p.carried) > 0
	p.result.Found = len(p.paths) > 0 && stated && len(unmentioned) == 0 && (named || best >= confident && p.result.Coverage >= sufficing)
}

// settle moves the path that states most of the part's relations to the front, the best of equal ones, and reports whether it states all.
func (p *partRun) settle() bool {
	v := prover{part: p, relations: relationsOf(p.part, p.terms), readings: map[string]*reading{}}
	chosen := 0
	for n, one := range p.paths[:min(len(p.paths), provenPaths)] {
		if proven := v.prove(one); n == 0 || proven.stated() == len(v.relations) {
			p.proof, chosen = proven, n
			if proven.stated() == len(v.relations) {
				break
			}
		}
	}
	if chosen > 0 {
		one := p.paths[chosen]
		p.paths = slices.Insert(slices.Delete(p.paths, chosen, chosen+1), 0, one)
	}
	for n, r := range v.relations {
		p.result.Relations = append(p.result.Relations, Relation{Text: r.text, Stated: n < len(p.proof) && p.proof[n] != nil})
	}
	return len(p.paths) > 0 && p.proof.stated() == len(v.relations)
}

// unmentioned returns the names and years of the part that its best path does not mention. Years that a filter by dates selects count.
func (p *partRun) unmentioned() (all []string) {
	if len(p.paths) == 0 {
		return nil
	}
	var text strings.Builder
	for _, s := range p.paths[0].steps {
		text.WriteString(s.source.Title + "\n" + s.source.Text + "\n")
	}
	for _, s := range p.names {
		if len(spansOf(text.String(), []string{s.name})) == 0 {
			all = append(all, s.name)
		}
	}
	for _, y := range year.FindAllString(p.text, -1) {
		if p.result.Dates == nil && !strings.Contains(text.String(), y) {
			all = append(all, y)
		}
	}
	return all
}

// chain returns the titles of the passages of the best path.
func (p *partRun) chain() (titles []string) {
	if len(p.paths) > 0 {
		for _, s := range p.paths[0].steps {
			titles = append(titles, s.source.Title)
		}
	}
	return titles
}

// keep leaves the statements whose passages, with new numbers, still have them.
func (r *Relation) keep(number map[int]int, passages []Passage) {
	var left []Statement
	for _, s := range r.Statements {
		at, ok := number[s.Passage]
		if !ok {
			continue
		}
		s.Passage = at
		if s.Quote.Start = strings.Index(passages[at].Text, s.Quote.Text); s.Quote.Start >= 0 {
			s.Quote.End = s.Quote.Start + len(s.Quote.Text)
			left = append(left, s)
		}
	}
	r.Statements = left
}

// fit sets the context of the passages, and leaves out those that do not fit into maxTokens, the last first.
func (r *run) fit(ctx context.Context, out *Response) error {
	sources := make([]query.Source, len(out.Passages))
	for n, p := range out.Passages {
		sources[n] = p.Source
	}
	if r.request.tokens == nil {
		out.RelevantContext = query.RelevantContext(sources)
		return nil
	}
	caller, err := access.Require(ctx, access.Read)
	if err != nil {
		return err
	}
	fitted, err := r.service.queries.Fit(ctx, caller.Tenant, r.request.tokens, sources, func(n int) string { return sources[n].BeforeText(n + 1) },
		func(fitting []query.Source, _ []int) string { return query.RelevantContext(fitting) })
	if err != nil {
		return err
	}
	number := map[int]int{}
	var kept []Passage
	for n, old := range fitted.Numbers {
		p := out.Passages[old]
		p.Source = fitted.Sources[n]
		p.Quotes = slices.DeleteFunc(p.Quotes, func(q Quote) bool { return !strings.Contains(p.Text, q.Text) })
		for q := range p.Quotes {
			at := strings.Index(p.Text, p.Quotes[q].Text)
			p.Quotes[q].Span = query.Span{Start: at, End: at + len(p.Quotes[q].Text)}
		}
		number[old] = n
		kept = append(kept, p)
	}
	for n := range out.Parts {
		var left []int
		for _, old := range out.Parts[n].Passages {
			if at, ok := number[old]; ok {
				left = append(left, at)
			}
		}
		out.Parts[n].Found = out.Parts[n].Found && len(left) == len(out.Parts[n].Passages)
		out.Parts[n].Passages = left
		for i := range out.Parts[n].Relations {
			out.Parts[n].Relations[i].keep(number, kept)
		}
	}
	out.Passages, out.RelevantContext, out.Budget = kept, fitted.Context, fitted.Report
	return nil
}
