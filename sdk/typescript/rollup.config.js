import { dts } from "rollup-plugin-dts";

const entries = ["index", "api", "node"];
const external = [/^@bufbuild\//, /^@connectrpc\//, /^node:/];
const input = (suffix) => Object.fromEntries(entries.map((name) => [name, `build/${name}.${suffix}`]));

/** Both formats of the package, and its types for each. What entries share is in a chunk, so that classes exist once. */
export default [
  {
    input: input("js"),
    external,
    output: [
      { dir: "dist", format: "es", entryFileNames: "[name].js", chunkFileNames: "shared-[hash].js" },
      { dir: "dist", format: "cjs", entryFileNames: "[name].cjs", chunkFileNames: "shared-[hash].cjs", exports: "named" },
    ],
  },
  {
    input: input("d.ts"),
    external,
    plugins: [dts()],
    output: [
      { dir: "dist", format: "es", entryFileNames: "[name].d.ts", chunkFileNames: "shared-[hash].d.ts" },
      { dir: "dist", format: "es", entryFileNames: "[name].d.cts", chunkFileNames: "shared-[hash].d.cts" },
    ],
  },
];
