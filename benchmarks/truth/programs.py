"""The RASP programs of the truth bench: what people wrote to explain attention, from counting to induction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import compiler  # noqa: F401  (makes tracr's compiler importable)
from compiler import Program, compile_program
from tracr.compiler import lib
from tracr.rasp import rasp

LENGTH = 6
LETTERS = set("abcd")
DIGITS = {1, 2, 3, 4}


def induction() -> Any:
    """What followed the last time that this token occurred: a previous-token head, then a head that matches it."""
    before = lib.shift_by(1, rasp.tokens)
    match = rasp.Select(before, rasp.tokens, lambda k, q: k == q).named("match")
    return rasp.Aggregate(match, rasp.tokens).named("induction")


def induction_twice() -> Any:
    """Matches the last two tokens: two previous-token heads feed one matching head through an MLP."""
    one, two = lib.shift_by(1, rasp.tokens), lib.shift_by(2, rasp.tokens)
    now = rasp.SequenceMap(lambda x, y: x + y, rasp.tokens, one).named("now")
    then = rasp.SequenceMap(lambda x, y: x + y, one, two).named("then")
    match = rasp.Select(then, now, lambda k, q: k is not None and k == q).named("match_two")
    return rasp.Aggregate(match, rasp.tokens).named("induction_twice")


def most_frequent() -> Any:
    """Whether a token is as frequent as any: counts, then counts those with a larger count."""
    count = lib.make_hist().named("hist")
    larger = rasp.SelectorWidth(rasp.Select(count, count, rasp.Comparison.GT)).named("larger")
    return (larger == 0).named("most_frequent")


def repeated_before() -> Any:
    """Whether the token before this one occurs more than once."""
    many = rasp.categorical(rasp.Map(lambda x: x > 1, lib.make_hist())).named("many")
    return lib.shift_by(1, many).named("repeated_before")


def copy_at_offset() -> Any:
    """Three shifts in a row: a chain of heads without a single MLP."""
    return lib.shift_by(1, lib.shift_by(1, lib.shift_by(1, rasp.tokens)))


def first_and_last() -> Any:
    """Whether the first token is the last: two heads that read the length, and a comparison."""
    last = rasp.Select(rasp.indices, lib.make_length() - 1, rasp.Comparison.EQ).named("select_last")
    first = rasp.Select(rasp.indices, rasp.indices, lambda k, q: k == 0).named("select_first")
    ends = rasp.Aggregate(last, rasp.tokens).named("end"), rasp.Aggregate(first, rasp.tokens).named("begin")
    return rasp.SequenceMap(lambda x, y: x == y, *ends).named("first_and_last")


def pair_balance() -> Any:
    return lib.make_pair_balance(rasp.tokens, "(", ")")


SOURCES: dict[str, tuple[Callable[[], Any], set, int]] = {
    "reverse": (lambda: lib.make_reverse(rasp.tokens), LETTERS, LENGTH),
    "sort": (lambda: lib.make_sort(rasp.tokens, rasp.tokens, max_seq_len=LENGTH, min_key=1), DIGITS, LENGTH),
    "sort_unique": (lambda: lib.make_sort_unique(rasp.tokens, rasp.tokens), DIGITS, LENGTH),
    "sort_frequency": (lambda: lib.make_sort_freq(LENGTH), LETTERS, LENGTH),
    "pair_balance": (pair_balance, set("()a"), LENGTH),
    "dyck": (lambda: lib.make_shuffle_dyck(["()"]), set("()"), LENGTH),
    "dyck_two": (lambda: lib.make_shuffle_dyck(["()", "{}"]), set("(){}"), LENGTH),
    "count_less_frequent": (lambda: lib.make_count_less_freq(2), LETTERS, LENGTH),
    "pattern": (lambda: lib.detect_pattern(rasp.tokens, "abc"), LETTERS, LENGTH),
    "induction": (induction, LETTERS, LENGTH),
    "induction_twice": (induction_twice, LETTERS, LENGTH),
    "most_frequent": (most_frequent, LETTERS, LENGTH),
    "repeated_before": (repeated_before, LETTERS, LENGTH),
    "copy_at_offset": (copy_at_offset, LETTERS, LENGTH),
    "first_and_last": (first_and_last, LETTERS, LENGTH),
}


def compiled(name: str) -> Program:
    """A program by name, compiled."""
    make, vocabulary, length = SOURCES[name]
    return compile_program(name, make(), vocabulary, length)
