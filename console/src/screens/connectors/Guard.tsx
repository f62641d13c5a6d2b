import type { ReactNode } from "react";
import { whyNotAll } from "@/app/rights";
import { useSession } from "@/app/session";
import { Empty } from "@/ui/Empty";
import { OfTenant } from "@/ui/OfTenant";
import { Page } from "@/ui/Page";

/** Guard shows its children to those who may see connectors. */
export function Guard({ children }: { children: ReactNode }) {
  const why = whyNotAll(useSession(), "A connector");
  if (why) return <Page title="Connectors"><Empty title="Connectors are not for your key">{why}</Empty></Page>;
  return <OfTenant title="Connectors">{children}</OfTenant>;
}
