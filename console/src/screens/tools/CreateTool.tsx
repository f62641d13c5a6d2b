import { useMutation } from "@connectrpc/connect-query";
import { useNavigate } from "react-router";
import { refresh } from "@/app/queries";
import { CreateToolRequestSchema, ToolService } from "@/gen/ragd/v1/tool_pb";
import { Definition } from "@/ui/form/Definition";
import { useNames } from "@/ui/useNames";
import { toolFields } from "./definition";

/** CreateTool makes a tool of the tenant, and opens it. */
export function CreateTool() {
  const { indexes } = useNames();
  const navigate = useNavigate();
  const create = useMutation(ToolService.method.createTool);
  return (
    <Definition
      schema={CreateToolRequestSchema} fields={toolFields({ stored: false, indexes })} value={{}} action="Create the tool"
      onSave={async (definition) => {
        const { toolName } = await create.mutateAsync(definition);
        void refresh(ToolService);
        await navigate(`/tools/${encodeURIComponent(toolName)}`);
      }}
    />
  );
}
