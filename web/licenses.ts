import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

/** Returns the folder of the npm package that contains a module; undefined for the page's own code. */
function packageFolder(module: string): string | undefined {
  return /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(module)?.[1];
}

function license(folder: string): string {
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    name: string;
    version: string;
    license: string;
  };
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
  if (file === undefined) throw new Error(`${about.name} has no license file`);
  return `${about.name} ${about.version} (${about.license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
}

/** Writes licenses.txt next to the page: the licenses of all npm packages whose code is in the page. */
export function licenses(): Plugin {
  return {
    name: "licenses",
    enforce: "post",
    generateBundle() {
      const folders = new Set([...this.getModuleIds()].map(packageFolder).filter((one) => one !== undefined));
      const texts = [...folders].sort().map(license);
      this.emitFile({ type: "asset", fileName: "licenses.txt", source: texts.join(`\n${"-".repeat(100)}\n\n`) });
    },
  };
}
