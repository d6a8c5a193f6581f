// Rules for the page (web/), its browser tests (tests/web/) and the script of the widget (python/headscope/_view.js).
// `npm run lint` starts eslint in the root of the repository, because eslint only checks files below the folder it is
// started in.

import { fileURLToPath } from "node:url";
import js from "@eslint/js";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

const names = (list) => Object.fromEntries(list.split(" ").map((name) => [name, "readonly"]));
const node = names("Buffer process");
// Functions passed to page.evaluate() run in the browser.
const browser = names(
  "Blob document dispatchEvent DOMParser Event getComputedStyle innerHeight innerWidth location parent performance " +
    "requestAnimationFrame structuredClone URL window",
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
  { files: ["python/headscope/*.js"], languageOptions: { globals: browser } },
  { files: ["web/eslint.config.js"], languageOptions: { globals: names("URL") } },
);
