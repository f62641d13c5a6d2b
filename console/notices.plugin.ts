import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

/** Package is one whose modules are in the bundle. */
interface Package {
  name: string;
  version: string;
  license: string;
  /** source is where the package comes from. */
  source: string;
  files: { name: string; text: string }[];
}

const folder = /^(.*\/node_modules\/((?:@[^/]+\/)?[^/]+))\//;
const legal = /^(licen[cs]e|copying|unlicense|notice|patents)([-._].*)?$/i;

/** bundled begins what a licence file says about code that is in the package but not in our bundle. */
const bundled = "# Licenses of bundled dependencies";

/**
 * notices writes the licences of the packages whose modules are in the bundle, and of the tools
 * that add code of their own to it, into a file, from which hack/notices takes them.
 */
export function notices(file: string): Plugin {
  return {
    name: "notices",
    apply: "build",
    generateBundle(_, bundle) {
      const roots = new Set<string>();
      for (const part of Object.values(bundle)) {
        if (part.type !== "chunk") continue;
        for (const id of part.moduleIds) {
          const root = folder.exec(id)?.[1];
          if (root) roots.add(root);
          if (id.startsWith("\0vite/")) roots.add("node_modules/vite");
          if (id.startsWith("\0rolldown/")) roots.add("node_modules/rolldown");
        }
      }
      const packages = [...roots].map(read).sort((a, b) => (a.name + a.version < b.name + b.version ? -1 : 1));
      writeFileSync(file, JSON.stringify(packages, undefined, 2) + "\n");
    },
  };
}

function read(root: string): Package {
  const described = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Omit<Package, "source"> & { repository?: string | { url: string }; homepage?: string };
  const { name, version, license, repository, homepage } = described;
  const names = readdirSync(root).filter((entry) => legal.test(entry)).sort();
  const files = names.map((entry) => ({ name: entry, text: text(join(root, entry)) }));
  return { name, version, license, source: address((typeof repository === "object" ? repository.url : repository) ?? homepage ?? ""), files };
}

/** address returns the address of a repository as browsers take it. */
function address(repository: string): string {
  const short = /^(?:github:)?([\w.-]+\/[\w.-]+)$/.exec(repository);
  if (short) return `https://github.com/${short[1]}`;
  return repository.replace(/^git\+/, "").replace(/^git@([^:/]+):/, "https://$1/").replace(/^(git|ssh|http):\/\/(git@)?/, "https://").replace(/\.git$/, "");
}

function text(file: string): string {
  return readFileSync(file, "utf8").split(bundled)[0]!.trim() + "\n";
}
