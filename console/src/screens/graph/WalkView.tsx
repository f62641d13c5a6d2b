import { Alert, Skeleton, Text } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useSession } from "@/app/session";
import { QueryService, type GraphRagResponse } from "@/gen/ragd/v1/query_pb";
import { Empty } from "@/ui/Empty";
import { ErrorView } from "@/ui/ErrorView";
import { millis, plural } from "@/ui/format";
import { Panel } from "@/ui/Page";
import { Boundary } from "@/ui/Boundary";
import { useParameters } from "@/ui/useParameter";
import { Chunk } from "./Chunk";
import { Legend } from "./Legend";
import { Lists } from "./Lists";
import { Sources } from "./Sources";
import { groupBy, walkOf, type WalkNode } from "./walk";
import classes from "./Graph.module.css";

const Drawing = lazy(() => import("./Drawing"));

/** WalkView shows an answer: drawn, and as lists. The chosen chunk stands in the page's address. */
export function WalkView({ index, answer, again }: { index: string; answer: GraphRagResponse; again: () => void }) {
  const [params, change] = useParameters();
  const walk = useMemo(() => walkOf(answer), [answer]);
  const known = walk.nodes.some((node) => node.topicId > 0);
  const topics = useTopics(index, known, again);
  const by = params.get("colour") === "steps" || (params.get("colour") === null && !known) ? "steps" : "topic";
  const { groups, of } = useMemo(() => groupBy(walk, by, topics.found), [walk, by, topics.found]);
  const set = useCallback((name: string, value: string | undefined) => change((next) => (value ? next.set(name, value) : next.delete(name))), [change]);
  const choose = (node: WalkNode | undefined) => set("chunk", node?.id);
  const detail = useRef<HTMLDivElement>(null);
  const view = useRef<HTMLDivElement>(null);
  function show(node: WalkNode) {
    choose(node);
    detail.current?.focus({ preventScroll: true });
    view.current?.scrollIntoView({ block: "start" });
  }
  const chosen = walk.byId.get(params.get("chunk") ?? "");
  const lists = <Lists walk={walk} groupOf={of} byTopic={known} choose={show} tab={params.get("list") ?? "chunks"} setTab={(tab) => set("list", tab === "chunks" ? undefined : tab)} />;
  return (
    <>
      {answer.warnings.length > 0 && <Alert color="yellow" title="Notices">{answer.warnings.map((warning) => <Text key={warning} size="sm" dir="auto">{warning}</Text>)}</Alert>}
      {topics.error !== null && <ErrorView error={topics.error} />}
      {walk.nodes.length === 0 ? <Empty title="Nothing was reached">No chunk matches the question, its filter and its namespace, or none has links.</Empty> : (
        <div className={classes.columns} ref={view}>
          <Panel title="Walk" actions={<Timings answer={answer} />}>
            <Boundary>
              <Suspense fallback={<Skeleton className={classes.frame} />}>
                <Drawing walk={walk} groupOf={of} chosen={chosen} choose={choose} />
              </Suspense>
            </Boundary>
            <Legend groups={groups} by={by} setBy={(value) => set("colour", value)} findTopics={topics.find} finding={topics.finding} />
          </Panel>
          <div className={classes.side}>
            <Panel title="Sources"><Sources walk={walk} chosen={chosen} choose={(node) => (node ? show(node) : choose(undefined))} /></Panel>
            <div ref={detail} tabIndex={-1} className={classes.detail} role="group" aria-label="The chosen chunk">
              {chosen && <Chunk indexName={index} walk={walk} node={chosen} group={of(chosen)} byTopic={by === "topic"} choose={choose} />}
            </div>
          </div>
        </div>
      )}
      <Panel>{lists}</Panel>
    </>
  );
}

function Timings({ answer }: { answer: GraphRagResponse }) {
  const stages = answer.explain?.stages ?? [];
  const total = stages.reduce((sum, stage) => sum + stage.durationMs, 0);
  const title = stages.map((stage) => `${stage.name}: ${millis(stage.durationMs)}${stage.candidates > 0 ? `, ${plural(stage.candidates, "chunk")}` : ""}`).join("\n");
  return <Text size="xs" c="dimmed" title={title}>Starts found by {answer.explain?.searchMode} search; {stages.map((stage) => `${stage.name} ${millis(stage.durationMs)}`).join(", ")}; in all {millis(total)}</Text>;
}

/** useTopics returns the topics of an index. They are found when that is asked for, which starts a job the first time. */
function useTopics(indexName: string, known: boolean, again: () => void) {
  const { who } = useSession();
  const [wanted, setWanted] = useState("");
  const topics = useQuery(QueryService.method.listTopics, { indexName, pageSize: 1000 }, { enabled: known || wanted === indexName, staleTime: 60_000 });
  const foundNow = wanted === indexName && topics.isSuccess;
  useEffect(() => {
    if (!foundNow) return;
    setWanted("");
    again(); // the chunks of the walk have topics now
  }, [foundNow]); // eslint-disable-line
  return {
    found: useMemo(() => topics.data?.topics ?? [], [topics.data]),
    find: known || who.filtered ? undefined : () => setWanted(indexName),
    finding: wanted === indexName && topics.isFetching,
    error: wanted === indexName ? topics.error : null,
  };
}
