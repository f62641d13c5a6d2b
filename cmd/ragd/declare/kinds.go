package declare

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/ragdhq/ragd/cmd/ragd/internal/client"
	"github.com/ragdhq/ragd/gen/ragd/v1/ragdv1connect"
	"github.com/ragdhq/ragd/internal/operate/nearest"

	ragdv1 "github.com/ragdhq/ragd/gen/ragd/v1"
)

// tree is an object as JSON has it.
type tree = map[string]any

// rpc is a method of the API.
type rpc struct {
	request func() proto.Message // returns an empty request
	do      func(context.Context, *client.Client, proto.Message) (proto.Message, error)
}

// on returns a method of the service that pick selects of a client.
func on[S any, Req, Res proto.Message](pick func(*client.Client) S, method func(S, context.Context, Req) (Res, error)) rpc {
	return rpc{
		request: func() proto.Message {
			var none Req
			return none.ProtoReflect().New().Interface()
		},
		do: func(ctx context.Context, c *client.Client, req proto.Message) (proto.Message, error) {
			return method(pick(c), ctx, req.(Req))
		},
	}
}

// kind is a kind of objects that can be declared, and how they are read and changed.
type kind struct {
	name string
	// id is the field that has an object's name, in the messages of the API.
	id string
	// key is the field by which update and delete find an object. Default: id.
	key string
	// within is the field that, with id, tells objects apart; empty if id does so alone.
	within string
	// ofIndex says that objects are deleted with the index that they name.
	ofIndex bool
	// inner is the field of create that has the object. Default: create has its fields itself.
	inner string

	list, create, update, delete rpc // update is missing if objects cannot be changed

	// secret says that create makes a secret, which only its answer has.
	secret bool

	// also are fields beside those of create, with a message that has them.
	also map[string]proto.Message
	// hidden are fields whose values the service never returns, with the shape that an object has of them.
	hidden map[string]func(object tree) any
	// together are fields that update takes only with another one.
	together map[string]string
	// clear are the fields of update that restore the default of a field.
	clear map[string]string
	// switches are fields that methods of their own change: with false and with true.
	switches map[string][2]rpc
	// lists are fields with lists that methods of their own read and change.
	lists map[string]listField
	// tidy removes what the service has set from the fields of an object.
	tidy func(object, fields tree)
	// refuses returns why a change cannot be made, empty if it can.
	refuses func(*change) string
	// each, if set, lists the objects instead of list.
	each func(ctx context.Context, c *client.Client) ([]tree, error)
	// documents, if set, returns how many documents would be deleted with an object.
	documents func(ctx context.Context, c *client.Client, name string) (int, error)
}

// listField is a list of an object that is read and replaced as a whole.
type listField struct {
	list, put, delete rpc
	id                string // field of an entry that the service makes of the others
}

