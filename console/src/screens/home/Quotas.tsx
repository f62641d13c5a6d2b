import { Alert, Text } from "@mantine/core";
import { useQuery } from "@connectrpc/connect-query";
import { whyNotAll } from "@/app/rights";
import { useSession } from "@/app/session";
import { UsageService, type Quota } from "@/gen/ragd/v1/usage_pb";
import { quotas } from "@/screens/tenants/settings";
import { count } from "@/ui/format";

/** nearShare is the part of a quota from which on the tenant is told. */
const nearShare = 0.8;

/** near says whether a quota is nearly used up. */
const near = (quota: Quota) => quota.limit > 0 && quota.used !== undefined && quota.used >= nearShare * quota.limit;

/** Quotas says which quotas of the tenant are nearly used up; nothing if none is, or if the session may not see them. */
export function Quotas() {
  const session = useSession();
  const { data } = useQuery(UsageService.method.getQuotas, {}, { enabled: whyNotAll(session, "") === "" });
  const all = data?.quotas.filter(near) ?? [];
  if (data === undefined || all.length === 0) return null;
  return (
    <Alert color="yellow" title="Quotas are nearly used up" role="status">
      {all.map((quota) => (
        <Text key={quota.name} size="sm">
          {quotas.find(({ key }) => key === quota.name)?.label ?? quota.name}: {count(quota.used ?? 0)} of {count(quota.limit)}
        </Text>
      ))}
      {data.planName !== "" && <Text size="sm">The plan is {data.planName}.</Text>}
      {data.planContact !== "" && <Text size="sm">Larger plans: {data.planContact}</Text>}
    </Alert>
  );
}
