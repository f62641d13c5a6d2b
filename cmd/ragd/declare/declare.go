// Package declare holds the commands that keep what a tenant has in files: they compare its indexes, tools, agents and
// the like with declarations in YAML, make the tenant as declared, and write declarations of what there is. They use the
// API alone: one table of kinds says by which methods objects are read and changed, and the messages of these methods say
// which fields a declaration can have.
package declare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/operate/nearest"
)

// Commands returns the commands of this package.
func Commands(p *command.Program) []*cobra.Command {
	return []*cobra.Command{applyCommand(p), diffCommand(p), getCommand(p)}
}

// exitError is the code with which diff fails, since 1 says that there is a difference.
const exitError = 2

func fileFlag(cmd *cobra.Command) *[]string {
	return cmd.Flags().StringArrayP("file", "f", nil, "file or folder with declarations in YAML or JSON, - for standard input (repeatable)")
}

// scopeFlags adds --prune and --kinds.
func scopeFlags(cmd *cobra.Command) func() (scope, error) {
	prune := cmd.Flags().Bool("prune", false, "also delete what is not declared, of the kinds that are declared")
	only := cmd.Flags().StringSlice("kinds", nil, "with --prune: delete objects of these kinds, such as tool,prompt (default those that are declared)")
	return func() (scope, error) {
		for _, name := range *only {
			if _, err := findKind(name); err != nil {
				return scope{}, misuse.Errorf("--kinds: %w", err)
			}
		}
		if len(*only) > 0 && !*prune {
			return scope{}, misuse.Errorf("--kinds needs --prune")
		}
		return scope{prune: *prune, kinds: *only}, nil
	}
}

func applyCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apply",
		Short: "Make a tenant as files declare it",
		Long: `Make what a tenant has as it is declared in files: objects that are missing are
created, those that differ are changed, others are left alone. Fields that are not
declared keep their values. A document has a kind, a name and, below spec, fields
of the API:

  kind: index
  name: handbook
  spec:
    embeddingModel: openai/text-embedding-3-small
    synonyms:
      - {terms: [vacation, leave]}

Kinds: ` + strings.Join(kindNames(), ", ") + `.
Secrets are never in files: valueFrom names a variable or a file. They are sent
when an object is created or changed, and with --resend-secrets.`,
		Example: `  ragd apply -f tenant.yaml
  ragd apply -f tenant/ --prune --yes`,
		Args: command.Arguments(),
	}
	files, within, yes := fileFlag(cmd), scopeFlags(cmd), command.YesFlag(cmd)
	dry := cmd.Flags().Bool("dry-run", false, "say what would be done, and change nothing")
	replacing := cmd.Flags().Bool("replace", false, "delete and create anew what cannot be changed in place")
	deleting := cmd.Flags().Bool("delete-data", false, "let --prune and --replace delete indexes with their documents")
	resend := cmd.Flags().Bool("resend-secrets", false, "send the values of secrets, keys and headers again, as the service cannot tell whether they changed")
	folder := cmd.Flags().String("secrets-to", "", "`FOLDER` in which the secrets of keys and hooks that are created are written, each in a file of its own")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		declared, err := read(p, *files)
		if err != nil {
			return err
		}
		s, err := within()
		if err != nil {
			return err
		}
		c, err := p.Connect(client.ForTenant)
		if err != nil {
			return err
		}
		plan, notes, err := planOf(cmd.Context(), c, declared, s)
		if err != nil {
			return err
		}
		for _, note := range notes {
			output.Note(p.Out.Stderr, "%s", note)
		}
		if *resend {
			resendSecrets(plan)
		}
		if err := permitted(cmd.Context(), c, plan, *replacing, *deleting); err != nil {
			return err
		}
		r := &runner{p: p, client: c, folder: *folder, done: func(c *change) { printChange(p, c) }, note: func(text string) { output.Note(p.Out.Stderr, "%s", text) }}
		if err := r.prepare(plan); err != nil {
			return err
		}
		if *dry {
			for _, c := range plan {
				printChange(p, c)
			}
			output.Note(p.Out.Stderr, "--dry-run: nothing was changed")
			return printSummary(p, plan)
		}
		if deleted := withAction(plan, remove); len(deleted) > 0 {
			if err := p.Confirm(cmd.Context(), *yes, "delete", "Deletes %s.", strings.Join(deleted, ", ")); err != nil {
				return err
			}
		}
		if err := r.run(cmd.Context(), plan); err != nil {
			return err
		}
		return printSummary(p, plan)
	}
	return p.ClientFlags(cmd)
}

