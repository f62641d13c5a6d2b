package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	"github.com/ragdhq/ragd/cmd/ragd/internal/output"
	"github.com/ragdhq/ragd/cmd/ragd/internal/paging"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

func connectorCommands(p *command.Program) *cobra.Command {
	return p.ClientFlags(command.Group("connector", "Keep documents the same as a website, a feed, an MCP server, a repository, a bucket, a folder, a query or a web API", `
A connector keeps documents of an index the same as the items of a source, such as the
pages of a website: it adds new ones, updates changed ones and deletes those that are gone.
These commands need a key of the scope admin.`,
		connectorCreate(p), connectorUpdate(p), connectorGet(p), connectorList(p), connectorTest(p), connectorSync(p), connectorItems(p), connectorRecipes(p),
		connectorPause(p), connectorResume(p), connectorAuthorize(p), connectorDelete(p),
	))
}

// connectorFlags are the flags that create and update have in common.
type connectorFlags struct {
	program               *command.Program
	flags                 *pflag.FlagSet
	url, sitemap, feed    *string
	git, branch           *string
	user, secret          *string
	bucket, endpoint      *string
	region, prefix        *string
	accessKey, folder     *string
	query, contentType    *string
	idColumn, textColumn  *string
	updatedColumn         *string
	publication, slot     *string
	createSlot            *bool
	titleColumn           *string
	deleteMissing         *bool
	include, exclude      *[]string
	depth                 *int32
	delay                 *time.Duration
	schedule, description *string
	metadata              *[]string
	maxItems              *int32
	mcp                   *string
	recipe, manifest      *string
	params, streams       *[]string
	relist                *time.Duration
	dialect, sqlite       *string
	pushSecret            *string
	server                *mcpFlags
}

func newConnectorFlags(p *command.Program, flags *pflag.FlagSet) *connectorFlags {
	return &connectorFlags{
		program:       p,
		flags:         flags,
		url:           flags.String("url", "", "start page of a website"),
		sitemap:       flags.String("sitemap", "", "sitemap of a website, instead of a start page"),
		feed:          flags.String("feed", "", "RSS, Atom or JSON feed, instead of a website"),
		mcp:           flags.String("mcp", "", "endpoint of an MCP server, instead of a website"),
		server:        newMCPFlags(flags),
		deleteMissing: flags.Bool("delete-missing", false, "delete the documents of entries that the feed no longer has"),
		git:           flags.String("git", "", "address of a Git repository over HTTPS, instead of a website"),
		branch:        flags.String("branch", "", "branch of the repository (default that of HEAD)"),
		user:          flags.String("user", "", "user to whom the secret belongs (default git)"),
		secret:        flags.String("secret", "", "name of the secret with the token of the repository, or the secret access key of the bucket, or the address of the database"),
		bucket:        flags.String("bucket", "", "bucket of an S3 server, instead of a website"),
		endpoint:      flags.String("endpoint", "", "address of the S3 server, such as https://s3.eu-central-1.amazonaws.com"),
		region:        flags.String("region", "", "region of the bucket (default as the server says)"),
		folder:        flags.String("folder", "", "folder of the machine of the service, which its operator allows, instead of a website"),
		query:         flags.String("query", "", "SELECT of a database, whose address is in the secret or whose file --sqlite names, instead of a website"),
		dialect:       flags.String("dialect", "postgres", "database of the query: postgres, or mysql, which is MariaDB too"),
		sqlite:        flags.String("sqlite", "", "path of an SQLite database on the machine of the service, in a folder that its operator allows, which the query reads"),
		idColumn:      flags.String("id-column", "", "column of the ids of the query (default id)"),
		updatedColumn: flags.String("updated-column", "", "column that changes with each change of a row (default updated_at)"),
		textColumn:    flags.String("text-column", "", "column of the texts (default text)"),
		titleColumn:   flags.String("title-column", "", "column of the titles (default they are found in the texts)"),
		contentType:   flags.String("content-type", "", "what the texts are: text/plain, text/markdown or text/html (default text/plain)"),
		publication:   flags.String("publication", "", "publication of the table of the query in PostgreSQL, whose changes are followed with --slot"),
		slot:          flags.String("slot", "", "replication slot that receives the changes"),
		createSlot:    flags.Bool("create-slot", false, "create the slot if there is none, and drop it with the connector"),
		recipe:        flags.String("recipe", "", `recipe of a web API, as "ragd connector recipes" lists them, instead of a website`),
		manifest:      flags.String("manifest", "", "file with the manifest of a web API in YAML, instead of a website"),
		params:        flags.StringArray("param", nil, `value that the recipe or manifest names as config, as "NAME=VALUE" (repeatable)`),
		streams:       flags.StringSlice("stream", nil, "stream of the recipe or manifest that is read (repeatable; default all)"),
		relist:        flags.Duration("relist", 24*time.Hour, "after which time a run lists everything and finds deletions, in whole hours; with --query each run does by default"),
		prefix:        flags.String("prefix", "", "only objects whose keys begin with this"),
		accessKey:     flags.String("access-key", "", "id of the access key (default requests are not signed)"),
		include:       flags.StringSlice("include", nil, `only pages, files or objects whose path matches, such as "/docs/*" or "docs/*.md" (repeatable)`),
		exclude:       flags.StringSlice("exclude", nil, "no pages, files or objects whose path matches (repeatable)"),
		depth:         flags.Int32("depth", 5, "how many links a page may be away from the start page, at most 20"),
		delay:         flags.Duration("delay", time.Second, "wait between two requests, at most 1m"),
		schedule:      flags.String("schedule", "", `when it runs: "0 3 * * *" in UTC, @daily or "@every 6h" (default only on "ragd connector sync")`),
		description:   flags.String("description", "", "what the connector is for"),
		metadata:      flags.StringArray("metadata", nil, `metadata of the documents, as "NAME=EXPRESSION" over item (repeatable; "" for none)`),
		pushSecret:    flags.String("push-secret", "", "name of the secret with which the source signs announcements of changes; each begins a run"),
		maxItems:      flags.Int32("max-items", 0, "most items, up to 1000000 of a database or bucket (default 1000)"),
	}
}

