import type { Session } from "./session";

/** isBound reports whether the session may use only some indexes, tools, prompts or servers. */
export function isBound({ who }: Session): boolean {
  return Boolean(who.indexes || who.tools || who.prompts || who.servers);
}

/** onlyTools reports whether the session may do nothing but list and call tools. */
export function onlyTools({ who }: Session): boolean {
  return Boolean(who.tools || who.servers);
}

/** serversOf returns the MCP servers through which alone the session may call tools; none if it needs no server. */
export function serversOf({ who }: Session): string[] {
  return who.servers?.names ?? [];
}

/** whyNotChange returns why the session may not change what the tenant defines, or "". With unbound it must have no bounds either. */
export function whyNotChange(session: Session, { unbound = false } = {}): string {
  if (!session.canWrite) return "Changing this needs a key with the scope write.";
  if (session.who.filtered) return "Your key has a mandatory filter, and may not change what others use.";
  if (unbound && isBound(session)) return "Your key is bound to some names, and may not change what others use.";
  return "";
}

/** whyNotAll returns why the session may not see something of the whole tenant, or "". */
export function whyNotAll(session: Session, what: string): string {
  if (!session.isAdmin) return `${what} needs a key with the scope admin.`;
  if (session.who.filtered || isBound(session)) return `${what} is of the whole tenant, and needs a key without a mandatory filter and without bounds.`;
  return "";
}

/** whyNoHooks returns why the session may not see hooks, or "". */
export function whyNoHooks(session: Session): string {
  if (!session.isAdmin) return "Hooks need a key with the scope admin.";
  if (session.who.filtered || isBound(session)) return "A hook receives the events of the whole tenant, so hooks need a key without a mandatory filter and without bounds.";
  return "";
}
