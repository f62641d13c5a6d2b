import { Button, JsonInput, NumberInput, Stack, TextInput } from "@mantine/core";
import { useMutation } from "@connectrpc/connect-query";
import { useState, type FormEvent } from "react";
import { refresh } from "@/app/queries";
import { TenantService, type Tenant } from "@/gen/ragd/v1/tenant_pb";
import { ErrorView } from "@/ui/ErrorView";
import { notifyDone } from "@/ui/notify";
import { join, parseObject, quotas, split } from "./settings";
import classes from "./Tenants.module.css";

/** TenantForm changes the display name, limits and other settings of a tenant. */
export function TenantForm({ tenant }: { tenant: Tenant }) {
  const before = split(tenant.settings);
  const [displayName, setDisplayName] = useState(tenant.displayName);
  const [limits, setLimits] = useState(before.limits);
  const [others, setOthers] = useState(() => (Object.keys(before.others).length > 0 ? JSON.stringify(before.others, null, 2) : ""));
  const [invalid, setInvalid] = useState("");
  const update = useMutation(TenantService.method.updateTenant, {
    onSuccess: () => {
      notifyDone("Saved.");
      void refresh(TenantService);
    },
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    try {
      const settings = join(limits, parseObject(others));
      setInvalid("");
      update.mutate({ tenantId: tenant.tenantId, displayName, settings });
    } catch (problem) {
      setInvalid((problem as Error).message);
    }
  }
  return (
    <form onSubmit={submit}>
      <Stack maw="46rem">
        <TextInput label="Display name" value={displayName} onChange={(event) => setDisplayName(event.currentTarget.value)} dir="auto" />
        <div className={classes.limits}>
          {quotas.map(({ key, label, about, most = 1_000_000 }) => (
            <NumberInput
              key={key} label={label} description={about} placeholder="Standard of the service" min={1} max={most} allowDecimal={false} thousandSeparator=","
              value={limits[key] ?? ""} onChange={(value) => setLimits({ ...limits, [key]: value === "" ? "" : Number(value) })}
            />
          ))}
        </div>
        <JsonInput label="Other settings" description="A JSON object of at most 16 KiB, for the operator's own use." placeholder='{"plan": "large"}' autosize minRows={2} maxRows={12} value={others} onChange={setOthers} error={invalid} />
        {update.isError && <ErrorView error={update.error} />}
        <div><Button type="submit" loading={update.isPending}>Save</Button></div>
      </Stack>
    </form>
  );
}
