import { Stack, Text } from "@mantine/core";
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { refresh } from "@/app/queries";
import { whyNotChange } from "@/app/rights";
import { useSession } from "@/app/session";
import { CreateToolRequestSchema, ToolSchema, ToolService, type Tool } from "@/gen/ragd/v1/tool_pb";
import { Code } from "@/ui/Code";
import { Delete } from "@/ui/Delete";
import { Definition, definitionOf } from "@/ui/form/Definition";
import { set } from "@/ui/form/fields";
import { Loading } from "@/ui/Loading";
import { notifyDone } from "@/ui/notify";
import { Panel } from "@/ui/Page";
import { useNames } from "@/ui/useNames";
import { toolFields, updateTool } from "./definition";

/**
 * EditTool changes the definition of a tool, and deletes it. The definition is that of ListTools:
 * GetTool fills in what comes from the kind.
 */
export function EditTool({ toolName }: { toolName: string }) {
  const tools = useQuery(ToolService.method.listTools, { pageSize: 1000 });
  return (
    <Loading query={tools}>
      {({ tools }) => {
        const tool = tools.find((tool) => tool.toolName === toolName);
        return tool ? <Edit tool={tool} /> : <Panel><Text size="sm" c="dimmed">The definition is not for your key.</Text></Panel>;
      }}
    </Loading>
  );
}

function Edit({ tool }: { tool: Tool }) {
  const session = useSession();
  const { indexes } = useNames();
  const update = useMutation(ToolService.method.updateTool);
  const remove = useMutation(ToolService.method.deleteTool);
  const why = whyNotChange(session);
  const stored = definitionOf(ToolSchema, tool, CreateToolRequestSchema);
  const value = tool.kind === "mcp" ? set(stored, "settings.tool", undefined) : stored; // the service asks the other server for it
  if (why) return <Panel><Text size="sm" c="dimmed">{why}</Text><Code text={JSON.stringify(value, null, 2)} /></Panel>;
  return (
    <Stack>
      <Panel>
        <Definition
          schema={CreateToolRequestSchema} fields={toolFields({ stored: true, indexes })} value={value} action="Save" stored
          onSave={async (definition) => {
            await update.mutateAsync(updateTool(definition));
            await refresh(ToolService);
            notifyDone("Saved. Connected agents see it at once.");
          }}
        />
      </Panel>
      <Delete
        what={`the tool ${tool.toolName}`} name={tool.toolName} to="/tools"
        onDelete={() => remove.mutateAsync({ toolName: tool.toolName })}
      >
        Agents and servers that name it find it no longer.
      </Delete>
    </Stack>
  );
}