// connectorSource is a flag that names a source, with the other flags of this source.
type connectorSource struct {
	flag   string
	others []string
}

var connectorSources = []connectorSource{
	{"url", []string{"include", "exclude", "depth", "delay"}},
	{"sitemap", []string{"include", "exclude", "delay", "depth"}},
	{"feed", []string{"delete-missing"}},
	{"git", []string{"include", "exclude", "branch", "user", "secret"}},
	{"bucket", []string{"include", "exclude", "endpoint", "region", "prefix", "access-key", "secret"}},
	{"folder", []string{"include", "exclude"}},
	{"mcp", []string{"header", "template", "tool", "prompt", "tool-prefix", "no-resources", "timeout", "no-subscription", "oauth-grant", "oauth-client", "oauth-secret", "oauth-issuer", "oauth-scope"}},
	{"recipe", []string{"param", "stream", "relist"}},
	{"manifest", []string{"param", "stream", "relist"}},
	{"query", []string{"secret", "id-column", "updated-column", "text-column", "title-column", "content-type", "relist", "dialect", "sqlite", "publication", "slot", "create-slot"}},
}

// given returns the flag of the source that was given, empty for none.
func (f *connectorFlags) given() (string, error) {
	var source connectorSource
	var names []string
	for _, one := range connectorSources {
		names = append(names, "--"+one.flag)
		switch {
		case !f.flags.Changed(one.flag):
		case source.flag != "":
			return "", misuse.Errorf("a connector has one source: --%s or --%s", source.flag, one.flag)
		default:
			source = one
		}
	}
	for _, one := range connectorSources {
		for _, name := range one.others {
			switch {
			case !f.flags.Changed(name) || slices.Contains(source.others, name):
			case source.flag == "":
				return "", misuse.Errorf("--%s needs a source: one of %s", name, strings.Join(names, ", "))
			default:
				return "", misuse.Errorf("--%s is not for --%s", name, source.flag)
			}
		}
	}
	return source.flag, nil
}

