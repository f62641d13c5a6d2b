import { Center, Loader } from "@mantine/core";
import { useQuery as useRpc } from "@connectrpc/connect-query";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useState, type ReactNode } from "react";
import { TenantService, type WhoAmIResponse } from "@/gen/ragd/v1/tenant_pb";
import { ErrorView } from "@/ui/ErrorView";
import { SignIn } from "./SignIn";
import { chooseTenant, chosenTenant } from "./tenant";
import { signedOut } from "./transport";

/** SessionInfo is what GET /console/session answers. */
export interface SessionInfo {
  signedIn: boolean;
  expiresAt?: string;
  issuers: { name: string; url: string }[];
  version: string;
  publicUrl: string;
}

/** Session is who uses the console, and what they may do. */
export interface Session {
  info: SessionInfo;
  who: WhoAmIResponse;
  /** The tenant whose data is shown; empty for an operator who has chosen none. */
  tenant: string;
  operator: boolean;
  canRead: boolean;
  canWrite: boolean;
  isAdmin: boolean;
  /** Chooses the tenant of an operator. */
  choose(tenant: string): void;
  signOut(): Promise<void>;
}

const Context = createContext<Session | null>(null);

/** useSession returns the session of the page. */
export function useSession(): Session {
  const session = useContext(Context);
  if (!session) throw new Error("useSession is called outside of SessionProvider");
  return session;
}

async function loadSession(): Promise<SessionInfo> {
  const response = await fetch("/console/session", { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error(`The service answered ${response.status}.`);
  return (await response.json()) as SessionInfo;
}

/** SessionProvider shows the sign-in page until there is a session, then its children. */
export function SessionProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const [ended, setEnded] = useState(false);
  const [hasLink, setHasLink] = useState(window.location.hash.startsWith("#link="));
  const session = useQuery({ queryKey: ["session"], queryFn: loadSession, staleTime: 60_000, retry: 8, retryDelay: (n) => Math.min(1000 * 2 ** n, 15_000) });

  useEffect(() => {
    const end = () => {
      setEnded(true);
      void client.invalidateQueries({ queryKey: ["session"] });
    };
    window.addEventListener(signedOut, end);
    return () => window.removeEventListener(signedOut, end);
  }, [client]);

  if (session.isPending) return <Waiting />;
  if (session.isError) return <Center p="xl"><ErrorView error={session.error} retry={() => void session.refetch()} /></Center>;
  if (ended || hasLink || !session.data.signedIn) {
    const signedIn = () => {
      setHasLink(false);
      setEnded(false);
      void client.resetQueries();
    };
    return <SignIn info={session.data} ended={ended} onSignedIn={signedIn} />;
  }
  return <SignedIn info={session.data}>{children}</SignedIn>;
}

function SignedIn({ info, children }: { info: SessionInfo; children: ReactNode }) {
  const client = useQueryClient();
  const [tenant, setTenant] = useState(chosenTenant());
  const who = useRpc(TenantService.method.whoAmI, {}, { staleTime: 60_000 });
  if (who.isPending) return <Waiting />;
  if (who.isError) {
    const again = () => {
      choose("");
      void who.refetch();
    };
    return <Center p="xl"><ErrorView error={who.error} retry={again} /></Center>;
  }

  function choose(next: string) {
    chooseTenant(next);
    setTenant(next);
    void client.resetQueries();
  }
  async function signOut() {
    await fetch("/console/session", { method: "DELETE" });
    chooseTenant("");
    client.clear();
    window.location.assign("/");
  }
  const scopes = new Set(who.data.scopes);
  const operator = scopes.has("operator");
  const session: Session = {
    info,
    who: who.data,
    tenant: operator ? tenant : who.data.tenantId,
    operator,
    canRead: operator || scopes.has("read"),
    canWrite: operator || scopes.has("write"),
    isAdmin: operator || scopes.has("admin"),
    choose,
    signOut,
  };
  return <Context.Provider value={session}>{children}</Context.Provider>;
}

function Waiting() {
  return <Center h="60vh"><Loader aria-label="Loading" /></Center>;
}
