import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { inFrame } from "../src/ui/frame";

let frames: (() => void)[] = [];
beforeEach(() => {
  frames = [];
  vi.stubGlobal("requestAnimationFrame", (act: () => void) => frames.push(act));
});
afterEach(() => vi.unstubAllGlobals());

const nextFrame = () => frames.splice(0).forEach((act) => act());

describe("actions of a frame", () => {
  it("are called once, together with what they ask for", () => {
    const calls: string[] = [];
    const draw = () => calls.push("draw");
    const notify = () => {
      calls.push("notify");
      inFrame(draw);
    };
    inFrame(notify);
    inFrame(notify);
    nextFrame();
    expect(calls).toEqual(["notify", "draw"]);
    nextFrame();
    expect(calls).toHaveLength(2);
  });
  it("wait for the next frame if they ask for themselves, and survive an error", () => {
    let count = 0;
    const again = () => {
      ++count;
      inFrame(again);
    };
    inFrame(again);
    inFrame(() => {
      throw new Error("broken");
    });
    expect(nextFrame).toThrow("broken");
    nextFrame();
    expect(count).toBe(2);
  });
});