// resendSecrets adds the declared fields with references to what is changed.
func resendSecrets(plan []*change) {
	for _, c := range plan {
		if c.action != keep && c.action != update {
			continue
		}
		for _, name := range sortedKeys(c.declared.fields) {
			if c.kind.hidden[name] != nil && !slices.Contains(c.fields, name) {
				c.action, c.fields = update, append(c.fields, name)
			}
		}
	}
}

// permitted returns an error if a plan replaces objects or deletes documents without leave.
func permitted(ctx context.Context, c *client.Client, plan []*change, replacing, deleting bool) error {
	for _, next := range plan {
		if next.action == replace && !replacing {
			return fmt.Errorf("%s: %s: %s cannot be changed: --replace deletes it and creates it anew", next.declared.at, next, strings.Join(next.fixed, ", "))
		}
		if len(next.lost) > 0 && !deleting {
			return fmt.Errorf("%s: %s: what is not declared would be deleted with it: %s; declare it, or allow that with --delete-data", next.declared.at, next, strings.Join(next.lost, ", "))
		}
		if next.kind.name == "key" && (next.action == replace || next.action == remove) {
			if err := notOwnKey(ctx, c, next); err != nil {
				return err
			}
		}
		if next.action != replace && next.action != remove || next.kind.documents == nil || deleting {
			continue
		}
		n, err := next.kind.documents(ctx, c, next.name)
		if err != nil {
			return fmt.Errorf("%s: %w", next, err)
		}
		if n > 0 {
			return fmt.Errorf("%s has %s, which would be deleted with it: --delete-data allows that", next, output.Count(n, "document"))
		}
	}
	return nil
}

// notOwnKey returns an error if a key is the one with which the command calls.
func notOwnKey(ctx context.Context, c *client.Client, key *change) error {
	me, err := c.Tenants.WhoAmI(ctx, &ragdv1.WhoAmIRequest{})
	if err != nil {
		return err
	}
	if me.GetSubject() == text(key.state.object, "apiKeyId") {
		return fmt.Errorf("%s is the key of this command, and would be revoked: use another one, or declare it", key)
	}
	return nil
}

// withAction returns what a plan does something with.
func withAction(plan []*change, action string) []string {
	var names []string
	for _, c := range plan {
		if c.action == action {
			names = append(names, c.String())
		}
	}
	return names
}

// result is a change as --json prints it.
type result struct {
	Kind   string   `json:"kind"`
	Name   string   `json:"name"`
	Action string   `json:"action"`
	Fields []string `json:"fields,omitempty"`
	Diff   string   `json:"diff,omitempty"`
}

// printChange prints what is done with an object; as text only if that is something.
func printChange(p *command.Program, c *change) {
	switch {
	case p.Out.JSON:
		_ = printLine(p, result{Kind: c.kind.name, Name: c.name, Action: c.action, Fields: c.fields})
	case c.action == keep:
	case len(c.fields) > 0:
		output.Note(p.Out.Stdout, "%s %s: %s", c, c.action, strings.Join(c.fields, ", "))
	default:
		output.Note(p.Out.Stdout, "%s %s", c, c.action)
	}
}

