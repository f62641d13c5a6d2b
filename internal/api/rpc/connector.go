package rpc

import (
	"context"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/automation/connector"
)

// CreateConnector implements ConnectorService.
func (h *Handlers) CreateConnector(ctx context.Context, req *ragdv1.CreateConnectorRequest) (*ragdv1.Connector, error) {
	chunking, err := chunkingSettings(req.GetChunking())
	if err != nil {
		return nil, err
	}
	extraction, err := extractSettings(req.GetExtract())
	if err != nil {
		return nil, err
	}
	return connectorAnswer(h.Connectors.Create(ctx, connector.Connector{
		Name: req.GetConnectorName(), IndexName: req.GetIndexName(), Namespace: req.GetNamespace(), Paused: req.GetPaused(),
		Definition: connector.Definition{
			Description: req.GetDescription(), Web: webSource(req.GetWeb()), Feed: feedSource(req.GetFeed()), MCP: mcpSource(req.GetMcp()), Git: gitSource(req.GetGit()), S3: s3Source(req.GetS3()), Folder: folderSource(req.GetFolder()), Postgres: postgresSource(req.GetPostgres()), MySQL: mysqlSource(req.GetMysql()), SQLite: sqliteSource(req.GetSqlite()), HTTP: httpSource(req.GetHttp()),
			Schedule: req.GetSchedule(), Metadata: req.GetMetadata(),
			Chunking: chunking, Extract: extraction, MaxItems: int(req.GetMaxItems()), PushSecret: req.GetPushSecretName(),
		},
	}))
}

// GetConnector implements ConnectorService.
func (h *Handlers) GetConnector(ctx context.Context, req *ragdv1.GetConnectorRequest) (*ragdv1.Connector, error) {
	return connectorAnswer(h.Connectors.Get(ctx, req.GetConnectorName()))
}

// ListConnectors implements ConnectorService.
func (h *Handlers) ListConnectors(ctx context.Context, req *ragdv1.ListConnectorsRequest) (*ragdv1.ListConnectorsResponse, error) {
	found, next, err := h.Connectors.List(ctx, req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i].Runs = nil
	}
	all, err := convertAll(ctx, found, connectorMessage)
	return &ragdv1.ListConnectorsResponse{Connectors: all, NextPageToken: next}, err
}

// UpdateConnector implements ConnectorService.
func (h *Handlers) UpdateConnector(ctx context.Context, req *ragdv1.UpdateConnectorRequest) (*ragdv1.Connector, error) {
	change := connector.Change{
		ETag:        req.GetEtag(),
		Description: req.Description, Schedule: req.Schedule, PushSecret: req.PushSecretName,
		Web: webSource(req.GetWeb()), Feed: feedSource(req.GetFeed()), MCP: mcpSource(req.GetMcp()), Git: gitSource(req.GetGit()), S3: s3Source(req.GetS3()), Folder: folderSource(req.GetFolder()), Postgres: postgresSource(req.GetPostgres()), MySQL: mysqlSource(req.GetMysql()), SQLite: sqliteSource(req.GetSqlite()), HTTP: httpSource(req.GetHttp()),
	}
	if req.Metadata != nil {
		if change.Metadata = req.GetMetadata().GetMetadata(); change.Metadata == nil {
			change.Metadata = map[string]string{}
		}
	}
	if req.Chunking != nil {
		chunking, err := chunkingSettings(req.GetChunking())
		if err != nil {
			return nil, err
		}
		change.Chunking = &chunking
	}
	var err error
	if change.Extract, err = extractSettings(req.GetExtract()); err != nil {
		return nil, err
	}
	if req.MaxItems != nil {
		change.MaxItems = new(int(req.GetMaxItems()))
	}
	return connectorAnswer(h.Connectors.Update(ctx, req.GetConnectorName(), change))
}

// DeleteConnector implements ConnectorService.
func (h *Handlers) DeleteConnector(ctx context.Context, req *ragdv1.DeleteConnectorRequest) (*ragdv1.DeleteConnectorResponse, error) {
	gone, err := h.Connectors.Delete(ctx, req.GetConnectorName(), req.GetDeleteDocuments())
	if err != nil {
		return nil, err
	}
	return &ragdv1.DeleteConnectorResponse{DeletedCount: int32(gone.Documents), KeptSlot: gone.KeptSlot}, nil
}

