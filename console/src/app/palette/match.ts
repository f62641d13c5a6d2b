import fuzzysort from "fuzzysort";
import type { Command } from "./commands";

/** Found is a command, and which letters of its label were typed. */
export interface Found {
  command: Command;
  letters: ReadonlySet<number>;
}

/** few is how many commands of a group are proposed before something is typed, most how many afterwards. */
const few = 5;
const most = 7;

/** proposedGroups are proposed before something is typed. */
const proposedGroups = ["Indexes", "Go to", "Do"];

const none: ReadonlySet<number> = new Set();

/** arrange returns the commands that have the letters of a text in order, in groups, the best first; documents were found by the service. */
export function arrange(text: string, commands: Command[], documents: Command[], question: Command[]): { name: string; found: Found[] }[] {
  const groups = new Map<string, Found[]>();
  const add = (entry: Found, limit: number) => {
    const found = groups.get(entry.command.group) ?? [];
    if (found.length < limit) groups.set(entry.command.group, [...found, entry]);
  };
  const plain = (command: Command) => ({ command, letters: none });
  if (text === "") {
    for (const name of proposedGroups) {
      commands.filter(({ group }) => group === name).forEach((command) => add(plain(command), name === "Go to" ? commands.length : few));
    }
  } else {
    for (const { obj, 0: label } of fuzzysort.go(text, commands, { keys: ["label", "hint"], threshold: 0.2, limit: 60 })) {
      add({ command: obj, letters: label && label.score > 0 ? new Set(label.indexes) : none }, most);
    }
    for (const command of [...documents, ...question]) add(plain(command), most);
  }
  return [...groups].map(([name, found]) => ({ name, found }));
}