// printLine prints a value as one line of JSON.
func printLine(p *command.Program, value any) error {
	encoder := json.NewEncoder(p.Out.Stdout)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// printSummary prints how much was done.
func printSummary(p *command.Program, plan []*change) error {
	if p.Out.JSON {
		return nil
	}
	same := len(withAction(plan, keep))
	if same == len(plan) {
		output.Note(p.Out.Stdout, "nothing to change: %s as declared", output.Count(same, "object"))
		return nil
	}
	var counts []string
	for _, action := range []string{create, update, replace, remove, keep} {
		if n := len(withAction(plan, action)); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, action))
		}
	}
	output.Note(p.Out.Stdout, "%s", strings.Join(counts, ", "))
	return nil
}

func diffCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diff",
		Short: "Show how a tenant differs from what files declare",
		Long: `Show what ` + "`ragd apply`" + ` would change with the same files, as a unified diff for each
object: lines with - are in the service, lines with + are declared. It exits with 0
if there is no difference, with 1 if there is one, and with 2 if something failed.`,
		Example: `  ragd diff -f tenant.yaml
  ragd diff -f tenant/ --prune`,
		Args: command.Arguments(),
	}
	files, within := fileFlag(cmd), scopeFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		plan, err := difference(cmd.Context(), p, *files, within)
		if err == nil {
			err = printDifference(p, plan)
		}
		if usage := (misuse.Error{}); err != nil && !errors.As(err, &usage) && cmd.Context().Err() == nil {
			return command.ExitError{Code: exitError, Err: err}
		}
		if changed := len(plan) - len(withAction(plan, keep)); err == nil && changed > 0 {
			return command.ExitError{Code: 1, Err: fmt.Errorf("not as declared: %d of %s", changed, output.Count(len(plan), "object"))}
		}
		return err
	}
	return p.ClientFlags(cmd)
}

// difference returns what apply would do.
func difference(ctx context.Context, p *command.Program, files []string, within func() (scope, error)) ([]*change, error) {
	declared, err := read(p, files)
	if err != nil {
		return nil, err
	}
	s, err := within()
	if err != nil {
		return nil, err
	}
	c, err := p.Connect(client.ForTenant)
	if err != nil {
		return nil, err
	}
	plan, notes, err := planOf(ctx, c, declared, s)
	for _, note := range notes {
		output.Note(p.Out.Stderr, "%s", note)
	}
	return plan, err
}

// printDifference prints the difference of each object that has one.
func printDifference(p *command.Program, plan []*change) error {
	for _, c := range plan {
		if c.action == keep {
			continue
		}
		text, err := c.unified()
		if err != nil {
			return err
		}
		if p.Out.JSON {
			err = printLine(p, result{Kind: c.kind.name, Name: c.name, Action: c.action, Fields: c.fields, Diff: text})
		} else {
			_, err = io.WriteString(p.Out.Stdout, text)
		}
		if err != nil {
			return err
		}
		if c.action == replace {
			output.Note(p.Out.Stderr, "%s: %s cannot be changed: `ragd apply --replace` deletes it and creates it anew", c, strings.Join(c.fixed, ", "))
		}
	}
	return nil
}

// unified returns the difference that a change makes.
func (c *change) unified() (string, error) {
	before, from := "", "/dev/null"
	after, to := "", "/dev/null"
	var err error
	if c.state != nil {
		from = c.kind.name + "/" + c.name
		if before, err = write(c.kind, text(c.state.object, c.kind.id), c.before); err != nil {
			return "", err
		}
	}
	if c.declared != nil {
		to = c.declared.at
		if after, err = write(c.kind, c.declared.shortName(), c.after); err != nil {
			return "", err
		}
	}
	return unified(from, to, before, after), nil
}

