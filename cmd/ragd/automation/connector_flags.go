package automation

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/ragdhq/ragd/cmd/ragd/internal/command"
	"github.com/ragdhq/ragd/cmd/ragd/internal/misuse"
	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

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
