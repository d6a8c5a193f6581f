import { createHash } from "node:crypto";
import type { Plugin } from "vite";

const hash = (text: string) => `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;

// Inside a <script> element, the HTML parser reacts only to these two sequences. In JavaScript both occur only in
// strings, templates and regular expressions, where the added backslash has no effect.
const inScript = (code: string) => code.replace(/<\/(script)/gi, "<\\/$1").replace(/<!--/g, "<\\!--");

/**
 * Writes the script and the style sheet into the page, so that it is a single file. Adds a content security policy that
 * allows only the script with this hash and loads nothing.
 */
export function singleFile(): Plugin {
  return {
    name: "single-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      let script = "";
      let style = "";
      for (const [name, item] of Object.entries(bundle)) {
        if (item.type === "chunk") script += item.code;
        else if (name.endsWith(".css")) style += String(item.source);
        if (!name.endsWith(".html")) delete bundle[name];
      }
      script = inScript(script.trim());
      style = style.trim();
      const policy =
        `default-src 'none'; script-src ${hash(script)}; style-src 'unsafe-inline'; img-src data: blob:; ` +
        `base-uri 'none'; form-action 'none'`;
      for (const item of Object.values(bundle)) {
        if (item.type !== "asset") continue;
        item.source = String(item.source)
          .replace(/\s*<script[^>]*src=[^>]*><\/script>/, "")
          .replace(/\s*<link rel="stylesheet"[^>]*>/, "")
          .replace("<!--policy-->", () => `<meta http-equiv="Content-Security-Policy" content="${policy}">`)
          .replace("<!--style-->", () => `<style>${style}</style>`)
          .replace("<!--script-->", () => `<script>${script}</script>`);
      }
    },
  };
}
