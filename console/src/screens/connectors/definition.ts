import { create } from "@bufbuild/protobuf";
import { UpdateConnectorRequestSchema, type Connector, type CreateConnectorRequest, type UpdateConnectorRequest } from "@/gen/ragd/v1/connector_pb";
import type { Field } from "@/ui/form/fields";

/** Kind is a kind of sources, as the API names it. */
export type Kind = "web" | "feed" | "git" | "s3" | "folder" | "mcp" | "postgres" | "mysql" | "sqlite" | "http";

/** kinds are the kinds of sources, with what each reads. */
export const kinds: { kind: Kind; label: string; about: string; operator?: boolean }[] = [
  { kind: "web", label: "Website", about: "The pages that links from a start page lead to, or those of a sitemap." },
  { kind: "feed", label: "Feed", about: "The entries of an RSS, Atom or JSON feed." },
  { kind: "git", label: "Git repository", about: "The files of a branch, over HTTPS." },
  { kind: "s3", label: "S3 bucket", about: "The objects of a bucket of Amazon S3 or a server like it." },
  { kind: "mcp", label: "MCP server", about: "The resources of a server, and its tools and prompts for agents." },
  { kind: "postgres", label: "PostgreSQL query", about: "The rows of a query." },
  { kind: "mysql", label: "MySQL query", about: "The rows of a query of MySQL or MariaDB." },
  { kind: "sqlite", label: "SQLite query", about: "The rows of a query of an SQLite file of the service's machine; for the operator.", operator: true },
  { kind: "http", label: "Web API", about: "The records of GitHub, Slack, Jira and others, by a recipe, or of any API by a manifest." },
  { kind: "folder", label: "Folder", about: "The files of a folder of the service's machine; for the operator.", operator: true },
];

/** isKind reports whether a text names a kind of sources. */
export function isKind(text: string | null): text is Kind {
  return kinds.some(({ kind }) => kind === text);
}

/** recipes are those of the service. */
const recipes = ["confluence", "discourse", "github", "gitlab", "intercom", "jira", "linear", "notion", "slack", "zendesk"];

interface Names {
  stored: boolean;
  indexes: string[];
  secrets: string[];
}

/** connectorFields are the fields of the definition of a connector with a source of a kind. */
export function connectorFields(kind: Kind, { stored, indexes, secrets }: Names): Field[] {
  return [
    { path: "connectorName", label: "Name", kind: "text", about: "1 to 64 letters, digits, _ and -.", placeholder: "handbook", required: true, fixed: stored },
    { path: "indexName", label: "Index", kind: "text", choices: indexes, about: "The index that gets the documents.", placeholder: "The only one", fixed: stored },
    ...sourceFields(kind, secrets),
    { path: "schedule", label: "Schedule", kind: "text", choices: ["@hourly", "@daily", "@weekly", "@every 6h", "0 3 * * *"], about: "When it runs: a cron line in UTC, @daily or @every 6h; at most every 5 minutes.", placeholder: "Only when it is asked" },
    { path: "description", label: "Description", kind: "text" },
    ...(stored ? [] : [{ path: "paused", label: "Begin paused, so that it can be tested first", kind: "switch", standard: false } satisfies Field]),
    { path: "pushSecretName", label: "Secret of announcements", kind: "text", choices: secrets, about: "With which the source signs that something has changed; a run begins within seconds. At least 16 bytes. The definition shows the address to announce to.", placeholder: "It announces nothing", minor: true },
    { path: "maxItems", label: "Most items", kind: "number", integer: true, placeholder: "1,000", about: "Up to 1,000,000 of databases and buckets, 200,000 of repositories and folders, 50,000 of others. A source with more fails the run.", minor: true },
    { path: "metadata", label: "Metadata", kind: "lines", about: "Names and expressions over item, which has id, title, contentType, modifiedTime and attributes.", placeholder: 'team: "people"', minor: true },
    { path: "namespace", label: "Namespace", kind: "text", placeholder: "default", fixed: stored, minor: true },
    { path: "chunking", label: "Chunking", kind: "json", placeholder: "As the index has it", minor: true },
    { path: "extract", label: "Extraction", kind: "json", placeholder: "As the index has it", minor: true },
  ];
}

