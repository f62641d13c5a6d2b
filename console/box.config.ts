import { defineConfig } from "vite";

/** The answer box for other people's pages: one script without libraries. */
export default defineConfig({
  build: {
    outDir: "../internal/api/answerbox/dist",
    emptyOutDir: true,
    target: "es2022",
    lib: { entry: "box/main.ts", formats: ["iife"], name: "ragdAnswerBox", fileName: () => "answer-box.js" },
  },
});