// source returns a connector with the source of the flags, without one if none was given.
func (f *connectorFlags) source() (*ragdv1.Connector, error) {
	c := &ragdv1.Connector{}
	flag, err := f.given()
	switch flag {
	case "url", "sitemap":
		c.Source = &ragdv1.Connector_Web{Web: &ragdv1.WebSource{
			Url: *f.url + *f.sitemap, Sitemap: flag == "sitemap", Include: *f.include, Exclude: *f.exclude,
			MaxDepth: command.Given(f.flags, "depth", f.depth), DelayMs: new(int32(f.delay.Milliseconds())),
		}}
	case "feed":
		c.Source = &ragdv1.Connector_Feed{Feed: &ragdv1.FeedSource{Url: *f.feed, DeleteMissing: *f.deleteMissing}}
	case "git":
		c.Source = &ragdv1.Connector_Git{Git: &ragdv1.GitSource{
			Url: *f.git, Branch: *f.branch, Include: *f.include, Exclude: *f.exclude, User: *f.user, SecretName: *f.secret,
		}}
	case "bucket":
		c.Source = &ragdv1.Connector_S3{S3: &ragdv1.S3Source{
			Endpoint: *f.endpoint, Region: *f.region, Bucket: *f.bucket, Prefix: *f.prefix, Include: *f.include, Exclude: *f.exclude,
			AccessKeyId: *f.accessKey, SecretName: *f.secret,
		}}
	case "folder":
		c.Source = &ragdv1.Connector_Folder{Folder: &ragdv1.FolderSource{Path: *f.folder, Include: *f.include, Exclude: *f.exclude}}
	case "mcp":
		mcp, wrong := f.server.source(*f.mcp)
		if wrong != nil {
			return nil, wrong
		}
		c.Source = &ragdv1.Connector_Mcp{Mcp: mcp}
	case "query":
		return f.rows()
	case "recipe", "manifest":
		api, wrong := f.api()
		if wrong != nil {
			return nil, wrong
		}
		c.Source = &ragdv1.Connector_Http{Http: api}
	}
	return c, err
}

// rows returns a connector with the database of the flags.
func (f *connectorFlags) rows() (*ragdv1.Connector, error) {
	relist := int32(0)
	if f.flags.Changed("relist") {
		relist = int32(f.relist.Hours())
	}
	replication, err := f.replication()
	if err != nil {
		return nil, err
	}
	if *f.sqlite != "" {
		if f.flags.Changed("dialect") || f.flags.Changed("secret") {
			return nil, misuse.Errorf("--sqlite is given without --dialect and --secret")
		}
		return &ragdv1.Connector{Source: &ragdv1.Connector_Sqlite{Sqlite: &ragdv1.SqliteSource{
			Path: *f.sqlite, Query: *f.query, IdColumn: *f.idColumn, UpdatedColumn: *f.updatedColumn, TextColumn: *f.textColumn,
			TitleColumn: *f.titleColumn, ContentType: *f.contentType, RelistHours: relist,
		}}}, nil
	}
	switch *f.dialect {
	case "postgres":
		return &ragdv1.Connector{Source: &ragdv1.Connector_Postgres{Postgres: &ragdv1.PostgresSource{
			SecretName: *f.secret, Query: *f.query, IdColumn: *f.idColumn, UpdatedColumn: *f.updatedColumn, TextColumn: *f.textColumn,
			TitleColumn: *f.titleColumn, ContentType: *f.contentType, RelistHours: relist, Replication: replication,
		}}}, nil
	case "mysql":
		return &ragdv1.Connector{Source: &ragdv1.Connector_Mysql{Mysql: &ragdv1.MysqlSource{
			SecretName: *f.secret, Query: *f.query, IdColumn: *f.idColumn, UpdatedColumn: *f.updatedColumn, TextColumn: *f.textColumn,
			TitleColumn: *f.titleColumn, ContentType: *f.contentType, RelistHours: relist,
		}}}, nil
	}
	return nil, misuse.Errorf("--dialect is postgres or mysql, got %q", *f.dialect)
}

// replication returns how the changes of a table are followed, nil for not at all.
func (f *connectorFlags) replication() (*ragdv1.PostgresReplication, error) {
	switch {
	case *f.publication == "" && *f.slot == "" && !*f.createSlot:
		return nil, nil
	case *f.publication == "" || *f.slot == "":
		return nil, misuse.Errorf("changes are followed with --publication and --slot")
	case *f.sqlite != "" || *f.dialect != "postgres":
		return nil, misuse.Errorf("--publication is for PostgreSQL alone")
	}
	return &ragdv1.PostgresReplication{Publication: *f.publication, Slot: *f.slot, CreateSlot: *f.createSlot}, nil
}

