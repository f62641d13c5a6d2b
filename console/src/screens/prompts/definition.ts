import { create } from "@bufbuild/protobuf";
import { UpdatePromptRequestSchema, type CreatePromptRequest, type UpdatePromptRequest } from "@/gen/ragd/v1/prompt_pb";
import type { Field } from "@/ui/form/fields";

/** promptFields are the fields of a prompt's definition. */
export function promptFields({ stored }: { stored: boolean }): Field[] {
  return [
    { path: "promptName", label: "Name", kind: "text", about: "1 to 64 letters, digits, _ and -.", placeholder: "answer_customer", required: true, fixed: stored },
    { path: "title", label: "Title", kind: "text", about: "For people." },
    { path: "description", label: "Description", kind: "long" },
    {
      path: "arguments", label: "Arguments", kind: "list", about: "Values that a user fills in. In messages they are written as {{arguments.question}}.",
      adds: [{ label: "Add an argument", item: { required: true } }],
      items: [
        { path: "name", label: "Name", kind: "text", placeholder: "question", required: true },
        { path: "title", label: "Title", kind: "text", minor: true },
        { path: "description", label: "Description", kind: "text" },
        { path: "required", label: "Required", kind: "switch" },
      ],
    },
    {
      path: "messages", label: "Messages", kind: "list", required: true,
      adds: [
        { label: "Add a text", item: { text: "" } },
        { label: "Add a resource", item: { resource: { uri: "" } } },
        { label: "Add a link to a resource", item: { resourceLink: { uri: "" } } },
      ],
      items: [
        { path: "role", label: "Who says it", kind: "choice", choices: ["user", "assistant"], placeholder: "user" },
        { path: "text", label: "Text", kind: "long", when: (message) => !["resource", "resourceLink", "image", "audio"].some((name) => name in message) },
        { path: "resource.uri", label: "Resource whose content is inserted", kind: "text", placeholder: "ragd://indexes/docs/documents/{{arguments.documentId}}/text", when: (message) => "resource" in message },
        { path: "resourceLink.uri", label: "Resource that the client may read", kind: "text", placeholder: "ragd://indexes/docs/documents/{{arguments.documentId}}", when: (message) => "resourceLink" in message },
        { path: "image", label: "Image", kind: "json", about: "mimeType, and data in base64.", when: (message) => "image" in message },
        { path: "audio", label: "Sound", kind: "json", about: "mimeType, and data in base64.", when: (message) => "audio" in message },
      ],
    },
    { path: "versionName", label: stored ? "Name of the new version" : "Name of the version", kind: "text", about: "Such as stable; a version that has the name loses it.", placeholder: "None" },
  ];
}

/** updatePrompt returns the request that makes the definition the latest version of a stored prompt. */
export function updatePrompt(prompt: CreatePromptRequest): UpdatePromptRequest {
  const { promptName, title, description, messages, versionName } = prompt;
  return create(UpdatePromptRequestSchema, { promptName, title, description, arguments: { arguments: prompt.arguments }, messages: { messages }, versionName: versionName || undefined });
}
