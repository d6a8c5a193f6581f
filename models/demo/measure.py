"""What every head of the demo's language model does, by looking and by taking it away.

Looking: attention on random words repeated once (the four detectors), and on sentences of the language, between the
places that matter there; and what a head itself adds to the answer's logit. Taking away: loss and accuracy on two tasks
with the head's output zeroed before the output projection; then with whole classes of heads zeroed, beside as
many others.

Tasks, on texts that training has not seen:
 - indirect object: the name after "to", held-out pairs of names, places and objects; argmax over the whole vocabulary;
 - repeated lists: every item of the second list but its first.

train.py stores the result; python measure.py [FOLDER] [--write] measures a saved model anew.
"""

from __future__ import annotations

import argparse
import json
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from transformers import GPT2LMHeadModel

from language import BEGIN, ID, LENGTH, NAMES, Language, Passage

TEXTS = 500  # of each task
DETECTOR_SEQUENCES = 200
LOOKS_AT = 0.4  # a detector's score from which a head is in its class
MOVES, SPEAKS = (
    0.3,
    0.5,
)  # attention from "to" to a name, and logits for or against it, from which a head is in a class of names

Heads = list[tuple[int, int]]


@dataclass
class Task:
    """Texts, right-padded (what comes later is not seen), and which predictions count: logits[rows, at] for targets."""

    tokens: torch.Tensor
    rows: torch.Tensor
    at: torch.Tensor
    passages: list[tuple[int, Passage]]  # where it begins, what it is

    @property
    def targets(self) -> torch.Tensor:
        return self.tokens[self.rows, self.at + 1]


def make_task(kind: str, seed: int, device: torch.device) -> Task:
    """Each text is [BOS], in half of them another passage, and the passage that counts."""
    language = Language(seed, held_out=kind == "indirect object")
    before = Language(seed + 1)
    tokens, rows, at = [], [], []
    passages: list[tuple[int, Passage]] = []
    while len(passages) < TEXTS:
        words = [BEGIN] + (before.story().words if len(passages) % 2 else [])
        passage = language.indirect_object() if kind == "indirect object" else language.repeated_list()
        start, words = len(words), words + passage.words
        if len(words) > LENGTH:
            continue
        answers = [passage.answer] if kind == "indirect object" else passage.copy[1:]
        rows += [len(passages)] * len(answers)
        at += [start + answer - 1 for answer in answers]
        passages.append((start, passage))
        tokens.append([ID[word] for word in words] + [0] * (LENGTH - len(words)))
    made = [torch.tensor(x, device=device) for x in (tokens, rows, at)]
    return Task(made[0], made[1], made[2], passages)


@torch.no_grad()
def evaluate(model: GPT2LMHeadModel, task: Task) -> tuple[float, float]:
    logits = model(task.tokens).logits[task.rows, task.at]
    right = logits.argmax(-1) == task.targets
    return F.cross_entropy(logits.double(), task.targets).item(), right.double().mean().item()


@contextmanager
def without(model: GPT2LMHeadModel, heads: Heads):
    """Zeroes these heads' outputs before the output projection."""
    width = model.config.n_embd // model.config.n_head

    def zeroing(gone: list[int]):
        def hook(_module, arguments):
            mixed = arguments[0].clone()
            for head in gone:
                mixed[..., head * width : (head + 1) * width] = 0.0
            return (mixed, *arguments[1:])

        return hook

    hooks = []
    for layer, block in enumerate(model.transformer.h):
        gone = [head for at, head in heads if at == layer]
        hooks.append(block.attn.c_proj.register_forward_pre_hook(zeroing(gone)))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def damage(model: GPT2LMHeadModel, tasks: dict[str, Task], whole: dict[str, dict], heads: Heads) -> dict:
    """By task: what the loss gains and the accuracy loses without these heads."""
    result = {}
    for name, task in tasks.items():
        with without(model, heads):
            loss, accuracy = evaluate(model, task)
        result[name] = {
            "loss_increase": round(loss - whole[name]["loss"], 6),
            "accuracy_drop": round(whole[name]["accuracy"] - accuracy, 6),
        }
    return result


