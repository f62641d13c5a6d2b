import { Button, NumberInput, Stack, Text } from "@mantine/core";
import { useMutation } from "@connectrpc/connect-query";
import { useState } from "react";
import { refresh } from "@/app/queries";
import { HookService, type Hook } from "@/gen/ragd/v1/hook_pb";
import { Confirm } from "@/ui/Confirm";
import { Panel } from "@/ui/Page";
import { Secret } from "@/ui/Secret";
import { Time } from "@/ui/Time";

/** Rotate gives a hook a new secret, and shows it once. */
export function Rotate({ hook }: { hook: Hook }) {
  const [hours, setHours] = useState<number | string>(24);
  const [asking, setAsking] = useState(false);
  const [secret, setSecret] = useState("");
  const rotate = useMutation(HookService.method.rotateHookSecret);
  async function confirm() {
    const answer = await rotate.mutateAsync({ hookName: hook.hookName, graceSeconds: Math.round(Number(hours) * 3600) });
    void refresh(HookService);
    setSecret(answer.secret);
  }
  return (
    <Panel title="Replace the secret">
      <Stack maw="40rem" gap="sm">
        <Text size="sm">Deliveries are signed with the secret. Until the old one ends, they have a signature for each, so that the receiver can change it at any time.</Text>
        {hook.previousSecretExpireTime && <Text size="sm">The secret before this one ends <Time value={hook.previousSecretExpireTime} />.</Text>}
        <NumberInput label="Hours until the old secret ends" description="At most 168; 0 ends it at once." min={0} max={168} value={hours} onChange={setHours} maw="20rem" />
        <div><Button variant="outline" disabled={hours === ""} onClick={() => setAsking(true)}>Replace the secret</Button></div>
      </Stack>
      <Confirm opened={asking} onClose={() => setAsking(false)} title="Replace the secret?" action="Replace" onConfirm={confirm}>
        {Number(hours) === 0 ? "The old secret ends at once: the receiver refuses deliveries until it has the new one." : `The old secret ends in ${hours} hours. Give the receiver the new one until then.`}
      </Confirm>
      <Secret title={`The new secret of the hook ${hook.hookName}`} secret={secret} onClose={() => setSecret("")}>Give it to the receiver before the old one ends.</Secret>
    </Panel>
  );
}
