import { ActionIcon, Alert, Group, Tooltip, useComputedColorScheme } from "@mantine/core";
import { useReducedMotion } from "@mantine/hooks";
import { IconFocusCentered, IconMinus, IconPlus } from "@tabler/icons-react";
import { useEffect, useRef, useState } from "react";
import { layOut, start } from "./layout";
import { colorOf, looks } from "./look";
import { Picture } from "./picture";
import { drawnEdges, type Group as NodeGroup, type Walk, type WalkNode } from "./walk";
import classes from "./Graph.module.css";

interface Props {
  walk: Walk;
  groupOf: (node: WalkNode) => NodeGroup;
  chosen?: WalkNode;
  choose: (node: WalkNode | undefined) => void;
}

/** Drawing draws a walk. What it shows stands in the lists, too, which need no eyes and no mouse. */
export default function Drawing({ walk, groupOf, chosen, choose }: Props) {
  const element = useRef<HTMLDivElement>(null);
  const picture = useRef<Picture>(null);
  const clicked = useRef<WalkNode>(undefined);
  const [state, setState] = useState<"moving" | "still" | "impossible">("moving");
  const animated = !useReducedMotion();
  const look = looks[useComputedColorScheme("light")];
  const options = {
    look, animated, color: (node: WalkNode) => colorOf(look, groupOf(node).color),
    onChoose: (node: WalkNode | undefined) => {
      clicked.current = node;
      choose(node);
    },
  };
  const latest = useRef(options);
  latest.current = options;
  const wanted = useRef<WalkNode>(undefined); // the chunk to show in the middle

  useEffect(() => {
    setState("moving");
    const groups = new Map(walk.nodes.map((node) => [node.index, groupOf(node).color]));
    const positions = start(walk, (index) => groups.get(index) ?? 0);
    try {
      picture.current = new Picture(element.current!, walk, positions, latest.current);
    } catch {
      setState("impossible");
      return;
    }
    const drawn = picture.current;
    const edges = drawnEdges(walk);
    const request = {
      positions, sizes: Float32Array.from(walk.nodes, (node) => (node.rank > 0 ? 16 : 6)),
      ends: Uint32Array.from(edges.flatMap((edge) => [edge.from, edge.to])), weights: Float32Array.from(edges, (edge) => 0.05 + edge.share),
    };
    const stop = layOut(request, (next, done) => {
      if (done || latest.current.animated) drawn.place(next);
      if (!done) return;
      if (wanted.current) drawn.choose(wanted.current, true); // it has moved meanwhile
      setState("still");
    });
    return () => {
      stop();
      drawn.remove();
      picture.current = null;
    };
  }, [walk]); // eslint-disable-line

  useEffect(() => picture.current?.change(latest.current), [look, groupOf, animated]);
  useEffect(() => {
    wanted.current = clicked.current === chosen ? undefined : chosen;
    picture.current?.choose(chosen, wanted.current !== undefined);
    clicked.current = undefined;
  }, [chosen, walk]);

  if (state === "impossible") {
    return <Alert color="yellow" title="This browser cannot draw the graph">It has no WebGL. The lists below show the same facts.</Alert>;
  }
  const tools = [
    { label: "Zoom in", icon: IconPlus, onClick: () => picture.current?.zoom(1.6) },
    { label: "Zoom out", icon: IconMinus, onClick: () => picture.current?.zoom(1 / 1.6) },
    { label: "Show all", icon: IconFocusCentered, onClick: () => picture.current?.fit() },
  ];
  return (
    <div className={classes.frame}>
      <div
        ref={element} className={classes.drawing} role="img" dir="ltr" data-state={state}
        aria-label={`Drawing of ${walk.nodes.length} chunks and ${walk.edges.length} links. The lists below show the same facts.`}
      />
      <Group className={classes.tools} gap={4}>
        {tools.map((tool) => (
          <Tooltip key={tool.label} label={tool.label}>
            <ActionIcon variant="default" onClick={tool.onClick} aria-label={tool.label}><tool.icon size={16} /></ActionIcon>
          </Tooltip>
        ))}
      </Group>
    </div>
  );
}