@torch.no_grad()
def detector_scores(model: GPT2LMHeadModel, seed: int) -> list[dict[str, float]]:
    """Layer-major: [BOS], uniform random ids, the same once more. Duplicate and induction are averages over the queries
    of the second half, previous and identity over all that have the key; [BOS] is neither query nor key."""
    half = (LENGTH - 1) // 2
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(len(ID) - 1, (DETECTOR_SEQUENCES, half), generator=generator)
    ids += ids >= ID[BEGIN]  # any id but [BOS]
    tokens = torch.cat([torch.full((DETECTOR_SEQUENCES, 1), ID[BEGIN]), ids, ids], 1).to(model.device)
    scores = []
    for pattern in model(tokens, output_attentions=True).attentions:
        pattern = pattern[..., 1:, 1:].double()
        means = {
            "previous": pattern.diagonal(-1, -2, -1),
            "identity": pattern.diagonal(0, -2, -1),
            "duplicate": pattern.diagonal(-half, -2, -1),
            "induction": pattern.diagonal(1 - half, -2, -1)[..., 1:],  # its first query is in the first half
        }
        for head in range(pattern.shape[1]):
            scores.append({name: round(mean[:, head].mean().item(), 6) for name, mean in means.items()})
    return scores


@torch.no_grad()
def sentence_scores(model: GPT2LMHeadModel, task: Task) -> list[dict[str, float]]:
    """Layer-major, on indirect-object sentences. `to_X`: mean attention from the "to" before the answer, to the
    receiver and to the giver's two mentions; and, the same words by order, to the name that comes first and the one
    that comes second. `second_to_first_mention`: from the giver's second mention to the first. `direct_X`: what the
    head adds at "to" by itself to X's logit, above the mean over all names, the final norm's scale taken as it is."""
    places = ("receiver", "first_mention", "second_mention", "answer")
    receiver, first, second, answer = (
        torch.tensor([start + getattr(p, place) for start, p in task.passages], device=model.device) for place in places
    )
    row, to = torch.arange(len(task.passages), device=model.device), answer - 1
    kept = Inputs(model, row, to)
    with kept:
        patterns = model(task.tokens, output_attentions=True).attentions
    norm = model.transformer.ln_f
    scale = (kept.final.var(-1, unbiased=False) + norm.eps).rsqrt()[:, None]
    unembedding = model.lm_head.weight * norm.weight
    unembedding = unembedding - unembedding[[ID[name] for name in NAMES]].mean(0)
    unembedding = unembedding - unembedding.mean(-1, keepdim=True)
    says = {
        place: scale * unembedding[task.tokens[row, at]] for place, at in (("receiver", receiver), ("giver", first))
    }
    heads, width = model.config.n_head, model.config.n_embd // model.config.n_head
    scores = []
    for layer, pattern in enumerate(patterns):
        writes = model.transformer.h[layer].attn.c_proj.weight
        for head in range(heads):
            part = slice(head * width, (head + 1) * width)
            wrote = kept.mixed[layer][:, part] @ writes[part]
            scores.append(
                {
                    "to_receiver": pattern[row, head, to, receiver],
                    "to_first_mention": pattern[row, head, to, first],
                    "to_second_mention": pattern[row, head, to, second],
                    "to_first_name": pattern[row, head, to, torch.minimum(receiver, first)],
                    "to_second_name": pattern[row, head, to, torch.maximum(receiver, first)],
                    "second_to_first_mention": pattern[row, head, second, first],
                    "direct_receiver": (wrote * says["receiver"]).sum(-1),
                    "direct_giver": (wrote * says["giver"]).sum(-1),
                }
            )
    return [{name: round(value.double().mean().item(), 6) for name, value in score.items()} for score in scores]