// kinds are all kinds in the order in which objects are made: those come first that others name.
var kinds = []*kind{
	{
		name: "secret", id: "secretName",
		list:   on(secrets, ragdv1connect.SecretServiceClient.ListSecrets),
		create: on(secrets, ragdv1connect.SecretServiceClient.SetSecret),
		update: on(secrets, ragdv1connect.SecretServiceClient.SetSecret),
		delete: on(secrets, ragdv1connect.SecretServiceClient.DeleteSecret),
		hidden: map[string]func(tree) any{"value": func(s tree) any { return variable("SECRET", text(s, "secretName")) }},
		tidy: func(object, fields tree) {
			if hosts, ok := object["hosts"]; ok {
				fields["hosts"] = tree{"hosts": hosts}
			}
		},
	},
	{
		name: "endpoint", id: "endpointName",
		list:   on(endpoints, ragdv1connect.EndpointServiceClient.ListEndpoints),
		create: on(endpoints, ragdv1connect.EndpointServiceClient.CreateEndpoint),
		update: on(endpoints, ragdv1connect.EndpointServiceClient.UpdateEndpoint),
		delete: on(endpoints, ragdv1connect.EndpointServiceClient.DeleteEndpoint),
		hidden: map[string]func(tree) any{"apiKey": endpointKey, "headers": endpointHeaders},
	},
	{
		name: "contextKey", id: "name", inner: "key",
		list:   on(contexts, ragdv1connect.ContextServiceClient.ListContextKeys),
		create: on(contexts, ragdv1connect.ContextServiceClient.DeclareContextKey),
		update: on(contexts, ragdv1connect.ContextServiceClient.DeclareContextKey),
		delete: on(contexts, ragdv1connect.ContextServiceClient.DeleteContextKey),
		refuses: func(c *change) string {
			switch _, given := c.after["default"]; {
			case c.after["secret"] != true:
				return ""
			case given:
				return "default: the value of a secret key must not be in a file: declare the key with `ragd context declare`"
			case c.action != create:
				return "the service does not return the default of a secret key, which would be lost: change it with `ragd context declare`"
			}
			return ""
		},
	},
	{
		name: "index", id: "indexName",
		list:     on(indexes, ragdv1connect.IndexServiceClient.ListIndexes),
		create:   on(indexes, ragdv1connect.IndexServiceClient.CreateIndex),
		update:   on(indexes, ragdv1connect.IndexServiceClient.UpdateIndex),
		delete:   on(indexes, ragdv1connect.IndexServiceClient.DeleteIndex),
		also:     map[string]proto.Message{"recordQuestions": &ragdv1.UpdateIndexRequest{}, "synonyms": &ragdv1.PutSynonymsRequest{}, "curations": &ragdv1.PutCurationsRequest{}},
		together: map[string]string{"dimension": "embeddingModel"},
		lists: map[string]listField{
			"synonyms": {
				list:   on(indexes, ragdv1connect.IndexServiceClient.ListSynonyms),
				put:    on(indexes, ragdv1connect.IndexServiceClient.PutSynonyms),
				delete: on(indexes, ragdv1connect.IndexServiceClient.DeleteSynonyms),
				id:     "synonymId",
			},
			"curations": {
				list:   on(indexes, ragdv1connect.IndexServiceClient.ListCurations),
				put:    on(indexes, ragdv1connect.IndexServiceClient.PutCurations),
				delete: on(indexes, ragdv1connect.IndexServiceClient.DeleteCurations),
				id:     "curationId",
			},
		},
		tidy:      tidyIndex,
		documents: documentsOf,
	},
	{
		name: "profile", id: "profileName", within: "indexName", ofIndex: true,
		create: on(indexes, ragdv1connect.IndexServiceClient.CreateRankingProfile),
		update: on(indexes, ragdv1connect.IndexServiceClient.UpdateRankingProfile),
		delete: on(indexes, ragdv1connect.IndexServiceClient.DeleteRankingProfile),
		each:   profilesOfIndexes,
	},
	{
		name: "tool", id: "toolName",
		list:   on(tools, ragdv1connect.ToolServiceClient.ListTools),
		create: on(tools, ragdv1connect.ToolServiceClient.CreateTool),
		update: on(tools, ragdv1connect.ToolServiceClient.UpdateTool),
		delete: on(tools, ragdv1connect.ToolServiceClient.DeleteTool),
		tidy: func(object, fields tree) {
			if settings, ok := fields["settings"].(tree); ok && object["kind"] == "mcp" {
				delete(settings, "tool") // what the other server says of it
			}
		},
	},
	{
		name: "policy", id: "policyName",
		list:   on(policies, ragdv1connect.PolicyServiceClient.ListPolicies),
		create: on(policies, ragdv1connect.PolicyServiceClient.CreatePolicy),
		update: on(policies, ragdv1connect.PolicyServiceClient.UpdatePolicy),
		delete: on(policies, ragdv1connect.PolicyServiceClient.DeletePolicy),
	},
	{
		name: "prompt", id: "promptName",
		list:   on(prompts, ragdv1connect.PromptServiceClient.ListPrompts),
		create: on(prompts, ragdv1connect.PromptServiceClient.CreatePrompt),
		update: on(prompts, ragdv1connect.PromptServiceClient.UpdatePrompt),
		delete: on(prompts, ragdv1connect.PromptServiceClient.DeletePrompt),
	},
	{
		name: "agent", id: "agentName",
		list:   on(agents, ragdv1connect.AgentServiceClient.ListAgents),
		create: on(agents, ragdv1connect.AgentServiceClient.CreateAgent),
		update: on(agents, ragdv1connect.AgentServiceClient.UpdateAgent),
		delete: on(agents, ragdv1connect.AgentServiceClient.DeleteAgent),
	},
	{
		name: "workflow", id: "workflowName",
		list:   on(workflows, ragdv1connect.WorkflowServiceClient.ListWorkflows),
		create: on(workflows, ragdv1connect.WorkflowServiceClient.CreateWorkflow),
		update: on(workflows, ragdv1connect.WorkflowServiceClient.UpdateWorkflow),
		delete: on(workflows, ragdv1connect.WorkflowServiceClient.DeleteWorkflow),
	},
	{
		name: "server", id: "serverName",
		list:   on(servers, ragdv1connect.ServerServiceClient.ListServers),
		create: on(servers, ragdv1connect.ServerServiceClient.CreateServer),
		update: on(servers, ragdv1connect.ServerServiceClient.UpdateServer),
		delete: on(servers, ragdv1connect.ServerServiceClient.DeleteServer),
		clear:  map[string]string{"tools": "allTools", "prompts": "allPrompts", "indexes": "allIndexes"},
	},
	{
		name: "connector", id: "connectorName",
		list:   on(connectors, ragdv1connect.ConnectorServiceClient.ListConnectors),
		create: on(connectors, ragdv1connect.ConnectorServiceClient.CreateConnector),
		update: on(connectors, ragdv1connect.ConnectorServiceClient.UpdateConnector),
		delete: on(connectors, ragdv1connect.ConnectorServiceClient.DeleteConnector),
		switches: map[string][2]rpc{"paused": {
			on(connectors, ragdv1connect.ConnectorServiceClient.ResumeConnector),
			on(connectors, ragdv1connect.ConnectorServiceClient.PauseConnector),
		}},
	},
	{
		name: "hook", id: "hookName",
		list:   on(hooks, ragdv1connect.HookServiceClient.ListHooks),
		create: on(hooks, ragdv1connect.HookServiceClient.CreateHook),
		update: on(hooks, ragdv1connect.HookServiceClient.UpdateHook),
		delete: on(hooks, ragdv1connect.HookServiceClient.DeleteHook),
		secret: true,
	},
	{
		name: "alert", id: "displayName", key: "alertId", ofIndex: true,
		list:   on(alerts, ragdv1connect.AlertServiceClient.ListAlerts),
		create: on(alerts, ragdv1connect.AlertServiceClient.CreateAlert),
		update: on(alerts, ragdv1connect.AlertServiceClient.UpdateAlert),
		delete: on(alerts, ragdv1connect.AlertServiceClient.DeleteAlert),
	},
	{
		name: "key", id: "displayName", key: "apiKeyId", secret: true,
		create: on(tenants, ragdv1connect.TenantServiceClient.CreateApiKey),
		delete: on(tenants, ragdv1connect.TenantServiceClient.RevokeApiKey),
		each:   keysInUse,
	},
}

