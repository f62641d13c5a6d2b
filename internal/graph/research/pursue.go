package research

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ragdhq/ragd/internal/graph"
	"github.com/ragdhq/ragd/internal/index"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
	"github.com/ragdhq/ragd/internal/tenant/data"
)

// walk asks the whole question: over several indexes by a search, which chooses one, and there by the graph.
func (r *run) walk(ctx context.Context, names []string) error {
	chosen, _, err := r.choose(ctx, -1, r.request.Question, names)
	if err != nil {
		return err
	}
	number, err := r.counter.take()
	if err != nil {
		return err
	}
	answer, err := r.service.graphs.Query(ctx, graph.Request{Question: r.question(r.request.Question, chosen, max(r.request.passages, partsTop))})
	if err != nil {
		return err
	}
	r.index = chosen
	r.warned = append(r.warned, answer.Warnings...)
	for _, source := range answer.Sources {
		r.whole = append(r.whole, source.Source)
	}
	if len(answer.Sources) == 0 && answer.RelevantContext != "" {
		return fault.Field("includeSources", "is false in the request context: change it there, as a research is made of sources")
	}
	return r.counter.tell(Event{Step: &Step{Number: number, Part: -1, Kind: Walked, Text: r.request.Question, Found: len(r.whole)}})
}

// question returns a question to one index.
func (r *run) question(text, name string, top int) query.Question {
	return query.Question{QueryText: text, IndexName: name, Namespace: r.request.Namespace, Filter: r.request.Filter, TopK: &top}
}

// choose returns the one of several indexes where a search finds the best passage for a text, with what it found there. Of one index
// it searches nothing.
func (r *run) choose(ctx context.Context, part int, text string, names []string) (string, []query.Source, error) {
	if len(names) == 1 {
		return names[0], nil, nil
	}
	sources, err := r.search(ctx, part, query.Request{Question: r.question(text, "", partsTop), IndexNames: names})
	if err != nil || len(sources) == 0 {
		return names[0], nil, err
	}
	chosen := sources[0].IndexName
	return chosen, slices.DeleteFunc(sources, func(s query.Source) bool { return s.IndexName != chosen }), nil
}

// search takes a step and searches.
func (r *run) search(ctx context.Context, part int, req query.Request) ([]query.Source, error) {
	number, err := r.counter.take()
	if err != nil {
		return nil, err
	}
	answer, err := r.service.queries.Query(ctx, req)
	if err != nil {
		return nil, err
	}
	return answer.Sources, r.counter.tell(Event{Step: &Step{Number: number, Part: part, Kind: Searched, Text: req.QueryText, Found: len(answer.Sources)}})
}

