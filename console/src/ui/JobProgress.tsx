import { Group, Progress, Text } from "@mantine/core";
import { createClient } from "@connectrpc/connect";
import { useEffect, useState } from "react";
import { transport } from "@/app/transport";
import { DocumentService, type Job } from "@/gen/ragd/v1/document_pb";
import { ErrorView } from "./ErrorView";
import { Status } from "./Status";

const documents = createClient(DocumentService, transport);

/** JobProgress follows a job and shows how far it is. */
export function JobProgress({ jobId, onChange, onEnd }: { jobId: string; onChange?: (job: Job) => void; onEnd?: (job: Job) => void }) {
  const [job, setJob] = useState<Job>();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const stop = new AbortController();
    async function follow() {
      let last: Job | undefined;
      for await (const next of documents.watchJob({ jobId }, { signal: stop.signal })) {
        setJob((last = next));
        onChange?.(next);
      }
      if (last) onEnd?.(last);
    }
    follow().catch((problem: unknown) => {
      if (!stop.signal.aborted) setError(problem);
    });
    return () => stop.abort();
  }, [jobId]); // eslint-disable-line
  if (error !== undefined) return <ErrorView error={error} />;
  if (!job) return null;
  const { done = 0, total = 0, unit = "" } = job.progress ?? {};
  return (
    <Group gap="xs" role="status">
      <Status value={job.status} />
      {job.status === "running" && total > 0 && <Progress w={140} value={(100 * done) / total} aria-label={`${done} of ${total} ${unit}`} />}
      {total > 0 && <Text size="xs">{done} of {total} {unit}</Text>}
      {job.error && <Text size="xs" c="red">{job.error}</Text>}
    </Group>
  );
}
