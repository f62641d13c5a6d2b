import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";
import { notices } from "./notices.plugin.ts";
import { themeStyles } from "./theme.plugin.ts";

const service = process.env.RAGD_SERVER ?? "http://127.0.0.1:8484";

/** signedIn makes `npm run dev` call the service with the API key in RAGD_API_KEY. */
function signedIn(): Plugin {
  return {
    name: "signed-in",
    apply: "serve",
    configureServer(server) {
      if (!process.env.RAGD_API_KEY) return;
      server.middlewares.use("/console/session", (_, response) => {
        response.setHeader("Content-Type", "application/json");
        response.end(JSON.stringify({ signedIn: true, issuers: [], version: "dev", publicUrl: service }));
      });
    },
  };
}

export default defineConfig({
  plugins: [react(), themeStyles(), signedIn(), notices("../hack/notices/console.json")],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: "../internal/api/console/dist",
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0, // data: scripts and styles are forbidden by the page's policy
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
  },
  server: {
    port: Number(process.env.PORT ?? 5173),
    proxy: {
      "^/(ragd\\.v1\\.|console/|mcp)": {
        target: service,
        headers: process.env.RAGD_API_KEY ? { Authorization: `Bearer ${process.env.RAGD_API_KEY}` } : {},
        changeOrigin: true,
      },
    },
  },
});