function sourceFields(kind: Kind, secrets: string[]): Field[] {
  const patterns = (what: string, example: string): Field[] => [
    { path: `${kind}.include`, label: "Only", kind: "names", about: `${what} that match one of these patterns, in which * stands for any text.`, placeholder: example },
    { path: `${kind}.exclude`, label: "Not", kind: "names", about: `No ${what.toLowerCase()} that match one of these.`, minor: true },
  ];
  const secret = (label: string, about: string, required = false): Field => ({ path: `${kind}.secretName`, label, kind: "text", choices: secrets, about, required });
  switch (kind) {
    case "web":
      return [
        { path: "web.url", label: "Address", kind: "text", about: "The start page, or the sitemap.", placeholder: "https://example.com/handbook/", required: true },
        { path: "web.sitemap", label: "The address is that of a sitemap", kind: "switch", standard: false },
        ...patterns("Pages", "/handbook/*"),
        { path: "web.maxDepth", label: "Links from the start page", kind: "number", integer: true, placeholder: "5", about: "From 0 to 20.", minor: true },
        { path: "web.delayMs", label: "Wait between two requests, in ms", kind: "number", integer: true, placeholder: "1,000", minor: true },
      ];
    case "feed":
      return [
        { path: "feed.url", label: "Address", kind: "text", placeholder: "https://example.com/feed.xml", required: true },
        { path: "feed.deleteMissing", label: "Delete the documents of entries that the feed no longer has", kind: "switch", standard: false },
      ];
    case "git":
      return [
        { path: "git.url", label: "Address", kind: "text", about: "Without user and password.", placeholder: "https://example.com/team/guides.git", required: true },
        { path: "git.branch", label: "Branch", kind: "text", placeholder: "That of HEAD" },
        ...patterns("Files", "docs/*.md"),
        secret("Secret", "With the token or password. Without one, nobody signs in."),
        { path: "git.user", label: "User", kind: "text", placeholder: "git", minor: true },
      ];
    case "s3":
      return [
        { path: "s3.endpoint", label: "Server", kind: "text", placeholder: "https://s3.eu-central-1.amazonaws.com", required: true },
        { path: "s3.bucket", label: "Bucket", kind: "text", required: true },
        { path: "s3.prefix", label: "Beginning of the keys", kind: "text", placeholder: "All" },
        ...patterns("Objects", "docs/*.pdf"),
        { path: "s3.accessKeyId", label: "Id of the access key", kind: "text", placeholder: "Requests are not signed" },
        secret("Secret", "With the secret access key."),
        { path: "s3.region", label: "Region", kind: "text", placeholder: "As the server says", minor: true },
      ];
    case "mcp":
      return [
        { path: "mcp.url", label: "Address", kind: "text", about: "The endpoint. If the server asks for a token, you sign in after the connector is made.", placeholder: "https://mcp.example.com/mcp", required: true },
        { path: "mcp.headers", label: "Headers", kind: "lines", about: "One in a line. Keys belong into secrets.", placeholder: "Authorization: Bearer {{secrets.wiki}}" },
        { path: "mcp.withoutResources", label: "Leave its resources alone, and only offer tools and prompts", kind: "switch", standard: false },
        { path: "mcp.tools", label: "Tools for agents", kind: "json", about: 'What is offered of its tools: {} for all, {"names": ["search"]} for some.', placeholder: "None", minor: true },
        { path: "mcp.prompts", label: "Prompts for clients", kind: "json", about: "The same for its prompts.", placeholder: "None", minor: true },
        { path: "mcp.templates", label: "Resources by template", kind: "list", minor: true, items: [{ path: "uriTemplate", label: "Template", kind: "text", placeholder: "note://{name}", required: true }, { path: "arguments", label: "Arguments", kind: "lines", placeholder: "name: plan" }] },
        { path: "mcp.withoutSubscription", label: "Do not follow the changes that it announces", kind: "switch", standard: false, minor: true },
        { path: "mcp.timeoutMs", label: "Longest request, in ms", kind: "number", integer: true, placeholder: "30,000", minor: true },
        { path: "mcp.oauth.grant", label: "How it signs in", kind: "choice", choices: ["authorization_code", "client_credentials"], about: "By a user in a browser, or by the service itself.", minor: true },
        { path: "mcp.oauth.clientId", label: "Id of the client", kind: "text", placeholder: "It is registered", minor: true },
        { path: "mcp.oauth.clientSecret", label: "Secret of the client", kind: "text", choices: secrets, about: "The name of a secret.", minor: true },
        { path: "mcp.oauth.issuer", label: "Authorization server", kind: "text", placeholder: "The one that the server names", minor: true },
        { path: "mcp.oauth.scopes", label: "Scopes", kind: "names", placeholder: "Those that the server names", minor: true },
      ];
    case "postgres":
    case "mysql":
    case "sqlite":
      return [
        kind === "sqlite"
          ? { path: "sqlite.path", label: "File", kind: "text", placeholder: "/srv/shop/shop.db", about: "In a folder that the setting connector-folders names.", required: true }
          : secret("Secret", `With the address of the database, such as ${kind}://user:password@db.example.com/name.`, true),
        { path: `${kind}.query`, label: "Query", kind: "long", placeholder: "SELECT id, updated_at, body AS text FROM articles", required: true },
        { path: `${kind}.contentType`, label: "What the texts are", kind: "choice", choices: ["text/plain", "text/markdown", "text/html"], placeholder: "text/plain" },
        ...(kind === "postgres"
          ? ([
              { path: "postgres.replication.publication", label: "Publication", kind: "text", placeholder: "Runs ask for changes", about: "Of the table, whose changes are then followed as they are committed. The server needs wal_level = logical, and the role REPLICATION.", minor: true },
              { path: "postgres.replication.slot", label: "Replication slot", kind: "text", placeholder: "None", about: "For this connector alone. The database keeps its log while nobody reads the slot.", minor: true },
              { path: "postgres.replication.createSlot", label: "Create the slot if there is none, and drop it with the connector", kind: "switch", standard: false, minor: true },
            ] satisfies Field[])
          : []),
        { path: `${kind}.idColumn`, label: "Column of the ids", kind: "text", placeholder: "id", minor: true },
        { path: `${kind}.updatedColumn`, label: "Column that changes with the row", kind: "text", placeholder: "updated_at", minor: true },
        { path: `${kind}.textColumn`, label: "Column of the texts", kind: "text", placeholder: "text", minor: true },
        { path: `${kind}.titleColumn`, label: "Column of the titles", kind: "text", placeholder: "Titles are found in the texts", minor: true },
        { path: `${kind}.relistHours`, label: "Hours until everything is listed again", kind: "number", integer: true, placeholder: "Each run lists everything", about: "Until then, runs ask for changed rows alone. Up to 8,760.", minor: true },
      ];
    case "http":
      return [
        { path: "http.recipe", label: "Recipe", kind: "text", choices: recipes, about: "Without one, give a manifest." },
        { path: "http.config", label: "Parameters", kind: "lines", about: "Those of the recipe or manifest, one in a line. Keys belong into secrets.", placeholder: "token: {{secrets.github}}" },
        { path: "http.streams", label: "Streams", kind: "names", placeholder: "All" },
        { path: "http.manifest", label: "Manifest", kind: "long", about: "In YAML, in place of a recipe.", minor: true },
        { path: "http.relistHours", label: "Hours until everything is listed again", kind: "number", integer: true, placeholder: "24", about: "Finds what is gone. From 1 to 8,760.", minor: true },
      ];
    case "folder":
      return [
        { path: "folder.path", label: "Folder", kind: "text", about: "An absolute path that the setting connector-folders allows.", placeholder: "/srv/handbook", required: true },
        ...patterns("Files", "docs/*.md"),
      ];
  }
}