// TestConnector implements ConnectorService.
func (h *Handlers) TestConnector(ctx context.Context, req *ragdv1.TestConnectorRequest) (*ragdv1.TestConnectorResponse, error) {
	found, complete, err := h.Connectors.Test(ctx, req.GetConnectorName())
	if err != nil {
		return nil, err
	}
	items, err := convertAll(ctx, found, connectorItemMessage)
	return &ragdv1.TestConnectorResponse{Items: items, Complete: complete}, err
}

// SyncConnector implements ConnectorService.
func (h *Handlers) SyncConnector(ctx context.Context, req *ragdv1.SyncConnectorRequest) (*ragdv1.Connector, error) {
	return connectorAnswer(h.Connectors.Sync(ctx, req.GetConnectorName()))
}

// PauseConnector implements ConnectorService.
func (h *Handlers) PauseConnector(ctx context.Context, req *ragdv1.PauseConnectorRequest) (*ragdv1.Connector, error) {
	return connectorAnswer(h.Connectors.Pause(ctx, req.GetConnectorName()))
}

// ResumeConnector implements ConnectorService.
func (h *Handlers) ResumeConnector(ctx context.Context, req *ragdv1.ResumeConnectorRequest) (*ragdv1.Connector, error) {
	return connectorAnswer(h.Connectors.Resume(ctx, req.GetConnectorName(), req.GetAcceptDeletions()))
}

