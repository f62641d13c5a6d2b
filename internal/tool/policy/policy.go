// Package policy decides about calls of tools by rules of their tenant: before a call it denies it, redacts
// its arguments or has the user approve it, and after the call it withholds or redacts the result.
//
// A rule that cannot be evaluated denies the call. Each call evaluates the rules for its tool one after the
// other, in their order:
//
//	before:  arguments -> rule -> rule -> approval by the user, if some rule asks for it -> tool
//	after:   result -> rule -> rule -> caller
package policy

import (
	"cmp"
	"strings"
	"time"
	"unicode"

	"github.com/ragdhq/ragd/internal/operate/fault"
	"github.com/ragdhq/ragd/internal/operate/textlimit"
	"github.com/ragdhq/ragd/internal/tenant/catalog"
)

// Phase is when a policy is applied to a call.
type Phase string

// The phases.
const (
	Before Phase = "before"
	After  Phase = "after" // with the result
)

// Action is what a policy does to a call.
type Action string

// The actions.
const (
	Deny    Action = "deny"
	Redact  Action = "redact"
	Approve Action = "approve" // asks the user of the client, before the call
)

// Policy is a policy of a tenant.
type Policy struct {
	Name string
	Definition
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Definition is what a policy does.
type Definition struct {
	Description string   `json:"description,omitempty"`
	Tools       []string `json:"tools"` // names, in which * stands for any characters
	Phase       Phase    `json:"phase"`
	Condition   string   `json:"condition,omitempty"` // a CEL expression; empty is true
	Action      Action   `json:"action"`
	Message     string   `json:"message,omitempty"`
	// Redaction is what the action Redact replaces; nil for other actions.
	Redaction *Redaction `json:"redaction,omitempty"`
	Order     int        `json:"order,omitempty"`
	Disabled  bool       `json:"disabled,omitempty"`
}

// Redaction is what is replaced in arguments or in a result.
type Redaction struct {
	// Paths are those of values: names separated by dots, with * for all members or items.
	Paths []string `json:"paths,omitempty"`
	// Patterns are of RE2. Their matches in texts are replaced.
	Patterns    []string `json:"patterns,omitempty"`
	Replacement string   `json:"replacement"`
}

// DefaultReplacement stands for what was redacted.
const DefaultReplacement = "[redacted]"

// Limits.
const (
	maxPolicies         = 100 // of a tenant
	maxNameBytes        = 64
	maxDescriptionBytes = 1000
	maxMessageBytes     = 1000
	maxTools            = 100 // names and patterns of a policy
	maxToolBytes        = 200
	maxPaths            = 100 // of a redaction
	maxPathBytes        = 200
	maxPatterns         = 20 // of a redaction
	maxPatternStates    = 2000
	maxReplacementBytes = 200
	maxOrder            = 1000
)

// ETag returns the etag of the policy.
func (p Policy) ETag() string { return catalog.ETag(p.Name, p.UpdatedAt) }

// complete sets the defaults of empty fields and checks the policy, apart from its expression and patterns.
// Errors: Invalid.
func (p *Policy) complete() error {
	if err := catalog.CheckName("policyName", p.Name, maxNameBytes); err != nil {
		return err
	}
	p.Phase = cmp.Or(p.Phase, Before)
	for _, text := range []struct {
		field, value string
		most         int
	}{{"description", p.Description, maxDescriptionBytes}, {"message", p.Message, maxMessageBytes}} {
		if err := textlimit.Check(text.field, text.value, text.most); err != nil {
			return err
		}
	}
	switch {
	case p.Phase != Before && p.Phase != After:
		return fault.Field("phase", "must be %s or %s, got %q", Before, After, textlimit.Shorten(string(p.Phase), 64))
	case p.Action == "":
		return fault.Field("action", "is missing: take %s, %s or %s", Deny, Redact, Approve)
	case p.Action != Deny && p.Action != Redact && p.Action != Approve:
		return fault.Field("action", "must be %s, %s or %s, got %q", Deny, Redact, Approve, textlimit.Shorten(string(p.Action), 64))
	case p.Action == Approve && p.Phase == After:
		return fault.Field("action", "cannot be %s after a call: what was done cannot be approved any more", Approve)
	case p.Action == Redact && p.Redaction == nil:
		return fault.Field("redaction", "is missing: name the paths or patterns that are replaced")
	case p.Action != Redact && p.Redaction != nil:
		return fault.Field("redaction", "is only for the action %s", Redact)
	case p.Order < -maxOrder || p.Order > maxOrder:
		return fault.Field("order", "must be between %d and %d, got %d", -maxOrder, maxOrder, p.Order)
	}
	if err := checkTools(p.Tools); err != nil {
		return err
	}
	return p.Redaction.complete()
}

func checkTools(names []string) error {
	if len(names) == 0 || len(names) > maxTools {
		return fault.Field("tools", "must have 1 to %d names or patterns such as github_*, got %d", maxTools, len(names))
	}
	for _, name := range names {
		odd := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
		if name == "" || len(name) > maxToolBytes || strings.ContainsFunc(name, odd) {
			return fault.Field("tools", "%q is no name of a tool: it must have 1 to %d bytes without spaces; * stands for any characters", textlimit.Shorten(name, 64), maxToolBytes)
		}
	}
	return nil
}

func (r *Redaction) complete() error {
	if r == nil {
		return nil
	}
	r.Replacement = cmp.Or(r.Replacement, DefaultReplacement)
	switch {
	case len(r.Paths)+len(r.Patterns) == 0:
		return fault.Field("redaction", "replaces nothing: name paths or patterns")
	case len(r.Paths) > maxPaths:
		return fault.Field("redaction.paths", "must be at most %d, got %d", maxPaths, len(r.Paths))
	case len(r.Patterns) > maxPatterns:
		return fault.Field("redaction.patterns", "must be at most %d, got %d", maxPatterns, len(r.Patterns))
	}
	for _, path := range r.Paths {
		if path == "" || len(path) > maxPathBytes || strings.Contains("."+path+".", "..") {
			return fault.Field("redaction.paths", "%q must be 1 to %d bytes of names separated by dots, such as customer.email or items.*.price", textlimit.Shorten(path, 64), maxPathBytes)
		}
		if !textlimit.IsStorable(path) {
			return fault.Field("redaction.paths", "must be UTF-8 text without NUL")
		}
	}
	return textlimit.Check("redaction.replacement", r.Replacement, maxReplacementBytes)
}

// matches reports whether a name matches a pattern, in which * stands for any characters.
func matches(pattern, name string) bool {
	first, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	segments := strings.Split(rest, "*")
	last := segments[len(segments)-1]
	for _, segment := range segments[:len(segments)-1] {
		i := strings.Index(name, segment)
		if i < 0 {
			return false
		}
		name = name[i+len(segment):]
	}
	return strings.HasSuffix(name, last)
}