func secrets(c *client.Client) ragdv1connect.SecretServiceClient       { return c.Secrets }
func endpoints(c *client.Client) ragdv1connect.EndpointServiceClient   { return c.Endpoints }
func contexts(c *client.Client) ragdv1connect.ContextServiceClient     { return c.Contexts }
func indexes(c *client.Client) ragdv1connect.IndexServiceClient        { return c.Indexes }
func tools(c *client.Client) ragdv1connect.ToolServiceClient           { return c.Tools }
func policies(c *client.Client) ragdv1connect.PolicyServiceClient      { return c.Policies }
func prompts(c *client.Client) ragdv1connect.PromptServiceClient       { return c.Prompts }
func agents(c *client.Client) ragdv1connect.AgentServiceClient         { return c.Agents }
func workflows(c *client.Client) ragdv1connect.WorkflowServiceClient   { return c.Workflows }
func servers(c *client.Client) ragdv1connect.ServerServiceClient       { return c.Servers }
func connectors(c *client.Client) ragdv1connect.ConnectorServiceClient { return c.Connectors }
func tenants(c *client.Client) ragdv1connect.TenantServiceClient       { return c.Tenants }
func hooks(c *client.Client) ragdv1connect.HookServiceClient           { return c.Hooks }
func alerts(c *client.Client) ragdv1connect.AlertServiceClient         { return c.Alerts }