// api returns the web API of the flags.
func (f *connectorFlags) api() (*ragdv1.HttpSource, error) {
	api := &ragdv1.HttpSource{Recipe: *f.recipe, Streams: *f.streams, RelistHours: int32(f.relist.Hours()), Config: map[string]string{}}
	if *f.manifest != "" {
		text, err := f.program.ReadText(*f.manifest)
		if err != nil {
			return nil, err
		}
		api.Manifest = string(text)
	}
	for _, text := range *f.params {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, misuse.Errorf(`--param must be "NAME=VALUE"`)
		}
		api.Config[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return api, nil
}

// expressions returns the expressions of the flag.
func (f *connectorFlags) expressions() (map[string]string, error) {
	out := map[string]string{}
	for _, text := range named(*f.metadata) {
		name, expression, ok := strings.Cut(text, "=")
		if !ok {
			return nil, misuse.Errorf(`--metadata must be "NAME=EXPRESSION"`)
		}
		out[strings.TrimSpace(name)] = strings.TrimSpace(expression)
	}
	return out, nil
}

func showConnector(c *ragdv1.Connector) func(io.Writer) {
	return func(w io.Writer) {
		output.Field(w, "connector", c.GetConnectorName())
		output.Field(w, "index", c.GetIndexName())
		output.Field(w, "namespace", c.GetNamespace())
		output.Field(w, "description", c.GetDescription())
		output.Field(w, "website", c.GetWeb().GetUrl())
		output.Field(w, "feed", c.GetFeed().GetUrl())
		output.Field(w, "repository", c.GetGit().GetUrl())
		output.Field(w, "branch", c.GetGit().GetBranch())
		output.Field(w, "server", c.GetS3().GetEndpoint())
		output.Field(w, "bucket", c.GetS3().GetBucket())
		output.Field(w, "prefix", c.GetS3().GetPrefix())
		output.Field(w, "folder", c.GetFolder().GetPath())
		output.Field(w, "query", c.GetPostgres().GetQuery()+c.GetMysql().GetQuery()+c.GetSqlite().GetQuery())
		output.Field(w, "database", c.GetSqlite().GetPath())
		if r := c.GetPostgres().GetReplication(); r != nil {
			output.Field(w, "changes", fmt.Sprintf("publication %s, slot %s", r.GetPublication(), r.GetSlot()))
		}
		output.Field(w, "web API", apiName(c))
		output.Field(w, "streams", strings.Join(c.GetHttp().GetStreams(), ", "))
		include, exclude := selectionOf(c)
		output.Field(w, "include", strings.Join(include, ", "))
		output.Field(w, "exclude", strings.Join(exclude, ", "))
		output.Field(w, "MCP server", c.GetMcp().GetUrl())
		output.Field(w, "authorization", c.GetAuthorization())
		output.Field(w, "schedule", c.GetSchedule())
		output.Field(w, "push to", c.GetPushUrl())
		output.Field(w, "push secret", c.GetPushSecretName())
		output.Field(w, "most items", fmt.Sprint(c.GetMaxItems()))
		output.Field(w, "state", connectorState(c))
		output.Field(w, "paused because", c.GetPausedReason())
		output.Field(w, "error", c.GetError())
		if c.GetStartTime() != nil {
			output.Field(w, "started", output.Stamp(c.GetStartTime()))
			n := c.GetCounts()
			output.Field(w, "items", fmt.Sprintf("%d seen, %d added, %d updated, %d unchanged, %d skipped, %d failed, %d deleted",
				n.GetSeen(), n.GetAdded(), n.GetUpdated(), n.GetUnchanged(), n.GetSkipped(), n.GetFailed(), n.GetDeleted()))
			output.Field(w, "requests", fmt.Sprintf("%d, %d bytes", n.GetRequests(), n.GetBytes()))
		}
		if c.GetEndTime() != nil {
			output.Field(w, "ended", output.Stamp(c.GetEndTime()))
		}
		if c.GetNextRunTime() != nil {
			output.Field(w, "next run", output.Stamp(c.GetNextRunTime()))
		}
		for _, r := range c.GetRuns() {
			if proto.Equal(r.GetStartTime(), c.GetStartTime()) {
				continue // it is shown above
			}
			n := r.GetCounts()
			output.Field(w, "earlier run", strings.TrimSpace(fmt.Sprintf("%s %s: %d seen, %d added, %d updated, %d failed, %d deleted %s",
				output.Stamp(r.GetStartTime()), r.GetStatus(), n.GetSeen(), n.GetAdded(), n.GetUpdated(), n.GetFailed(), n.GetDeleted(), output.OneLine(r.GetError()))))
		}
	}
}

// apiName returns what a connector of a web API reads: its recipe, or its manifest. It is empty for other connectors.
func apiName(c *ragdv1.Connector) string {
	if c.GetHttp() == nil {
		return ""
	}
	return cmp.Or(c.GetHttp().GetRecipe(), "manifest")
}

// selectionOf returns the patterns of the source of a connector.
func selectionOf(c *ragdv1.Connector) (include, exclude []string) {
	switch source := c.GetSource().(type) {
	case *ragdv1.Connector_Web:
		return source.Web.GetInclude(), source.Web.GetExclude()
	case *ragdv1.Connector_Git:
		return source.Git.GetInclude(), source.Git.GetExclude()
	case *ragdv1.Connector_S3:
		return source.S3.GetInclude(), source.S3.GetExclude()
	case *ragdv1.Connector_Folder:
		return source.Folder.GetInclude(), source.Folder.GetExclude()
	}
	return nil, nil
}

func connectorState(c *ragdv1.Connector) string {
	switch {
	case c.GetPaused():
		return "paused"
	case c.GetStatus() == "":
		return "new"
	}
	return c.GetStatus()
}

func connectorCreate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create CONNECTOR",
		Short: "Make a connector, which runs at once",
		Example: `  ragd connector create handbook --index docs --url https://example.com/handbook/ --include "/handbook/*" --schedule @daily
  ragd connector create site --index docs --sitemap https://example.com/sitemap.xml --metadata 'team="web"'
  ragd connector create news --index docs --feed https://example.com/feed.xml --schedule @hourly
  ragd connector create guides --index docs --git https://example.com/team/guides.git --include "docs/*.md" --secret git-token --schedule @hourly
  ragd connector create files --index docs --bucket files --endpoint https://s3.example.com --access-key AKEXAMPLE --secret s3-key --schedule @hourly
  ragd connector create handbook --index docs --folder /srv/handbook --schedule @hourly --tenant acme
  ragd connector create wiki --index docs --mcp https://mcp.example.com/mcp --header "Authorization: Bearer {{secrets.wiki}}"
  ragd connector create issues --index docs --recipe github --param repo=example/harbour --param token="{{secrets.github}}" --schedule @hourly
  ragd connector create articles --index docs --query "SELECT id, updated_at, body AS text FROM articles" --secret articles-db --schedule @hourly`,
		Args: command.Arguments("CONNECTOR"),
	}
	flags := newConnectorFlags(p, cmd.Flags())
	index := cmd.Flags().String("index", "", "index of the documents (default the only one)")
	namespace := cmd.Flags().String("namespace", "", "namespace of the documents")
	paused := cmd.Flags().Bool("paused", false, "do not run yet")
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Connector, error) {
		source, err := flags.source()
		if err != nil {
			return nil, err
		}
		metadata, err := flags.expressions()
		if err != nil {
			return nil, err
		}
		req := &ragdv1.CreateConnectorRequest{
			ConnectorName: args[0], IndexName: *index, Namespace: *namespace, Description: *flags.description, Schedule: *flags.schedule,
			Metadata: metadata, MaxItems: *flags.maxItems, Paused: *paused, PushSecretName: *flags.pushSecret,
		}
		switch source := source.GetSource().(type) {
		case *ragdv1.Connector_Web:
			req.Source = &ragdv1.CreateConnectorRequest_Web{Web: source.Web}
		case *ragdv1.Connector_Feed:
			req.Source = &ragdv1.CreateConnectorRequest_Feed{Feed: source.Feed}
		case *ragdv1.Connector_Git:
			req.Source = &ragdv1.CreateConnectorRequest_Git{Git: source.Git}
		case *ragdv1.Connector_S3:
			req.Source = &ragdv1.CreateConnectorRequest_S3{S3: source.S3}
		case *ragdv1.Connector_Folder:
			req.Source = &ragdv1.CreateConnectorRequest_Folder{Folder: source.Folder}
		case *ragdv1.Connector_Mcp:
			req.Source = &ragdv1.CreateConnectorRequest_Mcp{Mcp: source.Mcp}
		case *ragdv1.Connector_Postgres:
			req.Source = &ragdv1.CreateConnectorRequest_Postgres{Postgres: source.Postgres}
		case *ragdv1.Connector_Mysql:
			req.Source = &ragdv1.CreateConnectorRequest_Mysql{Mysql: source.Mysql}
		case *ragdv1.Connector_Sqlite:
			req.Source = &ragdv1.CreateConnectorRequest_Sqlite{Sqlite: source.Sqlite}
		case *ragdv1.Connector_Http:
			req.Source = &ragdv1.CreateConnectorRequest_Http{Http: source.Http}
		}
		return c.Connectors.CreateConnector(ctx, req)
	}, showConnector)
	return cmd
}

