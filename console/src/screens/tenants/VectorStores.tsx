import { Button, Skeleton, Stack, TagsInput } from "@mantine/core";
import { createClient } from "@connectrpc/connect";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { transport } from "@/app/transport";
import { TenantService } from "@/gen/ragd/v1/tenant_pb";
import { ErrorView } from "@/ui/ErrorView";
import { notifyDone } from "@/ui/notify";

/** VectorStores shows the names that a tenant gives its vector store, and changes them. */
export function VectorStores({ tenantId }: { tenantId: string }) {
  const tenants = createClient(TenantService, transport);
  const queryKey = ["vector-store-names", tenantId];
  const stored = useQuery({ queryKey, queryFn: ({ signal }) => tenants.getVectorStoreNames({}, { signal, headers: { "Ragd-Tenant": tenantId } }) });
  const client = useQueryClient();
  const [edited, setEdited] = useState<string[]>();
  const save = useMutation({
    mutationFn: (vectorStoreNames: string[]) => tenants.setVectorStoreNames({ vectorStoreNames }, { headers: { "Ragd-Tenant": tenantId } }),
    onSuccess: (answer) => {
      client.setQueryData(queryKey, answer);
      setEdited(undefined);
      notifyDone("Saved.");
    },
  });
  if (stored.isPending) return <Skeleton h={60} />;
  if (stored.isError) return <ErrorView error={stored.error} retry={() => void stored.refetch()} />;
  const names = edited ?? stored.data.vectorStoreNames;
  return (
    <Stack maw="46rem" gap="sm">
      <TagsInput
        label="Names" description="Clients may send one of these as vectorStoreName, beside ragd, pgvector, pinecone and chroma. At most 16." maxTags={16}
        placeholder={names.length === 0 ? "Type a name and press Enter" : ""} value={names} onChange={setEdited}
      />
      {save.isError && <ErrorView error={save.error} />}
      <div><Button disabled={edited === undefined} loading={save.isPending} onClick={() => save.mutate(names)}>Save the names</Button></div>
    </Stack>
  );
}