func getCommand(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "get [KIND [NAME]]",
		Short: "Write declarations of what a tenant has",
		Long: `Write declarations of what a tenant has, as apply and diff read them: of all kinds, of
one kind, or of one object. What the service sets is left out. Values that it does not
return, such as secrets, are references to variables of the environment.
Kinds: ` + strings.Join(kindNames(), ", ") + `.`,
		Example: `  ragd get > tenant.yaml
  ragd get index handbook
  ragd get tool -o name
  ragd get --schema > ragd.schema.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 2 {
				return fmt.Errorf("unexpected argument %q", args[2])
			}
			return nil
		},
	}
	schema := cmd.Flags().Bool("schema", false, "print the JSON Schema of a document, for editors, and nothing else")
	format := cmd.Flags().StringP("output", "o", "yaml", "what to print: yaml, or the name of each object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if *format != "yaml" && *format != "name" {
			return misuse.Errorf("--output %q is neither yaml nor name", *format)
		}
		if *schema {
			return printSchema(p)
		}
		wanted := kinds
		if len(args) > 0 {
			k, err := findKind(args[0])
			if err != nil {
				return misuse.Errorf("%w", err)
			}
			wanted = []*kind{k}
		}
		c, err := p.Connect(client.ForTenant)
		if err != nil {
			return err
		}
		name := ""
		if len(args) > 1 {
			name = args[1]
		}
		w := &writer{p: p, names: *format == "name", taken: map[string]int{}}
		for _, k := range wanted {
			if err := w.kind(cmd.Context(), c, k, name); err != nil {
				return err
			}
		}
		return nil
	}
	return p.ClientFlags(cmd)
}

// writer writes declarations.
type writer struct {
	p       *command.Program
	names   bool // only the names
	written int
	taken   map[string]int // how often a variable was named
}

// kind writes the objects of a kind, or the one of a name.
func (w *writer) kind(ctx context.Context, c *client.Client, k *kind, name string) error {
	found, nameless, err := k.states(ctx, c)
	if err != nil {
		return err
	}
	var names []string
	seen := false
	for _, s := range found {
		names = append(names, s.name)
		if name != "" && s.name != name && text(s.object, k.id) != name {
			continue
		}
		seen = true
		if err := w.object(ctx, c, s); err != nil {
			return err
		}
	}
	if name != "" && !seen {
		return fmt.Errorf("there is no %s %q%s", k.name, name, nearest.Hint(name, names))
	}
	if nameless > 0 && name == "" {
		output.Note(w.p.Out.Stderr, "%d of the kind %s without a name cannot be declared, and are left out", nameless, k.name)
	}
	return nil
}

// object writes one object.
func (w *writer) object(ctx context.Context, c *client.Client, s *state) error {
	if w.names {
		output.Note(w.p.Out.Stdout, "%s %s", s.kind.name, s.name)
		return nil
	}
	if err := s.load(ctx, c, nil); err != nil {
		return err
	}
	for field := range s.kind.hidden {
		if value, ok := s.fields[field]; ok {
			s.fields[field] = w.distinct(value)
		}
	}
	name := text(s.object, s.kind.id)
	if w.p.Out.JSON {
		return printLine(w.p, document{Kind: s.kind.name, Name: name, Spec: s.fields})
	}
	encoded, err := write(s.kind, name, s.fields)
	if err != nil {
		return err
	}
	if w.written++; w.written > 1 {
		encoded = "---\n" + encoded
	}
	_, err = io.WriteString(w.p.Out.Stdout, encoded)
	return err
}

// distinct returns a value whose references name variables that no other one has.
func (w *writer) distinct(value any) any {
	if r, ok := referenceIn(value); ok {
		if w.taken[r.env]++; w.taken[r.env] > 1 {
			return variable(r.env, strconv.Itoa(w.taken[r.env]))
		}
		return value
	}
	object := value.(tree)
	out := tree{}
	for _, name := range sortedKeys(object) {
		out[name] = w.distinct(object[name])
	}
	return out
}

// document is a declaration as --json prints it.
type document struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	Spec tree   `json:"spec,omitempty"`
}
