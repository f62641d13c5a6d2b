import { Button, Group, Skeleton, Tabs } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { IconMessageSearch } from "@tabler/icons-react";
import { Link, useNavigate, useParams } from "react-router";
import { useSession } from "@/app/session";
import { IndexService, type Index as IndexMessage } from "@/gen/ragd/v1/index_pb";
import { ErrorView } from "@/ui/ErrorView";
import { plural } from "@/ui/format";
import { Page } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { Building } from "./Building";
import { Documents } from "./Documents";
import { Settings } from "./Settings";

const tabs = ["documents", "settings", "building"] as const;
const labels = { documents: "Documents", settings: "Settings", building: "Build and graph" };

/** Index shows an index: its documents, its settings, and the state of its Postgres index and graph. */
export default function Index() {
  const { name = "", tab = "documents" } = useParams();
  const navigate = useNavigate();
  const { canWrite } = useSession();
  const index = useQuery(IndexService.method.describeIndex, { indexName: name });
  const crumbs = [{ to: "/", label: "Home" }];
  if (index.isPending) return <Page title={name} crumbs={crumbs}><Skeleton h={120} /></Page>;
  if (index.isError) return <Page title={name} crumbs={crumbs}><ErrorView error={index.error} retry={() => void index.refetch()} /></Page>;
  const ask = <Button component={Link} to={`/ask?index=${encodeURIComponent(name)}`} leftSection={<IconMessageSearch size={16} />}>Ask</Button>;
  const shown = tabs.filter((t) => canWrite || t !== "settings");
  return (
    <Page title={name} crumbs={crumbs} about={<About index={index.data} />} actions={ask}>
      <Tabs value={tab} onChange={(next) => void navigate(`/indexes/${encodeURIComponent(name)}${next === "documents" ? "" : `/${next}`}`)} keepMounted={false}>
        <Tabs.List mb="md">{shown.map((t) => <Tabs.Tab key={t} value={t}>{labels[t]}</Tabs.Tab>)}</Tabs.List>
        <Tabs.Panel value="documents"><Documents indexName={name} /></Tabs.Panel>
        <Tabs.Panel value="settings"><Settings index={index.data} /></Tabs.Panel>
        <Tabs.Panel value="building"><Building index={index.data} /></Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function About({ index }: { index: IndexMessage }) {
  return (
    <Group gap="xs">
      <Status value={index.status} />
      <span>{plural(index.documentCount, "document")}, {plural(index.count, "chunk")}</span>
      {index.pendingDocumentCount > 0 && <span>{plural(index.pendingDocumentCount, "document")} in work</span>}
      {index.failedDocumentCount > 0 && <span>{plural(index.failedDocumentCount, "document")} failed</span>}
      <span>{index.embeddingModel ? `embedded by ${index.embeddingModel}` : "ready-made vectors"}</span>
    </Group>
  );
}