func connectorUpdate(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "update CONNECTOR",
		Short: "Change a connector, and run it",
		Long: `Change what is given of a connector and leave the rest. The flags of the source replace
the whole source. A run follows that reads all items again.`,
		Example: `  ragd connector update handbook --schedule "0 3 * * *"`,
		Args:    command.Arguments("CONNECTOR"),
	}
	flags, etag := newConnectorFlags(p, cmd.Flags()), command.ETagFlag(cmd)
	cmd.RunE = command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Connector, error) {
		source, err := flags.source()
		if err != nil {
			return nil, err
		}
		req := &ragdv1.UpdateConnectorRequest{
			ConnectorName: args[0], Etag: *etag, Description: command.Given(flags.flags, "description", flags.description),
			Schedule: command.Given(flags.flags, "schedule", flags.schedule), MaxItems: command.Given(flags.flags, "max-items", flags.maxItems),
			PushSecretName: command.Given(flags.flags, "push-secret", flags.pushSecret),
		}
		switch source := source.GetSource().(type) {
		case *ragdv1.Connector_Web:
			req.Source = &ragdv1.UpdateConnectorRequest_Web{Web: source.Web}
		case *ragdv1.Connector_Feed:
			req.Source = &ragdv1.UpdateConnectorRequest_Feed{Feed: source.Feed}
		case *ragdv1.Connector_Git:
			req.Source = &ragdv1.UpdateConnectorRequest_Git{Git: source.Git}
		case *ragdv1.Connector_S3:
			req.Source = &ragdv1.UpdateConnectorRequest_S3{S3: source.S3}
		case *ragdv1.Connector_Folder:
			req.Source = &ragdv1.UpdateConnectorRequest_Folder{Folder: source.Folder}
		case *ragdv1.Connector_Mcp:
			req.Source = &ragdv1.UpdateConnectorRequest_Mcp{Mcp: source.Mcp}
		case *ragdv1.Connector_Postgres:
			req.Source = &ragdv1.UpdateConnectorRequest_Postgres{Postgres: source.Postgres}
		case *ragdv1.Connector_Mysql:
			req.Source = &ragdv1.UpdateConnectorRequest_Mysql{Mysql: source.Mysql}
		case *ragdv1.Connector_Sqlite:
			req.Source = &ragdv1.UpdateConnectorRequest_Sqlite{Sqlite: source.Sqlite}
		case *ragdv1.Connector_Http:
			req.Source = &ragdv1.UpdateConnectorRequest_Http{Http: source.Http}
		}
		if flags.flags.Changed("metadata") {
			metadata, err := flags.expressions()
			if err != nil {
				return nil, err
			}
			req.Metadata = &ragdv1.ConnectorMetadata{Metadata: metadata}
		}
		return c.Connectors.UpdateConnector(ctx, req)
	}, showConnector)
	return cmd
}

