package policy

import (
	"context"
	"errors"
	"slices"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/pattern"
	"github.com/ragdhq/ragd/internal/tool/expression"
)

// rule is a compiled policy. Safe for concurrent use.
type rule struct {
	Policy

	condition *expression.Expression // nil for none
	paths     [][]string             // of the redaction, as names
	patterns  []pattern.Pattern      // of the redaction
	invalid   error                  // why it cannot be compiled: then it denies all calls of its tools
}

// compile returns the rule of a policy. Errors: Invalid; those of Config.Enter.
func (s *Service) compile(ctx context.Context, p Policy) (*rule, error) {
	r := &rule{Policy: p}
	if p.Condition != "" {
		var err error
		if r.condition, err = s.environments[p.Phase].For(ctx).CompileCondition("condition", p.Condition); err != nil {
			return nil, err
		}
	}
	if p.Redaction == nil {
		return r, nil
	}
	for _, path := range p.Redaction.Paths {
		r.paths = append(r.paths, namesIn(path))
	}
	left := maxPatternStates
	for _, text := range p.Redaction.Patterns {
		compiled, err := pattern.Compile(text, left)
		switch {
		case errors.Is(err, pattern.ErrTooLarge):
			return nil, fault.Field("redaction.patterns", "are too large: together they may have %d states; repeat less", maxPatternStates)
		case err != nil:
			return nil, fault.Field("redaction.patterns", "%s", err)
		case compiled.MatchString(""):
			return nil, fault.Field("redaction.patterns", "%q matches the empty text, and so everywhere", text)
		}
		left -= compiled.States
		r.patterns = append(r.patterns, compiled)
	}
	return r, nil
}

// isFor reports whether the rule is for calls of a tool in a phase.
func (r *rule) isFor(phase Phase, tool string) bool {
	return r.Phase == phase && slices.ContainsFunc(r.Tools, func(pattern string) bool { return matches(pattern, tool) })
}
