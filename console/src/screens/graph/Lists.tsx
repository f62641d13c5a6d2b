import { Anchor, Tabs, Text } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { count } from "@/ui/format";
import { Table, type Column } from "@/ui/Table";
import { percent, type Group as NodeGroup, type Walk, type WalkEdge, type WalkNode } from "./walk";
import classes from "./Graph.module.css";

interface Props {
  walk: Walk;
  groupOf: (node: WalkNode) => NodeGroup;
  byTopic: boolean;
  choose: (node: WalkNode) => void;
  tab: string;
  setTab: (tab: string) => void;
}

/** Lists shows what the drawing shows as text: all chunks that were reached, and their links. */
export function Lists({ walk, groupOf, byTopic, choose, tab, setTab }: Props) {
  const name = (node: WalkNode) => <Anchor component="button" type="button" size="sm" ta="start" onClick={() => choose(node)}><bdi>{node.title}</bdi> · {node.ordinal}</Anchor>;
  const why: Column<WalkNode> = { head: "Why it was reached", cell: (node) => <Text size="sm" dir="auto" className={classes.why}>{node.path}</Text> };
  const walked: Column<WalkNode> = { head: "Probability", cell: (node) => percent(node.score), numeric: true, narrow: true };
  const chunks: Column<WalkNode>[] = [
    { head: "Source", cell: (node) => node.rank || "", numeric: true, narrow: true },
    { head: "Chunk", cell: name },
    walked,
    { head: "Steps", cell: (node) => (node.steps < 0 ? "" : node.steps), numeric: true, narrow: true },
    { head: "Start weight", cell: (node) => (node.seed > 0 ? node.seed.toPrecision(2) : ""), numeric: true, narrow: true },
    ...(byTopic ? [{ head: "Topic", cell: (node: WalkNode) => (node.topicId > 0 ? <Text size="sm" dir="auto">{groupOf(node).label}</Text> : "") }] : []),
    why,
  ];
  const links: Column<WalkEdge>[] = [
    { head: "From", cell: (edge) => name(walk.nodes[edge.from]!) },
    { head: "Link", cell: (edge) => <Text size="sm" dir="auto">{edge.words || edge.type}</Text> },
    { head: "To", cell: (edge) => name(walk.nodes[edge.to]!) },
    { head: "Type", cell: (edge) => edge.type, narrow: true },
    { head: "Share", cell: (edge) => percent(edge.share), numeric: true, narrow: true },
  ];
  const lists: { value: string; label: string; rows: number; list: ReactNode }[] = [
    { value: "chunks", label: "Chunks", rows: walk.nodes.length, list: <Listed label="Chunks" columns={chunks} rows={walk.nodes} id={(node) => node.id} /> },
    { value: "links", label: "Links", rows: walk.edges.length, list: <Listed label="Links" columns={links} rows={walk.edges} id={(edge) => String(edge.index)} /> },
  ];
  return (
    <Tabs value={tab} onChange={(value) => setTab(value ?? "chunks")} keepMounted={false}>
      <Tabs.List aria-label="What the walk has seen">
        {lists.map((list) => <Tabs.Tab key={list.value} value={list.value}>{list.label} <Text span size="xs" c="dimmed">{count(list.rows)}</Text></Tabs.Tab>)}
      </Tabs.List>
      {lists.map((list) => <Tabs.Panel key={list.value} value={list.value} pt="xs">{list.list}</Tabs.Panel>)}
    </Tabs>
  );
}

/** page is the number of rows that are added by "Show more". */
const page = 100;

function Listed<Row>({ label, columns, rows, id }: { label: string; columns: Column<Row>[]; rows: Row[]; id: (row: Row) => string }) {
  const [length, setLength] = useState(page);
  return <Table label={label} columns={columns} rows={rows.slice(0, length)} id={id} more={length < rows.length ? () => setLength(length + page) : undefined} />;
}
