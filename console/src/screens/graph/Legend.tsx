import { Button, Group, SegmentedControl, Text, useComputedColorScheme } from "@mantine/core";
import { colorOf, looks } from "./look";
import { edgeTypes } from "./settings";
import type { Group as NodeGroup } from "./walk";
import classes from "./Graph.module.css";

interface Props {
  groups: NodeGroup[];
  by: "topic" | "steps";
  setBy: (by: "topic" | "steps") => void;
  /** Finds the topics of the index; absent if they are known, or the visitor may not see them. */
  findTopics?: () => void;
  finding: boolean;
}

/** Legend says what colours, rings and sizes mean. */
export function Legend({ groups, by, setBy, findTopics, finding }: Props) {
  const look = looks[useComputedColorScheme("light")];
  const colored = groups.filter((group) => group.color >= 0);
  const others = groups.filter((group) => group.color < 0);
  return (
    <div className={classes.legend}>
      <Group gap="xs">
        <SegmentedControl
          size="xs" role="radiogroup" aria-label="Colours" value={by} onChange={(value) => setBy(value as "topic" | "steps")}
          data={[{ value: "topic", label: "Topics" }, { value: "steps", label: "Steps" }]}
        />
        {by === "topic" && findTopics && <Button size="compact-xs" variant="default" loading={finding} onClick={findTopics}>Find the topics of the index</Button>}
      </Group>
      <ul className={classes.keys} aria-label="Colours of the chunks">
        {colored.map((group) => (
          <li key={group.key}><span className={classes.dot} style={{ background: colorOf(look, group.color) }} /> <bdi>{group.label}</bdi> <Text span size="xs" c="dimmed">{group.count}</Text></li>
        ))}
        {others.length > 0 && (
          <li><span className={classes.dot} style={{ background: look.none }} /> {others.length === 1 ? others[0]!.label : "Others"} <Text span size="xs" c="dimmed">{others.reduce((sum, group) => sum + group.count, 0)}</Text></li>
        )}
      </ul>
      <ul className={classes.keys} aria-label="Links and signs">
        {edgeTypes.map((type) => <li key={type.value}><span className={classes.line} style={{ background: look.edges[type.value] }} /> {type.label}</li>)}
        <li><span className={classes.line} style={{ background: look.path }} /> Leads to a source</li>
        <li><span className={classes.ring} /> A walk starts here</li>
        <li>Larger: more walks are here</li>
      </ul>
    </div>
  );
}