// tenantField is the field of create that has the name of the tenant, as far as the credential does not say it.
const tenantField = "tenantId"

// filled are the fields that the service fills where a nested message leaves them out, with what it fills in; nil is
// nothing.
var filled = map[protoreflect.FullName]func(message tree) any{
	"ragd.v1.PromptMessage.role":            always("user"),
	"ragd.v1.PolicyRedaction.replacement":   always("[redacted]"),
	"ragd.v1.Curation.match":                always("exact"),
	"ragd.v1.Curation.namespace":            always("default"),
	"ragd.v1.IndexConfig.type":              always("hnsw"),
	"ragd.v1.IndexConfig.hnsw":              ofType("hnsw"),
	"ragd.v1.IndexConfig.ivf":               ofType("ivfflat"),
	"ragd.v1.HnswConfig.m":                  always(16.0),
	"ragd.v1.HnswConfig.ef_construction":    always(64.0),
	"ragd.v1.McpOAuth.grant":                always("authorization_code"),
	"ragd.v1.HttpSource.relist_hours":       always(24.0),
	"ragd.v1.PostgresSource.id_column":      always("id"),
	"ragd.v1.PostgresSource.updated_column": always("updated_at"),
	"ragd.v1.PostgresSource.text_column":    always("text"),
	"ragd.v1.PostgresSource.content_type":   always("text/plain"),
	"ragd.v1.MysqlSource.id_column":         always("id"),
	"ragd.v1.MysqlSource.updated_column":    always("updated_at"),
	"ragd.v1.MysqlSource.text_column":       always("text"),
	"ragd.v1.MysqlSource.content_type":      always("text/plain"),
	"ragd.v1.SqliteSource.id_column":        always("id"),
	"ragd.v1.SqliteSource.updated_column":   always("updated_at"),
	"ragd.v1.SqliteSource.text_column":      always("text"),
	"ragd.v1.SqliteSource.content_type":     always("text/plain"),
	"ragd.v1.WebSource.max_depth":           always(5.0),
	"ragd.v1.WebSource.delay_ms":            always(1000.0),
}

func always(value any) func(tree) any { return func(tree) any { return value } }

// ofType fills in an empty message in the configuration of a Postgres index of a type.
func ofType(name string) func(tree) any {
	return func(config tree) any {
		if config["type"] == name {
			return tree{}
		}
		return nil
	}
}

// findKind returns the kind of a name. Errors: an unknown name, with the nearest.
func findKind(name string) (*kind, error) {
	for _, k := range kinds {
		if k.name == name {
			return k, nil
		}
	}
	if hint := nearest.Hint(name, kindNames()); hint != "" {
		return nil, fmt.Errorf("there is no kind %q%s", name, hint)
	}
	return nil, fmt.Errorf("there is no kind %q; kinds are %s", name, strings.Join(kindNames(), ", "))
}

