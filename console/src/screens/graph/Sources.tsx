import { Text, UnstyledButton } from "@mantine/core";
import { percent, type Walk, type WalkNode } from "./walk";
import classes from "./Graph.module.css";

interface Props {
  walk: Walk;
  chosen?: WalkNode;
  choose: (node: WalkNode | undefined) => void;
}

/** Sources lists the sources beside the drawing, the best first, each with the path that led to it. */
export function Sources({ walk, chosen, choose }: Props) {
  if (walk.sources.length === 0) return <Text size="sm" c="dimmed">Nothing was found.</Text>;
  return (
    <ol className={classes.sources} aria-label="Sources" data-short={chosen ? true : undefined}>
      {walk.sources.map((source, i) => {
        const node = walk.byId.get(`${source.documentId}:${source.ordinal}`);
        const isChosen = node !== undefined && node === chosen;
        const name = <span className={classes.name} dir="auto"><bdi>{source.title || source.uri || source.id}</bdi> · {source.ordinal}</span>;
        return (
          <li key={source.id} data-chosen={isChosen || undefined}>
            <span className={classes.rank}>{i + 1}</span>
            {node ? <UnstyledButton aria-pressed={isChosen} onClick={() => choose(isChosen ? undefined : node)}>{name}</UnstyledButton> : name}
            <Text size="xs" c="dimmed" dir="auto" className={classes.break}>{source.score > 0 ? percent(source.score) : "not reached by the walk"}{source.path && `, ${source.path}`}</Text>
          </li>
        );
      })}
    </ol>
  );
}
