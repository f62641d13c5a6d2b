import { Anchor, Badge, Text, UnstyledButton } from "@mantine/core";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { IconChevronRight } from "@tabler/icons-react";
import { useState } from "react";
import { Link } from "react-router";
import type { Event } from "@/gen/ragd/v1/event_pb";
import { Code } from "@/ui/Code";
import { errorOf, linkOf, summary } from "./kinds";
import classes from "./Activity.module.css";

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

const bad = /\.(failed|error|revoked|deleted)$/;
const good = /\.(ready|succeeded|created|output)$/;

/** EventRow shows an event in a line, and all of it as JSON when it is opened. */
export function EventRow({ event }: { event: Event }) {
  const [open, setOpen] = useState(false);
  const date = event.createTime && timestampDate(event.createTime);
  const error = errorOf(event);
  const link = linkOf(event);
  const color = bad.test(event.type) ? "red" : good.test(event.type) ? "green" : "gray";
  return (
    <li className={classes.event}>
      <UnstyledButton className={classes.line} onClick={() => setOpen(!open)} aria-expanded={open}>
        <IconChevronRight size={14} className={classes.chevron} data-open={open || undefined} aria-hidden />
        {date && <time className={classes.time} dateTime={date.toISOString()} title={date.toLocaleString()}>{clock.format(date)}</time>}
        <Badge variant="light" color={color} radius="sm" tt="none" className={classes.type}>{event.type}</Badge>
        <span className={classes.summary} dir="auto">{summary(event)}</span>
      </UnstyledButton>
      {error && <Text size="sm" c="red" className={classes.error} dir="auto">{error}</Text>}
      {open && (
        <div className={classes.details}>
          {link && <Anchor component={Link} to={link} size="sm">Show what this is about</Anchor>}
          <Code text={JSON.stringify({ eventId: event.eventId, type: event.type, createTime: date?.toISOString(), data: event.data }, null, 2)} />
        </div>
      )}
    </li>
  );
}