class Inputs:
    """Keeps, while entered, what goes into every output projection and into the final norm at tokens [row, at]."""

    def __init__(self, model: GPT2LMHeadModel, row: torch.Tensor, at: torch.Tensor) -> None:
        self._model, self._row, self._at = model, row, at
        self.mixed: list[torch.Tensor] = []
        self.final = torch.empty(0)

    def __enter__(self) -> None:
        def keep_mixed(_module, arguments):
            self.mixed.append(arguments[0][self._row, self._at])

        def keep_final(_module, arguments):
            self.final = arguments[0][self._row, self._at]

        transformer = self._model.transformer
        self._hooks = [block.attn.c_proj.register_forward_pre_hook(keep_mixed) for block in transformer.h]
        self._hooks.append(transformer.ln_f.register_forward_pre_hook(keep_final))

    def __exit__(self, *_error) -> None:
        for hook in self._hooks:
            hook.remove()


def classes_of(rows: list[dict]) -> dict[str, Heads]:
    """Those that are not empty; RULES says them in words."""
    members = {name: [row for row in rows if row[name] >= LOOKS_AT] for name in ("previous", "duplicate", "induction")}
    members["name mover"] = [row for row in rows if row["to_receiver"] >= MOVES and row["direct_receiver"] >= SPEAKS]
    members["name suppressor"] = [
        row for row in rows if row["to_second_mention"] >= MOVES and row["direct_giver"] <= -SPEAKS
    ]
    return {name: [(row["layer"], row["head"]) for row in some] for name, some in members.items() if some}


@torch.no_grad()
def list_scores(model: GPT2LMHeadModel, task: Task) -> list[dict[str, float]]:
    """Layer-major, on repeated lists: mean attention from an item of the second list to the item of the first that
    comes next, the one to be said."""
    distance = torch.tensor([p.distance for _, p in task.passages], device=model.device)[task.rows]
    patterns = model(task.tokens, output_attentions=True).attentions
    each = [pattern[task.rows, :, task.at, task.at + 1 - distance].double().mean(0) for pattern in patterns]
    return [{"item_to_next": round(value, 6)} for layer in each for value in layer.tolist()]


def names(heads: Heads) -> list[str]:
    return [f"{layer}.{head}" for layer, head in heads]


def look(model: GPT2LMHeadModel, tasks: dict[str, Task], seed: int) -> list[dict[str, float]]:
    """Everything that is seen in attention, by head, layer-major."""
    parts = (
        detector_scores(model, seed),
        sentence_scores(model, tasks["indirect_object"]),
        list_scores(model, tasks["repeated_list"]),
    )
    return [a | b | c for a, b, c in zip(*parts, strict=True)]


def measure(model: GPT2LMHeadModel, seed: int) -> dict:
    tasks = {
        "indirect_object": make_task("indirect object", seed, model.device),
        "repeated_list": make_task("repeated list", seed + 10, model.device),
    }
    whole = {}
    for name, task in tasks.items():
        loss, accuracy = evaluate(model, task)
        whole[name] = {
            "texts": TEXTS,
            "predictions": len(task.at),
            "loss": round(loss, 6),
            "accuracy": round(accuracy, 6),
        }
    looks = look(model, tasks, seed + 20)
    rows = []
    for i, scores in enumerate(looks):
        layer, head = divmod(i, model.config.n_head)
        rows.append({"layer": layer, "head": head} | scores | damage(model, tasks, whole, [(layer, head)]))
    classes = classes_of(rows)
    everyone = [(row["layer"], row["head"]) for row in rows]
    groups = []
    for name, heads in classes.items():
        groups.append({"group": name, "heads": names(heads)} | damage(model, tasks, whole, heads))
        others = others_like(heads, everyone, classes)
        groups.append(
            {"group": f"as many others as {name}", "heads": names(others)} | damage(model, tasks, whole, others)
        )
    return {
        "detectors": {
            "sequences": DETECTOR_SEQUENCES,
            "length": (LENGTH - 1) // 2 * 2,
            "bos": True,
            "threshold": LOOKS_AT,
        },
        "tasks": whole,
        "classes": {name: names(heads) for name, heads in classes.items()},
        "groups": groups,
        "effects": effects(model, tasks, seed + 20, classes, looks),
        "heads": rows,
    }


