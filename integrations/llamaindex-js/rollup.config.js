import { dts } from "rollup-plugin-dts";

// Everything that is not a file of this package is its user's to install.
const external = (name) => !name.startsWith(".") && !name.startsWith("/") && !name.startsWith("build/");

export default [
  {
    input: "build/llamaindex-js/src/index.js",
    external,
    output: [
      { file: "dist/index.js", format: "es" },
      { file: "dist/index.cjs", format: "cjs" },
    ],
  },
  {
    input: "build/llamaindex-js/src/index.d.ts",
    external,
    plugins: [dts()],
    output: [
      { file: "dist/index.d.ts", format: "es" },
      { file: "dist/index.d.cts", format: "es" },
    ],
  },
];
