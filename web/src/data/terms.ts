/** A technical word of the page and what it means. `also`: other forms of the word in sentences. */
export interface Term {
  word: string;
  means: string;
  also?: string[];
}

export const terms: Term[] = [
  {
    word: "attention head",
    means:
      "A small part of a model that lets each token collect information from other tokens. L4H7 is head 7 of layer 4, both counted from 0.",
    also: ["attention heads"],
  },
  {
    word: "layer",
    means: "One step of the model. All heads of a layer work side by side; the next layer sees what they wrote.",
    also: ["layers"],
  },
  {
    word: "token",
    means: "A piece of the input: a word or part of a word, or a small square of an image.",
    also: ["tokens"],
  },
  {
    word: "residual stream",
    means:
      "The list of numbers that the model keeps for each token. Every head reads from it and adds its own result to it.",
  },
  {
    word: "subspace",
    means: "The directions of the residual stream that a head can read from or write to.",
    also: ["subspaces"],
  },
  {
    word: "projection kernel",
    means: "A measure of how much two subspaces overlap: 0 if they share no direction, larger the more they share.",
    also: ["affinity", "affinities"],
  },
  {
    word: "role",
    means:
      "What a subspace of a head is for: Q (query) and K (key) decide where it looks, V (value) is what it reads there, O (output) is where it writes.",
    also: ["roles"],
  },
  {
    word: "role pair",
    means:
      "Which subspaces of two heads are compared. OQ: what one head writes with what the other reads to form its queries; OK the same for keys; OV the same for values.",
    also: ["role pairs", "pair of roles", "pairs of roles"],
  },
  {
    word: "edge",
    means: "A possible connection from an earlier head to a later one: the first writes where the second reads.",
    also: ["edges"],
  },
  {
    word: "null model",
    means:
      "A description of what would be found if nothing were connected. Isotropic: subspaces in random directions. Matched: random subspaces that prefer the same directions as the real ones. Span: the other pairs of the same roles and the same distance between layers.",
    also: ["null models"],
  },
  { word: "z", means: "How many standard deviations a value is above what the null model expects." },
  {
    word: "p",
    means:
      "The probability of a value at least this large if nothing were connected. Small means that chance is an unlikely explanation.",
  },
  {
    word: "q",
    means:
      "p, corrected for the number of comparisons. If all results with q up to 0.05 are accepted, about 5 % of them are expected to be false.",
  },
  {
    word: "beyond chance",
    means:
      "q is at most 0.05 under both the isotropic and the matched null model: the overlap is larger than unrelated heads would have.",
  },
  {
    word: "stands out",
    means:
      "Beyond chance, and also unusual among the pairs of the same roles and distance between layers: q is at most 0.05 under the span null model.",
    also: ["stand out"],
  },
  { word: "hub", means: "A head with more connections beyond chance than its layer explains.", also: ["hubs"] },
  {
    word: "KV head",
    means: "Keys and values that several heads of a layer share. L4KV1 is KV head 1 of layer 4.",
    also: ["KV heads"],
  },
  {
    word: "cross-attention",
    means:
      "Attention of the tokens that a model writes (the target) to those that it read (the source). A model with an encoder and a decoder has three blocks of heads: encoder, decoder and cross. cross.L4H7 is head 7 of layer 4 of the last one.",
  },
  {
    word: "attention map",
    means: "A table of how much each token (row) looks at each other token (column). Every row sums to 1.",
    also: ["attention maps"],
  },
  { word: "query", means: "The token that looks. It is a row of the attention map.", also: ["queries"] },
  { word: "key", means: "The token that is looked at. It is a column of the attention map.", also: ["keys"] },
  {
    word: "mask",
    means:
      "The rule of which tokens may be looked at. In most language models a token sees only itself and earlier tokens; the rest of the map is left blank.",
  },
  {
    word: "sink",
    means: "A token, usually the first one, that takes most of the attention of a head that has nothing to do.",
  },
  {
    word: "detector",
    means:
      "A test that finds a known behavior from attention maps. Previous token: looks at the token before. Induction: looks at what followed the same token earlier. Duplicate: looks at earlier copies of the token. Identity: looks at the token itself.",
    also: ["detectors", "induction", "previous token", "previous-token", "duplicate token", "duplicate-token"],
  },
  {
    word: "tree",
    means:
      "A grouping of heads or tokens in folders within folders, such that similar ones share a small folder. A tree is found in any data, also in noise.",
    also: ["trees"],
  },
  {
    word: "folder",
    means: "A group in a tree. The root folder contains everything; the last folders contain one element each.",
    also: ["folders"],
  },
  { word: "diffusion map", means: "A picture in which heads or tokens that behave alike are close together." },
  {
    word: "Haar coefficient",
    means:
      "The difference between the means of neighboring folders of a tree. If a tree fits the data, few of them are large.",
    also: ["Haar coefficients"],
  },
  {
    word: "gain",
    means:
      "How much better the trees compress the attention maps than maps of a control with the same mask. Above 1 means that there is structure beyond the mask.",
    also: ["gains"],
  },
  {
    word: "entropy",
    means:
      "How widely a head spreads its attention, in nats: 0 if it looks at one token, ln n if it looks at n tokens alike.",
  },
  { word: "nats", means: "A unit of information or loss, with the natural logarithm. 0.69 nats are one bit." },
  {
    word: "softmax invariance",
    means:
      "How little an analysis changes if it uses scores before softmax instead of attention after it. Softmax turns scores into shares that sum to 1.",
  },
  {
    word: "cut",
    means:
      "An experiment: one head no longer sees what another one writes, and the change of the model's output is measured. Also called patching.",
    also: ["cutting", "patch", "patching"],
  },
  {
    word: "effect",
    means:
      "How much a cut changes the model's output; usually the increase of the loss in nats. Near 0 means that the model did not need the edge.",
    also: ["effects"],
  },
  {
    word: "screen",
    means: "A quick estimate of the effect of many cuts, used to choose those that are then measured exactly.",
  },
  {
    word: "control",
    means:
      "The same measurement where nothing is expected, such as random edges or shuffled data. A result counts only if it exceeds its control.",
    also: ["controls"],
  },
  { word: "ablation", means: "Leaving a whole head out and measuring the change of the model's output." },
  { word: "pruning", means: "Removing heads, the least important first, to see how small the model can become." },
  {
    word: "informativeness",
    means:
      "How far the observed overlaps are from those of random heads, as a Kullback-Leibler divergence (KL) in nats. 0 means that they look random.",
    also: ["KL"],
  },
];

