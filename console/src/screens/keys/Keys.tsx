import { Badge, Button, Group, Skeleton, Text } from "@mantine/core";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { IconPlus } from "@tabler/icons-react";
import { useState } from "react";
import { refresh } from "@/app/queries";
import { useSession } from "@/app/session";
import { transport } from "@/app/transport";
import { TenantService, type ApiKey } from "@/gen/ragd/v1/tenant_pb";
import { Confirm } from "@/ui/Confirm";
import { Empty } from "@/ui/Empty";
import { ErrorView } from "@/ui/ErrorView";
import { notifyDone } from "@/ui/notify";
import { Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { Table, type Column } from "@/ui/Table";
import { Time } from "@/ui/Time";
import { useFlag } from "@/ui/useParameter";
import { CreateKey } from "./CreateKey";

const tenants = createClient(TenantService, transport);

/** Keys lists the API keys of the tenant, creates and revokes them. */
export function Keys() {
  const { tenant } = useSession();
  const [creating, setCreating] = useFlag("create");
  const [revoking, setRevoking] = useState<ApiKey>();
  const keys = useInfiniteQuery(
    TenantService.method.listApiKeys,
    { tenantId: tenant, pageSize: 100, pageToken: "" },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined },
  );
  async function revoke() {
    await tenants.revokeApiKey({ apiKeyId: revoking!.apiKeyId });
    notifyDone("The key is revoked.");
    await refresh(TenantService);
  }
  const actions: Column<ApiKey> = {
    head: "",
    narrow: true,
    cell: (key) => (stateOf(key) === "active" || stateOf(key) === "unusable") && <Button size="compact-xs" variant="subtle" color="red" aria-label={`Revoke ${nameOf(key)}`} onClick={() => setRevoking(key)}>Revoke</Button>,
  };
  const rows = keys.data?.pages.flatMap((page) => page.apiKeys) ?? [];
  return (
    <Panel title="API keys" actions={<Button size="xs" leftSection={<IconPlus size={14} />} onClick={() => setCreating(true)}>Create a key</Button>}>
      {keys.isPending && <Skeleton h={80} />}
      {keys.isError && <ErrorView error={keys.error} retry={() => void keys.refetch()} />}
      {keys.isSuccess && rows.length === 0 && <Empty title="No keys yet">Create one for each program or person, so that each can be revoked alone.</Empty>}
      {rows.length > 0 && <Table label="API keys" columns={[...columns, actions]} rows={rows} id={(key) => key.apiKeyId} more={keys.hasNextPage ? () => void keys.fetchNextPage() : undefined} loading={keys.isFetchingNextPage} />}
      <CreateKey opened={creating} onClose={() => setCreating(false)} />
      <Confirm opened={revoking !== undefined} onClose={() => setRevoking(undefined)} title="Revoke the key?" action="Revoke" onConfirm={revoke}>
        Programs that use <bdi>{revoking && nameOf(revoking)}</bdi> are refused from now on. This cannot be undone.
      </Confirm>
    </Panel>
  );
}

function nameOf(key: ApiKey): string {
  return key.displayName || key.prefix;
}

function stateOf(key: ApiKey): string {
  if (key.revokeTime) return "revoked";
  if (key.unusableReason) return "unusable";
  return key.expireTime && timestampDate(key.expireTime) < new Date() ? "expired" : "active";
}

const columns: Column<ApiKey>[] = [
  { head: "Name", cell: (key) => <div dir="auto"><Text size="sm" fw={600}>{key.displayName || "without a name"}</Text><Text size="xs" c="dimmed">{key.prefix}…</Text></div> },
  { head: "State", cell: (key) => <Status value={stateOf(key)} />, narrow: true },
  { head: "Scopes", cell: (key) => <Group gap={4} wrap="nowrap">{key.scopes.map((scope) => <Badge key={scope} variant="light" color="gray" tt="none" miw="max-content">{scope}</Badge>)}</Group>, narrow: true },
  { head: "Bound to", cell: (key) => bounds(key).map((bound) => <Text key={bound} size="xs">{bound}</Text>) },
  { head: "Expires", cell: (key) => (key.expireTime ? <Time value={key.expireTime} /> : ""), narrow: true },
  { head: "Created", cell: (key) => <Time value={key.createTime} />, narrow: true },
  { head: "Last used", cell: (key) => (key.lastUseTime ? <Time value={key.lastUseTime} /> : "never"), narrow: true },
];

/** bounds says what a key is bound to. */
function bounds(key: ApiKey): string[] {
  const out = (["indexes", "tools", "servers", "prompts"] as const).flatMap((kind) => (key[kind] ? [`${kind}: ${key[kind].names.join(", ") || "none"}`] : []));
  if (key.origins.length > 0) out.push(`pages of ${key.origins.join(", ")}`);
  if (key.unusableReason) out.push(key.unusableReason);
  if (key.mandatoryFilter) out.push(`filter ${JSON.stringify(key.mandatoryFilter)}`);
  if (key.attributes && Object.keys(key.attributes).length > 0) out.push(`attributes ${JSON.stringify(key.attributes)}`);
  return out;
}
