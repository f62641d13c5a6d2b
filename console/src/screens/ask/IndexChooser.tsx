import { TagsInput } from "@mantine/core";
import { allIndexes, indexesOf } from "./indexes";

/** all is how the choice of all indexes is shown. */
const all = "All indexes";

interface Props {
  /** The names of the indexes that there are. */
  names: string[];
  /** The chosen names and patterns, with commas between. */
  value: string;
  onChange: (index: string) => void;
}

/** IndexChooser chooses which indexes are asked: some, those whose names fit a pattern, or all. */
export function IndexChooser({ names, value, onChange }: Props) {
  const chosen = indexesOf(value).map((name) => (name === allIndexes ? all : name));
  function choose(next: string[]) {
    const added = next.find((name) => !chosen.includes(name));
    if (added === all || added === allIndexes) return onChange(allIndexes);
    onChange(next.filter((name) => name !== all).map((name) => name.trim().replaceAll(",", "")).join(","));
  }
  return (
    <TagsInput
      size="xs" aria-label="Index" title="The indexes that are asked: names, patterns such as team-*, or all" w={260} maw="100%"
      data={names.length > 1 ? [all, ...names] : names} value={chosen} onChange={choose} acceptValueOnBlur placeholder={chosen.length === 0 ? "All indexes" : undefined}
      splitChars={[",", " "]} limit={100}
    />
  );
}