const forms = new Map(terms.flatMap((term) => [term.word, ...(term.also ?? [])].map((form) => [form, term] as const)));

/** Returns the term of a word in any of its forms; words of more than two letters in any case. */
export function findTerm(word: string): Term | undefined {
  return forms.get(word) ?? (word.length > 2 ? forms.get(word.toLowerCase()) : undefined);
}

// Single letters occur in names and formulas, so they are never linked. Longer forms come first: "null model", "null".
const linked = [...forms.keys()].filter((form) => form.length > 2).sort((a, b) => b.length - a.length);
const pattern = new RegExp(`\\b(${linked.join("|")})\\b`, "gi");

/** Ordinary English that contains a term. */
const ordinary = /\barrow keys?\b/gi;

/** Sentences of the program that name an input without quotes: what precedes the name, and what follows. */
const namesInput = [/^(.* are of one input: )(.*)\.$/su, /^(.* are of )(.*), the first of \d+ inputs; /su];

/**
 * Splits a sentence into what it quotes, that is, texts in quotation marks and names of inputs, which begin with their
 * text, and the rest.
 */
export function splitQuotes(sentence: string): { text: string; quoted: boolean }[] {
  const named = namesInput.map((one) => one.exec(sentence)).find((found) => found !== null);
  const quotes = [...sentence.matchAll(/\u201c[^\u201d]*\u201d/g)].map((one) => [one.index, one[0].length] as const);
  const parts: { text: string; quoted: boolean }[] = [];
  let from = 0;
  for (const [at, length] of named ? [[named[1]!.length, named[2]!.length] as const] : quotes) {
    parts.push({ text: sentence.slice(from, at), quoted: false });
    parts.push({ text: sentence.slice(at, at + length), quoted: true });
    from = at + length;
  }
  parts.push({ text: sentence.slice(from), quoted: false });
  return parts.filter(({ text }) => text !== "");
}

/** Splits a sentence. The first occurrence of each term outside of quotes is a part of its own, with its term. */
export function splitTerms(sentence: string): { text: string; term?: Term }[] {
  const seen = new Set<Term>();
  return splitQuotes(sentence).flatMap(({ text, quoted }) => (quoted ? [{ text }] : splitPart(text, seen)));
}

function splitPart(sentence: string, seen: Set<Term>): { text: string; term?: Term }[] {
  const parts: { text: string; term?: Term }[] = [];
  let from = 0;
  const phrases = [...sentence.matchAll(ordinary)];
  const inPhrase = (at: number) => phrases.some((one) => at >= one.index && at < one.index + one[0].length);
  for (const found of sentence.matchAll(pattern)) {
    const term = findTerm(found[0]);
    if (!term || seen.has(term) || inPhrase(found.index)) continue;
    seen.add(term);
    if (found.index > from) parts.push({ text: sentence.slice(from, found.index) });
    parts.push({ text: found[0], term });
    from = found.index + found[0].length;
  }
  if (from < sentence.length) parts.push({ text: sentence.slice(from) });
  return parts;
}