// connectorCall is a command that calls a method with the name of a connector and shows the answer.
func connectorCall(p *command.Program, use, short, example string, do func(ctx context.Context, c *client.Client, name string) (*ragdv1.Connector, error)) *cobra.Command {
	return &cobra.Command{
		Use: use + " CONNECTOR", Short: short, Example: example, Args: command.Arguments("CONNECTOR"),
		RunE: command.Show(p, client.ForTenant, func(ctx context.Context, c *client.Client, args []string) (*ragdv1.Connector, error) {
			return do(ctx, c, args[0])
		}, showConnector),
	}
}

func connectorGet(p *command.Program) *cobra.Command {
	return connectorCall(p, "get", "Show a connector, and its last run", "  ragd connector get handbook", func(ctx context.Context, c *client.Client, name string) (*ragdv1.Connector, error) {
		return c.Connectors.GetConnector(ctx, &ragdv1.GetConnectorRequest{ConnectorName: name})
	})
}

func connectorPause(p *command.Program) *cobra.Command {
	return connectorCall(p, "pause", "End a run soon, and start no others", "  ragd connector pause handbook", func(ctx context.Context, c *client.Client, name string) (*ragdv1.Connector, error) {
		return c.Connectors.PauseConnector(ctx, &ragdv1.PauseConnectorRequest{ConnectorName: name})
	})
}

