package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/fault"
)

// alertAction is an action of the tool alerts: a method of AlertService.
type alertAction struct {
	request proto.Message // whose fields are the arguments
	run     method
}

// alerts returns the method of the tool alerts, in whose arguments action names the method of the API that it calls.
func (s *Set) alerts() method {
	actions := map[string]alertAction{
		"preview": {(*ragdv1.PreviewAlertRequest)(nil), call(s.api.PreviewAlert, previewText)},
		"create":  {(*ragdv1.CreateAlertRequest)(nil), call(s.api.CreateAlert, createdAlertText)},
		"list":    {(*ragdv1.ListAlertsRequest)(nil), call(s.api.ListAlerts, alertsText)},
		"matches": {(*ragdv1.ListAlertMatchesRequest)(nil), call(s.api.ListAlertMatches, alertMatchesText)},
		"update":  {(*ragdv1.UpdateAlertRequest)(nil), call(s.api.UpdateAlert, updatedAlertText)},
		"delete":  {(*ragdv1.DeleteAlertRequest)(nil), call(s.api.DeleteAlert, deletedAlertText)},
	}
	return func(ctx context.Context, arguments accepted) (proto.Message, string, error) {
		var given map[string]json.RawMessage
		var name string
		if err := json.Unmarshal(arguments.json, &given); err != nil {
			return nil, "", err
		}
		if err := json.Unmarshal(given["action"], &name); err != nil {
			return nil, "", err
		}
		delete(given, "action")
		action := actions[name]
		fields := action.request.ProtoReflect().Descriptor().Fields()
		for _, argument := range slices.Sorted(maps.Keys(given)) {
			if fields.ByJSONName(argument) == nil {
				return nil, "", fault.Field(argument, "is not for the action %s, which takes %s: leave it out", name, strings.Join(jsonNames(fields), ", "))
			}
		}
		raw, err := json.Marshal(given)
		if err != nil {
			return nil, "", err
		}
		return action.run(ctx, accepted{json: raw})
	}
}

// jsonNames returns the names of fields as they are in JSON.
func jsonNames(fields protoreflect.FieldDescriptors) []string {
	names := make([]string, fields.Len())
	for n := range names {
		names[n] = fields.Get(n).JSONName()
	}
	return names
}

// writeAlert writes an alert in a line.
func writeAlert(b *strings.Builder, a *ragdv1.Alert) {
	fmt.Fprintf(b, "Alert %s", a.GetAlertId())
	if name := a.GetDisplayName(); name != "" {
		fmt.Fprintf(b, " (%s)", oneLine(name))
	}
	fmt.Fprintf(b, " on %s, %s", oneLine(a.GetIndexName()), a.GetSearchMode())
	if a.GetSearchMode() != "keyword" {
		fmt.Fprintf(b, " from similarity %.3f", a.GetMinScore())
	}
	switch {
	case a.GetEndedReason() != "":
		fmt.Fprintf(b, ", ended: %s", oneLine(a.GetEndedReason()))
	case a.GetPaused():
		b.WriteString(", paused")
	}
	fmt.Fprintf(b, ": %s\n", oneLine(a.GetQueryText()))
}

func createdAlertText(_ *ragdv1.CreateAlertRequest, a *ragdv1.Alert) string {
	return "Created. " + alertText(a)
}

func updatedAlertText(_ *ragdv1.UpdateAlertRequest, a *ragdv1.Alert) string {
	return "Updated. " + alertText(a)
}

func alertText(a *ragdv1.Alert) string {
	var b strings.Builder
	writeAlert(&b, a)
	return strings.TrimSuffix(b.String(), "\n")
}

func deletedAlertText(req *ragdv1.DeleteAlertRequest, _ *ragdv1.DeleteAlertResponse) string {
	return fmt.Sprintf("Deleted alert %s with its matches.", req.GetAlertId())
}

func alertsText(_ *ragdv1.ListAlertsRequest, res *ragdv1.ListAlertsResponse) string {
	if len(res.GetAlerts()) == 0 {
		return "There are no alerts."
	}
	var b strings.Builder
	for _, a := range res.GetAlerts() {
		writeAlert(&b, a)
	}
	writeNextPage(&b, res.GetNextPageToken())
	return strings.TrimSuffix(b.String(), "\n")
}

func alertMatchesText(_ *ragdv1.ListAlertMatchesRequest, res *ragdv1.ListAlertMatchesResponse) string {
	if len(res.GetMatches()) == 0 {
		return "Nothing matched yet."
	}
	sources := make([]*ragdv1.Source, len(res.GetMatches()))
	for n, m := range res.GetMatches() {
		sources[n] = m.GetSource()
	}
	var b strings.Builder
	writeSources(&b, sources, 0)
	b.WriteString("\n\n")
	writeNextPage(&b, res.GetNextPageToken())
	return strings.TrimRight(b.String(), "\n")
}

func previewText(_ *ragdv1.PreviewAlertRequest, res *ragdv1.PreviewAlertResponse) string {
	var matching, others []*ragdv1.Source
	for _, p := range res.GetPassages() {
		if p.GetMatches() {
			matching = append(matching, p.GetSource())
		} else {
			others = append(others, p.GetSource())
		}
	}
	var b strings.Builder
	of := "the newest"
	if res.GetComplete() {
		of = "all"
	}
	fmt.Fprintf(&b, "%d of %s %s match; scores are similarities.", res.GetMatchCount(), of, count(res.GetComparedCount(), "passage"))
	if len(matching) > 0 {
		b.WriteString("\n\n")
		writeSources(&b, matching, 0)
	}
	if len(others) > 0 {
		b.WriteString("\n\nThe nearest that do not match:\n\n")
		writeSources(&b, others, len(matching))
	}
	return b.String()
}
