import { useMemo, type MouseEvent } from "react";
import Parsed, { type Components } from "react-markdown";
import gfm from "remark-gfm";
import classes from "./Text.module.css";
import type { Range } from "./ranges";
import { shape } from "./tree";

interface Props {
  text: string;
  marks?: Range[];
  window?: Range;
  citations?: Set<number>;
  /** Markdown that stands before the text and belongs to it: the header of a table, or the fence of code. */
  lead?: string;
}

/** row matches a text that begins with a row of a table. */
const row = /^\s*\|.*\|[ \t]*(\n|$)/, ruled = /^\s*\|.*\|[ \t]*\n\s*\|?[\s:|-]*-[\s:|-]*(\n|$)/;

/** Markdown shows a text with its headings, lists, tables and code. HTML is shown as text, and nothing is loaded. */
export default function Markdown({ text, marks = [], window: shown, citations, lead = "" }: Props) {
  const { source, plugin } = useMemo(() => {
    const headless = lead === "" && row.test(text) && !ruled.test(text);
    const columns = headless ? Math.max(1, (/^\s*\|(.*)\|/.exec(text)?.[1] ?? "").split(/(?<!\\)\|/).length) : 0;
    const prefix = headless ? `${"| ".repeat(columns)}|\n${"|-".repeat(columns)}|\n` : lead;
    const blank = prefix && row.test(text) ? /^\s*/.exec(text)![0].length : 0; // would end the table
    const by = prefix.length - blank;
    const move = ({ start, end }: Range) => ({ start: start + by, end: end + by });
    const source = prefix + text.slice(blank);
    return { source, plugin: [shape({ source, marks: marks.map(move), window: shown && move(shown), citations, headless })] };
  }, [text, lead, marks, shown, citations]);
  return (
    <div className={classes.markdown} dir="auto">
      <Parsed remarkPlugins={plugins} rehypePlugins={plugin} components={components} urlTransform={safe}>{source}</Parsed>
    </div>
  );
}

const plugins = [gfm];

/** safe returns an address that a link may lead to, or "". */
function safe(address: string): string {
  return /^(https?:\/\/|mailto:|#citation-\d+$)/i.test(address.trim()) ? address.trim() : "";
}

// The page's own headings are of the levels 1 and 2.
const components: Components = {
  h1: ({ children, dir }) => <h3 dir={dir}>{children}</h3>,
  h2: ({ children, dir }) => <h4 dir={dir}>{children}</h4>,
  h3: ({ children, dir }) => <h5 dir={dir}>{children}</h5>,
  h4: ({ children, dir }) => <h6 dir={dir}>{children}</h6>,
  h5: ({ children, dir }) => <h6 dir={dir}>{children}</h6>,
  h6: ({ children, dir }) => <h6 dir={dir}>{children}</h6>,
  a: ({ href, children }) => {
    if (!href) return <span>{children}</span>;
    if (href.startsWith("#")) {
      const show = (event: MouseEvent) => {
        event.preventDefault(); // the page's address stays as it is
        document.getElementById(href.slice(1))?.focus();
      };
      return <a href={href} onClick={show}>{children}</a>;
    }
    return <a href={href} target="_blank" rel="noopener noreferrer" onClick={(event) => event.stopPropagation()}>{children}</a>;
  },
  // A picture would tell its server who reads the text, so it is a link.
  img: ({ src, alt }) => {
    const name = `Picture${alt ? `: ${alt}` : ""}`;
    return typeof src === "string" && /^https?:/i.test(src) ? <a href={src} target="_blank" rel="noopener noreferrer" onClick={(event) => event.stopPropagation()}>{name}</a> : <em>{name}</em>;
  },
  table: ({ children }) => <div className={classes.scroll} tabIndex={0} role="region" aria-label="Table"><table>{children}</table></div>,
  pre: ({ children }) => <pre tabIndex={0}>{children}</pre>,
  input: ({ checked }) => <span role="img" aria-label={checked ? "done" : "not done"}>{checked ? "☑" : "☐"} </span>,
};
