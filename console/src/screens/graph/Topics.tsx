import { Button, Group, Skeleton, Text, UnstyledButton } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { IconAffiliate } from "@tabler/icons-react";
import { useState } from "react";
import { useSession } from "@/app/session";
import { QueryService } from "@/gen/ragd/v1/query_pb";
import { ErrorView } from "@/ui/ErrorView";
import { plural } from "@/ui/format";
import { Panel } from "@/ui/Page";
import classes from "./Graph.module.css";

/** Topics shows what an index is about, and walks from a topic that is chosen. To find them is work for the service, so it waits to be asked. */
export function Topics({ indexName, onWalk }: { indexName: string; onWalk: (question: string) => void }) {
  const { who } = useSession();
  const [wanted, setWanted] = useState("");
  const asked = wanted === indexName;
  const topics = useQuery(QueryService.method.listTopics, { indexName, pageSize: 1000 }, { enabled: asked, staleTime: 60_000 });
  const found = topics.data?.topics.filter((topic) => topic.parentId === 0);
  if (who.filtered) return null; // topics are found over all documents
  return (
    <Panel title={`Topics of ${indexName}`}>
      {!found && (
        <Group justify="space-between">
          <Text size="sm" c="dimmed" maw="44rem">Groups of chunks that the graph holds together, with the terms that tell each apart. A walk can begin at one.</Text>
          <Button size="xs" variant="default" leftSection={<IconAffiliate size={14} />} loading={asked && topics.isFetching} onClick={() => (asked ? void topics.refetch() : setWanted(indexName))}>Show the topics</Button>
        </Group>
      )}
      {asked && topics.isPending && <Skeleton h={90} />}
      {asked && topics.isError && <ErrorView error={topics.error} retry={() => void topics.refetch()} />}
      {found?.length === 0 && <Text size="sm" c="dimmed">Its chunks form no groups yet.</Text>}
      {found && found.length > 0 && (
        <ul className={classes.topics} aria-label="Topics">
          {found.map((topic) => (
            <li key={topic.topicId}>
              <UnstyledButton className={classes.topic} onClick={() => onWalk(topic.title || topic.terms.join(" "))}>
                <Text size="sm" fw={600} dir="auto">{topic.title || topic.terms.slice(0, 3).join(", ")}</Text>
                <Text size="xs" c="dimmed" dir="auto" lineClamp={2}>{topic.summary || topic.terms.join(", ")}</Text>
                <Text size="xs" c="dimmed">{plural(topic.chunkCount, "chunk")} in {plural(topic.documentCount, "document")}</Text>
              </UnstyledButton>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
