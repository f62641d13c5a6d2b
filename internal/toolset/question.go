package toolset

import (
	"context"
	"encoding/json"
	"errors"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/ragdhq/ragd/internal/fault"
)

// indexArgument is the argument that a user may be asked for.
const indexArgument = "indexName"

// askForIndex returns a question to the user which index is meant, if a call failed because
// it named none of several and the caller can ask. Otherwise it returns nil: the error lists
// the names, and the model chooses. A call asks at most once.
func (s *Set) askForIndex(ctx context.Context, t *tool, c Call, err error) *Question {
	if !c.CanAsk || c.Answers != nil || t.arguments.property(indexArgument) == nil || !blames(err, indexArgument) {
		return nil
	}
	var given map[string]any
	if c.Arguments != nil && json.Unmarshal(c.Arguments, &given) != nil {
		return nil
	}
	if name := given[indexArgument]; name != nil && name != "" {
		return nil
	}
	names := s.indexes.of(ctx)
	if len(names) < 2 {
		return nil
	}
	return &Question{
		Message: "There are several indexes. Which one is meant?",
		Schema: map[string]any{
			"type":       "object",
			"properties": map[string]any{indexArgument: map[string]any{"type": "string", "title": "Index", "enum": names}},
			"required":   []string{indexArgument},
		},
	}
}

// blames reports whether the error is about one field alone.
func blames(err error, field string) bool {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Kind == fault.Invalid && len(f.Violations) == 1 && f.Violations[0].Field == field
	}
	var wired *connect.Error
	if !errors.As(err, &wired) || wired.Code() != connect.CodeInvalidArgument {
		return false
	}
	for _, detail := range wired.Details() {
		value, _ := detail.Value()
		if bad, ok := value.(*errdetails.BadRequest); ok {
			return len(bad.GetFieldViolations()) == 1 && bad.GetFieldViolations()[0].GetField() == field
		}
	}
	return false
}
