import { create } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { DocumentService, UploadDocumentRequestSchema, type Job } from "@/gen/ragd/v1/document_pb";
import { interceptors, transport } from "./transport";

/** maxUpload is the largest file that a page can send, in bytes; `ragd ingest` sends larger ones. */
export const maxUpload = 15 << 20;

// Binary messages: JSON would write files in base64.
const binary = createClient(DocumentService, createConnectTransport({ baseUrl: window.location.origin, useBinaryFormat: true, interceptors }));
const jobs = createClient(DocumentService, transport);

/** UploadState is how far the upload of a file is. */
export interface UploadState {
  /** Where the file lies in the folder that was dropped; the uri of the document. */
  path: string;
  bytes: number;
  phase: "waiting" | "sending" | "processing" | "ready" | "unchanged" | "failed" | "needs_ocr";
  /** Of the processing, from 0 to 1. */
  progress: number;
  /** Why it has failed. */
  error?: unknown;
  documentId?: string;
}

/** File with the path that folders give it. */
export interface PathFile {
  file: File;
  path: string;
}

/** uploadFile sends a file and follows its job until the document is searchable. It reports every change. */
export async function uploadFile(indexName: string, { file, path }: PathFile, report: (change: Partial<UploadState>) => void, signal: AbortSignal) {
  if (file.size > maxUpload) {
    report({ phase: "failed", error: new Error(`Larger than ${maxUpload >> 20} MiB: use ragd ingest --index ${indexName} FILE.`) });
    return;
  }
  report({ phase: "sending", error: undefined });
  try {
    const content = new Uint8Array(await file.arrayBuffer());
    const request = create(UploadDocumentRequestSchema, { indexName, uri: path, contentType: file.type, source: { case: "content", value: content } });
    const answer = await binary.uploadDocument(request, { signal });
    report({ phase: "processing", documentId: answer.document?.documentId });
    const job = await watch(answer.job!, (progress) => report({ progress }), signal);
    report(await outcome(indexName, answer.document!.documentId, job, signal));
  } catch (error) {
    if (!signal.aborted) report({ phase: "failed", error });
  }
}

/** watch follows a job until it has ended, and returns it. */
async function watch(job: Job, progress: (done: number) => void, signal: AbortSignal): Promise<Job> {
  if (ended(job)) return job;
  for await (const next of jobs.watchJob({ jobId: job.jobId }, { signal })) {
    job = next;
    if (job.progress?.total) progress(job.progress.done / job.progress.total);
  }
  return job;
}

async function outcome(indexName: string, documentId: string, job: Job, signal: AbortSignal): Promise<Partial<UploadState>> {
  if (job.status === "succeeded") {
    const document = await jobs.getDocument({ indexName, documentId }, { signal });
    return { phase: document.status === "needs_ocr" ? "needs_ocr" : "ready", progress: 1 };
  }
  return { phase: "failed", error: new Error(job.error || `The job was ${job.status}.`) };
}

/** ended reports whether a job will not change any more. */
export function ended(job: Job): boolean {
  return ["succeeded", "failed", "cancelled"].includes(job.status);
}
