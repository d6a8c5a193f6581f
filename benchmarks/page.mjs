// Measures pages of 1,024 and 5,120 heads in Chromium and prints one line of JSON per page.
//
//   node benchmarks/page.mjs FOLDER
//
// Writes runs and pages to FOLDER. An interaction costs the processor time of the page's main thread, from the event
// to the frame that shows it: the time on the clock would also measure other programs and the software renderer.

import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { makeRun } from "../tests/web/make_run.mjs";
import { launch, quit, root } from "../tests/web/support.mjs";
import { interactions, loadTimes } from "../tests/web/measure.mjs";

const folder = process.argv[2];
const program = process.env.HEADSCOPE ?? join(root, "build/headscope");
const sizes = { large: 1024, huge: 5120 };

for (const [kind, heads] of Object.entries(sizes)) {
  const run = join(folder, kind);
  const file = join(folder, `${kind}.html`);
  makeRun(run, kind);
  execFileSync(program, ["report", run, "-o", file, "--quiet", "--force"]);
  const browser = await launch({ webgl: false });
  const loads = [];
  // The best of several rounds counts, because processors are shared.
  for (let round = 0; round < 5; ++round) loads.push(await loadTimes(browser, file));
  const best = (name) => Math.min(...loads.map((one) => one[name]));
  console.log(
    JSON.stringify({
      heads,
      megabytes: statSync(file).size / 1e6,
      ready: best("ready"),
      complete: best("complete"),
      ...(await interactions(browser, file)),
    }),
  );
}
await quit();
