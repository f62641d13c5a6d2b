/** allIndexes stands for all indexes that the visitor may see. */
export const allIndexes = "*";

/** indexesOf returns the names and patterns of indexes in settings, which have commas between. */
export function indexesOf(index: string): string[] {
  return index.split(",").filter(Boolean);
}

/** oneIndex returns the index of settings that name exactly one, else "". */
export function oneIndex(index: string): string {
  return index.includes(",") || index.includes("*") ? "" : index;
}

/** named returns which of the indexes are meant by names and patterns, in which * stands for any characters. */
export function named(asked: string[], indexes: string[]): string[] {
  const patterns = asked.map((name) => new RegExp(`^${name.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".*")}$`));
  return indexes.filter((index) => patterns.some((pattern) => pattern.test(index)));
}
