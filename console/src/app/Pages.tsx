import { Button, Skeleton, Stack } from "@mantine/core";
import { Suspense } from "react";
import { Link, Navigate, Route, Routes } from "react-router";
import { Boundary } from "@/ui/Boundary";
import { Empty } from "@/ui/Empty";
import { Live } from "./live";
import { onlyTools } from "./rights";
import { screens } from "./screens";
import { useSession } from "./session";
import { Shell } from "./Shell";

/** Pages shows the screen of the page's address. */
export function Pages() {
  const restricted = onlyTools(useSession());
  return (
    <Live>
      <Shell>
        <Boundary>
          <Suspense fallback={<Outline />}>
            <Routes>
              {screens.map(({ path, Screen }) => <Route key={path} path={path} element={restricted && !path.startsWith("/tools") ? <NotForKey /> : <Screen />} />)}
              <Route path="/sign-in" element={<Navigate to="/" replace />} /> {/* who comes there is signed in by now */}
              <Route path="*" element={<Empty title="There is no such page">The address is mistyped, or the page has moved.</Empty>} />
            </Routes>
          </Suspense>
        </Boundary>
      </Shell>
    </Live>
  );
}

/** Outline stands where a screen will be while its code is loaded. */
function Outline() {
  return (
    <Stack maw="84rem" mx="auto" gap="lg" role="status" aria-label="Loading" aria-busy>
      <Skeleton h={30} w={180} />
      <Skeleton h={220} />
    </Stack>
  );
}

function NotForKey() {
  return (
    <Empty title="Your key is for tools alone" action={<Button component={Link} to="/tools">Show the tools</Button>}>
      It is bound to tools or MCP servers, so it may list and call tools, and see nothing else.
    </Empty>
  );
}
