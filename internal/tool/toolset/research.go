package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// research returns the run of research, which reports its steps as progress.
func (s *Set) research() method {
	return func(ctx context.Context, arguments accepted) (proto.Message, string, error) {
		req := &ragdv1.ResearchRequest{}
		if err := arguments.decode(req); err != nil {
			return nil, "", err
		}
		var tell func(*ragdv1.ResearchEvent) error
		if p := progressOf(ctx); p.wanted() {
			done := 0.0
			tell = func(e *ragdv1.ResearchEvent) error {
				done++
				p.report(ctx, Progress{Done: done, Message: researchProgress(e)})
				return ctx.Err()
			}
		}
		res, err := s.api.ResearchEvents(ctx, req, tell)
		if err != nil {
			return nil, "", err
		}
		return res, researchText(res), nil
	}
}

// researchProgress describes an event in a line.
func researchProgress(e *ragdv1.ResearchEvent) string {
	switch {
	case e.GetPlan() != nil:
		var parts []string
		for _, p := range e.GetPlan().GetParts() {
			parts = append(parts, oneLine(p.GetText()))
		}
		return "plan: " + strings.Join(parts, " | ")
	case e.GetFinding() != nil:
		return fmt.Sprintf("part %d: %s", e.GetFinding().GetPart()+1, oneLine(strings.Join(e.GetFinding().GetTitles(), " > ")))
	}
	step := e.GetStep()
	return fmt.Sprintf("step %d, %s: %s (%s)", step.GetNumber(), step.GetKind(), oneLine(step.GetText()), count(step.GetFoundCount(), "passage"))
}

// researchText returns the evidence as text: each part with its chain, then the passages.
func researchText(res *ragdv1.ResearchResponse) string {
	var b strings.Builder
	writeWarnings(&b, res.GetWarnings())
	for n, p := range res.GetParts() {
		state := "not found"
		if p.GetFound() {
			state = "found"
		}
		fmt.Fprintf(&b, "Part %d: %s\n%s", n+1, oneLine(p.GetText()), state)
		for i, at := range p.GetPassages() {
			if i == 0 {
				b.WriteString(":")
			} else {
				b.WriteString(" >")
			}
			fmt.Fprintf(&b, " [%d]", at+1)
		}
		if missing := p.GetMissing(); len(missing) > 0 {
			fmt.Fprintf(&b, "; nothing about: %s", oneLine(strings.Join(missing, ", ")))
		}
		b.WriteString("\n")
	}
	if stopped := res.GetStopped(); stopped != "exhausted" {
		fmt.Fprintf(&b, "It ended early, as its %s were used up.\n", stopped)
	}
	sources := make([]*ragdv1.Source, len(res.GetPassages()))
	for n, p := range res.GetPassages() {
		sources[n] = p.GetSource()
	}
	if len(sources) == 0 {
		b.WriteString("Nothing was found.")
	}
	b.WriteString("\n")
	writeSources(&b, sources, 0)
	writeBudget(&b, res.GetBudget())
	return b.String()
}

// structuredResearch returns the structured content of a research: the text of each passage once.
func structuredResearch(res *ragdv1.ResearchResponse) (dst json.RawMessage, err error) {
	dst = append(dst, `{"passages":[`...)
	for n, p := range res.GetPassages() {
		if n > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendSource(append(dst, `{"source":`...), p.GetSource()); err != nil {
			return nil, err
		}
		if dst, err = appendRest(dst, shallowCopy(p, "source"), "parts"); err != nil {
			return nil, err
		}
	}
	return appendRest(append(dst, ']'), shallowCopy(res, "passages", "relevant_context"), "parts")
}