// kindNames returns the names of all kinds in order.
func kindNames() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// message returns the descriptor of the message whose fields are declared.
func (k *kind) message() protoreflect.MessageDescriptor {
	m := k.create.request().ProtoReflect().Descriptor()
	if k.inner != "" {
		m = m.Fields().ByJSONName(k.inner).Message()
	}
	return m
}

// declarable returns the fields that an object of the kind can declare, in order. The name is none of them.
func (k *kind) declarable() []protoreflect.FieldDescriptor {
	var fields []protoreflect.FieldDescriptor
	all := k.message().Fields()
	for i := range all.Len() {
		switch f := all.Get(i); f.JSONName() {
		case k.id, tenantField, "createTime", "updateTime", "generate": // the service sets them, or makes an own value of a secret
		default:
			fields = append(fields, f)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(k.also)) {
		fields = append(fields, k.also[name].ProtoReflect().Descriptor().Fields().ByJSONName(name))
	}
	return fields
}

// field returns a field that can be declared, nil for an unknown one.
func (k *kind) field(name string) protoreflect.FieldDescriptor {
	for _, f := range k.declarable() {
		if f.JSONName() == name {
			return f
		}
	}
	return nil
}

// endpointKey returns the reference that stands for the key of an endpoint, nil if it has none.
func endpointKey(e tree) any {
	if e["hasApiKey"] != true {
		return nil
	}
	return variable("ENDPOINT", text(e, "endpointName"), "API_KEY")
}

// endpointHeaders returns the headers of an endpoint with references as values, nil if it has none.
func endpointHeaders(e tree) any {
	names, _ := e["headerNames"].([]any)
	if len(names) == 0 {
		return nil
	}
	headers := tree{}
	for _, name := range names {
		headers[name.(string)] = variable("ENDPOINT", text(e, "endpointName"), "HEADER", name.(string))
	}
	return tree{"headers": headers}
}

// tidyIndex leaves the settings of an index.
func tidyIndex(object, fields tree) {
	delete(fields, "graph")
	if graph, ok := object["graph"].(tree); ok {
		if settings, ok := graph["settings"].(tree); ok && len(settings) > 0 {
			fields["graph"] = settings
		}
	}
	if next := text(object, "nextEmbeddingModel"); next != "" { // it is being embedded with that
		fields["embeddingModel"] = next
	}
}

// documentsOf returns how many documents and vectors an index has, whatever their state.
func documentsOf(ctx context.Context, c *client.Client, name string) (int, error) {
	index, err := c.Indexes.DescribeIndex(ctx, &ragdv1.DescribeIndexRequest{IndexName: name})
	documents := index.GetDocumentCount() + index.GetPendingDocumentCount() + index.GetFailedDocumentCount()
	return int(max(documents, index.GetCount())), err
}

// profilesOfIndexes lists the ranking profiles of all indexes.
func profilesOfIndexes(ctx context.Context, c *client.Client) ([]tree, error) {
	found, err := page(ctx, c, on(indexes, ragdv1connect.IndexServiceClient.ListIndexes), tree{})
	if err != nil {
		return nil, err
	}
	var all []tree
	for _, i := range found {
		if names, _ := i["rankingProfiles"].([]any); len(names) == 0 {
			continue
		}
		profiles, err := page(ctx, c, on(indexes, ragdv1connect.IndexServiceClient.ListRankingProfiles), tree{"indexName": i["indexName"]})
		if err != nil {
			return nil, err
		}
		all = append(all, profiles...)
	}
	return all, nil
}

// keysInUse lists the API keys that are not revoked.
func keysInUse(ctx context.Context, c *client.Client) ([]tree, error) {
	all, err := page(ctx, c, on(tenants, ragdv1connect.TenantServiceClient.ListApiKeys), tree{tenantField: c.Access.Tenant})
	return slices.DeleteFunc(all, func(key tree) bool { return text(key, "revokeTime") != "" }), err
}

// text returns a field of an object that has text, empty if it is missing.
func text(object tree, field string) string {
	s, _ := object[field].(string)
	return s
}
