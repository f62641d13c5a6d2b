import { useMutation } from "@connectrpc/connect-query";
import { useNavigate } from "react-router";
import { refresh } from "@/app/queries";
import { CreateServerRequestSchema, ServerService } from "@/gen/ragd/v1/server_pb";
import { Definition } from "@/ui/form/Definition";
import { useNames } from "@/ui/useNames";
import { serverFields } from "./definition";

/** CreateServer makes an MCP server of the tenant, and opens it. */
export function CreateServer() {
  const names = useNames();
  const navigate = useNavigate();
  const create = useMutation(ServerService.method.createServer);
  return (
    <Definition
      schema={CreateServerRequestSchema} fields={serverFields({ stored: false, ...names })} value={{}} action="Create the server"
      onSave={async (definition) => {
        const { serverName } = await create.mutateAsync(definition);
        void refresh(ServerService);
        await navigate(`/servers/${encodeURIComponent(serverName)}`);
      }}
    />
  );
}
