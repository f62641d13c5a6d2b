package rpc

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/ingest/parse/grid"
	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/query"
	"github.com/ragdhq/ragd/internal/query/filter"
	"github.com/ragdhq/ragd/internal/query/table"
)

// ListTables implements QueryService.
func (h *Handlers) ListTables(ctx context.Context, req *ragdv1.ListTablesRequest) (*ragdv1.ListTablesResponse, error) {
	f, err := filter.Parse(req.GetFilter().AsInterface())
	if err != nil {
		return nil, err
	}
	found, next, err := h.Queries.Tables(ctx, query.TableListing{
		IndexName: req.GetIndexName(), Namespace: req.GetNamespace(), Filter: f, Document: req.GetDocumentId(), Search: req.GetSearch(),
		PageSize: req.GetPageSize(), PageToken: req.GetPageToken(),
	})
	if err != nil {
		return nil, err
	}
	res := &ragdv1.ListTablesResponse{NextPageToken: next}
	for _, t := range found {
		message := &ragdv1.Table{
			TableId: t.TableID, Name: t.Name, DocumentId: t.DocumentID, Namespace: t.Namespace, Uri: t.URI, Title: t.Title, Sheet: t.Sheet, Range: t.Range(),
			StartByte: int32(t.StartByte), EndByte: int32(t.EndByte), RowCount: int32(t.RowCount), Notes: t.Notes, LeftOut: t.LeftOut,
		}
		for _, c := range t.Columns {
			message.Columns = append(message.Columns, &ragdv1.TableColumn{Name: c.Name, Title: c.Title, Type: string(c.Type), Unit: c.Unit, Samples: c.Samples})
		}
		res.Tables = append(res.Tables, message)
	}
	return res, nil
}

// QueryTable implements QueryService.
func (h *Handlers) QueryTable(ctx context.Context, req *ragdv1.QueryTableRequest) (*ragdv1.QueryTableResponse, error) {
	question := query.TableQuestion{IndexName: req.GetIndexName(), Namespace: req.GetNamespace(), SQL: req.GetSql()}
	if req.GetPlan() != nil {
		plan, err := planOf(req.GetPlan())
		if err != nil {
			return nil, err
		}
		question.Plan = &plan
	}
	answer, err := h.Queries.QueryTable(ctx, question)
	if err != nil {
		return nil, err
	}
	res := &ragdv1.QueryTableResponse{Truncated: answer.More}
	if res.Plan, err = planMessage(answer.Plan); err != nil {
		return nil, err
	}
	for _, c := range answer.Columns {
		res.Columns = append(res.Columns, &ragdv1.TableColumn{Name: c.Name, Type: string(c.Type), Unit: c.Unit})
	}
	for _, s := range answer.Sources {
		res.Sources = append(res.Sources, &ragdv1.TableSource{
			TableId: s.TableID, Name: s.Name, DocumentId: s.DocumentID, Namespace: s.Namespace, Uri: s.URI, Title: s.Title, Sheet: s.Sheet, Range: s.Read, Notes: s.Notes,
		})
	}
	for _, r := range answer.Rows {
		row := &ragdv1.TableRow{RowCount: int32(r.Matched), Cells: r.Ranges}
		for i, v := range r.Values {
			row.Values = append(row.Values, tableValue(v, answer.Columns[i].Type))
		}
		res.Rows = append(res.Rows, row)
	}
	return res, nil
}

// maxExactDigits is how many digits of a whole number a JSON number keeps in every program.
const maxExactDigits = 15

// tableValue converts a value of a row. A whole number that a double does not hold exactly becomes a text.
func tableValue(v any, kind grid.Type) *structpb.Value {
	switch v := v.(type) {
	case string:
		return structpb.NewStringValue(v)
	case bool:
		return structpb.NewBoolValue(v)
	case json.Number:
		n, err := strconv.ParseFloat(string(v), 64)
		if err != nil || kind == grid.Number && len(strings.TrimLeft(string(v), "-")) > maxExactDigits && !strings.Contains(string(v), ".") {
			return structpb.NewStringValue(string(v))
		}
		return structpb.NewNumberValue(n)
	}
	return structpb.NewNullValue()
}

func planOf(m *ragdv1.TablePlan) (p table.Plan, err error) {
	p = table.Plan{
		Table: m.GetTable(), As: m.GetAs(), Compute: outputsOf(m.GetCompute()), GroupBy: m.GetGroupBy(), Select: outputsOf(m.GetSelect()),
		Limit: intOf(m.Limit), Offset: int(m.GetOffset()),
	}
	if p.Filter, err = conditionOf("plan.filter", m.GetFilter()); err != nil {
		return p, err
	}
	if p.Having, err = conditionOf("plan.having", m.GetHaving()); err != nil {
		return p, err
	}
	for _, j := range m.GetJoins() {
		join := table.Join{Table: j.GetTable(), As: j.GetAs(), Left: j.GetLeft()}
		for _, on := range j.GetOn() {
			join.On = append(join.On, table.On{Left: on.GetLeft(), Right: on.GetRight()})
		}
		p.Joins = append(p.Joins, join)
	}
	for _, o := range m.GetOrderBy() {
		p.OrderBy = append(p.OrderBy, table.Order{Value: o.GetValue(), Descending: o.GetDescending()})
	}
	return p, nil
}

func outputsOf(values []*ragdv1.TableValue) (all []table.Output) {
	for _, v := range values {
		all = append(all, table.Output{Value: v.GetValue(), Aggregate: v.GetAggregate(), As: v.GetAs()})
	}
	return all
}

// conditionOf returns a filter as JSON; nil for none.
func conditionOf(field string, v *structpb.Value) (json.RawMessage, error) {
	switch condition := v.AsInterface().(type) {
	case nil:
		return nil, nil
	case string:
		return json.RawMessage(condition), nil
	case map[string]any:
		return json.Marshal(condition)
	}
	return nil, fault.Field(field, "must be an object or the JSON text of one")
}

func planMessage(p table.Plan) (m *ragdv1.TablePlan, err error) {
	m = &ragdv1.TablePlan{Table: p.Table, As: p.As, Compute: valueMessages(p.Compute), GroupBy: p.GroupBy, Select: valueMessages(p.Select), Offset: int32(p.Offset)}
	if p.Limit != nil {
		m.Limit = new(int32(*p.Limit))
	}
	if m.Filter, err = conditionMessage(p.Filter); err != nil {
		return nil, err
	}
	if m.Having, err = conditionMessage(p.Having); err != nil {
		return nil, err
	}
	for _, j := range p.Joins {
		join := &ragdv1.TableJoin{Table: j.Table, As: j.As, Left: j.Left}
		for _, on := range j.On {
			join.On = append(join.On, &ragdv1.TableJoinPair{Left: on.Left, Right: on.Right})
		}
		m.Joins = append(m.Joins, join)
	}
	for _, o := range p.OrderBy {
		m.OrderBy = append(m.OrderBy, &ragdv1.TableOrder{Value: o.Value, Descending: o.Descending})
	}
	return m, nil
}

func valueMessages(outputs []table.Output) (all []*ragdv1.TableValue) {
	for _, o := range outputs {
		all = append(all, &ragdv1.TableValue{Value: o.Value, Aggregate: o.Aggregate, As: o.As})
	}
	return all
}

func conditionMessage(raw json.RawMessage) (*structpb.Value, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	v := &structpb.Value{}
	return v, v.UnmarshalJSON(raw)
}
