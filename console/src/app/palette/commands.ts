import { createQueryOptions, useQuery, useTransport } from "@connectrpc/connect-query";
import { useQueries } from "@tanstack/react-query";
import {
  IconApi, IconBell, IconBooks, IconBuildingCommunity, IconFileText, IconKey, IconLogout, IconMessageSearch, IconPlug, IconPlus, IconRobot, IconRouteAltLeft,
  IconSunMoon, IconTestPipe, IconTool, IconUpload, IconWebhook, type Icon,
} from "@tabler/icons-react";
import { AgentService } from "@/gen/ragd/v1/agent_pb";
import { ConnectorService } from "@/gen/ragd/v1/connector_pb";
import { DocumentService } from "@/gen/ragd/v1/document_pb";
import { EvaluateService } from "@/gen/ragd/v1/evaluate_pb";
import { IndexService } from "@/gen/ragd/v1/index_pb";
import { TenantService } from "@/gen/ragd/v1/tenant_pb";
import { ToolService } from "@/gen/ragd/v1/tool_pb";
import { WorkflowService } from "@/gen/ragd/v1/workflow_pb";
import { links, mayUse } from "../navigation";
import { onlyTools, whyNotAll, whyNotChange } from "../rights";
import type { Session } from "../session";

/** Command is an entry of the palette. */
export interface Command {
  id: string;
  group: string;
  label: string;
  /** Further words that find it, shown beside the label. */
  hint?: string;
  icon: Icon;
  /** The page that it opens. */
  to?: string;
  /** What it does otherwise. */
  run?: () => void;
}

const page = { pageSize: 1000 };
const calm = { retry: false, staleTime: 60_000 };
const encode = encodeURIComponent;

/** useNamed returns what has a name in the tenant, as commands that open it. busy: some are not known yet. */
export function useNamed(session: Session): { named: Command[]; busy: boolean } {
  const any = session.tenant !== "" && session.canRead;
  const reads = any && !onlyTools(session);
  const all = reads && whyNotAll(session, "") === "";
  const indexes = useQuery(IndexService.method.listIndexes, page, { ...calm, enabled: reads });
  const agents = useQuery(AgentService.method.listAgents, page, { ...calm, enabled: reads });
  const tools = useQuery(ToolService.method.listTools, page, { ...calm, enabled: reads });
  const workflows = useQuery(WorkflowService.method.listWorkflows, page, { ...calm, enabled: reads });
  const sets = useQuery(EvaluateService.method.listQuestionSets, page, { ...calm, enabled: reads });
  const connectors = useQuery(ConnectorService.method.listConnectors, page, { ...calm, enabled: all });
  const tenants = useQuery(TenantService.method.listTenants, page, { ...calm, enabled: session.operator });
  const commandsOf = (group: string, icon: Icon, below: string, names: string[] = []) => names.map((name): Command => ({ id: `${below}${name}`, group, label: name, icon, to: `${below}${encode(name)}` }));
  const named = [
    ...commandsOf("Indexes", IconBooks, "/indexes/", indexes.data?.indexes.map(({ indexName }) => indexName)),
    ...commandsOf("Agents", IconRobot, "/agents/", agents.data?.agents.map(({ agentName }) => agentName)),
    ...commandsOf("Tools", IconTool, "/tools/", tools.data?.tools.map(({ toolName }) => toolName)),
    ...commandsOf("Workflows", IconRouteAltLeft, "/workflows/", workflows.data?.workflows.map(({ workflowName }) => workflowName)),
    ...commandsOf("Question sets", IconTestPipe, "/evaluate/sets/", sets.data?.questionSets.map(({ setName }) => setName)),
    ...commandsOf("Connectors", IconPlug, "/connectors/", connectors.data?.connectors.map(({ connectorName }) => connectorName)),
    ...commandsOf("Tenants", IconBuildingCommunity, "/tenants/", tenants.data?.tenants.map(({ tenantId }) => tenantId)),
  ];
  return { named, busy: [indexes, agents, tools, workflows, sets, connectors, tenants].some(({ isLoading }) => isLoading) };
}

/** searched is in how many indexes documents are looked for, and proposed how many are shown of each. */
const searched = 6;
const proposed = 5;

