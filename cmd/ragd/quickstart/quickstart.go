// Package quickstart holds the command that takes a newcomer from a folder to a first answer: it
// finds or starts the service, ingests the folder, asks a question that the documents answer, and
// says how to go on.
package quickstart

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/ragdhq/ragd/cmd/ragd/data"
	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/localfiles"
	"github.com/ragdhq/ragd/cmd/ragd/internal/mcpclient"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/operate"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// Commands returns the commands of this package. config names the file of settings for a service
// that is started.
func Commands(p *command.Program, config *string) []*cobra.Command {
	return []*cobra.Command{quickstartCommand(p, config)}
}

func quickstartCommand(p *command.Program, config *string) *cobra.Command {
	cmd := p.ClientFlags(&cobra.Command{
		Use:   "quickstart FOLDER",
		Short: "Search a folder of your own, in one step",
		Long: `Go from a folder to answers: find the service, or start one, make an index, ingest
the folder, ask a question that its documents answer, and show how programs for MCP
connect, and a link to the console that signs in once, within two minutes.

The service is the one that other commands call. If there is none on this machine
and --server names none, it is started as "ragd serve" does, and serves until an
interrupt. Its first start fetches an embedding model, unless --offline is given.

The index has the name of the folder unless --index names another. Nothing is
deleted; a second run uploads what has changed.`,
		Example: `  ragd quickstart ~/notes
  ragd quickstart handbook/ --index handbook`,
		Args: command.Arguments("FOLDER"),
	})
	index := cmd.Flags().String("index", "", "name of the index (default that of the folder)")
	offline := cmd.Flags().Bool("offline", false, "fetch no embedding model for a service that is started for the first time")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		q := &quickstart{Program: p, config: *config, folder: args[0], index: *index, offline: *offline}
		if q.index == "" {
			q.index = indexName(q.folder)
		}
		return q.run(cmd.Context())
	}
	return cmd
}

// quickstart is one run of the command.
type quickstart struct {
	*command.Program
	config string
	folder string
	index  string
	// offline fetches no model for a service that is started.
	offline bool
}

// report is the output with --json.
type report struct {
	Server    string            `json:"server"`
	Started   bool              `json:"started"`
	Index     string            `json:"index"`
	Ready     int               `json:"ready"`
	Unchanged int               `json:"unchanged"`
	Failed    int               `json:"failed"`
	Question  string            `json:"question"`
	Sources   []source          `json:"sources"`
	Clients   map[string]string `json:"clients"` // snippets by the client's name
	Link      string            `json:"link,omitempty"`
}

type source struct {
	URI   string  `json:"uri"`
	Score float64 `json:"score"`
	Text  string  `json:"text"`
}

func (q *quickstart) run(ctx context.Context) (err error) {
	if err := checkFolder(q.folder); err != nil {
		return err
	}
	c, service, err := q.connect(ctx)
	if err != nil {
		return err
	}
	if service != nil {
		defer func() { err = errors.Join(err, service.Stop()) }()
	}
	done := report{Server: c.Server, Started: service != nil, Index: q.index}
	q.heading("ingesting %s into the index %s", q.folder, q.index)
	result, err := data.IngestFolder(ctx, q.Program, c, q.folder, q.index)
	switch {
	case err != nil:
		return err
	case result.Ready == 0:
		return &FolderError{Folder: q.folder, Reason: fmt.Sprintf("none of its %s could be processed", output.Count(len(result.Failures), "document"))}
	}
	done.Ready, done.Unchanged, done.Failed = result.Ready, result.Unchanged, len(result.Failures)
	if err := q.ask(ctx, c, &done); err != nil {
		return err
	}
	if err := q.showClients(c, &done); err != nil {
		return err
	}
	if err := q.showLink(ctx, c, &done); err != nil {
		return err
	}
	if q.Out.JSON {
		if err := q.Out.Value(done); err != nil {
			return err
		}
	}
	if service == nil {
		return nil
	}
	q.heading("ragd is serving at %s; Ctrl-C stops it, and `ragd serve` starts it again", c.Server)
	return service.Wait()
}

// heading prints what comes next.
func (q *quickstart) heading(format string, args ...any) {
	out := q.Out.Stdout
	if q.Out.JSON {
		out = q.Out.Stderr
	}
	output.Note(out, "\n== "+format, args...)
}

// FolderError is a folder that cannot be searched.
type FolderError struct {
	Folder string
	Reason string
}

// Error implements error.
func (e *FolderError) Error() string { return e.Folder + ": " + e.Reason }

// checkFolder returns an error unless there is a document in the folder that can be read.
// Errors: misuse.Error for what is no folder, FolderError.
func checkFolder(folder string) error {
	info, err := os.Stat(folder)
	switch {
	case err != nil:
		return misuse.Errorf("%w", err)
	case !info.IsDir():
		return misuse.Errorf("%s is no folder; `ragd ingest %s` uploads a file", folder, folder)
	}
	skipped, first := 0, error(nil)
	for _, err := range (localfiles.Options{Base: folder}).Files(folder) {
		if err == nil {
			return nil
		}
		if skipped++; first == nil {
			first = err
		}
	}
	if first == nil {
		return &FolderError{folder, "the folder is empty: put documents into it, or name another one"}
	}
	example := first.Error()
	if skip := (*localfiles.Skip)(nil); errors.As(first, &skip) {
		example = skip.Location + " (" + skip.Reason + ")"
	}
	return &FolderError{folder, fmt.Sprintf("none of its %s can be read, such as %s; "+
		"text, Markdown, HTML, PDF, Office files, email and archives can, unless they are hidden or ignored",
		output.Count(skipped, "file"), output.OneLine(example))}
}

