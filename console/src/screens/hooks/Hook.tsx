import { Alert, Button, Group, Stack, Tabs } from "@mantine/core";
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { IconSend } from "@tabler/icons-react";
import { useParams } from "react-router";
import { refresh } from "@/app/queries";
import { CreateHookRequestSchema, HookSchema, HookService, type Hook } from "@/gen/ragd/v1/hook_pb";
import { Delete } from "@/ui/Delete";
import { ErrorView } from "@/ui/ErrorView";
import { Definition, definitionOf } from "@/ui/form/Definition";
import { plural } from "@/ui/format";
import { Loading } from "@/ui/Loading";
import { notifyDone } from "@/ui/notify";
import { Page, Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { Time } from "@/ui/Time";
import { useNames } from "@/ui/useNames";
import { useParameter } from "@/ui/useParameter";
import { hookFields, state, updateHook } from "./definition";
import { Deliveries } from "./Deliveries";
import { DeliveryDetails } from "./DeliveryDetails";
import { Guard } from "./Guard";
import { Rotate } from "./Rotate";

/** HookScreen shows a hook: its deliveries, its definition and its secret. */
export default function HookScreen() {
  const { hook = "" } = useParams();
  return <Guard><Details key={hook} hookName={hook} /></Guard>;
}

function Details({ hookName }: { hookName: string }) {
  const [tab, setTab] = useParameter("tab", "deliveries");
  const hook = useQuery(HookService.method.getHook, { hookName });
  const test = useMutation(HookService.method.testHook, { onSettled: () => void refresh(HookService) });
  const actions = hook.data && <Button leftSection={<IconSend size={16} />} loading={test.isPending} onClick={() => test.mutate({ hookName })}>Send a test</Button>;
  return (
    <Page title={hookName} about={hook.data && <Group gap="xs"><Status value={state(hook.data)} /><span dir="auto">{hook.data.description || hook.data.url}</span></Group>} crumbs={[{ to: "/hooks", label: "Hooks" }]} actions={actions}>
      <Loading query={hook}>
        {(hook) => (
          <>
            <Trouble hook={hook} />
            {test.isError && <ErrorView error={test.error} />}
            {test.data && <Panel title={test.data.status === "succeeded" ? "The test was received" : "The test was not received"}><DeliveryDetails delivery={test.data} /></Panel>}
            <Tabs value={tab} onChange={(next) => setTab(next ?? "deliveries")} keepMounted={false}>
              <Tabs.List aria-label="Parts of the hook" mb="md">
                <Tabs.Tab value="deliveries">Deliveries</Tabs.Tab>
                <Tabs.Tab value="definition">Definition</Tabs.Tab>
                <Tabs.Tab value="secret">Secret</Tabs.Tab>
              </Tabs.List>
              <Tabs.Panel value="deliveries"><Deliveries hookName={hookName} /></Tabs.Panel>
              <Tabs.Panel value="definition"><Edit hook={hook} /></Tabs.Panel>
              <Tabs.Panel value="secret"><Rotate hook={hook} /></Tabs.Panel>
            </Tabs>
          </>
        )}
      </Loading>
    </Page>
  );
}

function Trouble({ hook }: { hook: Hook }) {
  if (hook.disabledReason) return <Alert color="red" title="The service has disabled the hook">{hook.disabledReason} Enable it in the definition when the address works again.</Alert>;
  if (hook.failures === 0) return null;
  return <Alert color="yellow" title="The address does not receive">{plural(hook.failures, "attempt")} failed since the last that succeeded{hook.failingSinceTime && <>, the first <Time value={hook.failingSinceTime} /></>}.</Alert>;
}

function Edit({ hook }: { hook: Hook }) {
  const names = useNames();
  const update = useMutation(HookService.method.updateHook);
  const remove = useMutation(HookService.method.deleteHook);
  // toJson leaves out false, for which the request has another default.
  const value = { ...definitionOf(HookSchema, hook, CreateHookRequestSchema), enabled: hook.enabled, includeContent: hook.includeContent };
  return (
    <Stack>
      <Panel>
        <Definition
          schema={CreateHookRequestSchema} fields={hookFields({ stored: true, ...names })} value={value} action="Save" stored
          onSave={async (definition) => {
            await update.mutateAsync(updateHook(definition));
            await refresh(HookService);
            notifyDone("Saved.");
          }}
        />
      </Panel>
      <Delete
        what={`the hook ${hook.hookName}`} name={hook.hookName} to="/hooks"
        onDelete={() => remove.mutateAsync({ hookName: hook.hookName })}
      >
        Its deliveries are deleted, also those that still wait.
      </Delete>
    </Stack>
  );
}