/** useDocuments returns documents whose path or title contains a text: of the first indexes, the one that the page shows before all. */
export function useDocuments(text: string, named: Command[], pathname: string): { documents: Command[]; busy: boolean } {
  const transport = useTransport();
  const shown = shownIndex(pathname);
  const indexes = named.filter(({ group }) => group === "Indexes").map(({ label }) => label);
  indexes.sort((a, b) => Number(encode(b) === shown) - Number(encode(a) === shown));
  const answers = useQueries({
    queries: indexes.slice(0, searched).map((indexName) => ({
      ...createQueryOptions(DocumentService.method.listDocuments, { indexName, search: text, pageSize: proposed }, { transport }),
      ...calm, enabled: text.length > 1,
    })),
  });
  const documents = answers.flatMap(({ data }) => data?.documents ?? []).map(({ indexName, documentId, title, uri }): Command => ({
    id: documentId, group: "Documents", label: title || uri, hint: title ? `${uri}, ${indexName}` : indexName, icon: IconFileText, to: `/indexes/${encode(indexName)}/documents/${documentId}`,
  }));
  return { documents, busy: text.length > 1 && answers.some(({ isFetching }) => isFetching) };
}

/** shownIndex returns the index that a page shows, as it stands in its address, or "". */
function shownIndex(pathname: string): string {
  return /^\/indexes\/([^/]+)/.exec(pathname)?.[1] ?? "";
}

/** screensFor returns the screens that the visitor may open. */
export function screensFor(session: Session): Command[] {
  return links.flatMap((group) => group.links.filter((link) => mayUse(link, session)).map((link): Command => ({ id: link.to, group: "Go to", label: link.label, icon: link.icon, to: link.to })));
}

/** actionsFor returns what the visitor may do; named are the indexes and others of the tenant. */
export function actionsFor(session: Session, named: Command[], switchColors: () => void): Command[] {
  const action = (label: string, icon: Icon, does: Pick<Command, "to" | "run">, hint?: string): Command => ({ id: label, group: "Do", label, icon, hint, ...does });
  const create = (what: string, icon: Icon, to: string) => action(`Create ${what}`, icon, { to }, "new");
  const works = session.tenant !== "" && !onlyTools(session);
  const writes = works && whyNotChange(session) === "";
  const all = works && whyNotAll(session, "") === "";
  return [
    ...(works && session.canWrite ? [create("an index", IconPlus, "/?create")] : []),
    ...(works && session.canWrite ? named.filter(({ group }) => group === "Indexes").map(({ label, to }) => action(`Upload files to ${label}`, IconUpload, { to: `${to}?upload` })) : []),
    ...(works && session.isAdmin ? [create("an API key", IconKey, "/keys?create")] : []),
    ...(writes ? [
      create("an agent", IconRobot, "/agents?create"),
      create("a workflow", IconRouteAltLeft, "/workflows?create"),
      create("a tool", IconTool, "/tools?create"),
      create("an MCP server", IconTool, "/tools?tab=servers&create"),
      create("a prompt", IconTool, "/tools?tab=prompts&create"),
    ] : []),
    ...(works && session.canRead ? [create("an alert", IconBell, "/alerts?create")] : []),
    ...(works && session.canWrite ? [create("a question set", IconTestPipe, "/evaluate?create")] : []),
    ...(all ? [create("a connector", IconPlug, "/connectors?create"), create("a hook", IconWebhook, "/hooks?create")] : []),
    ...(session.operator ? [create("a tenant", IconBuildingCommunity, "/tenants?create"), action("Import an archive of a tenant", IconUpload, { to: "/tenants?import" })] : []),
    ...(session.operator && session.tenant !== "" ? [action("Leave the tenant", IconBuildingCommunity, { run: () => session.choose("") }, session.tenant)] : []),
    action("Switch between light and dark", IconSunMoon, { run: switchColors }, "theme colours"),
    action("Try the API", IconApi, { run: () => window.location.assign("/api") }, "OpenAPI reference"),
    action("Sign out", IconLogout, { run: () => void session.signOut() }),
  ];
}

/** questionFor returns the command that asks a text as a question, of the index that the page shows or of the first one. */
export function questionFor(text: string, session: Session, pathname: string): Command[] {
  if (text === "" || session.tenant === "" || onlyTools(session)) return [];
  const index = shownIndex(pathname);
  return [{ id: "ask", group: "Ask", label: `Ask “${text}”`, icon: IconMessageSearch, to: `/ask?${index && `index=${index}&`}question=${encode(text)}` }];
}
