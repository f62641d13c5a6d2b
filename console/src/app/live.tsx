import { createClient } from "@connectrpc/connect";
import { useQueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useRef, useState, type ReactNode } from "react";
import { EventService, type Event } from "@/gen/ragd/v1/event_pb";
import { serviceOf } from "./queries";
import { onlyTools } from "./rights";
import { useSession } from "./session";
import { transport } from "./transport";

type Listener = (event: Event) => void;

interface Stream {
  connected: boolean;
  /** The events since the page was opened, oldest first, at most 1,000. */
  recent(): Event[];
  listen(listener: Listener): () => void;
}

const Context = createContext<Stream>({ connected: false, recent: () => [], listen: () => () => {} });

/** services are the services whose answers an event of a kind makes out of date. */
const services: Record<string, string[]> = {
  document: ["ragd.v1.DocumentService", "ragd.v1.IndexService", "ragd.v1.ConnectorService"],
  job: ["ragd.v1.DocumentService", "ragd.v1.IndexService", "ragd.v1.EvaluateService"],
  index: ["ragd.v1.IndexService"],
  tools: ["ragd.v1.ToolService"],
  prompts: ["ragd.v1.PromptService"],
  server: ["ragd.v1.ServerService"],
  context: ["ragd.v1.ContextService"],
  hook: ["ragd.v1.HookService"],
  key: ["ragd.v1.TenantService"],
  alert: ["ragd.v1.AlertService"],
};

/** kept is how many events useRecentEvents returns. */
const kept = 1000;

/** settle is how long events are collected before queries are asked again, in ms; calm the least time between two such rounds. */
const settle = 400;
const calm = 2000;

/**
 * Live follows the tenant's events in one stream for the whole page, and asks queries again whose
 * answers the events have made out of date. It connects again, with a growing pause.
 */
export function Live({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const session = useSession();
  const { tenant } = session;
  const receives = session.canRead && !onlyTools(session);
  const listeners = useRef(new Set<Listener>());
  const recent = useRef<Event[]>([]);
  const [connected, setConnected] = useState(false);

  useEffect(() => {
    if (!tenant || !receives) return;
    const stop = new AbortController();
    const stale = new Set<string>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last = 0;
    const refresh = () => {
      timer = undefined;
      last = Date.now();
      const names = new Set(stale);
      stale.clear();
      void client.invalidateQueries({ predicate: ({ queryKey }) => names.has(serviceOf(queryKey)) }, { cancelRefetch: false });
    };
    recent.current = [];
    const take = (event: Event) => {
      if (recent.current.push(event) >= 2 * kept) recent.current = recent.current.slice(-kept);
      for (const listener of listeners.current) listener(event);
      for (const name of services[event.type.split(".")[0] ?? ""] ?? []) stale.add(name);
      if (stale.size > 0) timer ??= setTimeout(refresh, Math.max(settle, last + calm - Date.now()));
    };
    void follow(take, setConnected, stop.signal);
    return () => {
      stop.abort();
      clearTimeout(timer);
      setConnected(false);
    };
  }, [client, tenant, receives]);

  const listen = (listener: Listener) => {
    listeners.current.add(listener);
    return () => void listeners.current.delete(listener);
  };
  return <Context.Provider value={{ connected, listen, recent: () => recent.current.slice(-kept) }}>{children}</Context.Provider>;
}

/** useLive calls the listener for every event while the component is shown, and returns whether the stream is connected. */
export function useLive(listener?: Listener): boolean {
  const stream = useContext(Context);
  const current = useRef(listener);
  current.current = listener;
  const { listen } = stream;
  useEffect(() => listen((event) => current.current?.(event)), []); // eslint-disable-line
  return stream.connected;
}

/** useRecentEvents returns the events since the page was opened, oldest first, at most 1,000, and changes while they come. */
export function useRecentEvents(): Event[] {
  const stream = useContext(Context);
  const [, setCount] = useState(0);
  useLive(() => setCount((count) => count + 1));
  return stream.recent();
}

async function follow(take: Listener, setConnected: (connected: boolean) => void, signal: AbortSignal) {
  const events = createClient(EventService, transport);
  let cursor = "";
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      for await (const message of events.watchEvents({ cursor }, { signal })) {
        setConnected(true);
        failures = 0;
        if (message.cursor) cursor = message.cursor;
        if (message.event) take(message.event);
      }
    } catch {
      if (failures > 1) cursor = ""; // it may be too old
    }
    if (signal.aborted) return;
    setConnected(false);
    await new Promise((resolve) => setTimeout(resolve, Math.min(1000 * 2 ** failures, 30_000)));
  }
}
