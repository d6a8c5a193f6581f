// Rules for the page (web/) and its browser tests (tests/web/). `npm run lint` starts eslint in the root of the
// repository, because eslint only checks files below the folder it is started in.

import { fileURLToPath } from "node:url";
import js from "@eslint/js";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

const names = (list) => Object.fromEntries(list.split(" ").map((name) => [name, "readonly"]));
const node = names("Buffer process");
// Functions passed to page.evaluate() run in the browser.
const browser = names(
  "document dispatchEvent DOMParser Event innerHeight innerWidth location performance requestAnimationFrame window",
);

export default defineConfig(
  globalIgnores(["web/dist/", "web/node_modules/"]),
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  js.configs.recommended,
  {
    files: ["web/**/*.ts"],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: fileURLToPath(new URL(".", import.meta.url)) },
    },
    rules: {
      // Tokens are untrusted text: the page replaces control characters, so it has to match them.
      "no-control-regex": "off",
    },
  },
  { files: ["tests/web/*.mjs"], languageOptions: { globals: { ...node, ...browser } } },
  { files: ["web/eslint.config.js"], languageOptions: { globals: names("URL") } },
);
