import { lazy, type ComponentType } from "react";

/** Screen is a page of the console: its address, and the component, which is loaded when it is shown first. */
interface Screen {
  path: string;
  Screen: ComponentType;
}

/** screens are all pages. Each has a folder of its own below screens/. */
export const screens: Screen[] = [
  { path: "/", Screen: lazy(() => import("@/screens/home/Home")) },
  { path: "/activity", Screen: lazy(() => import("@/screens/activity/Activity")) },
  { path: "/evaluate", Screen: lazy(() => import("@/screens/evaluate/Evaluate")) },
  { path: "/evaluate/sets/:set", Screen: lazy(() => import("@/screens/evaluate/Set")) },
  { path: "/evaluate/runs/:run", Screen: lazy(() => import("@/screens/evaluate/Run")) },
  { path: "/evaluate/compare", Screen: lazy(() => import("@/screens/evaluate/Compare")) },
  { path: "/tools", Screen: lazy(() => import("@/screens/tools/Tools")) },
  { path: "/tools/:tool", Screen: lazy(() => import("@/screens/tools/Tool")) },
  { path: "/servers/:server", Screen: lazy(() => import("@/screens/servers/Server")) },
  { path: "/prompts/:prompt", Screen: lazy(() => import("@/screens/prompts/Prompt")) },
  { path: "/connectors", Screen: lazy(() => import("@/screens/connectors/Connectors")) },
  { path: "/connectors/:connector", Screen: lazy(() => import("@/screens/connectors/Connector")) },
  { path: "/hooks", Screen: lazy(() => import("@/screens/hooks/Hooks")) },
  { path: "/hooks/:hook", Screen: lazy(() => import("@/screens/hooks/Hook")) },
  { path: "/alerts", Screen: lazy(() => import("@/screens/alerts/Alerts")) },
  { path: "/alerts/:alert", Screen: lazy(() => import("@/screens/alerts/Alert")) },
  { path: "/tenants", Screen: lazy(() => import("@/screens/tenants/Tenants")) },
  { path: "/tenants/:tenant", Screen: lazy(() => import("@/screens/tenants/Tenant")) },
  { path: "/databases", Screen: lazy(() => import("@/screens/databases/Databases")) },
  { path: "/indexes/:name/documents/:id", Screen: lazy(() => import("@/screens/document/Document")) },
  { path: "/indexes/:name/:tab?", Screen: lazy(() => import("@/screens/index/Index")) },
  { path: "/read", Screen: lazy(() => import("@/screens/read/Read")) },
  { path: "/ask", Screen: lazy(() => import("@/screens/ask/Ask")) },
  { path: "/keys/:tab?", Screen: lazy(() => import("@/screens/keys/Access")) },
  { path: "/agents", Screen: lazy(() => import("@/screens/agents/Agents")) },
  { path: "/agents/:agent", Screen: lazy(() => import("@/screens/agents/Agent")) },
  { path: "/workflows", Screen: lazy(() => import("@/screens/workflows/Workflows")) },
  { path: "/workflows/:workflow", Screen: lazy(() => import("@/screens/workflows/Workflow")) },
  { path: "/workflows/:workflow/runs/:run", Screen: lazy(() => import("@/screens/workflows/Run")) },
  { path: "/jobs", Screen: lazy(() => import("@/screens/jobs/Jobs")) },
  { path: "/usage", Screen: lazy(() => import("@/screens/usage/Usage")) },
  { path: "/audit", Screen: lazy(() => import("@/screens/audit/Audit")) },
  { path: "/graph", Screen: lazy(() => import("@/screens/graph/Graph")) },
];
