import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { useSession } from "@/app/session";
import { Empty } from "./Empty";
import { Page } from "./Page";

/** OfTenant shows its children for a tenant. An operator who has chosen none is told to. */
export function OfTenant({ title, children }: { title: string; children: ReactNode }) {
  const { tenant } = useSession();
  if (tenant !== "") return children;
  return (
    <Page title={title}>
      <Empty title="Choose a tenant" action={<Button component={Link} to="/tenants">Show the tenants</Button>}>
        You are signed in as the operator. Choose above whose data you want to see.
      </Empty>
    </Page>
  );
}