func connectorResume(p *command.Program) *cobra.Command {
	var accept *bool
	cmd := connectorCall(p, "resume", "End a pause, and run", "  ragd connector resume handbook --accept-deletions", func(ctx context.Context, c *client.Client, name string) (*ragdv1.Connector, error) {
		return c.Connectors.ResumeConnector(ctx, &ragdv1.ResumeConnectorRequest{ConnectorName: name, AcceptDeletions: *accept})
	})
	accept = cmd.Flags().Bool("accept-deletions", false, "let the next run delete what is gone, even if it is more than half")
	return cmd
}

func connectorSync(p *command.Program) *cobra.Command {
	var wait *bool
	cmd := connectorCall(p, "sync", "Run now", "  ragd connector sync handbook --wait", func(ctx context.Context, c *client.Client, name string) (*ragdv1.Connector, error) {
		started, err := c.Connectors.SyncConnector(ctx, &ragdv1.SyncConnectorRequest{ConnectorName: name})
		if err != nil || !*wait {
			return started, err
		}
		return awaitRun(ctx, c, started)
	})
	wait = cmd.Flags().Bool("wait", false, "wait until the run has ended, and fail if it failed")
	return cmd
}

// awaitRun waits until a run ended that started after the one that is shown.
func awaitRun(ctx context.Context, c *client.Client, before *ragdv1.Connector) (*ragdv1.Connector, error) {
	const pause = 500 * time.Millisecond
	for {
		now, err := c.Connectors.GetConnector(ctx, &ragdv1.GetConnectorRequest{ConnectorName: before.GetConnectorName()})
		if err != nil {
			return nil, err
		}
		began := now.GetStartTime() != nil && (before.GetStartTime() == nil || now.GetStartTime().AsTime().After(before.GetStartTime().AsTime()))
		switch {
		case began && now.GetStatus() == "failed":
			return nil, errors.New("the run failed: " + output.OneLine(now.GetError()))
		case began && now.GetStatus() == "succeeded":
			return now, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func connectorList(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the connectors in the order of their names",
		Example: `  ragd connector list`,
		Args:    command.Arguments(),
	}
	limit := command.LimitFlag(cmd.Flags())
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
		connectors := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.Connector, string, error) {
			page, err := c.Connectors.ListConnectors(ctx, &ragdv1.ListConnectorsRequest{PageSize: size, PageToken: token})
			return page.GetConnectors(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "connectors", connectors, "CONNECTOR INDEX STATE SEEN FAILED SOURCE", func(c *ragdv1.Connector) []any {
			return []any{c.GetConnectorName(), c.GetIndexName(), connectorState(c), c.GetCounts().GetSeen(), c.GetCounts().GetFailed(), c.GetWeb().GetUrl() + c.GetFeed().GetUrl() + c.GetMcp().GetUrl() + c.GetGit().GetUrl() + c.GetS3().GetBucket() + c.GetFolder().GetPath() + c.GetPostgres().GetSecretName() + c.GetMysql().GetSecretName() + c.GetSqlite().GetPath() + apiName(c)}
		})
	})
	return cmd
}

