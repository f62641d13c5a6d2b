import {
  IconAffiliate, IconBell, IconHome, IconBuildingCommunity, IconChartBar, IconKey, IconListCheck, IconDatabase, IconMessageSearch, IconPlayerPlay, IconPlug,
  IconRobot, IconRouteAltLeft, IconShieldCheck, IconTestPipe, IconTool, IconWebhook, type Icon,
} from "@tabler/icons-react";
import { onlyTools } from "./rights";
import type { Session } from "./session";

/** Link is an entry of the navigation. */
export interface Link {
  to: string;
  label: string;
  icon: Icon;
  /** Whether the visitor may use the page. Default: everybody with a tenant. */
  allowed?: (session: Session) => boolean;
  /** Other addresses that belong to the entry. */
  also?: string[];
}

const admin = (session: Session) => session.isAdmin;

/** links are the entries of the navigation, in groups. */
export const links: { label: string; links: Link[] }[] = [
  {
    label: "Search",
    links: [
      { to: "/", label: "Home", icon: IconHome, also: ["/indexes"] },
      { to: "/ask", label: "Ask", icon: IconMessageSearch },
      { to: "/graph", label: "Graph", icon: IconAffiliate },
      { to: "/alerts", label: "Alerts", icon: IconBell },
      { to: "/evaluate", label: "Evaluate", icon: IconTestPipe },
    ],
  },
  {
    label: "Build",
    links: [
      { to: "/connectors", label: "Connectors", icon: IconPlug, allowed: admin },
      { to: "/agents", label: "Agents", icon: IconRobot },
      { to: "/workflows", label: "Workflows", icon: IconRouteAltLeft },
      { to: "/tools", label: "Tools and servers", icon: IconTool, also: ["/servers", "/prompts"] },
      { to: "/hooks", label: "Hooks", icon: IconWebhook, allowed: admin },
    ],
  },
  {
    label: "Operate",
    links: [
      { to: "/jobs", label: "Jobs", icon: IconListCheck },
      { to: "/activity", label: "Activity", icon: IconPlayerPlay },
      { to: "/keys", label: "Keys and access", icon: IconKey, allowed: admin },
      { to: "/usage", label: "Usage", icon: IconChartBar, allowed: admin },
      { to: "/audit", label: "Audit", icon: IconShieldCheck, allowed: admin },
      { to: "/tenants", label: "Tenants", icon: IconBuildingCommunity, allowed: (session) => session.operator },
      { to: "/databases", label: "Databases", icon: IconDatabase, allowed: (session) => session.operator },
    ],
  },
];

/** linkOf returns the entry that a page belongs to. */
export function linkOf(pathname: string): Link | undefined {
  return links.flatMap((group) => group.links).find((link) => [link.to, ...(link.also ?? [])].some((to) => pathname === to || (to !== "/" && pathname.startsWith(`${to}/`))));
}

/** mayUse reports whether the visitor may open the page of a link. */
export function mayUse(link: Link, session: Session): boolean {
  return (link.allowed?.(session) ?? true) && (link.to === "/tools" || !onlyTools(session));
}