// ListConnectorItems implements ConnectorService.
func (h *Handlers) ListConnectorItems(ctx context.Context, req *ragdv1.ListConnectorItemsRequest) (*ragdv1.ListConnectorItemsResponse, error) {
	found, next, err := h.Connectors.Items(ctx, req.GetConnectorName(), req.GetStatus(), req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	items, err := convertAll(ctx, found, connectorItemMessage)
	return &ragdv1.ListConnectorItemsResponse{Items: items, NextPageToken: next}, err
}

// AuthorizeConnector implements ConnectorService.
func (h *Handlers) AuthorizeConnector(ctx context.Context, req *ragdv1.AuthorizeConnectorRequest) (*ragdv1.AuthorizeConnectorResponse, error) {
	address, until, err := h.Connectors.Authorize(ctx, req.GetConnectorName())
	if err != nil {
		return nil, err
	}
	return &ragdv1.AuthorizeConnectorResponse{AuthorizationUrl: address, ExpireTime: timestamp(until)}, nil
}

// webSource converts the settings of a website; nil gives nil.
func webSource(w *ragdv1.WebSource) *connector.Web {
	if w == nil {
		return nil
	}
	out := &connector.Web{URL: w.GetUrl(), Sitemap: w.GetSitemap(), Include: w.GetInclude(), Exclude: w.GetExclude()}
	if w.MaxDepth != nil {
		out.MaxDepth = new(int(w.GetMaxDepth()))
	}
	if w.DelayMs != nil {
		out.DelayMS = new(int(w.GetDelayMs()))
	}
	return out
}

// feedSource converts the settings of a feed; nil gives nil.
func feedSource(f *ragdv1.FeedSource) *connector.Feed {
	if f == nil {
		return nil
	}
	return &connector.Feed{URL: f.GetUrl(), DeleteMissing: f.GetDeleteMissing()}
}

// gitSource converts the settings of a repository; nil gives nil.
func gitSource(g *ragdv1.GitSource) *connector.Git {
	if g == nil {
		return nil
	}
	return &connector.Git{URL: g.GetUrl(), Branch: g.GetBranch(), Include: g.GetInclude(), Exclude: g.GetExclude(), User: g.GetUser(), Secret: g.GetSecretName()}
}

// s3Source converts the settings of a bucket; nil gives nil.
func s3Source(s *ragdv1.S3Source) *connector.S3 {
	if s == nil {
		return nil
	}
	return &connector.S3{
		Endpoint: s.GetEndpoint(), Region: s.GetRegion(), Bucket: s.GetBucket(), Prefix: s.GetPrefix(), Include: s.GetInclude(), Exclude: s.GetExclude(),
		AccessKey: s.GetAccessKeyId(), Secret: s.GetSecretName(),
	}
}

// folderSource converts the settings of a folder; nil gives nil.
func folderSource(f *ragdv1.FolderSource) *connector.Folder {
	if f == nil {
		return nil
	}
	return &connector.Folder{Path: f.GetPath(), Include: f.GetInclude(), Exclude: f.GetExclude()}
}

// mcpSource converts the settings of an MCP server; nil gives nil.
func mcpSource(m *ragdv1.McpSource) *connector.MCP {
	if m == nil {
		return nil
	}
	out := &connector.MCP{
		URL: m.GetUrl(), Headers: m.GetHeaders(), TimeoutMS: int(m.GetTimeoutMs()), Tools: offerOf(m.GetTools()), Prompts: offerOf(m.GetPrompts()), WithoutResources: m.GetWithoutResources(), WithoutSubscription: m.GetWithoutSubscription(),
	}
	if o := m.GetOauth(); o != nil {
		out.OAuth = &connector.OAuth{Grant: o.GetGrant(), ClientID: o.GetClientId(), ClientSecret: o.GetClientSecret(), Scopes: o.GetScopes(), Issuer: o.GetIssuer()}
	}
	for _, t := range m.GetTemplates() {
		out.Templates = append(out.Templates, connector.MCPTemplate{URITemplate: t.GetUriTemplate(), Arguments: t.GetArguments()})
	}
	return out
}

func offerOf(o *ragdv1.McpOffer) *connector.Offer {
	if o == nil {
		return nil
	}
	return &connector.Offer{Names: o.GetNames(), Prefix: o.Prefix, Descriptions: o.GetDescriptions()}
}

func offerMessage(o *connector.Offer) *ragdv1.McpOffer {
	if o == nil {
		return nil
	}
	return &ragdv1.McpOffer{Names: o.Names, Prefix: o.Prefix, Descriptions: o.Descriptions}
}

func mcpSourceMessage(m *connector.MCP) *ragdv1.McpSource {
	out := &ragdv1.McpSource{
		Url: m.URL, Headers: m.Headers, TimeoutMs: int32(m.TimeoutMS), Tools: offerMessage(m.Tools), Prompts: offerMessage(m.Prompts), WithoutResources: m.WithoutResources, WithoutSubscription: m.WithoutSubscription,
	}
	if o := m.OAuth; o != nil {
		out.Oauth = &ragdv1.McpOAuth{Grant: o.Grant, ClientId: o.ClientID, ClientSecret: o.ClientSecret, Scopes: o.Scopes, Issuer: o.Issuer}
	}
	for _, t := range m.Templates {
		out.Templates = append(out.Templates, &ragdv1.McpTemplate{UriTemplate: t.URITemplate, Arguments: t.Arguments})
	}
	return out
}

// postgresSource converts the settings of a database; nil gives nil.
func postgresSource(p *ragdv1.PostgresSource) *connector.Postgres {
	if p == nil {
		return nil
	}
	out := &connector.Postgres{Secret: p.GetSecretName(), Rows: rowsOf(p)}
	if r := p.GetReplication(); r != nil {
		out.Replication = &connector.Replication{Publication: r.GetPublication(), Slot: r.GetSlot(), CreateSlot: r.GetCreateSlot()}
	}
	return out
}

// mysqlSource converts the settings of a database; nil gives nil.
func mysqlSource(m *ragdv1.MysqlSource) *connector.MySQL {
	if m == nil {
		return nil
	}
	return &connector.MySQL{Secret: m.GetSecretName(), Rows: rowsOf(m)}
}

// sqliteSource converts the settings of a database; nil gives nil.
func sqliteSource(s *ragdv1.SqliteSource) *connector.SQLite {
	if s == nil {
		return nil
	}
	return &connector.SQLite{Path: s.GetPath(), Rows: rowsOf(s)}
}

// rowsOf converts the settings that databases of all kinds have.
func rowsOf(m interface {
	GetQuery() string
	GetIdColumn() string
	GetUpdatedColumn() string
	GetTextColumn() string
	GetTitleColumn() string
	GetContentType() string
	GetRelistHours() int32
},
) connector.Rows {
	return connector.Rows{
		Query: m.GetQuery(), IDColumn: m.GetIdColumn(), UpdatedColumn: m.GetUpdatedColumn(), TextColumn: m.GetTextColumn(),
		TitleColumn: m.GetTitleColumn(), ContentType: m.GetContentType(), RelistHours: int(m.GetRelistHours()),
	}
}

// httpSource converts the settings of a web API; nil gives nil.
func httpSource(s *ragdv1.HttpSource) *connector.HTTP {
	if s == nil {
		return nil
	}
	return &connector.HTTP{Manifest: s.GetManifest(), Recipe: s.GetRecipe(), Config: s.GetConfig(), Streams: s.GetStreams(), RelistHours: int(s.GetRelistHours())}
}

// ListConnectorRecipes implements ConnectorService.
func (h *Handlers) ListConnectorRecipes(ctx context.Context, _ *ragdv1.ListConnectorRecipesRequest) (*ragdv1.ListConnectorRecipesResponse, error) {
	recipes, err := h.Connectors.Recipes(ctx)
	if err != nil {
		return nil, err
	}
	all, err := convertAll(ctx, recipes, recipeMessage)
	return &ragdv1.ListConnectorRecipesResponse{Recipes: all}, err
}

func recipeMessage(r connector.Recipe) (*ragdv1.ConnectorRecipe, error) {
	out := &ragdv1.ConnectorRecipe{Name: r.Name, Description: r.Description, Streams: r.Streams, Manifest: r.Manifest}
	for _, p := range r.Parameters {
		out.Parameters = append(out.Parameters, &ragdv1.ConnectorRecipeParameter{
			Name: p.Name, Description: p.Description, DefaultValue: p.Default, Required: p.Required, Secret: p.Secret,
		})
	}
	return out, nil
}

func connectorAnswer(c connector.Connector, err error) (*ragdv1.Connector, error) {
	if err != nil {
		return nil, err
	}
	return connectorMessage(c)
}

func connectorCountsMessage(n connector.Counts) *ragdv1.ConnectorCounts {
	return &ragdv1.ConnectorCounts{
		Seen: int32(n.Seen), Added: int32(n.Added), Updated: int32(n.Updated), Unchanged: int32(n.Unchanged),
		Skipped: int32(n.Skipped), Failed: int32(n.Failed), Deleted: int32(n.Deleted), Requests: int32(n.Requests), Bytes: n.Bytes,
	}
}

func connectorMessage(c connector.Connector) (*ragdv1.Connector, error) {
	out := &ragdv1.Connector{
		ConnectorName: c.Name, IndexName: c.IndexName, Namespace: c.Namespace, Description: c.Description, Schedule: c.Schedule, Metadata: c.Metadata,
		MaxItems: int32(c.MaxItems), Paused: c.Paused, PausedReason: c.PausedReason, Status: string(c.Status), Error: c.Error, Authorization: c.Authorization,
		Counts:    connectorCountsMessage(c.Counts),
		StartTime: optionalTimestamp(c.StartedAt), EndTime: optionalTimestamp(c.EndedAt), NextRunTime: optionalTimestamp(c.NextRunAt),
		CreateTime: timestamp(c.CreatedAt), UpdateTime: timestamp(c.UpdatedAt), Etag: c.ETag(),
		PushSecretName: c.PushSecret, PushUrl: c.PushURL,
	}
	for _, r := range c.Runs {
		out.Runs = append(out.Runs, &ragdv1.ConnectorRun{
			Status: string(r.Status), Error: r.Error, Counts: connectorCountsMessage(r.Counts), StartTime: timestamp(r.StartedAt), EndTime: timestamp(r.EndedAt),
		})
	}
	if w := c.Web; w != nil {
		web := &ragdv1.WebSource{Url: w.URL, Sitemap: w.Sitemap, Include: w.Include, Exclude: w.Exclude}
		if w.MaxDepth != nil {
			web.MaxDepth = new(int32(*w.MaxDepth))
		}
		if w.DelayMS != nil {
			web.DelayMs = new(int32(*w.DelayMS))
		}
		out.Source = &ragdv1.Connector_Web{Web: web}
	}
	if f := c.Feed; f != nil {
		out.Source = &ragdv1.Connector_Feed{Feed: &ragdv1.FeedSource{Url: f.URL, DeleteMissing: f.DeleteMissing}}
	}
	if g := c.Git; g != nil {
		out.Source = &ragdv1.Connector_Git{Git: &ragdv1.GitSource{Url: g.URL, Branch: g.Branch, Include: g.Include, Exclude: g.Exclude, User: g.User, SecretName: g.Secret}}
	}
	if s := c.S3; s != nil {
		out.Source = &ragdv1.Connector_S3{S3: &ragdv1.S3Source{
			Endpoint: s.Endpoint, Region: s.Region, Bucket: s.Bucket, Prefix: s.Prefix, Include: s.Include, Exclude: s.Exclude, AccessKeyId: s.AccessKey, SecretName: s.Secret,
		}}
	}
	if f := c.Folder; f != nil {
		out.Source = &ragdv1.Connector_Folder{Folder: &ragdv1.FolderSource{Path: f.Path, Include: f.Include, Exclude: f.Exclude}}
	}
	if m := c.MCP; m != nil {
		out.Source = &ragdv1.Connector_Mcp{Mcp: mcpSourceMessage(m)}
	}
	if p := c.Postgres; p != nil {
		database := &ragdv1.PostgresSource{
			SecretName: p.Secret, Query: p.Query, IdColumn: p.IDColumn, UpdatedColumn: p.UpdatedColumn, TextColumn: p.TextColumn,
			TitleColumn: p.TitleColumn, ContentType: p.ContentType, RelistHours: int32(p.RelistHours),
		}
		if r := p.Replication; r != nil {
			database.Replication = &ragdv1.PostgresReplication{Publication: r.Publication, Slot: r.Slot, CreateSlot: r.CreateSlot}
		}
		out.Source = &ragdv1.Connector_Postgres{Postgres: database}
	}
	if m := c.MySQL; m != nil {
		out.Source = &ragdv1.Connector_Mysql{Mysql: &ragdv1.MysqlSource{
			SecretName: m.Secret, Query: m.Query, IdColumn: m.IDColumn, UpdatedColumn: m.UpdatedColumn, TextColumn: m.TextColumn,
			TitleColumn: m.TitleColumn, ContentType: m.ContentType, RelistHours: int32(m.RelistHours),
		}}
	}
	if s := c.SQLite; s != nil {
		out.Source = &ragdv1.Connector_Sqlite{Sqlite: &ragdv1.SqliteSource{
			Path: s.Path, Query: s.Query, IdColumn: s.IDColumn, UpdatedColumn: s.UpdatedColumn, TextColumn: s.TextColumn,
			TitleColumn: s.TitleColumn, ContentType: s.ContentType, RelistHours: int32(s.RelistHours),
		}}
	}
	if s := c.HTTP; s != nil {
		out.Source = &ragdv1.Connector_Http{Http: &ragdv1.HttpSource{
			Manifest: s.Manifest, Recipe: s.Recipe, Config: s.Config, Streams: s.Streams, RelistHours: int32(s.RelistHours),
		}}
	}
	var err error
	if out.Chunking, err = chunkingMessage(c.Chunking); err != nil {
		return nil, err
	}
	out.Extract, err = extractMessage(c.Extract)
	return out, err
}

func connectorItemMessage(i connector.ItemStatus) (*ragdv1.ConnectorItem, error) {
	out := &ragdv1.ConnectorItem{Id: i.ID, Status: i.Status, Reason: i.Reason, Title: i.Title, ContentType: i.ContentType, ByteSize: i.ByteSize}
	if !i.UpdatedAt.IsZero() {
		out.UpdateTime = timestamp(i.UpdatedAt)
	}
	var err error
	if i.Metadata != nil {
		out.Metadata, err = structOf(i.Metadata)
	}
	return out, err
}
