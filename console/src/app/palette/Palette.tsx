import { Modal, Text, useComputedColorScheme, useMantineColorScheme } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";
import { useLocation, useNavigate } from "react-router";
import { useSession } from "../session";
import { actionsFor, questionFor, screensFor, useDocuments, useNamed, type Command } from "./commands";
import { arrange, type Found } from "./match";
import classes from "./Palette.module.css";

/** Palette finds screens, indexes, documents and actions by some letters of their names, and opens the chosen one. */
export default function Palette({ opened, onClose }: { opened: boolean; onClose: (chosen?: boolean) => void }) {
  return (
    <Modal opened={opened} onClose={() => onClose()} returnFocus={false} withCloseButton={false} size="38rem" yOffset="10vh" padding={0} attributes={{ content: { "aria-label": "Commands" } }} transitionProps={{ duration: 0 }}>
      <Finder onChosen={onClose} />
    </Modal>
  );
}

function Finder({ onChosen }: { onChosen: (opens: boolean) => void }) {
  const session = useSession();
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme("light");
  const [typed, setTyped] = useState("");
  const [active, setActive] = useState(""); // the id of the chosen command, which keeps its choice when others come; empty for the first
  const list = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  const text = typed.trim();
  const [asked] = useDebouncedValue(text, 200);

  const { named, busy: naming } = useNamed(session);
  const { documents, busy: finding } = useDocuments(asked, named, pathname);
  const busy = naming || finding || asked !== text;
  const actions = actionsFor(session, named, () => setColorScheme(scheme === "light" ? "dark" : "light"));
  const groups = arrange(text, [...screensFor(session), ...named, ...actions], asked === text ? documents : [], questionFor(text, session, pathname));
  const found = groups.flatMap(({ found }) => found);
  const at = Math.max(0, found.findIndex(({ command }) => command.id === active));
  useEffect(() => input.current?.focus(), []); // at once: somebody types already
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [at, text]);

  const choose = ({ to, run }: Command) => {
    onChosen(to !== undefined);
    run?.();
    if (to) void navigate(to);
  };
  const onKey = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1 + found.length, Home: 0, End: found.length - 1 };
    const next = steps[event.key];
    if (event.nativeEvent.isComposing || found.length === 0) return;
    if (event.key === "Enter") choose(found[at]!.command);
    else if (next === undefined) return;
    else setActive(found[next % found.length]!.command.id);
    event.preventDefault();
  };
  let n = 0;
  return (
    <>
      <div className={classes.search}>
        <IconSearch size={18} aria-hidden />
        <input
          ref={input} className={classes.input} role="combobox" aria-label="Find a page, an index, a document or an action" aria-expanded aria-controls={`${id}list`} aria-autocomplete="list" aria-activedescendant={found.length > 0 ? `${id}${at}` : undefined}
          placeholder="Find or do something" autoComplete="off" spellCheck={false} dir="auto" value={typed} data-autofocus onKeyDown={onKey}
          onChange={(event) => {
            setTyped(event.currentTarget.value);
            setActive("");
          }}
        />
        <kbd className={classes.key}>Esc</kbd>
      </div>
      <div ref={list} id={`${id}list`} role="listbox" aria-label="Commands" aria-busy={busy || undefined} className={classes.list}>
        {groups.map((group, g) => (
          <div key={group.name} role="group" aria-labelledby={`${id}group${g}`}>
            <div id={`${id}group${g}`} className={classes.group}>{group.name}</div>
            {group.found.map((entry) => {
              const index = n++;
              return <Option key={entry.command.id} id={`${id}${index}`} entry={entry} selected={index === at} onPoint={() => setActive(entry.command.id)} onChoose={() => choose(entry.command)} />;
            })}
          </div>
        ))}
      </div>
      {found.length === 0 && <Text className={classes.none} size="sm" c="dimmed">Nothing has these letters.</Text>}
      <div className={classes.foot} aria-hidden><span><kbd>↑</kbd> <kbd>↓</kbd> choose</span><span><kbd>Enter</kbd> open</span></div>
      <div className={classes.hidden} role="status">{text && !busy && `${found.length} found`}</div>
    </>
  );
}

function Option({ id, entry: { command, letters }, selected, onPoint, onChoose }: { id: string; entry: Found; selected: boolean; onPoint: () => void; onChoose: () => void }) {
  return (
    <div id={id} role="option" aria-selected={selected} className={classes.option} onPointerMove={onPoint} onClick={onChoose}>
      <command.icon size={17} stroke={1.6} aria-hidden />
      <span className={classes.label} dir="auto">{marked(command.label, letters)}</span>
      {command.hint && <span className={classes.hint} dir="auto">{command.hint}</span>}
    </div>
  );
}

/** marked writes a label with the letters that were typed in bold. */
function marked(label: string, letters: ReadonlySet<number>) {
  if (letters.size === 0) return label;
  const runs: { text: string; bold: boolean }[] = [];
  for (let i = 0; i < label.length; i++) {
    const last = runs.at(-1);
    if (last?.bold === letters.has(i)) last.text += label[i];
    else runs.push({ text: label[i]!, bold: letters.has(i) });
  }
  return runs.map(({ text, bold }, i) => (bold ? <b key={i}>{text}</b> : text));
}
