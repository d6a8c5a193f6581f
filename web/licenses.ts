import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

/** Returns the folder of the npm package that contains a module; undefined for the page's own code. */
function packageFolder(module: string): string | undefined {
  return /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(module)?.[1];
}

interface About {
  name: string;
  version: string;
  license: string;
  dependencies?: Record<string, string>;
}

const readAbout = (folder: string) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as About;

/**
 * Adds the packages that these packages depend on. Some packages are published as one file with the code of others inside,
 * such as d3-array with internmap, so the list of modules does not name all packages.
 */
function withDependencies(folders: Iterable<string>): string[] {
  const found = new Set(folders);
  // A set visits what is added during the loop.
  for (const folder of found)
    for (const name of Object.keys(readAbout(folder).dependencies ?? {}))
      found.add(
        [join(folder, "node_modules", name), join(folder.replace(/\/node_modules\/.*/, ""), "node_modules", name)].find(
          existsSync,
        )!,
      );
  return [...found].sort();
}

function license(folder: string): { title: string; text: string } {
  const about = readAbout(folder);
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
  if (file === undefined) throw new Error(`${about.name} has no license file`);
  return {
    title: `${about.name} ${about.version} (${about.license})`,
    text: readFileSync(join(folder, file), "utf8").trim(),
  };
}

/** Returns the licenses of the packages in these folders. Packages with the same text share it. */
function notices(folders: string[]): string {
  const titles = new Map<string, string[]>();
  for (const { title, text } of folders.map(license)) titles.set(text, [...(titles.get(text) ?? []), title]);
  const parts = [...titles].map(([text, packages]) => `${packages.join("\n")}\n\n${text}\n`);
  return parts.join(`\n${"-".repeat(80)}\n\n`);
}

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/**
 * Writes the licenses of all npm packages whose code is in the page: into the page itself, which people pass on alone, and
 * into licenses.txt next to it, for the notices of the wheel and the tarball.
 */
export function licenses(): Plugin {
  return {
    name: "licenses",
    enforce: "post",
    generateBundle(_options, bundle) {
      const folders = new Set([...this.getModuleIds()].map(packageFolder).filter((one) => one !== undefined));
      const text = notices(withDependencies(folders));
      for (const item of Object.values(bundle))
        if (item.type === "asset" && item.fileName.endsWith(".html"))
          item.source = String(item.source).replace("<!--licenses-->", () => escaped(text));
      this.emitFile({ type: "asset", fileName: "licenses.txt", source: text });
    },
  };
}