func connectorRecipes(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "recipes",
		Short:   "List the recipes of web APIs, with their parameters and streams",
		Example: `  ragd connector recipes`,
		Args:    command.Arguments(),
		RunE: p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, _ []string) error {
			res, err := c.Connectors.ListConnectorRecipes(ctx, &ragdv1.ListConnectorRecipesRequest{})
			if err != nil {
				return err
			}
			return p.Out.Show(res, func(w io.Writer) {
				for _, r := range res.GetRecipes() {
					output.Field(w, "recipe", r.GetName()+": "+output.OneLine(r.GetDescription()))
					output.Field(w, "streams", strings.Join(r.GetStreams(), ", "))
					for _, one := range r.GetParameters() {
						output.Field(w, "param", describeParameter(one))
					}
				}
			})
		}),
	}
}

// describeParameter returns a line about a parameter of a recipe.
func describeParameter(p *ragdv1.ConnectorRecipeParameter) string {
	text := p.GetName() + ": " + p.GetDescription()
	switch {
	case p.GetRequired():
		text += " (required)"
	case p.GetDefaultValue() != "":
		text += " (default " + p.GetDefaultValue() + ")"
	}
	return text
}

func connectorItems(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "items CONNECTOR",
		Short:   "List the items that a connector knows",
		Example: `  ragd connector items handbook --status failed`,
		Args:    command.Arguments("CONNECTOR"),
	}
	limit := command.LimitFlag(cmd.Flags())
	status := cmd.Flags().String("status", "", "stored, skipped or failed (default all)")
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		items := paging.Items(*limit, func(size int32, token string) ([]*ragdv1.ConnectorItem, string, error) {
			page, err := c.Connectors.ListConnectorItems(ctx, &ragdv1.ListConnectorItemsRequest{ConnectorName: args[0], Status: *status, PageSize: size, PageToken: token})
			return page.GetItems(), page.GetNextPageToken(), err
		})
		return output.List(p.Out, "items", items, "ITEM STATUS UPDATED REASON", func(i *ragdv1.ConnectorItem) []any {
			return []any{i.GetId(), i.GetStatus(), output.Stamp(i.GetUpdateTime()), i.GetReason()}
		})
	})
	return cmd
}

func connectorTest(p *command.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "test CONNECTOR",
		Short:   "Show what the first 20 items of the source would become",
		Example: `  ragd connector test handbook`,
		Args:    command.Arguments("CONNECTOR"),
		RunE: p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
			res, err := c.Connectors.TestConnector(ctx, &ragdv1.TestConnectorRequest{ConnectorName: args[0]})
			if err != nil {
				return err
			}
			return p.Out.Show(res, func(w io.Writer) {
				for _, i := range res.GetItems() {
					output.Field(w, i.GetStatus(), strings.TrimSpace(i.GetId()+" "+i.GetReason()))
				}
				output.Field(w, "all", fmt.Sprint(res.GetComplete()))
			})
		}),
	}
}

func connectorDelete(p *command.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "delete CONNECTOR",
		Short:   "Delete a connector, and its documents if asked",
		Example: `  ragd connector delete handbook --documents --yes`,
		Args:    command.Arguments("CONNECTOR"),
	}
	documents := cmd.Flags().Bool("documents", false, "delete its documents too")
	yes := command.YesFlag(cmd)
	cmd.RunE = p.Call(client.ForTenant, func(ctx context.Context, c *client.Client, args []string) error {
		what := "Deletes the connector %s; its documents stay."
		if *documents {
			what = "Deletes the connector %s and its documents."
		}
		if err := p.Confirm(ctx, *yes, args[0], what, args[0]); err != nil {
			return err
		}
		res, err := c.Connectors.DeleteConnector(ctx, &ragdv1.DeleteConnectorRequest{ConnectorName: args[0], DeleteDocuments: *documents})
		if err != nil {
			return err
		}
		return p.Out.Show(res, func(w io.Writer) {
			output.Field(w, "deleted", args[0])
			output.Field(w, "documents", fmt.Sprint(res.GetDeletedCount()))
			if slot := res.GetKeptSlot(); slot != "" {
				output.Field(w, "kept slot", fmt.Sprintf("%s could not be dropped, and its database keeps its log until it is: SELECT pg_drop_replication_slot('%s')", slot, slot))
			}
		})
	})
	return cmd
}
