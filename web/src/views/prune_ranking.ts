import type { Order, RankedHead } from "../data/pruning";
import { maxOf, minOf } from "../data/stats";
import { drawLegend, formatNumber, linearScale, type Box, type Scale } from "../draw/axes";
import type { Surface } from "../draw/surface";
import { headTip, type Context } from "../ui/context";
import type { FigureSpec, Hit } from "../ui/figure";
import type { Theme } from "../ui/theme";
import { labelStep } from "./grid";
import { criterionColor, scoreLabels } from "./prune_labels";

/** Scores of heads, in the order in which a criterion removes them. */
export class PruneRanking implements FigureSpec {
  readonly id = "prune-ranking";
  readonly title = "Ranking of heads";
  readonly caption =
    "One bar per head. Heads are removed from left to right, up to the budget (dashed line). Redundancy and greedy score each head with all heads to its left removed.";
  private box: Box = { left: 0, top: 0, width: 0, height: 0 };
  private y: Scale = linearScale([0, 1], [0, 1]);

  constructor(
    private readonly context: Context,
    public order: Order,
  ) {}

  private heads(): RankedHead[] {
    return this.order.heads;
  }
  private budget(): number {
    return this.heads().filter((one) => one.removed).length;
  }
  describe(): string {
    const first = this.heads()
      .slice(0, 5)
      .map((one) => `${one.head} ${formatNumber(one.score)}`);
    return `${this.heads().length} heads ranked by ${this.order.criterion}, ${this.budget()} of them removed. First: ${first.join(", ")}. Arrow keys move through the ranking.`;
  }
  height(): number {
    return 300;
  }

  draw(s: Surface, width: number, height: number, theme: Theme): void {
    const heads = this.heads();
    this.box = { left: 66, top: 34, width: Math.min(width - 84, heads.length * 34), height: height - 108 };
    const { box } = this;
    const scores = heads.map((one) => one.score).filter(Number.isFinite);
    const low = Math.min(0, minOf(scores));
    const high = Math.max(low + 1e-9, 0, maxOf(scores));
    this.y = linearScale([low, high], [box.top + box.height, box.top], 5);
    for (const tick of this.y.ticks) {
      s.line(box.left, this.y(tick), box.left + box.width, this.y(tick), { stroke: theme.grid });
      const style = { anchor: "end", baseline: "middle", fill: theme.muted } as const;
      s.text(this.y.format(tick), box.left - 8, this.y(tick), style);
    }
    s.text(scoreLabels[this.order.criterion] ?? "score", 14, box.top + box.height / 2, {
      anchor: "middle",
      rotate: -90,
    });
    this.drawBars(s, theme);
    this.drawNames(s, theme);
    const edge = box.left + (this.budget() * box.width) / heads.length;
    s.line(edge, box.top - 6, edge, box.top + box.height, { stroke: theme.ink, dash: [3, 3] });
    const entries = [
      { color: criterionColor(this.order.criterion), label: "removed" },
      { color: theme.faint, label: "kept" },
    ];
    drawLegend(s, box.left, 6, box.width, this.budget() < heads.length ? entries : entries.slice(0, 1), theme);
  }

  private drawBars(s: Surface, theme: Theme): void {
    const { box } = this;
    const { head, hover } = this.context.store.state;
    const step = box.width / this.heads().length;
    const zero = this.y(0);
    this.heads().forEach((one, i) => {
      const x = box.left + i * step;
      const marked = one.head === head || one.head === hover;
      if (marked) s.rect(x, box.top, step, box.height, { fill: theme.grid });
      const top = Number.isFinite(one.score) ? this.y(one.score) : zero;
      const gap = Math.min(2, step * 0.15);
      s.rect(x + gap, Math.min(top, zero) - 0.5, Math.max(0.5, step - 2 * gap), Math.abs(top - zero) + 1, {
        fill: one.removed ? criterionColor(this.order.criterion) : theme.faint,
        ...(marked ? { stroke: theme.mark, width: 2 } : {}),
      });
    });
    s.line(box.left, zero, box.left + box.width, zero, { stroke: theme.axis });
  }

  private drawNames(s: Surface, theme: Theme): void {
    const { box } = this;
    const { head } = this.context.store.state;
    const step = box.width / this.heads().length;
    const every = labelStep(step, 12);
    this.heads().forEach((one, i) => {
      const chosen = one.head === head;
      if (i % every !== 0 && !chosen) return;
      s.text(one.head, box.left + (i + 0.5) * step, box.top + box.height + 7, {
        anchor: "end",
        baseline: "middle",
        rotate: -90,
        size: 10.5,
        weight: chosen ? 650 : 400,
        fill: chosen ? theme.ink : theme.muted,
      });
    });
    s.text("heads in the order of removal", box.left + box.width / 2, box.top + box.height + 62, { anchor: "middle" });
  }

  hit(x: number, y: number): Hit | null {
    const { box } = this;
    const i = Math.floor(((x - box.left) / box.width) * this.heads().length);
    const one = this.heads()[i];
    if (!one || y < box.top || y > box.top + box.height + 40) return null;
    const [name, ...rest] = headTip(this.context.run, one.head);
    return {
      head: one.head,
      tip: [
        name!,
        { label: "rank", value: `${i + 1}, ${one.zero ? "already zero" : one.removed ? "removed" : "kept"}` },
        { label: scoreLabels[this.order.criterion] ?? "score", value: formatNumber(one.score, 4) },
        ...rest,
      ],
    };
  }
  key(key: string): string | null {
    const step = key === "ArrowRight" || key === "ArrowDown" ? 1 : key === "ArrowLeft" || key === "ArrowUp" ? -1 : 0;
    if (step === 0) return null;
    const heads = this.heads();
    const at = heads.findIndex((one) => one.head === this.context.store.state.head);
    const next = at < 0 ? 0 : (at + step + heads.length) % heads.length;
    const one = heads[next]!;
    this.context.store.set({ head: one.head });
    return `${next + 1}: ${one.head}, ${formatNumber(one.score)}, ${one.removed ? "removed" : "kept"}`;
  }
  data() {
    return {
      columns: ["criterion", "rank", "head", "score", "removed"],
      rows: this.heads().map((one, i) => [
        this.order.criterion,
        i + 1,
        one.head,
        one.score,
        one.removed ? "yes" : "no",
      ]),
    };
  }
}
