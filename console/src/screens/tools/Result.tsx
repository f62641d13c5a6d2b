import { Tabs, Text } from "@mantine/core";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { useSession } from "@/app/session";
import type { CallToolResponse } from "@/gen/ragd/v1/tool_pb";
import { Code } from "@/ui/Code";
import { isObject } from "@/ui/form/fields";
import { Panel } from "@/ui/Page";
import classes from "./Tools.module.css";

interface Props {
  response: CallToolResponse;
  tool: string;
  given: JsonObject;
  server: string;
}

/** Result shows the answer of a tool: the text for models, the result for programs, and the call to copy. */
export function Result({ response, tool, given, server }: Props) {
  const { info } = useSession();
  const blocks = response.content.map((block) => toJson(ValueSchema, block));
  const parts = [
    response.text && { id: "text", label: "Text for models", content: <pre className={classes.answer} dir="auto" tabIndex={0}>{response.text}</pre> },
    blocks.length > 0 && { id: "content", label: "Content", content: blocks.map((block, i) => <Block key={i} block={block} />) },
    response.structuredContent && { id: "json", label: "Result for programs", content: <Code text={JSON.stringify(response.structuredContent, null, 2)} /> },
    response.meta && { id: "meta", label: "Meta", content: <Code text={JSON.stringify(response.meta, null, 2)} /> },
    { id: "curl", label: "curl", content: <Code text={curl(info.publicUrl || window.location.origin, tool, given, server)} /> },
  ].filter((part) => typeof part === "object");
  return (
    <Panel title="Answer">
      <Tabs defaultValue={parts[0]!.id} keepMounted={false}>
        <Tabs.List aria-label="Forms of the answer" mb="sm">{parts.map(({ id, label }) => <Tabs.Tab key={id} value={id}>{label}</Tabs.Tab>)}</Tabs.List>
        {parts.map(({ id, content }) => <Tabs.Panel key={id} value={id}>{content}</Tabs.Panel>)}
      </Tabs>
    </Panel>
  );
}

const pictures = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** Block shows a content block of MCP. Pictures that carry scripts, such as SVG, stay JSON. */
function Block({ block }: { block: JsonValue }) {
  if (isObject(block) && block.type === "text" && typeof block.text === "string") return <Text className={classes.answer} dir="auto">{block.text}</Text>;
  if (isObject(block) && block.type === "image" && typeof block.data === "string" && pictures.has(String(block.mimeType))) {
    return <img className={classes.image} src={`data:${String(block.mimeType)};base64,${block.data}`} alt="Answer of the tool" />;
  }
  return <Code text={JSON.stringify(block, null, 2)} />;
}

function curl(url: string, toolName: string, given: JsonObject, server: string): string {
  const body = JSON.stringify({ toolName, arguments: given }).replaceAll("'", "'\\''");
  const header = server ? ` \\\n  -H 'Ragd-Server: ${server}'` : "";
  return `curl ${url}/ragd.v1.ToolService/CallTool \\\n  -H "Authorization: Bearer $RAGD_API_KEY" -H 'Content-Type: application/json'${header} \\\n  -d '${body}'`;
}
