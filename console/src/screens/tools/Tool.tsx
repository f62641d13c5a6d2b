import { Group, Stack, Tabs, Text } from "@mantine/core";
import { createClient } from "@connectrpc/connect";
import { useQuery } from "@tanstack/react-query";
import { useParams } from "react-router";
import { transport } from "@/app/transport";
import { ToolService, type Tool } from "@/gen/ragd/v1/tool_pb";
import { Code } from "@/ui/Code";
import { Loading } from "@/ui/Loading";
import { OfTenant } from "@/ui/OfTenant";
import { Page, Panel } from "@/ui/Page";
import { useParameter } from "@/ui/useParameter";
import { kinds } from "./definition";
import { EditTool } from "./EditTool";
import { Kind } from "./Kind";
import { ServerSelect, useServer } from "./ServerSelect";
import { TryTool } from "./TryTool";

/** ToolScreen shows a tool: tries it, and shows or changes its definition. */
export default function ToolScreen() {
  const { tool = "" } = useParams();
  return <OfTenant title={tool}><Details key={tool} name={tool} /></OfTenant>;
}

function Details({ name }: { name: string }) {
  const server = useServer()[0];
  const [tab, setTab] = useParameter("tab", "try");
  const tool = useQuery({
    queryKey: ["connect-query", { serviceName: ToolService.typeName, methodName: "GetTool" }, name, server], // events ask it again
    queryFn: ({ signal }) => createClient(ToolService, transport).getTool({ toolName: name }, { signal, headers: server ? { "Ragd-Server": server } : undefined }),
  });
  const data = tool.data;
  const about = data && (
    <Group gap="xs">
      <Kind tool={data} />
      {data.title !== data.toolName && <span dir="auto">{data.title}</span>}
    </Group>
  );
  return (
    <Page title={name} about={about} crumbs={[{ to: "/tools", label: "Tools" }]} actions={<ServerSelect />}>
      <Loading query={tool}>
        {(tool) => (
          <>
            <Text size="sm" maw="60rem" dir="auto" style={{ whiteSpace: "pre-wrap" }}>{tool.description}</Text>
            <Tabs value={tab} onChange={(next) => setTab(next ?? "try")} keepMounted={false}>
              <Tabs.List aria-label="Parts of the tool" mb="md">
                <Tabs.Tab value="try">Try it</Tabs.Tab>
                {kinds.includes(tool.kind) && !tool.builtin && !server && <Tabs.Tab value="definition">Definition</Tabs.Tab>}
                <Tabs.Tab value="schema">Schema</Tabs.Tab>
              </Tabs.List>
              <Tabs.Panel value="try"><TryTool key={server} tool={tool} server={server} /></Tabs.Panel>
              <Tabs.Panel value="definition">{!server && <EditTool toolName={tool.toolName} />}</Tabs.Panel>
              <Tabs.Panel value="schema"><Schemas tool={tool} /></Tabs.Panel>
            </Tabs>
          </>
        )}
      </Loading>
    </Page>
  );
}

function Schemas({ tool }: { tool: Tool }) {
  return (
    <Stack>
      <Panel title="Arguments"><Code text={JSON.stringify(tool.inputSchema ?? {}, null, 2)} label="Copy the schema of the arguments" /></Panel>
      <Panel title="Structured result">{tool.outputSchema ? <Code text={JSON.stringify(tool.outputSchema, null, 2)} label="Copy the schema of the result" /> : <Text size="sm" c="dimmed">It is not described.</Text>}</Panel>
      {tool.annotations && <Panel title="Annotations"><Code text={JSON.stringify({ ...tool.annotations, $typeName: undefined }, null, 2)} label="Copy the annotations" /></Panel>}
    </Stack>
  );
}
