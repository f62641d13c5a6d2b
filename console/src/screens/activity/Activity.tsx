import { Button, MultiSelect, Text } from "@mantine/core";
import { IconPlayerPause, IconPlayerPlay } from "@tabler/icons-react";
import { useRef, useState } from "react";
import { useSearchParams } from "react-router";
import { useLive, useRecentEvents } from "@/app/live";
import { useSession } from "@/app/session";
import type { Event } from "@/gen/ragd/v1/event_pb";
import { Empty } from "@/ui/Empty";
import { plural } from "@/ui/format";
import { Page, Panel } from "@/ui/Page";
import { EventRow } from "./EventRow";
import { kinds } from "./kinds";
import classes from "./Activity.module.css";

/** Activity shows the events of the tenant as they happen, newest first. */
export default function Activity() {
  const session = useSession();
  if (session.tenant === "") return <Page title="Activity"><Empty title="Choose a tenant">You are signed in as the operator. Choose above whose events you want to see.</Empty></Page>;
  if (!session.canRead) return <Page title="Activity"><Empty title="Your key does not see events">Events need a key with the scope read.</Empty></Page>;
  return <Stream />;
}

/** step is how many events are drawn at first, and added by "Show older". */
const step = 100;

function Stream() {
  const session = useSession();
  const [parameters, setParameters] = useSearchParams();
  const chosen = parameters.getAll("kind");
  const [shown, setShown] = useState(step);
  const connected = useLive();
  const recent = useRecentEvents();
  const [paused, setPaused] = useState(false);
  const held = useRef<Event[]>([]);
  if (!paused) held.current = recent;
  const waiting = paused ? recent.filter((event) => !held.current.includes(event)).length : 0;

  const events = held.current.filter((event) => chosen.length === 0 || chosen.includes(kindOf(event))).reverse();
  const pause = (
    <Button variant="default" leftSection={paused ? <IconPlayerPlay size={16} /> : <IconPlayerPause size={16} />} onClick={() => setPaused(!paused)}>
      {paused ? `Continue${waiting > 0 ? ` (${waiting} new)` : ""}` : "Pause"}
    </Button>
  );
  return (
    <Page title="Activity" about={session.isAdmin ? "What happens to the tenant, as it happens." : "What happens to the tenant, as it happens. Events of keys, and of tools that others called, need a key with the scope admin."} actions={pause}>
      <Panel>
        <div className={classes.bar}>
          <MultiSelect className={classes.filter} aria-label="Kinds of events" placeholder={chosen.length === 0 ? "All kinds" : ""} data={kinds} value={chosen} onChange={(kind) => setParameters({ kind }, { replace: true })} clearable />
          <Text size="sm" c="dimmed" role="status">{connected ? "Live" : "Connecting…"}, {plural(events.length, "event")} since the page was opened</Text>
        </div>
        {events.length === 0 ? (
          <Empty title={chosen.length > 0 ? "Nothing of these kinds yet" : "Nothing has happened yet"}>Events appear here while you work in the console, upload documents or call tools. The page may stay in the background.</Empty>
        ) : (
          <ul className={classes.list} aria-label="Events">
            {events.slice(0, shown).map((event) => <EventRow key={event.eventId} event={event} />)}
          </ul>
        )}
        {events.length > shown && <div><Button size="xs" variant="default" onClick={() => setShown(shown + step)}>Show older</Button></div>}
      </Panel>
    </Page>
  );
}

function kindOf(event: Event): string {
  return event.type.split(".")[0] ?? "";
}
