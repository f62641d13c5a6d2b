/** Look holds the colours of a drawing. */
export interface Look {
  groups: string[];
  /** Of what is in no group. */
  none: string;
  text: string;
  background: string;
  /** Of links by their type. */
  edges: Record<string, string>;
  /** Of the links of a path. */
  path: string;
  /** Of what is not near the chosen chunk. */
  faint: string;
}

/** looks are the colours for light and dark pages; those of groups are told apart by colour-blind people, too. */
export const looks: Record<"light" | "dark", Look> = {
  light: {
    groups: ["#2b6a5f", "#c2570c", "#3b5bdb", "#a61e4d", "#8a6d00", "#7048e8", "#0b7285", "#5c3b1e"],
    none: "#868e96", text: "#212529", background: "#ffffff",
    edges: { mention: "#7d93c4", next: "#b9c0c9", similar: "#8fc4b8" }, path: "#d9480f", faint: "#e6e8eb",
  },
  dark: {
    groups: ["#63c7b2", "#ff922b", "#91a7ff", "#f783ac", "#ffd43b", "#b197fc", "#66d9e8", "#d0a36f"],
    none: "#909296", text: "#e3e3e3", background: "#2e2e2e",
    edges: { mention: "#6478ab", next: "#5c5f66", similar: "#41806f" }, path: "#ffa94d", faint: "#3b3b3b",
  },
};

/** colorOf returns the colour of a group, of which color is its number. */
export function colorOf(look: Look, color: number): string {
  return color < 0 ? look.none : look.groups[color % look.groups.length]!;
}

/** mix returns a colour between two, from 0 for the first to 1 for the second. */
export function mix(from: string, to: string, share: number): string {
  const parts = [1, 3, 5].map((i) => {
    const [a, b] = [parseInt(from.slice(i, i + 2), 16), parseInt(to.slice(i, i + 2), 16)];
    return Math.round(a + (b - a) * share).toString(16).padStart(2, "0");
  });
  return `#${parts.join("")}`;
}
