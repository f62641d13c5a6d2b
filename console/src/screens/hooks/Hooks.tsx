import { Anchor, Button, Text } from "@mantine/core";
import { useInfiniteQuery, useMutation } from "@connectrpc/connect-query";
import { IconPlus } from "@tabler/icons-react";
import { useState } from "react";
import { Link, useNavigate, useSearchParams } from "react-router";
import { refresh } from "@/app/queries";
import { CreateHookRequestSchema, HookService, type Hook } from "@/gen/ragd/v1/hook_pb";
import { Empty } from "@/ui/Empty";
import { Definition } from "@/ui/form/Definition";
import { Loading } from "@/ui/Loading";
import { Page, Panel } from "@/ui/Page";
import { Secret } from "@/ui/Secret";
import { Status } from "@/ui/Status";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { useNames } from "@/ui/useNames";
import { hookFields, state } from "./definition";
import { Guard } from "./Guard";

/** Hooks lists the hooks of the tenant, and creates them. */
export default function Hooks() {
  const [parameters] = useSearchParams();
  return <Guard>{parameters.has("create") ? <Create /> : <List />}</Guard>;
}

const about = "A hook is an address to which events are posted, signed, as they happen.";

const columns: Column<Hook>[] = [
  { head: "Name", cell: (hook) => <Anchor component={Link} to={`/hooks/${encodeURIComponent(hook.hookName)}`} fw={600}>{hook.hookName}</Anchor> },
  { head: "Status", cell: (hook) => <Status value={state(hook)} />, narrow: true },
  { head: "Address", cell: (hook) => <Text size="sm" dir="auto">{hook.url}</Text> },
  { head: "Events", cell: (hook) => hook.events.join(", ") },
  { head: "Changed", cell: (hook) => <Time value={hook.updateTime} />, narrow: true },
];

function List() {
  const hooks = useInfiniteQuery(HookService.method.listHooks, { pageSize: 100, pageToken: "" }, { pageParamKey: "pageToken", getNextPageParam: (last) => last.nextPageToken || undefined });
  const create = <Button component={Link} to="/hooks?create" leftSection={<IconPlus size={16} />}>Create a hook</Button>;
  return (
    <Page title="Hooks" about={about} actions={create}>
      <Loading query={hooks}>
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.hooks);
          if (rows.length === 0) return <Empty title="No hook yet" action={create}>Create one to be told of documents that became ready or failed, of jobs, and of tools that were called.</Empty>;
          return <Panel><Table label="Hooks" columns={columns} rows={rows} id={(hook) => hook.hookName} more={hooks.hasNextPage ? () => void hooks.fetchNextPage() : undefined} loading={hooks.isFetchingNextPage} /></Panel>;
        }}
      </Loading>
    </Page>
  );
}

function Create() {
  const names = useNames();
  const navigate = useNavigate();
  const [made, setMade] = useState<{ name: string; secret: string }>();
  const create = useMutation(HookService.method.createHook);
  return (
    <Page title="Create a hook" about={about} crumbs={[{ to: "/hooks", label: "Hooks" }]}>
      <Panel>
        <Definition
          schema={CreateHookRequestSchema} fields={hookFields({ stored: false, ...names })} value={{}} action="Create the hook"
          onSave={async (definition) => {
            const { hook, secret } = await create.mutateAsync(definition);
            void refresh(HookService);
            setMade({ name: hook?.hookName ?? "", secret });
          }}
        />
      </Panel>
      <Secret title={`The secret of the hook ${made?.name ?? ""}`} secret={made?.secret ?? ""} onClose={() => void navigate(`/hooks/${encodeURIComponent(made?.name ?? "")}`)}>
        The receiver checks the signature of each delivery with it, as Standard Webhooks describes.
      </Secret>
    </Page>
  );
}
