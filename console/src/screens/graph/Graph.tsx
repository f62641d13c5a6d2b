import { Anchor, Button, Group, Skeleton, Text } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { Code, ConnectError } from "@connectrpc/connect";
import { Link } from "react-router";
import { useSession } from "@/app/session";
import { IndexService } from "@/gen/ragd/v1/index_pb";
import { QueryService } from "@/gen/ragd/v1/query_pb";
import { Empty } from "@/ui/Empty";
import { ErrorView } from "@/ui/ErrorView";
import { Page, Panel } from "@/ui/Page";
import { useParameters } from "@/ui/useParameter";
import { Controls } from "./Controls";
import { readSettings, requestOf, writeSettings, type Settings } from "./settings";
import { Topics } from "./Topics";
import { WalkView } from "./WalkView";

/** Graph shows how the graph of an index is walked for a question. */
export default function Graph() {
  const session = useSession();
  return (
    <Page title="Graph" about="How the graph of an index answers a question: where walks start, which links they follow, and why each source was reached.">
      {session.tenant === "" ? (
        <Empty title="Choose a tenant" action={<Button component={Link} to="/tenants">Show the tenants</Button>}>You are signed in as the operator. Choose above whose documents you want to see.</Empty>
      ) : <Asked />}
    </Page>
  );
}

function Asked() {
  const [params, change] = useParameters();
  const indexes = useQuery(IndexService.method.listIndexes, { pageSize: 1000 });
  const asked = readSettings(params);
  const names = indexes.data?.indexes.map((index) => index.indexName) ?? [];
  const settings: Settings = { ...asked, index: asked.index || names[0] || "" };
  const ready = settings.question !== "" && settings.index !== "";
  const answer = useQuery(QueryService.method.graphRag, requestOf(settings), { enabled: ready, staleTime: 300_000, refetchOnWindowFocus: false });

  if (indexes.isPending) return <Skeleton h={80} />;
  if (indexes.isError) return <ErrorView error={indexes.error} retry={() => void indexes.refetch()} />;
  if (names.length === 0 && asked.index === "") {
    return <Empty title="No index yet" action={<Button component={Link} to="/">To the indexes</Button>}>Create an index and upload documents: their graph is made while they are read.</Empty>;
  }
  function walk(next: Settings) {
    change((params) => {
      writeSettings(params, next);
      params.delete("chunk");
    }, true);
    if (ready && JSON.stringify(next) === JSON.stringify(settings)) void answer.refetch();
  }
  return (
    <>
      <Panel>
        <Controls key={JSON.stringify(settings)} indexes={names.includes(settings.index) ? names : [settings.index, ...names]} settings={settings} busy={ready && answer.isFetching} onWalk={walk} />
      </Panel>
      {!ready && <Empty title="Ask a question">A walk starts at the chunks that a search finds and at those that the question names, and follows mentions, the reading order and similarity.</Empty>}
      {!ready && settings.index && <Topics indexName={settings.index} onWalk={(question) => walk({ ...settings, question })} />}
      {ready && answer.isPending && <Skeleton h={420} role="status" aria-label="Walking" />}
      {ready && answer.isError && <Failed index={settings.index} error={answer.error} retry={() => void answer.refetch()} />}
      {ready && answer.data && <WalkView index={settings.index} answer={answer.data} again={() => void answer.refetch()} />}
    </>
  );
}

function Failed({ index, error, retry }: { index: string; error: unknown; retry: () => void }) {
  return (
    <>
      <ErrorView error={error} retry={retry} />
      {ConnectError.from(error).code === Code.FailedPrecondition && (
        <Group><Text size="sm"><Anchor component={Link} to={`/indexes/${encodeURIComponent(index)}/settings`}>The settings of the index</Anchor> turn its graph on.</Text></Group>
      )}
    </>
  );
}
