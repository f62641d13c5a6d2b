import { Anchor, List, Text } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { Link } from "react-router";
import { whyNoHooks } from "@/app/rights";
import { useSession } from "@/app/session";
import { HookService, type Hook } from "@/gen/ragd/v1/hook_pb";
import { state } from "@/screens/hooks/definition";
import { Loading } from "@/ui/Loading";
import { Panel } from "@/ui/Page";
import { Status } from "@/ui/Status";

/** Receivers lists the hooks that deliver the matches in an index, for those who may see hooks. */
export function Receivers({ indexName }: { indexName: string }) {
  const allowed = whyNoHooks(useSession()) === "";
  const hooks = useQuery(HookService.method.listHooks, { pageSize: 1000 }, { enabled: allowed });
  if (!allowed) return null;
  return (
    <Panel title="Delivered by hooks">
      <Loading query={hooks}>
        {({ hooks }) => {
          const receiving = hooks.filter((hook) => receives(hook, indexName));
          if (receiving.length === 0) return <Text size="sm">No hook receives the matches. <Anchor component={Link} inherit underline="always" to="/hooks?create">Create one</Anchor> for the event alert.matched.</Text>;
          return (
            <List size="sm" listStyleType="none" spacing={4}>
              {receiving.map((hook) => <List.Item key={hook.hookName}><Anchor component={Link} inherit underline="always" to={`/hooks/${encodeURIComponent(hook.hookName)}`}>Deliveries of {hook.hookName}</Anchor> <Status value={state(hook)} /></List.Item>)}
            </List>
          );
        }}
      </Loading>
    </Panel>
  );
}

/** receives reports whether a hook is posted the matches in an index. */
function receives(hook: Hook, indexName: string): boolean {
  const wanted = hook.events.some((type) => type === "*" || type === "alert.*" || type === "alert.matched");
  return wanted && (hook.indexes.length === 0 || hook.indexes.includes(indexName));
}
