/**
 * Uploads of files and folders from the disk, for Node.js, Deno and Bun.
 *
 * @packageDocumentation
 */
import { createReadStream } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, isAbsolute, join, relative, resolve, sep } from "node:path";
import { invalid, JobError, RagdError, thrown } from "./errors.js";
import type { Job } from "./gen/ragd/v1/document_pb.js";
import type { RagdIndex } from "./handle.js";
import { repeat } from "./retry.js";
import { maxMessage, type UploadOptions, type UploadResult } from "./upload.js";

/** Settings of the upload of a folder. */
export interface FolderOptions extends Omit<UploadOptions, "uri" | "title" | "contentType" | "fingerprint" | "onProgress"> {
  /** The folder that uris are relative to. Default: the folder itself. */
  base?: string;
  /** Chooses files by their uri. Default: all but hidden ones. */
  include?: (uri: string) => boolean;
  /** Files that are sent at once. Default: 4. */
  concurrency?: number;
  /** Called with each file that is sent, and with each that is processed. */
  onProgress?: (progress: FolderProgress) => void;
}

/** FolderProgress is how far the upload of a folder has come. */
export interface FolderProgress {
  /** The file that was sent or processed last. */
  uri: string;
  files: number;
  /** Files that are sent, or have failed. */
  sent: number;
  /** Files that are processed, or have failed; 0 without wait. */
  processed: number;
  failed: number;
}

/** FolderResult is what became of the files of a folder, in the order of their uris. */
export interface FolderResult {
  uploaded: { uri: string; documentId: string; job: Job }[];
  failed: { uri: string; error: RagdError }[];
}

/**
 * uploadFile uploads a file. Default of the uri: the path as given, with slashes, if it is relative and leads
 * below the present folder, else the name of the file.
 */
export async function uploadFile(index: RagdIndex, path: string, options: UploadOptions = {}): Promise<UploadResult> {
  const uri = options.uri ?? (isBelow(path) ? slashes(path) : basename(path));
  const { size } = await stat(path);
  if (size <= maxMessage) return index.upload(await readFile(path, { signal: options.signal }), { ...options, uri });
  // Each attempt reads the file again.
  return repeat(index.options.retry, options.signal, () => index.upload(createReadStream(path, { highWaterMark: 1 << 20 }), { ...options, uri }));
}

/**
 * uploadFolder uploads the files of a folder and of those below it, and waits until they can be searched.
 * Hidden files and folders and symbolic links are left out. A file that cannot be stored or processed is
 * in the result's failed and does not stop the others; an error that concerns all, such as a missing
 * index, is thrown.
 */
export async function uploadFolder(index: RagdIndex, folder: string, options: FolderOptions = {}): Promise<FolderResult> {
  const { base = folder, include, concurrency = 4, onProgress, wait = true, signal, ...rest } = options;
  const files: { path: string; uri: string }[] = [];
  for await (const path of filesIn(resolve(folder))) {
    const below = relative(resolve(base), path);
    if (!isBelow(below)) throw invalid("base", `must be a folder above ${folder}, not ${base}`);
    const uri = slashes(below);
    if (!include || include(uri)) files.push({ path, uri });
  }
  const result: FolderResult = { uploaded: [], failed: [] };
  const progress = { uri: "", files: files.length, sent: 0, processed: 0, failed: 0 };
  const report = (uri: string) => onProgress?.({ ...progress, uri });
  const fail = (uri: string, error: unknown) => {
    const bad = unreadable(error) ? new RagdError(error.message, { code: "invalid_argument", cause: error }) : error;
    if (!(bad instanceof RagdError) || concernsAll(bad)) throw error;
    result.failed.push({ uri, error: bad });
    progress.failed++;
    if (wait) progress.processed++;
  };

  const left = files.values();
  const stop = new AbortController();
  const either = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
  const send = async () => {
    for (const { path, uri } of left) {
      try {
        const { document, job } = await uploadFile(index, path, { ...rest, uri, wait: false, signal: either });
        result.uploaded.push({ uri, documentId: document.documentId, job });
      } catch (error) {
        fail(uri, error);
      }
      progress.sent++;
      report(uri);
    }
  };
  try {
    await Promise.all(Array.from({ length: Math.max(1, concurrency) }, send));
  } catch (error) {
    stop.abort(error); // the other workers
    throw thrown(error, signal);
  }
  if (wait) {
    const sent = result.uploaded;
    result.uploaded = [];
    for (const { uri, documentId, job } of sent) {
      const ended = await index.wait(job, { ...rest, signal });
      if (ended.status === "succeeded") {
        result.uploaded.push({ uri, documentId, job: ended });
        progress.processed++;
      } else {
        fail(uri, new JobError(`${uri}: ${ended.error || `the job is ${ended.status}`}`, ended));
      }
      report(uri);
    }
  }
  const byUri = (a: { uri: string }, b: { uri: string }) => (a.uri < b.uri ? -1 : a.uri > b.uri ? 1 : 0);
  result.uploaded.sort(byUri);
  result.failed.sort(byUri);
  return result;
}

/** concernsAll reports whether an error of one file would be that of all. */
function concernsAll(error: RagdError): boolean {
  if (error instanceof JobError) return false;
  return !["invalid_argument", "already_exists", "aborted", "deadline_exceeded"].includes(error.code);
}

/** unreadable reports whether an error says that a file cannot be read. */
function unreadable(error: unknown): error is Error {
  return error instanceof Error && ["EACCES", "EPERM", "ENOENT", "EISDIR", "EIO"].includes((error as NodeJS.ErrnoException).code ?? "");
}

/** filesIn yields the files of a folder and of those below it, in the order of their names. */
async function* filesIn(folder: string): AsyncGenerator<string> {
  const entries = await readdir(folder, { withFileTypes: true });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    if (entry.name.startsWith(".")) continue;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesIn(path);
    else if (entry.isFile()) yield path;
  }
}

/** isBelow reports whether a path is relative and does not begin with the folder above. */
function isBelow(path: string): boolean {
  return !isAbsolute(path) && path.split(/[\\/]/)[0] !== "..";
}

function slashes(path: string): string {
  return sep === "/" ? path : path.split(sep).join("/");
}
