import { Anchor, Button, CopyButton, Group, Skeleton, Text, UnstyledButton } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { IconArrowDown, IconArrowUp, IconLink } from "@tabler/icons-react";
import { useEffect, useRef } from "react";
import { Link } from "react-router";
import { fromAddress } from "@/screens/ask/settings";
import { useAnswer } from "@/screens/ask/useAnswer";
import type { Source } from "@/gen/ragd/v1/query_pb";
import { Empty } from "@/ui/Empty";
import { ErrorView } from "@/ui/ErrorView";
import { plural } from "@/ui/format";
import { Page, Panel } from "@/ui/Page";
import { place } from "@/ui/text/place";
import { toRanges } from "@/ui/text/ranges";
import { useParameters } from "@/ui/useParameter";
import { PageView } from "./PageView";
import { TextView } from "./TextView";
import { pageOf } from "./places";
import classes from "./Read.module.css";

/** Read shows the results of a question at the left, and at the right the place of the chosen one: a page with what answers marked, or the text around it. */
export default function Read() {
  const [params, change] = useParameters();
  const question = params.get("question") ?? "";
  const settings = fromAddress(params);
  const answer = useAnswer(question, settings, true);
  const sources = answer.data?.sources ?? [];
  const hitOf = (of: URLSearchParams) => Math.min(Math.max(Math.trunc(Number(of.get("hit"))) || 1, 1), Math.max(sources.length, 1));
  const hit = hitOf(params);
  const choose = (hit: number) => change((next) => next.set("hit", String(hit)));
  const step = (by: number) => change((next) => next.set("hit", String(Math.min(Math.max(hitOf(next) + by, 1), Math.max(sources.length, 1)))));
  useHotkeys([["j", () => step(1)], ["k", () => step(-1)]]);
  const back = new URLSearchParams(params);
  back.delete("hit");
  const crumbs = [{ to: `/ask?${back.toString()}`, label: "Ask" }];
  if (question === "" || settings.index === "") {
    return <Page title="Read" crumbs={crumbs}><Empty title="There is nothing to read yet" action={<Button component={Link} to="/ask">Ask a question</Button>}>Ask a question, and choose the place of a result.</Empty></Page>;
  }
  if (answer.isPending) return <Page title={question} crumbs={crumbs}><Skeleton h={400} aria-busy /></Page>;
  if (answer.isError) return <Page title={question} crumbs={crumbs}><ErrorView error={answer.error} retry={() => void answer.refetch()} /></Page>;
  const source = sources[hit - 1];
  const indexName = source?.indexName || settings.index;
  return (
    <Page title={question} crumbs={crumbs} about={`${plural(sources.length, "result")}; the keys j and k lead to the next and the one before`} actions={<Share />}>
      {source === undefined ? <Panel><Text size="sm">Nothing was found.</Text></Panel> : (
        <div className={classes.columns}>
          <nav className={classes.results} aria-label="Results">
            {sources.map((one, n) => <Result key={one.id} rank={n + 1} source={one} chosen={n + 1 === hit} choose={() => choose(n + 1)} />)}
          </nav>
          <Panel
            title={source.title || source.uri || source.id}
            actions={(
              <Group gap={4}>
                {source.documentId && <Anchor component={Link} size="sm" to={`/indexes/${encodeURIComponent(indexName)}/documents/${source.documentId}?chunk=${source.ordinal}`}>Document</Anchor>}
                <Button size="compact-xs" variant="default" disabled={hit === 1} leftSection={<IconArrowUp size={12} />} onClick={() => step(-1)}>Result before</Button>
                <Button size="compact-xs" variant="default" disabled={hit === sources.length} leftSection={<IconArrowDown size={12} />} onClick={() => step(1)}>Next result</Button>
              </Group>
            )}
          >
            {pageOf(source) ? <PageView key={source.id} indexName={indexName} source={source} /> : <TextView key={source.id} indexName={indexName} source={source} />}
          </Panel>
        </div>
      )}
    </Page>
  );
}

function Share() {
  return (
    <CopyButton value={window.location.href}>
      {({ copied, copy }) => <Button variant="default" leftSection={<IconLink size={16} />} onClick={copy} title="Whoever signs in to this tenant sees what their key may see.">{copied ? "Copied" : "Copy link"}</Button>}
    </CopyButton>
  );
}

/** Result is a line of the list: where it is, and its best sentences. */
function Result({ rank, source, chosen, choose }: { rank: number; source: Source; chosen: boolean; choose: () => void }) {
  const ref = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (chosen) ref.current?.scrollIntoView({ block: "nearest" });
  }, [chosen]);
  const passage = source.highlight?.passage;
  const best = passage && toRanges(source.document, [passage])[0];
  return (
    <UnstyledButton ref={ref} className={classes.result} data-chosen={chosen || undefined} aria-current={chosen || undefined} onClick={choose}>
      <Text component="span" size="sm" fw={600} dir="auto" lineClamp={1}>{rank}. {source.title || source.uri || source.id}</Text>
      <Text component="span" size="xs" c="dimmed" lineClamp={1}>{place((source.metadata ?? {})["position"])}</Text>
      <Text component="span" size="xs" dir="auto" lineClamp={3}>{best ? source.document.slice(best.start, best.end) : source.document.slice(0, 300)}</Text>
    </UnstyledButton>
  );
}
