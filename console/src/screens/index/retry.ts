import { createClient } from "@connectrpc/connect";
import { transport } from "@/app/transport";
import { DocumentService, type Document } from "@/gen/ragd/v1/document_pb";

const documents = createClient(DocumentService, transport);

/** retryDocuments starts the newest failed job of each document again, and returns how many there were. */
export async function retryDocuments(wanted: Document[]): Promise<number> {
  const left = new Set(wanted.map((document) => document.documentId));
  let started = 0;
  for (const status of ["failed", "succeeded"]) { // a job that found no text has succeeded
    if (left.size === 0) break;
    const { jobs } = await documents.listJobs({ status, pageSize: 1000 });
    for (const job of jobs) {
      const document = wanted.find((d) => d.documentId === job.documentId);
      if (!document || !left.delete(job.documentId)) continue;
      if (status === "succeeded" && document.status !== "needs_ocr") continue;
      await documents.retryJob({ jobId: job.jobId });
      started++;
    }
  }
  return started;
}
