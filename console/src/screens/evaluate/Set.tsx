import { Anchor, Button, Menu, Skeleton, Stack, Tabs } from "@mantine/core";
import { createClient } from "@connectrpc/connect";
import { useQuery } from "@connectrpc/connect-query";
import { IconDots, IconPlayerPlay } from "@tabler/icons-react";
import { useState } from "react";
import { Link, useParams, useSearchParams } from "react-router";
import { useSession } from "@/app/session";
import { transport } from "@/app/transport";
import { EvaluateService, type QuestionSet } from "@/gen/ragd/v1/evaluate_pb";
import { Confirm } from "@/ui/Confirm";
import { ErrorView } from "@/ui/ErrorView";
import { plural } from "@/ui/format";
import { notifyDone } from "@/ui/notify";
import { Page, Panel } from "@/ui/Page";
import { useRemoval } from "@/ui/useRemoval";
import { Draft } from "./Draft";
import { EditSet } from "./EditSet";
import { exportQuestions } from "./exportQuestions";
import { Import } from "./Import";
import { Questions } from "./Questions";
import { Runs } from "./Runs";
import { StartRun } from "./StartRun";

const evaluate = createClient(EvaluateService, transport);

/** SetScreen shows a question set: its questions, and its runs. */
export default function SetScreen() {
  const { set: setName = "" } = useParams();
  const set = useQuery(EvaluateService.method.getQuestionSet, { setName });
  if (set.isSuccess) return <Loaded key={setName} set={set.data} />;
  return (
    <Page title={setName} crumbs={[{ to: "/evaluate", label: "Evaluate" }]}>
      {set.isPending ? <Stack gap="xs" aria-busy><Skeleton h={36} /><Skeleton h={200} /></Stack> : <ErrorView error={set.error} retry={() => void set.refetch()} />}
    </Page>
  );
}

type Dialog = "run" | "draft" | "import" | "edit" | "delete" | undefined;

function Loaded({ set }: { set: QuestionSet }) {
  const session = useSession();
  const removal = useRemoval();
  const [parameters, setParameters] = useSearchParams();
  const tab = parameters.get("tab") === "runs" ? "runs" : "questions";
  const [dialog, setDialog] = useState<Dialog>();
  const close = () => setDialog(undefined);
  async function remove() {
    await removal(() => evaluate.deleteQuestionSet({ setName: set.setName }), "/evaluate");
    notifyDone(`Deleted ${set.setName}.`);
  }
  const actions = (
    <>
      {session.canWrite && <Button leftSection={<IconPlayerPlay size={16} />} disabled={set.questionCount === 0} onClick={() => setDialog("run")}>Start a run</Button>}
      <Menu position="bottom-end">
        <Menu.Target><Button variant="default" leftSection={<IconDots size={16} />}>More</Button></Menu.Target>
        <Menu.Dropdown>
          <Menu.Item disabled={set.questionCount === 0} onClick={() => void exportQuestions(set.setName)}>Export as a file</Menu.Item>
          {session.canWrite && (
            <>
              <Menu.Item onClick={() => setDialog("import")}>Import a file</Menu.Item>
              <Menu.Item onClick={() => setDialog("draft")}>Draft questions</Menu.Item>
              <Menu.Item onClick={() => setDialog("edit")}>Change index or description</Menu.Item>
              <Menu.Divider />
              <Menu.Item color="red" onClick={() => setDialog("delete")}>Delete the set</Menu.Item>
            </>
          )}
        </Menu.Dropdown>
      </Menu>
    </>
  );
  const about = (
    <>
      {set.description && <div dir="auto">{set.description}</div>}
      {plural(set.questionCount, "question")} about <Anchor component={Link} to={`/indexes/${encodeURIComponent(set.indexName)}`} size="sm" underline="always">{set.indexName}</Anchor>
      {set.draftedCount > 0 && `, ${plural(set.draftedCount, "draft")} to review`}
    </>
  );
  return (
    <Page title={set.setName} about={about} crumbs={[{ to: "/evaluate", label: "Evaluate" }]} actions={actions}>
      <Tabs value={tab} onChange={(next) => setParameters(next === "runs" ? { tab: "runs" } : {}, { replace: true })} keepMounted={false}>
        <Tabs.List aria-label="Parts of the set"><Tabs.Tab value="questions">Questions</Tabs.Tab><Tabs.Tab value="runs">Runs</Tabs.Tab></Tabs.List>
        <Tabs.Panel value="questions" pt="md"><Questions set={set} onDraft={() => setDialog("draft")} onImport={() => setDialog("import")} /></Tabs.Panel>
        <Tabs.Panel value="runs" pt="md"><Panel><Runs setName={set.setName} /></Panel></Tabs.Panel>
      </Tabs>
      {dialog === "run" && <StartRun set={set} onClose={close} />}
      {dialog === "draft" && <Draft set={set} onClose={close} />}
      {dialog === "import" && <Import set={set} onClose={close} />}
      {dialog === "edit" && <EditSet set={set} onClose={close} />}
      <Confirm opened={dialog === "delete"} onClose={close} title={`Delete the set ${set.setName}?`} action="Delete" type={set.setName} onConfirm={remove}>
        Its {plural(set.questionCount, "question")} and all its runs are deleted. This cannot be undone; export the questions first to keep them.
      </Confirm>
    </Page>
  );
}
