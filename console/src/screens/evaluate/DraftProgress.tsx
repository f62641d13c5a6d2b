import { Alert } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { refresh } from "@/app/queries";
import { DocumentService } from "@/gen/ragd/v1/document_pb";
import { EvaluateService } from "@/gen/ragd/v1/evaluate_pb";
import { JobProgress } from "@/ui/JobProgress";

/** DraftProgress shows how far the draft of a set is, and why it has failed. */
export function DraftProgress({ jobId }: { jobId: string }) {
  const job = useQuery(DocumentService.method.getJob, { jobId }, { enabled: jobId !== "" });
  if (job.data?.status === "failed") return <Alert color="red" title="The last draft has failed">{job.data.error}</Alert>;
  if (job.data?.status !== "queued" && job.data?.status !== "running") return null; // it has ended, or its record is gone
  const ended = () => {
    void job.refetch();
    void refresh(EvaluateService);
  };
  return <JobProgress key={jobId} jobId={jobId} onEnd={ended} />;
}
