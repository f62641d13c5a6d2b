import { Center, Loader } from "@mantine/core";
import { Suspense } from "react";
import { Route, Routes } from "react-router";
import { Boundary } from "@/ui/Boundary";
import { Empty } from "@/ui/Empty";
import { Live } from "./live";
import { screens } from "./screens";
import { Shell } from "./Shell";

/** Pages shows the screen of the page's address. */
export function Pages() {
  return (
    <Live>
      <Shell>
        <Boundary>
          <Suspense fallback={<Center h="40vh"><Loader aria-label="Loading" /></Center>}>
            <Routes>
              {screens.map(({ path, Screen }) => <Route key={path} path={path} element={<Screen />} />)}
              <Route path="*" element={<Empty title="There is no such page">The address is mistyped, or the page has moved.</Empty>} />
            </Routes>
          </Suspense>
        </Boundary>
      </Shell>
    </Live>
  );
}