// plan cuts the question into parts.
func (r *run) plan(ctx context.Context) error {
	var all []part
	asked := clauses(r.request.Question)
	if len(asked) > MaxParts {
		r.warned = append(r.warned, fmt.Sprintf("the question asks %d things, of which the first %d are followed: ask the others by themselves", len(asked), MaxParts))
		asked = asked[:MaxParts]
	}
	err := r.within(ctx, r.index, func(_ index.Index, t *graph.Trail) error {
		for _, clause := range asked {
			names, err := namesIn(ctx, t, clause)
			if err != nil {
				return err
			}
			all = append(all, parts(clause, names)...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(all) > MaxParts {
		r.warned = append(r.warned, fmt.Sprintf("the question has %d parts, of which the first %d are followed: ask the others by themselves", len(all), MaxParts))
		all = all[:MaxParts]
	}
	carry(all)
	var plan []Part
	for n, p := range all {
		result := Part{Text: p.text, Names: slices.Clone(p.carried)}
		for _, s := range p.names {
			result.Names = append(result.Names, s.name)
		}
		r.parts = append(r.parts, &partRun{part: p, number: n, result: result})
		plan = append(plan, result)
	}
	return r.counter.tell(Event{Plan: plan})
}

// namesIn returns the names in a text: those of the graph, and others that are written as names.
func namesIn(ctx context.Context, t *graph.Trail, text string) ([]span, error) {
	links, err := t.Named(ctx, text)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, l := range links {
		names = append(names, l.Name)
	}
	spans := spansOf(text, names)
	for _, s := range spansOf(text, written(text)) {
		if !slices.ContainsFunc(spans, func(k span) bool { return s.Start < k.End && k.Start < s.End }) {
			spans = append(spans, s)
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return a.Start - b.Start })
	return spans, nil
}

// within calls do with an index and its graph as the caller may see them.
func (r *run) within(ctx context.Context, name string, do func(index.Index, *graph.Trail) error) error {
	caller, err := access.Require(ctx, access.Read)
	if err != nil {
		return err
	}
	q, err := r.question("", name, 1).Effective(caller)
	if err != nil {
		return err
	}
	return r.service.indexes.Use(ctx, caller.Tenant, q.IndexName, func(i index.Index, tables *data.Handle) error {
		t, err := r.service.graphs.Trail(ctx, caller.Tenant, i, tables, q)
		if err != nil {
			return err
		}
		return do(i, t)
	})
}

// pursue finds the paths of a part.
func (r *run) pursue(ctx context.Context, p *partRun, names []string) error {
	chosen, found, err := r.index, r.whole, error(nil)
	if len(r.parts) > 1 {
		if chosen, found, err = r.choose(ctx, p.number, p.text, names); err != nil {
			return err
		}
	}
	p.result.IndexName = chosen
	return r.within(ctx, chosen, func(i index.Index, t *graph.Trail) error {
		if len(names) == 1 && len(r.parts) > 1 {
			if found, err = r.search(ctx, p.number, query.Request{Question: r.question(p.text, chosen, partsTop)}); err != nil {
				return err
			}
		}
		dated, err := r.dated(ctx, p, i)
		if err != nil {
			return err
		}
		p.found = append(dated, found...)
		return r.follow(ctx, p, i, t, len(dated))
	})
}

// dated searches what the dates in a part select, by the date fields of the index's schema.
func (r *run) dated(ctx context.Context, p *partRun, i index.Index) ([]query.Source, error) {
	fields := i.DateFields()
	wanted, shown := dates(p.text, p.names, fields)
	if shown == nil {
		return nil, nil
	}
	q := r.question(p.text, i.Name, partsTop)
	q.Filter = filter.And(q.Filter, wanted)
	found, err := r.search(ctx, p.number, query.Request{Question: q})
	if len(found) > 0 {
		p.result.Dates = shown
	}
	return found, err
}

// dates returns the filter that selects the dates of a text in any of the fields, and what it was parsed from; nil without dates or fields.
func dates(text string, names []span, fields []string) (f filter.Filter, shown map[string]any) {
	var ranges []any
	for _, at := range year.FindAllStringIndex(text, -1) {
		if slices.ContainsFunc(names, func(s span) bool { return at[0] < s.End && s.Start < at[1] }) {
			continue
		}
		from, to := period(text[at[0]:at[1]])
		for _, field := range fields {
			ranges = append(ranges, map[string]any{field: map[string]any{"$gte": from, "$lt": to}})
		}
	}
	if len(ranges) == 0 {
		return f, nil
	}
	shown = map[string]any{"$or": ranges}
	f, err := filter.Parse(shown)
	if err != nil { // a field whose name no filter can have
		return filter.Filter{}, nil
	}
	return f, shown
}

// period returns the first day of a year, a month or a day, and the day after its last.
func period(text string) (from, to string) {
	layout := "2006-01-02"[:len(text)]
	begin, err := time.Parse(layout, text)
	if err != nil {
		return text, text
	}
	end := begin.AddDate(1, 0, 0)
	switch len(text) {
	case len("2006-01"):
		end = begin.AddDate(0, 1, 0)
	case len("2006-01-02"):
		end = begin.AddDate(0, 0, 1)
	}
	return begin.Format(time.DateOnly), end.Format(time.DateOnly)
}

// pool has the passages that a part has read.
type pool struct {
	trail    *graph.Trail
	unnamed  bool // the index keeps no names
	finder   finder
	terms    []term
	known    map[graph.ChunkRef]*passage
	asked    map[string]bool // names that were searched for
	followed map[graph.ChunkRef]bool
}

// read returns the passages of chunks that the caller may see, from the database those that are new.
func (p *pool) read(ctx context.Context, refs []graph.ChunkRef) error {
	var missing []graph.ChunkRef
	for _, ref := range refs {
		if p.known[ref] == nil && !slices.Contains(missing, ref) {
			missing = append(missing, ref)
		}
	}
	found, err := p.trail.Sources(ctx, missing)
	for ref, source := range found {
		p.add(ref, source)
	}
	return err
}

// add adds a passage.
func (p *pool) add(ref graph.ChunkRef, source query.Source) {
	p.known[ref] = newPassage(source, len(p.terms), p.finder)
}

// passages returns all passages, in no order.
func (p *pool) passages() (all []*passage) {
	for _, one := range p.known {
		all = append(all, one)
	}
	return all
}

// follow finds the paths from what a part names and from what a search found. The first dated of these were selected by dates.
func (r *run) follow(ctx context.Context, p *partRun, i index.Index, t *graph.Trail, dated int) error {
	text := strings.Join(append([]string{p.text}, p.carried...), " ")
	named, err := t.Named(ctx, text)
	if err != nil {
		return err
	}
	languages := i.AskedLanguages(i.Languages)
	p.terms = termsOf(p.part, languages)
	pool := &pool{
		trail: t, unnamed: !i.Graph.Keeps(string(graph.Mention)), finder: newFinder(p.terms, languages), terms: p.terms,
		known: map[graph.ChunkRef]*passage{}, asked: map[string]bool{}, followed: map[graph.ChunkRef]bool{},
	}
	p.known = pool.known
	starts := startsOf(named, p.found, dated, p.asked)
	if err := pool.readFound(ctx, p.found, starts); err != nil {
		return err
	}
	begin := func() (paths []path, from []graph.ChunkRef) {
		weigh(p.terms, pool.passages())
		for _, s := range starts {
			if one := pool.known[s.ref]; one != nil {
				paths, from = append(paths, beginning(one, s.value, p.terms)), append(from, s.ref)
			}
		}
		p.paths = best(slices.Clone(paths), beamWidth)
		return paths, from
	}
	_, from := begin()
	if err := r.extend(ctx, p, pool, from); err != nil {
		return err
	}
	paths, _ := begin() // terms are weighed by what the first passages mention, too
	for range min(maxChain-1, len(p.terms)) {
		if paths, err = r.longer(ctx, p, pool, paths); err != nil || len(paths) == 0 {
			return err
		}
		p.paths = best(append(p.paths, paths...), 4*beamWidth)
	}
	return nil
}

// start is a chunk where paths begin.
type start struct {
	ref   graph.ChunkRef
	value float64
}

// startsOf returns where paths begin: at what is named, and at what was found; a chunk that is both once.
func startsOf(named []graph.Link, found []query.Source, dated int, asked func(query.Source) bool) (starts []start) {
	add := func(ref graph.ChunkRef, value float64) {
		for n, s := range starts {
			if s.ref == ref {
				starts[n].value = max(s.value, value)
				return
			}
		}
		starts = append(starts, start{ref, value})
	}
	for _, l := range named {
		add(l.To, startNamed)
	}
	for n, source := range found {
		if source.DocumentID == "" || n >= dated && n-dated >= startsFound {
			continue
		}
		value := startFound / float64(1+max(n-dated, 0))
		if n < dated {
			value = startNamed / (1 + float64(n)/2)
		}
		if asked(source) {
			value = startAsked
		}
		add(chunkOf(source), value)
	}
	return starts
}

// asked reports whether a passage has all years and names of a part that has both: then it is what the part asks about.
func (p *partRun) asked(source query.Source) bool {
	years := year.FindAllString(p.text, -1)
	if len(years) == 0 || len(p.names) == 0 {
		return false
	}
	text := source.Title + "\n" + source.Text
	return !slices.ContainsFunc(years, func(y string) bool { return !strings.Contains(text, y) }) &&
		!slices.ContainsFunc(p.names, func(s span) bool { return len(spansOf(text, []string{s.name})) == 0 })
}

// readFound adds what a search found, and reads what is only named.
func (p *pool) readFound(ctx context.Context, found []query.Source, starts []start) error {
	for _, source := range found {
		if source.DocumentID != "" {
			p.add(chunkOf(source), source)
		}
	}
	refs := make([]graph.ChunkRef, len(starts))
	for n, s := range starts {
		refs[n] = s.ref
	}
	return p.read(ctx, refs)
}

// extend reads the passages that those of refs link to, in one step.
func (r *run) extend(ctx context.Context, p *partRun, pool *pool, refs []graph.ChunkRef) error {
	var due []graph.ChunkRef
	for _, ref := range refs {
		if !pool.followed[ref] && pool.known[ref] != nil {
			pool.followed[ref] = true
			due = append(due, ref)
		}
	}
	if len(due) == 0 {
		return nil
	}
	number, err := r.counter.take()
	if err != nil {
		return err
	}
	links, err := pool.trail.Follow(ctx, due)
	if err != nil {
		return err
	}
	if pool.unnamed {
		asked, err := r.askNames(ctx, p, pool, due)
		if err != nil {
			return err
		}
		links = append(links, asked...)
	}
	by, targets := map[graph.ChunkRef][]graph.Link{}, []graph.ChunkRef{}
	for _, l := range links {
		if len(by[l.From]) < maxLinks && len(targets) < maxTargets {
			by[l.From] = append(by[l.From], l)
			targets = append(targets, l.To)
		}
	}
	if err := pool.read(ctx, targets); err != nil {
		return err
	}
	for _, ref := range due {
		pool.known[ref].locate(by[ref])
	}
	return r.counter.tell(Event{Step: &Step{Number: number, Part: p.number, Kind: Followed, Text: titles(pool, due), Found: len(targets)}})
}

// askNames searches for what passages write as names, in an index without a graph of names, and returns links to what it finds: a name
// is a step.
func (r *run) askNames(ctx context.Context, p *partRun, pool *pool, due []graph.ChunkRef) (links []graph.Link, err error) {
	for _, ref := range due[:min(len(due), askedPassages)] {
		text := pool.known[ref].source.Text
		names := slices.Compact(written(text))
		for _, name := range names[:min(len(names), askedNames)] {
			if pool.asked[name] || len(spansOf(p.text, []string{name})) > 0 {
				continue
			}
			pool.asked[name] = true
			found, err := r.search(ctx, p.number, query.Request{Question: r.question(name, p.result.IndexName, 2)})
			if err != nil {
				return links, err
			}
			for _, source := range found {
				if to := chunkOf(source); to != ref && source.DocumentID != "" && len(spansOf(source.Title+"\n"+source.Text, []string{name})) > 0 {
					links = append(links, graph.Link{From: ref, To: to, Name: name})
				}
			}
		}
	}
	return links, nil
}

// titles returns the titles of the first chunks.
func titles(pool *pool, refs []graph.ChunkRef) string {
	var all []string
	for _, ref := range refs[:min(len(refs), 5)] {
		all = append(all, pool.known[ref].source.Title)
	}
	return strings.Join(all, "; ")
}

// longer returns the best paths that go on from others by one passage.
func (r *run) longer(ctx context.Context, p *partRun, pool *pool, paths []path) ([]path, error) {
	paths = best(paths, beamWidth)
	refs := make([]graph.ChunkRef, len(paths))
	for n, one := range paths {
		refs[n] = one.last().ref
	}
	if err := r.extend(ctx, p, pool, refs); err != nil {
		return nil, err
	}
	var all []path
	for _, one := range paths {
		for _, m := range one.last().links {
			if next := pool.known[m.To]; next != nil && !one.has(m.To) {
				all = append(all, one.along(m, next, p.terms))
			}
		}
	}
	return best(all, beamWidth), nil
}
