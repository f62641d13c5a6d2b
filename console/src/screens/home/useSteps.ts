import { useLocalStorage } from "@mantine/hooks";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { whyNotAll } from "@/app/rights";
import { useSession } from "@/app/session";
import { TenantService } from "@/gen/ragd/v1/tenant_pb";
import type { Index } from "@/gen/ragd/v1/index_pb";
import { useSearches } from "./useSearches";

/** Step is something that a new tenant does first. */
export interface Step {
  title: string;
  about: string;
  /** Where it is done. */
  to: string;
  done: boolean;
}

/** useSteps returns the first steps of the tenant; undefined while it is not known which are done, none after all were done or hidden. */
export function useSteps(indexes: Index[]): { steps: Step[] | undefined; hide: () => void } {
  const session = useSession();
  const knows = whyNotAll(session, "") === "";
  const [hidden, setHidden] = useLocalStorage({ key: `ragd.started.${session.tenant}`, defaultValue: false, getInitialValueInEffect: false });
  const wanted = knows && !hidden;
  const keys = useQuery(TenantService.method.listApiKeys, { tenantId: session.tenant, pageSize: 1000 }, { enabled: wanted });
  const searches = useSearches(wanted);
  const hide = () => setHidden(true);
  if (!wanted) return { steps: [], hide };
  if (keys.isPending || searches.isPending) return { steps: undefined, hide };
  const first = indexes.find((index) => index.documentCount > 0) ?? indexes[0];
  const index = first && `/indexes/${encodeURIComponent(first.indexName)}`;
  const now = new Date();
  const others = (keys.data?.apiKeys ?? []).filter((key) => key.apiKeyId !== session.who.subject && !key.revokeTime && !(key.expireTime && timestampDate(key.expireTime) < now));
  const steps: Step[] = [
    { title: "Create an index", about: "It holds documents that are searched together.", to: "/?create", done: indexes.length > 0 },
    { title: "Upload documents", about: "Drop files or a folder, or let a connector read a source.", to: index ? `${index}?upload` : "/?create", done: indexes.some((index) => index.documentCount + index.count > 0) },
    { title: "Ask a question", about: "See what is found, and why.", to: first ? `/ask?index=${encodeURIComponent(first.indexName)}` : "/ask", done: searches.total > 0 },
    { title: "Connect a client", about: "Put the configuration below into an agent or a program.", to: "/#connect", done: others.some((key) => key.lastUseTime) },
    { title: "Invite others", about: "Make a key for each person or program, with what it may do.", to: "/keys?create", done: others.length > 1 },
  ];
  return { steps: steps.every(({ done }) => done) ? [] : steps, hide };
}
