import { Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { useLocation } from "react-router";
import { linkOf } from "@/app/navigation";
import { Code } from "./Code";
import classes from "./Empty.module.css";

interface Props {
  title: string;
  children?: ReactNode;
  action?: ReactNode;
  /** A command that does the same. */
  example?: string;
}

/** Empty is shown where there is nothing yet: what would stand here, and what to do. */
export function Empty({ title, children, action, example }: Props) {
  const link = linkOf(useLocation().pathname);
  return (
    <Stack className={classes.box} align="center" gap="xs">
      {link && <span className={classes.picture}><link.icon size={22} stroke={1.5} aria-hidden /></span>}
      <Title order={2}>{title}</Title>
      {children && <Text component="div" c="dimmed" maw="34rem" ta="center">{children}</Text>}
      {action && <div className={classes.action}>{action}</div>}
      {example && <div className={classes.example}><Code text={example} /></div>}
    </Stack>
  );
}