def effects(
    model: GPT2LMHeadModel, tasks: dict[str, Task], seed: int, classes: dict[str, Heads], looks: list[dict]
) -> list[dict]:
    """What later heads see when an earlier class is zeroed: their scores before and after."""
    result = []
    for gone, heads in classes.items():
        with without(model, heads):
            blind = look(model, tasks, seed)
        for name, members in classes.items():
            for layer, head in members:
                if name == gone or layer <= min(at for at, _ in heads):
                    continue
                i = layer * model.config.n_head + head
                for score in TELLING[name]:
                    result.append(
                        {
                            "without": gone,
                            "head": f"{layer}.{head}",
                            "class": name,
                            "score": score,
                            "before": looks[i][score],
                            "after": blind[i][score],
                        }
                    )
    return result


def others_like(heads: Heads, everyone: Heads, classes: dict[str, Heads]) -> Heads:
    """As many heads of no class, of the same layers as far as there are any: the control of a group."""
    taken = {head for members in classes.values() for head in members}
    free = [head for head in everyone if head not in taken]
    chosen: Heads = []
    for layer, _ in heads:
        same = [head for head in free if head[0] == layer and head not in chosen]
        left = same or [head for head in free if head not in chosen]
        chosen += left[:1]
    return sorted(chosen)


TELLING = {
    "previous": ["previous"],
    "duplicate": ["duplicate"],
    "induction": ["induction", "item_to_next"],
    "name mover": ["to_receiver", "to_first_mention"],
    "name suppressor": ["to_second_mention"],
}

RULES = {
    "previous": f"detector 'previous' at least {LOOKS_AT}",
    "duplicate": f"detector 'duplicate' at least {LOOKS_AT}",
    "induction": f"detector 'induction' at least {LOOKS_AT}",
    "name mover": f"attention from 'to' to the receiver at least {MOVES}, and at least {SPEAKS} logits for that name",
    "name suppressor": f"attention from 'to' to the giver's second mention at least {MOVES}, "
    f"and at least {SPEAKS} logits against that name",
}


def labels_of(behavior: dict) -> dict:
    rules = "; ".join(f"{name}: {RULES[name]}" for name in behavior["classes"])
    return {"name": "demo", "source": f"behavior.json of this model. {rules}", "classes": behavior["classes"]}


def print_heads(behavior: dict) -> None:
    print(behavior["tasks"])
    for row in behavior["heads"]:
        shown = {k: v for k, v in row.items() if isinstance(v, float)}
        cost = "  ".join(
            f"{row[task]['loss_increase']:7.3f} {row[task]['accuracy_drop']:6.3f}" for task in behavior["tasks"]
        )
        print(f"{row['layer']}.{row['head']}  {cost}  " + "  ".join(f"{k[:12]} {v:.2f}" for k, v in shown.items()))
    for group in behavior["groups"]:
        print(group)
    for effect in behavior["effects"]:
        print(effect)
    print(behavior["classes"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).parent)
    parser.add_argument("--write", action="store_true", help="store it in behavior.json and labels.json")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    model = GPT2LMHeadModel.from_pretrained(arguments.folder, attn_implementation="eager").eval()
    path = arguments.folder / "behavior.json"
    behavior = json.loads(path.read_text())
    behavior |= measure(model, behavior["seed"] + 2000)
    print_heads(behavior)
    if arguments.write:
        write_json(path, behavior)
        write_json(arguments.folder / "labels.json", labels_of(behavior))


def write_json(path: Path, value: dict) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n")


if __name__ == "__main__":
    main()
