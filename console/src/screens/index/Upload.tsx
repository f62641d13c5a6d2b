import { Anchor, Button, Group, Progress, Text } from "@mantine/core";
import { Code, ConnectError } from "@connectrpc/connect";
import { Dropzone } from "@mantine/dropzone";
import { IconFolderPlus, IconUpload, IconX } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useReducer, useRef } from "react";
import { Link } from "react-router";
import { uploadFile, type PathFile, type UploadState } from "@/app/upload";
import { explain } from "@/ui/explain";
import { bytes, plural } from "@/ui/format";
import { Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";
import { Table, type Column } from "@/ui/Table";
import { useFlag } from "@/ui/useParameter";
import classes from "./Upload.module.css";

/** atOnce is how many files are sent and processed at a time. Browsers open six connections to a host. */
const atOnce = 3;

/** Upload takes dropped files and folders, sends them, and shows how far each is. */
export function Upload({ indexName }: { indexName: string }) {
  const { states, add, retry, clear } = useUploads(indexName);
  const folder = useRef<HTMLInputElement>(null);
  const open = useRef<() => void>(null);
  const choose = useRef<HTMLButtonElement>(null);
  const [wanted] = useFlag("upload");
  useEffect(() => {
    if (wanted) choose.current?.focus();
  }, [wanted]);
  const done = states.filter((state) => ["ready", "unchanged", "needs_ocr", "failed"].includes(state.phase)).length;
  const failed = states.filter((state) => state.phase === "failed");
  return (
    <>
      <Dropzone openRef={open} onDrop={(files) => add(files.map(withPath))} activateOnClick={false} multiple className={classes.zone} aria-label="Upload" useFsAccessApi={false} inputProps={{ "aria-label": "Files to upload" }}>
        <Group justify="center" gap="sm" className={classes.inner}>
          <IconUpload size={22} stroke={1.5} aria-hidden />
          <Text size="sm">Drop files or a folder here</Text>
          <Button ref={choose} size="xs" variant="default" onClick={() => open.current?.()}>Choose files</Button>
          <Button size="xs" variant="default" leftSection={<IconFolderPlus size={14} />} onClick={() => folder.current?.click()}>Choose a folder</Button>
        </Group>
      </Dropzone>
      <input ref={folder} type="file" hidden aria-hidden tabIndex={-1} multiple {...{ webkitdirectory: "" }} onChange={(event) => add([...(event.currentTarget.files ?? [])].map(withPath))} />
      {states.length > 0 && (
        <Panel
          title="Uploads"
          actions={(
            <Group gap="xs">
              {failed.some(mayPass) && <Button size="xs" variant="default" onClick={() => retry()}>Try the failed ones again</Button>}
              <Button size="xs" variant="subtle" color="gray" leftSection={<IconX size={14} />} onClick={clear}>{done < states.length ? "Stop" : "Close"}</Button>
            </Group>
          )}
        >
          <Text size="sm" role="status">
            {plural(done, "file")} of {states.length} done{failed.length > 0 && `, ${failed.length} failed`}
          </Text>
          <Progress value={(100 * done) / states.length} aria-label="All files" />
          <Table label="Uploads" columns={columns(indexName)} rows={shownFirst(states)} id={(state) => state.path} />
        </Panel>
      )}
    </>
  );
}

const shownMost = 200;

/** shownFirst returns the files that need a look: failed ones and those in work, then the others. */
function shownFirst(states: UploadState[]): UploadState[] {
  const rank = (state: UploadState) => ["failed", "needs_ocr", "processing", "sending", "waiting", "ready", "unchanged"].indexOf(state.phase);
  return states.toSorted((a, b) => rank(a) - rank(b) || a.path.localeCompare(b.path, undefined, { numeric: true })).slice(0, shownMost);
}

/** mayPass reports whether a failed file may be read when it is sent again: the service has not refused it for what it is. */
function mayPass({ phase, error }: UploadState): boolean {
  return phase === "failed" && ConnectError.from(error).code !== Code.InvalidArgument;
}

const columns = (indexName: string): Column<UploadState>[] => [
  {
    head: "File",
    cell: (state) => (
      <div dir="auto">
        {state.documentId && ["ready", "unchanged"].includes(state.phase) ? <Anchor component={Link} size="sm" to={`/indexes/${encodeURIComponent(indexName)}/documents/${state.documentId}`}>{state.path}</Anchor> : state.path}
        {state.error !== undefined && <Text size="xs" c="red">{explain(state.error).message}</Text>}
        {state.phase === "needs_ocr" && <Text size="xs">Scanned pages without text: the service does not recognise characters.</Text>}
      </div>
    ),
  },
  { head: "Size", cell: (state) => bytes(state.bytes), numeric: true, narrow: true },
  { head: "State", cell: (state) => (state.phase === "processing" ? <Progress w={110} value={100 * state.progress} aria-label={`Processing ${state.path}`} animated /> : <Status value={state.phase} />), narrow: true },
];

/** withPath returns a file with its path in the folder that was dropped or chosen. */
function withPath(file: File): PathFile {
  const given = (file as File & { path?: string }).path || file.webkitRelativePath || file.name;
  return { file, path: given.replace(/^\.?\//, "") };
}

type Action = { add: UploadState[] } | { path: string; change: Partial<UploadState> } | "clear";

function reduce(states: UploadState[], action: Action): UploadState[] {
  if (action === "clear") return [];
  if ("add" in action) {
    const added = new Set(action.add.map((state) => state.path));
    return [...states.filter((state) => !added.has(state.path)), ...action.add];
  }
  return states.map((state) => (state.path === action.path ? { ...state, ...action.change } : state));
}

function useUploads(indexName: string) {
  const client = useQueryClient();
  const [states, dispatch] = useReducer(reduce, []);
  const files = useRef(new Map<string, PathFile>());
  const queue = useRef<PathFile[]>([]);
  const running = useRef(0);
  const stop = useRef(new AbortController());

  function work() {
    while (running.current < atOnce && queue.current.length > 0) {
      const next = queue.current.shift()!;
      running.current++;
      const { signal } = stop.current;
      const report = (change: Partial<UploadState>) => {
        if (!signal.aborted) dispatch({ path: next.path, change });
      };
      void uploadFile(indexName, next, report, signal).finally(() => {
        running.current--;
        if (running.current === 0 && queue.current.length === 0) void client.invalidateQueries();
        work();
      });
    }
  }
  function add(added: PathFile[]) {
    if (added.length === 0) return;
    for (const file of added) files.current.set(file.path, file);
    dispatch({ add: added.map(({ file, path }) => ({ path, bytes: file.size, phase: "waiting", progress: 0 })) });
    queue.current.push(...added);
    work();
  }
  function clear() {
    stop.current.abort();
    stop.current = new AbortController();
    queue.current = [];
    files.current.clear();
    dispatch("clear");
  }
  function retry() {
    add(states.filter(mayPass).map((state) => files.current.get(state.path)!));
  }
  useEffect(() => () => stop.current.abort(), []);
  return { states, add, retry, clear };
}
