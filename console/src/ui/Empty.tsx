import { Stack, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./Empty.module.css";

/** Empty is shown where there is nothing yet: what would stand here, and what to do. */
export function Empty({ title, children, action }: { title: string; children?: ReactNode; action?: ReactNode }) {
  return (
    <Stack className={classes.box} align="center" gap="sm">
      <Title order={2}>{title}</Title>
      {children && <Text component="div" c="dimmed" maw="36rem" ta="center">{children}</Text>}
      {action}
    </Stack>
  );
}
