import type { ReactNode } from "react";
import { whyNoHooks } from "@/app/rights";
import { useSession } from "@/app/session";
import { Empty } from "@/ui/Empty";
import { OfTenant } from "@/ui/OfTenant";
import { Page } from "@/ui/Page";

/** Guard shows its children to those who may see hooks, and tells the others why they may not. */
export function Guard({ children }: { children: ReactNode }) {
  const why = whyNoHooks(useSession());
  if (why) return <Page title="Hooks"><Empty title="Your key does not see hooks">{why}</Empty></Page>;
  return <OfTenant title="Hooks">{children}</OfTenant>;
}
