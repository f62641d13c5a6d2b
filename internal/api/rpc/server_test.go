package rpc_test

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"connectrpc.com/connect"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
	"github.com/ragdhq/ragd/internal/service"
	"github.com/ragdhq/ragd/internal/service/testing/servicetest"
	"github.com/ragdhq/ragd/internal/tool/server"
)

func TestServersOfATenant(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme, bolt := s.Tenant(t, "acme"), s.Tenant(t, "bolt")
	ctx := t.Context()
	made, err := acme.CreateServer(ctx, &ragdv1.CreateServerRequest{
		ServerName: "handbook", Instructions: "Answer from the handbook.", Tools: &ragdv1.AllowedNames{Names: []string{"vector_query", "graph_rag", "vector_query"}},
		Prompts: &ragdv1.AllowedNames{}, Presented: []*ragdv1.PresentedTool{{ToolName: "vector_query", Name: "ask"}},
		DefaultContext: servicetest.Object(t, map[string]any{"topK": 3}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if made.GetTitle() != "handbook" || made.GetVersion() != "1.0.0" || made.GetUrl() != s.URL+"/mcp/handbook" ||
		strings.Join(made.GetTools().GetNames(), " ") != "graph_rag vector_query" || made.Prompts == nil || made.Indexes != nil {
		t.Errorf("made %v", made)
	}
	_, err = acme.CreateServer(ctx, &ragdv1.CreateServerRequest{ServerName: "handbook"})
	servicetest.WantCode(t, "the same name", err, connect.CodeAlreadyExists)
	if _, err := bolt.CreateServer(ctx, &ragdv1.CreateServerRequest{ServerName: "handbook", Title: "Bolt"}); err != nil {
		t.Errorf("the name of another tenant's server: %v", err)
	}

	title := "The handbook"
	changed, err := acme.UpdateServer(ctx, &ragdv1.UpdateServerRequest{
		ServerName: "handbook", Title: &title, AllTools: true, Indexes: &ragdv1.AllowedNames{Names: []string{"docs"}}, DefaultContext: servicetest.Object(t, map[string]any{}),
	})
	if err != nil || changed.GetTitle() != title || changed.Tools != nil || changed.GetIndexes().GetNames()[0] != "docs" ||
		changed.DefaultContext != nil || changed.GetInstructions() == "" || len(changed.GetPresented()) != 1 {
		t.Errorf("changed %v, %v", changed, err)
	}
	if _, err := acme.CreateServer(ctx, &ragdv1.CreateServerRequest{ServerName: "default", Instructions: "Ask."}); err != nil {
		t.Fatal(err)
	}
	first, err := acme.ListServers(ctx, &ragdv1.ListServersRequest{PageSize: 1})
	if err != nil || len(first.GetServers()) != 1 || first.GetServers()[0].GetUrl() != s.URL+"/mcp" {
		t.Fatalf("ListServers = %v, %v", first, err)
	}
	second, err := acme.ListServers(ctx, &ragdv1.ListServersRequest{PageSize: 1, PageToken: first.GetNextPageToken()})
	if err != nil || len(second.GetServers()) != 1 || second.GetServers()[0].GetServerName() != "handbook" || second.GetNextPageToken() != "" {
		t.Errorf("the second page = %v, %v", second, err)
	}

	t.Run("are invisible to other tenants", func(t *testing.T) {
		got, err := bolt.GetServer(ctx, &ragdv1.GetServerRequest{ServerName: "handbook"})
		if err != nil || got.GetTitle() != "Bolt" || got.GetInstructions() != "" {
			t.Errorf("GetServer = %v, %v", got, err)
		}
		if _, err := bolt.DeleteServer(ctx, &ragdv1.DeleteServerRequest{ServerName: "handbook"}); err != nil {
			t.Error(err)
		}
		_, err = bolt.GetServer(ctx, &ragdv1.GetServerRequest{ServerName: "handbook"})
		servicetest.WantCode(t, "GetServer", err, connect.CodeNotFound)
		_, err = bolt.UpdateServer(ctx, &ragdv1.UpdateServerRequest{ServerName: "handbook", Title: &title})
		servicetest.WantCode(t, "UpdateServer", err, connect.CodeNotFound)
		_, err = bolt.DeleteServer(ctx, &ragdv1.DeleteServerRequest{ServerName: "handbook"})
		servicetest.WantCode(t, "DeleteServer", err, connect.CodeNotFound)
		if list, err := bolt.ListServers(ctx, &ragdv1.ListServersRequest{}); err != nil || len(list.GetServers()) != 0 {
			t.Errorf("ListServers = %v, %v", list, err)
		}
		if got, err := acme.GetServer(ctx, &ragdv1.GetServerRequest{ServerName: "handbook"}); err != nil || got.GetTitle() != title {
			t.Errorf("acme's own = %v, %v", got, err)
		}
	})
	t.Run("are changed only with the scope write and without a mandatory filter", func(t *testing.T) {
		for name, key := range map[string]*ragdv1.CreateApiKeyRequest{
			"a reader":                      {TenantId: "acme", Scopes: []string{"read"}},
			"a key with a mandatory filter": {TenantId: "acme", Scopes: []string{"admin"}, MandatoryFilter: servicetest.Object(t, map[string]any{"team": "red"})},
		} {
			c := s.Client(s.Key(t, key))
			_, err := c.CreateServer(ctx, &ragdv1.CreateServerRequest{ServerName: "more"})
			servicetest.WantCode(t, name+": CreateServer", err, connect.CodePermissionDenied)
			_, err = c.UpdateServer(ctx, &ragdv1.UpdateServerRequest{ServerName: "handbook", Title: &title})
			servicetest.WantCode(t, name+": UpdateServer", err, connect.CodePermissionDenied)
			_, err = c.DeleteServer(ctx, &ragdv1.DeleteServerRequest{ServerName: "handbook"})
			servicetest.WantCode(t, name+": DeleteServer", err, connect.CodePermissionDenied)
		}
	})
	if _, err := acme.DeleteServer(ctx, &ragdv1.DeleteServerRequest{ServerName: "handbook"}); err != nil {
		t.Fatal(err)
	}
}

func TestInvalidServersAreRejected(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	png := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"+strings.Repeat("x", 60<<10)))
	icons := func(list ...*ragdv1.ServerIcon) *ragdv1.CreateServerRequest {
		return &ragdv1.CreateServerRequest{ServerName: "a", Icons: list}
	}
	for name, tc := range map[string]struct {
		req  *ragdv1.CreateServerRequest
		want string
	}{
		"no name":                       {&ragdv1.CreateServerRequest{}, "serverName"},
		"a path":                        {&ragdv1.CreateServerRequest{ServerName: "../mcp"}, "serverName"},
		"dots":                          {&ragdv1.CreateServerRequest{ServerName: ".."}, "serverName"},
		"an encoded slash":              {&ragdv1.CreateServerRequest{ServerName: "a%2fb"}, "serverName"},
		"capitals":                      {&ragdv1.CreateServerRequest{ServerName: "Handbook"}, "serverName"},
		"a long name":                   {&ragdv1.CreateServerRequest{ServerName: strings.Repeat("a", 64)}, "serverName"},
		"a range of versions":           {&ragdv1.CreateServerRequest{ServerName: "a", Version: "^1.2.0"}, "version"},
		"the latest version":            {&ragdv1.CreateServerRequest{ServerName: "a", Version: "latest"}, "version"},
		"long instructions":             {&ragdv1.CreateServerRequest{ServerName: "a", Instructions: strings.Repeat("a", 17<<10)}, "instructions"},
		"a script as website":           {&ragdv1.CreateServerRequest{ServerName: "a", WebsiteUrl: "javascript:alert(1)"}, "websiteUrl"},
		"a website with a key":          {&ragdv1.CreateServerRequest{ServerName: "a", WebsiteUrl: "https://me:secret@example.com"}, "websiteUrl"},
		"a repository without a source": {&ragdv1.CreateServerRequest{ServerName: "a", Repository: &ragdv1.ServerRepository{Url: "https://example.com/a"}}, "repository.source"},
		"a subfolder above":             {&ragdv1.CreateServerRequest{ServerName: "a", Repository: &ragdv1.ServerRepository{Url: "https://example.com/a", Source: "github", Subfolder: "../b"}}, "repository.subfolder"},
		"a registry name":               {&ragdv1.CreateServerRequest{ServerName: "a", RegistryName: "handbook"}, "registryName"},
		"an icon over http":             {icons(&ragdv1.ServerIcon{Src: "http://example.com/i.png"}), "icons.src"},
		"an icon of a page":             {icons(&ragdv1.ServerIcon{Src: "data:text/html;base64,PGh0bWw+"}), "icons.src"},
		"an icon that is none":          {icons(&ragdv1.ServerIcon{Src: "data:image/png;base64,PGh0bWw+"}), "icons.src"},
		"a size":                        {icons(&ragdv1.ServerIcon{Src: "https://example.com/i.png", Sizes: []string{"48"}}), "icons.sizes"},
		"a theme":                       {icons(&ragdv1.ServerIcon{Src: "https://example.com/i.png", Theme: "blue"}), "icons.theme"},
		"large icons":                   {icons(&ragdv1.ServerIcon{Src: png}), "icons"},
		"an unknown key":                {&ragdv1.CreateServerRequest{ServerName: "a", DefaultContext: servicetest.Object(t, map[string]any{"tenant": "bolt"})}, "defaultContext"},
		"an undeclared key":             {&ragdv1.CreateServerRequest{ServerName: "a", DefaultContext: servicetest.Object(t, map[string]any{"county": "de"})}, "defaultContext.county"},
		"an undeclared fixed key":       {&ragdv1.CreateServerRequest{ServerName: "a", FixedContext: servicetest.Object(t, map[string]any{"county": "de"})}, "fixedContext.county"},
		"a secret in instructions":      {&ragdv1.CreateServerRequest{ServerName: "a", Instructions: "Use {{secrets.crm}}."}, "cannot show secrets"},
		"an argument in instructions":   {&ragdv1.CreateServerRequest{ServerName: "a", Instructions: "Use {{arguments.a}}."}, "no arguments"},
		"an invalid filter":             {&ragdv1.CreateServerRequest{ServerName: "a", FixedContext: servicetest.Object(t, map[string]any{"filter": map[string]any{"$where": 1}})}, "fixedContext"},
		"a name for two tools":          {&ragdv1.CreateServerRequest{ServerName: "a", Presented: []*ragdv1.PresentedTool{{ToolName: "x", Name: "z"}, {ToolName: "y", Name: "z"}}}, "presented.name"},
		"a tool twice":                  {&ragdv1.CreateServerRequest{ServerName: "a", Presented: []*ragdv1.PresentedTool{{ToolName: "x", Name: "z"}, {ToolName: "x", Name: "y"}}}, "presented.toolName"},
		"the name of a shown tool": {&ragdv1.CreateServerRequest{
			ServerName: "a", Tools: &ragdv1.AllowedNames{Names: []string{"rerank", "vector_query"}}, Presented: []*ragdv1.PresentedTool{{ToolName: "vector_query", Name: "rerank"}},
		}, "presented.name"},
		"a name with spaces": {&ragdv1.CreateServerRequest{ServerName: "a", Presented: []*ragdv1.PresentedTool{{ToolName: "x", Name: "a b"}}}, "presented.name"},
		"too many tools":     {&ragdv1.CreateServerRequest{ServerName: "a", Tools: &ragdv1.AllowedNames{Names: slices.Repeat([]string{"x"}, 201)}}, "tools"},
	} {
		_, err := acme.CreateServer(t.Context(), tc.req)
		servicetest.WantCode(t, name, err, connect.CodeInvalidArgument)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v does not name %s", name, err, tc.want)
		}
	}
}

// A document that breaks a rule of the registry's schema of 2025-12-11 cannot be published.
func TestRegistryDocumentsFollowTheRegistrysRules(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true, RegistryPackage: &server.Package{Type: "oci", Identifier: "registry.example.com/ragd:1.2.0"}})
	acme := s.Tenant(t, "acme")
	for name, req := range map[string]*ragdv1.CreateServerRequest{
		"least": {},
		"most": {
			Title: strings.Repeat("Ü", 90), Description: strings.Repeat("ü ", 300), Version: "2.0.0-rc.1", WebsiteUrl: "https://example.com/handbook",
			Repository: &ragdv1.ServerRepository{Url: "https://example.com/acme/handbook", Source: "github", Subfolder: "servers/handbook"},
			Icons:      []*ragdv1.ServerIcon{{Src: "https://example.com/i.png", MimeType: "image/jpg", Sizes: []string{"48x48", "any"}, Theme: "dark"}, {Src: "data:image/png;base64,iVBORw0KGgo="}},
		},
		"named": {RegistryName: "com.example/handbook", Description: "Rules."},
	} {
		req.ServerName = name
		if _, err := acme.CreateServer(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		got, err := acme.GetServer(t.Context(), &ragdv1.GetServerRequest{ServerName: name})
		if err != nil {
			t.Fatal(err)
		}
		checkDocument(t, got.GetRegistryDocument().AsMap(), s.URL+"/mcp/"+name)
	}
}

func checkDocument(t *testing.T, document map[string]any, address string) {
	t.Helper()
	text := func(key string, most int, pattern string) {
		value, ok := document[key].(string)
		if !ok || value == "" || utf8.RuneCountInString(value) > most || !regexp.MustCompile(pattern).MatchString(value) {
			t.Errorf("%s = %q", key, document[key])
		}
	}
	text("$schema", 255, `^https://static\.modelcontextprotocol\.io/schemas/2025-12-11/server\.schema\.json$`)
	text("name", 200, `^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)
	text("description", 100, `.`)
	text("version", 255, `^[0-9]`)
	text("title", 100, `.`)
	remote := document["remotes"].([]any)[0].(map[string]any)
	header := remote["headers"].([]any)[0].(map[string]any)
	if remote["type"] != "streamable-http" || remote["url"] != address || header["name"] != "Authorization" || header["isSecret"] != true {
		t.Errorf("remote = %v", remote)
	}
	of := document["packages"].([]any)[0].(map[string]any)
	arguments := of["packageArguments"].([]any)
	name := arguments[len(arguments)-1].(map[string]any)
	if of["registryType"] != "oci" || of["identifier"] != "registry.example.com/ragd:1.2.0" || of["version"] != nil ||
		of["transport"].(map[string]any)["type"] != "stdio" || name["name"] != "--mcp-server" || !strings.HasSuffix(address, "/"+name["value"].(string)) {
		t.Errorf("package = %v", of)
	}
	if website, ok := document["websiteUrl"]; ok && website != "https://example.com/handbook" {
		t.Errorf("websiteUrl = %v", website)
	}
	if repository, ok := document["repository"].(map[string]any); ok && (repository["url"] == nil || repository["source"] == nil || repository["id"] != nil) {
		t.Errorf("repository = %v", repository)
	}
	icons, _ := document["icons"].([]any)
	for _, one := range icons {
		icon := one.(map[string]any)
		if !strings.HasPrefix(icon["src"].(string), "https://") || icon["mimeType"] != "image/jpeg" || icon["theme"] != "dark" {
			t.Errorf("icon = %v", icon)
		}
	}
	if len(icons) > 1 {
		t.Errorf("icons = %v", icons)
	}
}

// A key that is bound to an index does not learn of others from servers.
func TestABoundKeySeesOfServersWhatItMayUse(t *testing.T) {
	t.Parallel()
	s := servicetest.New(t, service.Config{NoWorkers: true})
	acme := s.Tenant(t, "acme")
	_, err := acme.CreateServer(t.Context(), &ragdv1.CreateServerRequest{
		ServerName: "front", Indexes: names("faq", "zebra-secret"), FixedContext: servicetest.Object(t, map[string]any{"indexName": "zebra-secret"}),
	})
	noError(t, err)
	bound := s.Client(s.Key(t, &ragdv1.CreateApiKeyRequest{TenantId: "acme", Scopes: []string{"write"}, Indexes: names("faq")}))
	got, err := bound.GetServer(t.Context(), &ragdv1.GetServerRequest{ServerName: "front"})
	noError(t, err)
	list, err := bound.ListServers(t.Context(), &ragdv1.ListServersRequest{})
	noError(t, err)
	if strings.Contains(got.String()+list.String(), "zebra") || strings.Join(got.GetIndexes().GetNames(), " ") != "faq" || len(list.GetServers()) != 1 {
		t.Errorf("GetServer = %v, ListServers = %v", got, list)
	}
	_, err = bound.UpdateServer(t.Context(), &ragdv1.UpdateServerRequest{ServerName: "front", AllIndexes: true})
	servicetest.WantCode(t, "UpdateServer", err, connect.CodePermissionDenied)
}
