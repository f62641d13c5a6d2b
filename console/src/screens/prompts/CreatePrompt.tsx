import { useMutation } from "@connectrpc/connect-query";
import { useNavigate } from "react-router";
import { refresh } from "@/app/queries";
import { CreatePromptRequestSchema, PromptService } from "@/gen/ragd/v1/prompt_pb";
import { Definition } from "@/ui/form/Definition";
import { promptFields } from "./definition";

/** CreatePrompt makes a prompt of the tenant, and opens it. */
export function CreatePrompt() {
  const navigate = useNavigate();
  const create = useMutation(PromptService.method.createPrompt);
  return (
    <Definition
      schema={CreatePromptRequestSchema} fields={promptFields({ stored: false })} value={{ messages: [{ text: "" }] }} action="Create the prompt"
      onSave={async (definition) => {
        const { promptName } = await create.mutateAsync(definition);
        void refresh(PromptService);
        await navigate(`/prompts/${encodeURIComponent(promptName)}`);
      }}
    />
  );
}
