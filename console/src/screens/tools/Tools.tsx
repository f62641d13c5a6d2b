import { Button, Tabs } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { Link, useSearchParams } from "react-router";
import { onlyTools, serversOf, whyNotChange } from "@/app/rights";
import { useSession } from "@/app/session";
import { PromptList } from "@/screens/prompts/PromptList";
import { CreatePrompt } from "@/screens/prompts/CreatePrompt";
import { CreateServer } from "@/screens/servers/CreateServer";
import { ServerList } from "@/screens/servers/ServerList";
import { OfTenant } from "@/ui/OfTenant";
import { Page, Panel } from "@/ui/Page";
import { CreateTool } from "./CreateTool";
import { ServerSelect } from "./ServerSelect";
import { ToolList } from "./ToolList";

const tabs = [
  { id: "tools", label: "Tools", one: "tool", List: ToolList, Create: CreateTool, about: "What agents can call: the service's own tools, and those that you make of them." },
  { id: "servers", label: "MCP servers", one: "server", List: ServerList, Create: CreateServer, about: "An MCP server has an address of its own, and shows its clients chosen tools, prompts and indexes." },
  { id: "prompts", label: "Prompts", one: "prompt", List: PromptList, Create: CreatePrompt, about: "Conversations with arguments that users of agents choose by name." },
];

/** Tools lists the tools, MCP servers and prompts of the tenant, and creates them. */
export default function Tools() {
  return <OfTenant title="Tools and servers"><Lists /></OfTenant>;
}

function Lists() {
  const session = useSession();
  const [parameters, setParameters] = useSearchParams();
  const visible = onlyTools(session) ? tabs.slice(0, 1) : tabs;
  const tab = visible.find(({ id }) => id === parameters.get("tab")) ?? visible[0]!;
  const mayChange = !onlyTools(session) && whyNotChange(session, { unbound: tab.id === "prompts" }) === "";
  const creating = mayChange && parameters.has("create");
  const here = tab.id === "tools" ? "/tools" : `/tools?tab=${tab.id}`;
  const create = mayChange && (
    <Button component={Link} to={`${here}${here.includes("?") ? "&" : "?"}create`} leftSection={<IconPlus size={16} />}>Create a {tab.one}</Button>
  );
  if (creating) {
    return <Page title={`Create a ${tab.one}`} about={tab.about} crumbs={[{ to: here, label: tab.label }]}><Panel><tab.Create /></Panel></Page>;
  }
  return (
    <Page title="Tools and servers" about={tab.about} actions={create || (serversOf(session).length > 0 && <ServerSelect />)}>
      <Tabs value={tab.id} onChange={(id) => setParameters(id === "tools" ? {} : { tab: id ?? "" })} keepMounted={false}>
        <Tabs.List aria-label="Tools, servers and prompts" mb="md">{visible.map(({ id, label }) => <Tabs.Tab key={id} value={id}>{label}</Tabs.Tab>)}</Tabs.List>
        {visible.map(({ id, List }) => <Tabs.Panel key={id} value={id}><List create={create} /></Tabs.Panel>)}
      </Tabs>
    </Page>
  );
}
