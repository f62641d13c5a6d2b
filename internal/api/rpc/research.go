package rpc

import (
	"context"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/graph/research"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/tenant/access"
)

// Research implements ResearchService.
func (h *Handlers) Research(ctx context.Context, req *ragdv1.ResearchRequest) (*ragdv1.ResearchResponse, error) {
	return h.ResearchEvents(ctx, req, nil)
}

// ResearchStream implements ResearchService.
func (h *Handlers) ResearchStream(ctx context.Context, req *ragdv1.ResearchStreamRequest, stream *connect.ServerStream[ragdv1.ResearchEvent]) error {
	result, err := h.ResearchEvents(ctx, req.GetResearch(), stream.Send)
	if err != nil {
		return err
	}
	return stream.Send(&ragdv1.ResearchEvent{Event: &ragdv1.ResearchEvent_Result{Result: result}})
}

// ResearchEvents is Research with the events before the result, one at a time. onEvent may be nil.
func (h *Handlers) ResearchEvents(ctx context.Context, req *ragdv1.ResearchRequest, onEvent func(*ragdv1.ResearchEvent) error) (*ragdv1.ResearchResponse, error) {
	caller, err := access.Require(ctx, access.Read)
	if err != nil {
		return nil, err
	}
	f, err := filter.Parse(req.GetFilter().AsInterface())
	if err != nil {
		return nil, err
	}
	b := req.GetBudget()
	asked := research.Request{
		Question: req.GetQuestion(), IndexNames: req.GetIndexNames(), Namespace: req.GetNamespace(), Filter: f,
		Admit: func() error { return h.Gate.Count(caller.Tenant, caller.Quotas, 1) },
	}
	if b != nil {
		asked.Budget = research.Budget{Seconds: b.Seconds, Steps: intOf(b.Steps), Passages: intOf(b.Passages), MaxTokens: intOf(b.MaxTokens), EncodingName: b.GetEncodingName()}
	}
	if onEvent != nil {
		asked.OnEvent = func(e research.Event) error { return onEvent(researchEvent(e)) }
	}
	found, err := h.Researches.Research(ctx, asked)
	if err != nil {
		return nil, err
	}
	passages, err := convertLarge(ctx, h.Processor, found.Passages, new(objectReader).researchPassage)
	return &ragdv1.ResearchResponse{
		RelevantContext: found.RelevantContext, Passages: passages, Parts: researchParts(found.Parts), Warnings: found.Warnings,
		StepCount: int32(found.StepCount), DurationMs: milliseconds(found.Took), Stopped: string(found.Stopped), Budget: budgetMessage(found.Budget),
	}, err
}

func researchEvent(e research.Event) *ragdv1.ResearchEvent {
	switch {
	case e.Step != nil:
		m := &ragdv1.ResearchStep{Number: int32(e.Step.Number), Kind: string(e.Step.Kind), Text: e.Step.Text, FoundCount: int32(e.Step.Found)}
		if e.Step.Part >= 0 {
			m.Part = new(int32(e.Step.Part))
		}
		return &ragdv1.ResearchEvent{Event: &ragdv1.ResearchEvent_Step{Step: m}}
	case e.Finding != nil:
		return &ragdv1.ResearchEvent{Event: &ragdv1.ResearchEvent_Finding{Finding: &ragdv1.ResearchFinding{
			Part: int32(e.Finding.Part), Titles: e.Finding.Chain, Found: e.Finding.Found,
		}}}
	}
	return &ragdv1.ResearchEvent{Event: &ragdv1.ResearchEvent_Plan{Plan: &ragdv1.ResearchPlan{Parts: researchParts(e.Plan)}}}
}

func researchParts(parts []research.Part) []*ragdv1.ResearchPart {
	messages := make([]*ragdv1.ResearchPart, len(parts))
	for n, p := range parts {
		messages[n] = &ragdv1.ResearchPart{
			Text: p.Text, Names: p.Names, IndexName: p.IndexName, Found: p.Found, Coverage: p.Coverage, Missing: p.Missing, Passages: numbersOf(p.Passages),
			DateFilter: dateFilter(p.Dates), Relations: researchRelations(p.Relations),
		}
	}
	return messages
}

func researchRelations(relations []research.Relation) []*ragdv1.ResearchRelation {
	messages := make([]*ragdv1.ResearchRelation, len(relations))
	for n, r := range relations {
		messages[n] = &ragdv1.ResearchRelation{Text: r.Text, Stated: r.Stated}
		for _, s := range r.Statements {
			messages[n].Statements = append(messages[n].Statements, &ragdv1.ResearchStatement{
				Passage: int32(s.Passage), Text: s.Quote.Text, Range: rangeMessage(s.Quote.Span), Value: s.Value,
			})
		}
	}
	return messages
}

// dateFilter returns the message of a filter; nil for an empty one.
func dateFilter(dates map[string]any) *structpb.Struct {
	if dates == nil {
		return nil
	}
	s, err := structpb.NewStruct(dates)
	if err != nil { // of a field whose name is not UTF-8, which no schema has
		return nil
	}
	return s
}

func numbersOf(numbers []int) []int32 {
	all := make([]int32, len(numbers))
	for n, number := range numbers {
		all[n] = int32(number)
	}
	return all
}

// researchPassage converts a passage, whose metadata r parses.
func (r *objectReader) researchPassage(p research.Passage) (*ragdv1.ResearchPassage, error) {
	source, err := r.sourceMessage(p.Source)
	m := &ragdv1.ResearchPassage{Source: source, Parts: numbersOf(p.Parts), Via: p.Via}
	for _, q := range p.Quotes {
		m.Quotes = append(m.Quotes, &ragdv1.ResearchQuote{Text: q.Text, Range: rangeMessage(q.Span), Names: q.Names})
	}
	return m, err
}
