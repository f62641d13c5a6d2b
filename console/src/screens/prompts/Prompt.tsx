import { Button, Select, Stack, Tabs, Text } from "@mantine/core";
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { useParams } from "react-router";
import { refresh } from "@/app/queries";
import { whyNotChange } from "@/app/rights";
import { useSession } from "@/app/session";
import { CreatePromptRequestSchema, PromptSchema, PromptService, type Prompt } from "@/gen/ragd/v1/prompt_pb";
import { Code } from "@/ui/Code";
import { Confirm } from "@/ui/Confirm";
import { Delete } from "@/ui/Delete";
import { Definition, definitionOf } from "@/ui/form/Definition";
import { Loading } from "@/ui/Loading";
import { notifyDone } from "@/ui/notify";
import { OfTenant } from "@/ui/OfTenant";
import { Page, Panel } from "@/ui/Page";
import { useParameter } from "@/ui/useParameter";
import { promptFields, updatePrompt } from "./definition";
import { TryPrompt } from "./TryPrompt";

/** PromptScreen shows a prompt: its messages with arguments filled in, its definition, and its versions. */
export default function PromptScreen() {
  const { prompt = "" } = useParams();
  return <OfTenant title={prompt}><Details key={prompt} promptName={prompt} /></OfTenant>;
}

function Details({ promptName }: { promptName: string }) {
  const [tab, setTab] = useParameter("tab", "try");
  const [version, setVersion] = useParameter("version");
  const prompt = useQuery(PromptService.method.getPrompt, { promptName, version });
  const latest = prompt.data?.versions[0];
  const choose = prompt.data && (
    <Select
      label="Version" size="xs" w="13rem" allowDeselect={false}
      data={prompt.data.versions.map((n) => ({ value: String(n), label: n === latest ? `${n}, the latest` : String(n) }))}
      value={String(prompt.data.version)} onChange={(next) => setVersion(next === String(latest) ? "" : (next ?? ""))}
    />
  );
  return (
    <Page title={promptName} about={prompt.data && <span dir="auto">{prompt.data.description || prompt.data.title}{prompt.data.versionName && ` (version ${prompt.data.version} is named ${prompt.data.versionName})`}</span>} crumbs={[{ to: "/tools?tab=prompts", label: "Prompts" }]} actions={choose}>
      <Loading query={prompt}>
        {(prompt) => (
          <Tabs value={tab} onChange={(next) => setTab(next ?? "try")} keepMounted={false}>
            <Tabs.List aria-label="Parts of the prompt" mb="md">
              <Tabs.Tab value="try">Try it</Tabs.Tab>
              <Tabs.Tab value="definition">Definition</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="try"><TryPrompt key={prompt.version} prompt={prompt} /></Tabs.Panel>
            <Tabs.Panel value="definition"><Edit key={prompt.version} prompt={prompt} latest={prompt.version === latest} onVersion={setVersion} /></Tabs.Panel>
          </Tabs>
        )}
      </Loading>
    </Page>
  );
}

function Edit({ prompt, latest, onVersion }: { prompt: Prompt; latest: boolean; onVersion: (version: string) => void }) {
  const session = useSession();
  const update = useMutation(PromptService.method.updatePrompt);
  const remove = useMutation(PromptService.method.deletePrompt);
  const [asking, setAsking] = useState(false);
  const { promptName, version } = prompt;
  const why = whyNotChange(session, { unbound: true });
  const { versionName: _, ...value } = definitionOf(PromptSchema, prompt, CreatePromptRequestSchema); // a new version has no name until it gets one
  if (why || !latest) {
    const erase = async () => {
      await remove.mutateAsync({ promptName, version: String(version) });
      onVersion("");
      await refresh(PromptService);
    };
    return (
      <Panel>
        <Text size="sm" c="dimmed">{why || "An earlier version is not changed. Choose the latest to change the prompt."}</Text>
        <Code text={JSON.stringify(value, null, 2)} />
        {!why && <div><Button color="red" variant="outline" onClick={() => setAsking(true)}>Delete version {version}</Button></div>}
        <Confirm opened={asking} onClose={() => setAsking(false)} title={`Delete version ${version}?`} action="Delete" onConfirm={erase}>Clients that ask for this version get an error. The other versions remain.</Confirm>
      </Panel>
    );
  }
  return (
    <Stack>
      <Panel>
        <Definition
          schema={CreatePromptRequestSchema} fields={promptFields({ stored: true })} value={value} action="Save a new version" stored
          onSave={async (definition) => {
            const stored = await update.mutateAsync(updatePrompt(definition));
            await refresh(PromptService);
            notifyDone(`Saved. The latest version is ${stored.version}.`);
          }}
        />
      </Panel>
      <Delete
        what={`the prompt ${promptName}`} name={promptName} to="/tools?tab=prompts"
        onDelete={() => remove.mutateAsync({ promptName })}
      >
        All its versions are deleted.
      </Delete>
    </Stack>
  );
}