// reachTimeout bounds the wait for a service that may not run.
const reachTimeout = 5 * time.Second

// connect returns a client of the service, and the service if it was started.
func (q *quickstart) connect(ctx context.Context) (*client.Client, *operate.Running, error) {
	c, err := q.Connect(client.ForTenant)
	if err != nil {
		return nil, nil, err
	}
	attempt, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	res, err := c.Get(attempt, "/healthz")
	if err == nil {
		_ = res.Body.Close()
		return c, nil, q.check(ctx, c)
	}
	if q.Access.Server != "" {
		return nil, nil, err // a service that is named is not started
	}
	q.heading("no service runs at %s: starting one", c.Server)
	service, err := operate.Start(ctx, q.Program, q.config, q.offline)
	if err != nil {
		return nil, nil, fmt.Errorf("the service does not start: %w", err)
	}
	q.Access.Server = service.URL
	if c, err = q.Connect(client.ForTenant); err == nil {
		err = q.check(ctx, c)
	}
	if err != nil {
		return nil, nil, errors.Join(err, service.Stop())
	}
	return c, service, nil
}

// check returns an error unless the service accepts the key.
func (q *quickstart) check(ctx context.Context, c *client.Client) error {
	_, err := c.Tenants.WhoAmI(ctx, &ragdv1.WhoAmIRequest{})
	return err
}

// ask asks a question that the documents answer, and shows the best passages.
func (q *quickstart) ask(ctx context.Context, c *client.Client, done *report) error {
	question, err := draw(ctx, c, q.index)
	if err != nil {
		return err
	}
	done.Question = question
	q.heading("a question from your documents: %s", output.OneLine(question))
	passages := int32(3)
	answer, err := c.Queries.VectorQuery(ctx, &ragdv1.VectorQueryRequest{IndexName: q.index, QueryText: question, TopK: &passages, Highlight: true})
	if err != nil {
		return err
	}
	if !q.Out.JSON {
		if err := data.PrintSources(q.Program, answer); err != nil {
			return err
		}
		output.Note(q.Out.Stdout, "Ask your own: ragd query --index %s %q", q.index, "...")
	}
	for _, s := range answer.GetSources() {
		done.Sources = append(done.Sources, source{URI: s.GetUri(), Score: s.GetScore(), Text: s.GetDocument()})
	}
	return nil
}

// showClients shows how the MCP clients of this machine connect.
func (q *quickstart) showClients(c *client.Client, done *report) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the path of ragd: %w", err)
	}
	how := mcpclient.Connection{Program: program, Name: mcpclient.Default}
	if q.Access.Server != "" && !done.Started || c.Access.Source != "client.conf" {
		how.Server = c.Server
	}
	if c.Access.Source != "client.conf" {
		how.Key = mcpclient.KeyPlaceholder
	}
	found := mcpclient.Installed(q.Getenv)
	if len(found) == 0 {
		q.heading("no MCP client was found on this machine; one that starts programs takes this")
		found = []mcpclient.Client{mcpclient.Any}
	}
	done.Clients = map[string]string{}
	for _, m := range found {
		snippet := m.Snippet(how)
		done.Clients[m.Name] = snippet
		if q.Out.JSON {
			continue
		}
		if m.ID != "" {
			q.heading("connect %s: %s", m.Name, m.Where)
		}
		output.Note(q.Out.Stdout, "%s", snippet)
	}
	if !q.Out.JSON {
		output.Note(q.Out.Stdout, "\nIt has the rights of your key; `ragd key create --scopes read` makes one for agents that only read.")
	}
	return nil
}

// showLink shows the link to the console.
func (q *quickstart) showLink(ctx context.Context, c *client.Client, done *report) error {
	link, err := operate.Link(ctx, c)
	if connect.CodeOf(err) == connect.CodeUnimplemented {
		return nil // the operator has turned the console off
	}
	if err != nil {
		return err
	}
	done.Link = link
	if !q.Out.JSON {
		q.heading("the console, signed in by a link that works once within two minutes; `ragd console` makes others")
		output.Note(q.Out.Stdout, "%s", link)
	}
	return nil
}

// foreign matches what the name of an index cannot have.
var foreign = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// maxIndexName is the length of the longest name of an index.
const maxIndexName = 63

// indexName returns the name of the index for a folder.
func indexName(folder string) string {
	if abs, err := filepath.Abs(folder); err == nil {
		folder = abs
	}
	name := strings.Trim(foreign.ReplaceAllString(filepath.Base(folder), "-"), "-")
	if name == "" {
		return "documents"
	}
	if name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name[:min(len(name), maxIndexName)]
}