/** updateConnector returns the request that makes a stored connector what the definition says. */
export function updateConnector(definition: CreateConnectorRequest): UpdateConnectorRequest {
  const { connectorName, description, schedule, metadata, chunking, extract, maxItems, pushSecretName, source } = definition;
  return create(UpdateConnectorRequestSchema, { connectorName, description, schedule, chunking, extract, pushSecretName, source, metadata: { metadata }, maxItems: maxItems || undefined });
}

/** sourceOf says what a connector reads: the kind in words, and the address. */
export function sourceOf({ source }: Connector): { label: string; address: string } {
  const label = kinds.find(({ kind }) => kind === source.case)?.label ?? "";
  switch (source.case) {
    case "s3":
      return { label, address: `${source.value.endpoint}/${source.value.bucket}${source.value.prefix && `/${source.value.prefix}`}` };
    case "folder":
    case "sqlite":
      return { label, address: source.value.path };
    case "postgres":
    case "mysql":
      return { label, address: `secret ${source.value.secretName}` };
    case "http":
      return { label, address: source.value.recipe && `recipe ${source.value.recipe}` };
    case undefined:
      return { label, address: "" };
    default:
      return { label, address: source.value.url };
  }
}

/** stateOf returns the word for how a connector is. */
export function stateOf(connector: Connector): string {
  if (connector.paused) return "paused";
  if (connector.authorization === "needed") return "needs sign-in";
  return connector.status || "new";
}
