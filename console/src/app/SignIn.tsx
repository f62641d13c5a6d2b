import { Alert, Anchor, Button, Divider, Loader, PasswordInput, Stack, Text, Title } from "@mantine/core";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { useLocation, useNavigate } from "react-router";
import { Code } from "@/ui/Code";
import { Mark } from "./Mark";
import type { SessionInfo } from "./session";
import { chooseTenant } from "./tenant";
import classes from "./SignIn.module.css";

async function post(path: string, body: unknown): Promise<string> {
  const response = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  if (response.ok) return "";
  const error = (await response.json().catch(() => ({}))) as { message?: string };
  return error.message ?? `The service answered ${response.status}.`;
}

/** Given is what the address of the sign-in page has after its #: a one-time link, with the tenant of an operator's, or why a log-in at an authorization server has failed. */
interface Given {
  link: string;
  tenant: string;
  error: string;
}

function given(hash: string): Given {
  const parameters = new URLSearchParams(hash.slice(1));
  return { link: parameters.get("link") ?? "", tenant: parameters.get("tenant") ?? "", error: parameters.get("error") ?? "" };
}

/** SignIn asks for an API key, or sends the visitor to an authorization server. */
export function SignIn({ info, ended, onSignedIn }: { info: SessionInfo; ended: boolean; onSignedIn: () => void }) {
  const [key, setKey] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const taken = useRef(false);
  const navigate = useNavigate();
  const { pathname, search, hash } = useLocation();

  async function signIn(path: string, body: unknown) {
    setBusy(true);
    const problem = await post(path, body).catch(() => "The service does not answer.");
    setBusy(false);
    setError(problem);
    if (!problem) onSignedIn();
  }
  useEffect(() => {
    if (taken.current) return; // a link works once
    taken.current = true;
    const { link, tenant, error } = given(hash);
    if (!link && !error) return;
    void navigate("/", { replace: true }); // neither stays in the history
    setError(error);
    if (!link) return;
    chooseTenant(tenant);
    void signIn("/console/links/redeem", { link });
  });

  function submit(event: FormEvent) {
    event.preventDefault();
    void signIn("/console/session", { key: key.trim() });
  }
  const here = pathname + search;
  return (
    <main className={classes.page}>
      <Stack className={classes.panel} gap="md">
        <Stack gap={4} align="flex-start">
          <Mark size={40} />
          <Title order={1}>Sign in to ragd</Title>
          <Text c="dimmed" size="sm">{window.location.host}</Text>
        </Stack>
        {ended && <Alert color="yellow" title="The session has ended">Sign in again; you return to the same page.</Alert>}
        {error && <Alert color="red" role="alert" title="Not signed in">{error}</Alert>}
        <form onSubmit={submit}>
          <Stack gap="sm">
            <PasswordInput label="API key" name="key" autoComplete="current-password" placeholder="ragd_..." value={key} onChange={(event) => setKey(event.currentTarget.value)} data-autofocus required />
            <Button type="submit" disabled={key.trim() === "" || busy} leftSection={busy ? <Loader size="xs" /> : undefined}>Sign in</Button>
          </Stack>
        </form>
        {info.issuers.length > 0 && <Divider label="or" />}
        {info.issuers.map((issuer) => (
          <Button key={issuer.name} component="a" variant="default" href={`/console/oauth/start?issuer=${encodeURIComponent(issuer.name)}&return=${encodeURIComponent(here)}`}>
            Sign in with {issuer.name}
          </Button>
        ))}
        <Divider />
        <Stack gap={6}>
          <Text size="sm">On the machine of the service, this opens the console signed in:</Text>
          <Code text="ragd console" />
          <Text size="sm">A key for somebody else:</Text>
          <Code text="ragd key create --name console --scopes read" />
          <Text size="sm" c="dimmed">
            The key stays in a session of the service, never in the browser. <Anchor size="sm" underline="always" href="https://github.com/ragdhq/ragd/blob/main/docs/how-to/console.md">How the console signs in</Anchor>
          </Text>
        </Stack>
      </Stack>
    </main>
  );
}
