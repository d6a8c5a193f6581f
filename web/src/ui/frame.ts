const waiting = new Set<() => void>();
let running = false;

/**
 * Calls each action once in the next frame. What an action asks for while a frame is prepared is done in the same frame,
 * so that a change of the state and the drawings that follow from it are shown together.
 */
export function inFrame(act: () => void): void {
  if (!running && waiting.size === 0) requestAnimationFrame(runAll);
  waiting.add(act);
}

function runAll(): void {
  const done = new Set<() => void>();
  const later: (() => void)[] = [];
  running = true;
  try {
    // A set also iterates over what is added meanwhile. An action that asks for itself again waits for the next frame.
    for (const act of waiting) {
      waiting.delete(act);
      if (done.has(act)) {
        later.push(act);
        continue;
      }
      done.add(act);
      act();
    }
  } finally {
    running = false;
    const rest = [...waiting, ...later];
    waiting.clear();
    rest.forEach(inFrame);
  }
}
