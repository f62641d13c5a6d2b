import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { TransportProvider } from "@connectrpc/connect-query";
import { QueryClientProvider } from "@tanstack/react-query";
import { BrowserRouter } from "react-router";
import { queries } from "./queries";
import { Pages } from "./Pages";
import { SessionProvider } from "./session";
import { theme } from "./theme";
import { transport } from "./transport";

/** App is the whole console. */
export function App() {
  return (
    // The page's policy forbids the <style> elements that Mantine would insert: see theme.plugin.ts.
    <MantineProvider theme={theme} defaultColorScheme="auto" withCssVariables={false} withStaticClasses={false} withGlobalClasses={false}>
      <Notifications position="bottom-right" />
      <TransportProvider transport={transport}>
        <QueryClientProvider client={queries}>
          <BrowserRouter>
            <SessionProvider>
              <Pages />
            </SessionProvider>
          </BrowserRouter>
        </QueryClientProvider>
      </TransportProvider>
    </MantineProvider>
  );
}
