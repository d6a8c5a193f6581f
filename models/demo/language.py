"""The small English that the model speaks: its words, and seeded passages of three kinds.

 - indirect object: "When Mary and John went to the store , John gave a drink to Mary ."  Who gets it is the one of the
   two who does not act; either of the two may act, so that neither order nor distance tells.
 - repeated list:   "List : red ball park ... . Again : red ball park ... ."
 - story:           "Anna had a small kite . She took the kite to the beach ."

A sequence is [BOS] and passages one after another, cut off at the model's length; or, one in four, a list of any words
without a heading, said over and over: without those, heads that copy lists do it after "Again :" only. One pair of
names in ten, and one pair of place and object in ten, are held out: no sentence or story made for training joins them.
Python alone; only random.Random.random() is used, which gives the same numbers in every version.

    python models/demo/language.py > models/demo/unseen.txt
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from random import Random

UNKNOWN, BEGIN = "[UNK]", "[BOS]"
LENGTH = 64
SHORTEST_LIST, LONGEST_LIST = 4, 14

WOMEN = (
    "Mary Anna Emma Lucy Sarah Alice Julia Laura Nina Clara Ruth Rosa Helen Jane Kate Lily Maria Paula Sophie Eva"
).split()
MEN = (
    "John Tom James Peter Paul David Mark Adam Leo Max Henry Oscar Simon Jack Daniel Felix Hugo Ben Sam George".split()
)
NAMES = WOMEN + MEN
PLACES = (
    "store park school garden station library beach market museum office kitchen farm bridge forest hotel church river "
    "harbor castle theater village tower"
).split()
OBJECTS = (
    "drink ball book letter flower key ring cake basket hat map coin lamp candle bottle cup pen picture box bag kite "
    "drum bell knife spoon plate blanket clock ticket rope stone shell toy mirror guitar ladder whistle wheel puzzle"
).split()
ANIMALS = "dog cat horse bird rabbit fox mouse duck frog goat bear wolf sheep pig".split()
LOOKS = "red blue green yellow black white small big old new heavy light round broken".split()
MOODS = "warm cold happy sad quiet brave clever hungry".split()
GIVING = "gave handed offered showed sold passed".split()
DOING = (
    "went arrived walked ran met had took saw found wanted bought lost looked liked read wrote copied carried".split()
)
HOW = "quickly slowly kindly soon".split()
GRAMMAR = (
    "When After While Then Later Today Yesterday One day the The a and to at in near for with but was were it not "
    "there There She He she he her his List Again home Now again"
).split()
SIGNS = [".", ",", ":"]

CONTENT = NAMES + PLACES + OBJECTS + ANIMALS + LOOKS + MOODS + GIVING + DOING
VOCABULARY = [UNKNOWN, BEGIN, *SIGNS, *GRAMMAR, *HOW, *CONTENT]
ID = {word: i for i, word in enumerate(VOCABULARY)}

OPENINGS = [
    "When {A} and {B} went to the {place} ,",
    "After {A} and {B} arrived at the {place} ,",
    "While {A} and {B} were at the {place} ,",
    "Today {A} and {B} walked to the {place} .",
    "Yesterday {A} and {B} met at the {place} .",
    "Then {A} and {B} ran to the {place} .",
    "Later {A} and {B} met again in the {place} .",
    "{A} and {B} were near the {place} .",
]
STORIES = [
    "{A} had a {look} {object} . {She} took the {object} to the {place} . There {she} saw a {animal} . "
    "The {animal} was {mood} .",
    "One day {A} found a {mood} {animal} in the {place} . {She} liked the {animal} and carried it home .",
    "{A} wanted a {object} . {She} walked to the {place} and bought a {look} {object} . "
    "Now {her} {object} was at home .",
    "The {animal} was {mood} and the {other} was {mood2} . {A} liked the {mood} {animal} and not the {mood2} {other} .",
    "The {animal} was {mood} and the {other} was {mood2} . {A} liked the {mood2} {other} and not the {mood} {animal} .",
    "{A} lost a {look} {object} near the {place} . {B} looked for the {look} {object} , "
    "but it was not near the {place} .",
    "{A} wrote a letter to {B} . {B} read the letter at the {place} and was {mood} .",
]


@dataclass(frozen=True)
class Passage:
    """Words, and where in them the places stand that the measurements ask about."""

    words: list[str]
    kind: str
    first_mention: int = 0  # of the one who acts (S1)
    second_mention: int = 0  # the same name again (S2)
    receiver: int = 0  # the only mention before the answer (IO)
    answer: int = 0  # the receiver again; predicted from the "to" before it
    copy: range = range(0)  # the items of the second list
    distance: int = 0  # from an item of the first list to its copy


class Language:
    """Passages drawn from `seed`. With `held_out`, they join what none for training does."""

    def __init__(self, seed: int, held_out: bool = False) -> None:
        self._random = Random(seed)
        self._name_pairs = _part(combinations(NAMES, 2), held_out)
        self._things = _part(product(PLACES, OBJECTS), held_out)

    def passage(self) -> Passage:
        which = self._random.random()
        return self.indirect_object() if which < 0.35 else self.repeated_list() if which < 0.65 else self.story()

    def sequence(self) -> list[int]:
        """Ids, LENGTH of them."""
        words = [BEGIN]
        again = self._several(VOCABULARY[2:], self._size(8, LENGTH // 2 - 1)) if self._chance(0.25) else []
        while len(words) < LENGTH:
            words += again or self.passage().words
        return [ID[word] for word in words[:LENGTH]]

    def indirect_object(self) -> Passage:
        first, second = self._pair()
        place, thing = self._pick(self._things)
        words = self._pick(OPENINGS).format(A=first, B=second, place=place).split()
        if words[-1] == "." and self._chance(0.3):
            words += f"There was a {self._pick(MOODS)} {self._pick(ANIMALS)} there .".split()
        giver, receiver = (first, second) if self._chance(0.5) else (second, first)
        how = [self._pick(HOW)] if self._chance(0.25) else []
        look = [self._pick(LOOKS)] if self._chance(0.3) else []
        article = self._pick(["a", "the"])
        if self._chance(0.25):
            action = [*how, "took", article, *look, thing, "and", self._pick(GIVING), "it", "to"]
        else:
            action = [*how, self._pick(GIVING), article, *look, thing, "to"]
        second_mention = len(words)
        words += [giver, *action, receiver, "."]
        return Passage(
            words,
            "indirect object",
            first_mention=words.index(giver),
            second_mention=second_mention,
            receiver=words.index(receiver),
            answer=len(words) - 2,
        )

    def repeated_list(self) -> Passage:
        """Distinct words, any but the specials in one list of four, else those with a meaning of their own."""
        size = self._size(SHORTEST_LIST, LONGEST_LIST)
        items = self._several(VOCABULARY[2:] if self._chance(0.25) else CONTENT, size)
        before, between = self._pick(
            [("List :", ". Again :"), ("{A} read :", ". {B} copied :"), ("{A} wrote :", ". Then {she} read :")]
        )
        names = self._names()
        before, between = before.format(**names).split(), between.format(**names).split()
        start = len(before) + size + len(between)
        return Passage(
            [*before, *items, *between, *items, "."],
            "repeated list",
            copy=range(start, start + size),
            distance=size + len(between),
        )

    def story(self) -> Passage:
        place, thing = self._pick(self._things)
        animal, other = self._several(ANIMALS, 2)
        mood, mood2 = self._several(MOODS, 2)
        text = self._pick(STORIES).format(
            place=place,
            object=thing,
            animal=animal,
            other=other,
            mood=mood,
            mood2=mood2,
            look=self._pick(LOOKS),
            **self._names(),
        )
        return Passage(text.split(), "story")

    def _names(self) -> dict[str, str]:
        first, second = self._pair()
        woman = first in WOMEN
        return {
            "A": first,
            "B": second,
            "She": "She" if woman else "He",
            "she": "she" if woman else "he",
            "her": "her" if woman else "his",
        }

    def _pair(self) -> tuple[str, str]:
        first, second = self._pick(self._name_pairs)
        return (first, second) if self._chance(0.5) else (second, first)

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def _size(self, least: int, most: int) -> int:
        return least + int(self._random.random() * (most - least + 1))

    def _pick(self, items: list):
        return items[int(self._random.random() * len(items))]

    def _several(self, items: list[str], count: int) -> list[str]:
        left = list(items)
        return [left.pop(int(self._random.random() * len(left))) for _ in range(count)]


def _part(pairs, held_out: bool) -> list[tuple[str, str]]:
    """A fixed tenth of the pairs, or the other nine."""
    pairs = list(pairs)
    chosen = Random(20260110)
    marks = [chosen.random() < 0.1 for _ in pairs]
    return [pair for pair, mark in zip(pairs, marks, strict=True) if mark == held_out]


def unseen(count: int = 32) -> list[str]:
    """Sequences that training has not seen, which join what is held out; [BOS] left to the tokenizer."""
    language = Language(1_000_003, held_out=True)
    return [" ".join(VOCABULARY[word] for word in language.sequence()[1:]) for _ in range(count)]


if __name__ == "__main__":
    print("\n".join(unseen()))
