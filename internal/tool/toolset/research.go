package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/tool/finding"
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
		fmt.Fprintf(&b, "Part %d: %s\n%s\n", n+1, oneLine(p.GetText()), finding.Line(p, oneLine))
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
	writeSourcesFrom(&b, sources, 0, func(n int) string { return res.GetPassages()[n].GetVia() })
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
