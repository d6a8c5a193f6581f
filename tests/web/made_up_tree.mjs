/** Returns a tree of n shuffled elements, built by splitting folders into two parts, and the order of its leaves. */
export function halvedTree(n, uniform, names) {
  const order = Array.from({ length: n }, (_, i) => i);
  for (let i = n - 1; i > 0; --i) {
    const j = Math.floor(uniform() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  const levels = [[order]];
  while (levels.at(-1).some((folder) => folder.length > 1)) {
    levels.push(
      levels.at(-1).flatMap((folder) => {
        if (folder.length === 1) return [folder];
        const cut = Math.max(1, Math.round(folder.length * (0.35 + 0.3 * uniform())));
        return [folder.slice(0, cut), folder.slice(cut)].filter((part) => part.length > 0);
      }),
    );
  }
  const tree = { n, levels: levels.map((folders) => ({ folders })), ...(names ? { names } : {}) };
  return { tree, order };
}
