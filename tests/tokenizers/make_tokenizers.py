"""Trains small tokenizers configured as those of the families headscope reads: make_tokenizers.py FOLDER.

Every kind is a file KIND.json, trained with the `tokenizers` package on the sentences of corpus.py; the result depends
on nothing but these two scripts. Needs tokenizers.
"""

from __future__ import annotations

import base64
import json
import struct
import sys
from collections.abc import Callable
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from corpus import SENTENCES

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
BYTE_TOKENS = [f"<0x{b:02X}>" for b in range(256)]
KINDS: dict[str, Callable[[], Tokenizer]] = {}


def kind(make: Callable[[], Tokenizer]) -> Callable[[], Tokenizer]:
    KINDS[make.__name__] = make
    return make


def trained(tokenizer: Tokenizer, trainer: trainers.Trainer) -> Tokenizer:
    tokenizer.train_from_iterator(SENTENCES * 3, trainer)
    return tokenizer


def byte_level_bpe(special: list[str], size: int = 600, **options) -> Tokenizer:
    """BPE over GPT-2's characters for bytes, with `special` first."""
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    trained(tokenizer, trainer)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def sentencepiece_bpe(special: list[str], size: int = 700, across: bool = False, **options) -> Tokenizer:
    """BPE over characters with bytes to fall back to; most characters of the corpus are left out of the vocabulary."""
    options = {"byte_fallback": True, "fuse_unk": True, "unk_token": "<unk>"} | options
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    if not across:
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("(?<=.)(?=▁)"), "isolated")
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=special + BYTE_TOKENS, limit_alphabet=120, show_progress=False
    )
    trained(tokenizer, trainer)
    tokenizer.pre_tokenizer = None
    return tokenizer


def no_longer_special(tokenizer: Tokenizer) -> Tokenizer:
    """Training makes byte tokens special ones, which real files do not."""
    data = json.loads(tokenizer.to_str())
    data["added_tokens"] = [token for token in data["added_tokens"] if token["content"] not in BYTE_TOKENS]
    return Tokenizer.from_str(json.dumps(data))


def around(tokenizer: Tokenizer, template: str, names: list[str]) -> processors.TemplateProcessing:
    return processors.TemplateProcessing(
        single=template, special_tokens=[(name, tokenizer.token_to_id(name)) for name in names]
    )


@kind
def gpt2() -> Tokenizer:
    tokenizer = byte_level_bpe(["<|endoftext|>"], continuing_subword_prefix="", end_of_word_suffix="")
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


@kind
def gpt_neox() -> Tokenizer:
    tokenizer = byte_level_bpe(["<|endoftext|>", "<|padding|>"])
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=True)
    tokenizer.add_tokens([AddedToken(" " * n, normalized=True) for n in range(24, 1, -1)])
    return tokenizer


@kind
def gptj() -> Tokenizer:
    tokenizer = byte_level_bpe(["<|endoftext|>"])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    tokenizer.add_tokens([f"<|extratoken_{n}|>" for n in range(1, 4)])
    return tokenizer


@kind
def opt() -> Tokenizer:
    tokenizer = byte_level_bpe(["<s>", "<pad>", "</s>", "<unk>"], unk_token="</s>")
    tokenizer.post_processor = around(tokenizer, "</s> $A", ["</s>"])
    return tokenizer


@kind
def roberta() -> Tokenizer:
    tokenizer = byte_level_bpe(["<s>", "<pad>", "</s>", "<unk>"])
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    ids = {name: tokenizer.token_to_id(name) for name in ("<s>", "</s>")}
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", ids["</s>"]), ("<s>", ids["<s>"]), trim_offsets=True, add_prefix_space=False
    )
    return tokenizer


@kind
def roberta_prefix_space() -> Tokenizer:
    tokenizer = roberta()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    ids = {name: tokenizer.token_to_id(name) for name in ("<s>", "</s>")}
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", ids["</s>"]), ("<s>", ids["<s>"]))
    return tokenizer


@kind
def llama3() -> Tokenizer:
    tokenizer = byte_level_bpe([], ignore_merges=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"])
    tokenizer.post_processor = processors.Sequence(
        [processors.ByteLevel(trim_offsets=True), around(tokenizer, "<|begin_of_text|> $A", ["<|begin_of_text|>"])]
    )
    return tokenizer


@kind
def qwen2() -> Tokenizer:
    tokenizer = byte_level_bpe([])
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(QWEN2), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=False)
    tokenizer.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens([AddedToken("<think>", normalized=False), AddedToken("</think>", normalized=False)])
    return tokenizer


@kind
def o200k() -> Tokenizer:
    tokenizer = byte_level_bpe(["<|endoftext|>"], ignore_merges=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(O200K), "removed", invert=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=False),
        ]
    )
    return tokenizer


@kind
def digits_then_gpt2() -> Tokenizer:
    """StarCoder and the like."""
    tokenizer = byte_level_bpe(["<|endoftext|>"])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    return tokenizer


@kind
def byte_level_first() -> Tokenizer:
    """Bytes as characters before another step sees them, and contiguous digits."""
    tokenizer = byte_level_bpe(["<|endoftext|>"])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.ByteLevel(add_prefix_space=True, use_regex=False),
            pre_tokenizers.Split("Ġ", "merged_with_next"),
            pre_tokenizers.Punctuation("contiguous"),
            pre_tokenizers.Digits(),
        ]
    )
    return tokenizer


@kind
def byte_level_normalizer() -> Tokenizer:
    tokenizer = byte_level_bpe(["<|endoftext|>"])
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.ByteLevel()])
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("Ġ+|Ċ"), "merged_with_previous")
    return tokenizer


@kind
def llama2() -> Tokenizer:
    tokenizer = no_longer_special(sentencepiece_bpe(["<unk>", "<s>", "</s>"]))
    tokenizer.post_processor = around(tokenizer, "<s> $A", ["<s>"])
    return tokenizer


@kind
def tokens_across_words() -> Tokenizer:
    return no_longer_special(sentencepiece_bpe(["<unk>", "<s>", "</s>"], across=True))


@kind
def phi3() -> Tokenizer:
    tokenizer = llama2()
    tokenizer.add_special_tokens([AddedToken("<|user|>", rstrip=True), AddedToken("<|end|>", rstrip=True)])
    tokenizer.add_special_tokens([AddedToken("<|both|>", rstrip=True, lstrip=True)])
    return tokenizer


@kind
def mistral() -> Tokenizer:
    tokenizer = no_longer_special(sentencepiece_bpe(["<unk>", "<s>", "</s>", "[INST]", "[/INST]"], ignore_merges=True))
    tokenizer.normalizer = None
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="first", split=False)
    tokenizer.post_processor = around(tokenizer, "<s> $A", ["<s>"])
    return tokenizer


@kind
def metaspace_always() -> Tokenizer:
    tokenizer = no_longer_special(sentencepiece_bpe(["<unk>", "<s>", "</s>"]))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKD(), normalizers.StripAccents()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="always", split=True)
    return tokenizer


@kind
def gemma() -> Tokenizer:
    tokenizer = no_longer_special(sentencepiece_bpe(["<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>"]))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.post_processor = around(tokenizer, "<bos> $A", ["<bos>"])
    tokenizer.add_tokens([AddedToken("\n" * n, normalized=False) for n in range(2, 6)])
    tokenizer.add_tokens([AddedToken("▁" * n, normalized=False) for n in range(2, 6)])
    return tokenizer


@kind
def bpe_unknown() -> Tokenizer:
    """No bytes to fall back to, unknown characters one by one."""
    tokenizer = no_longer_special(sentencepiece_bpe(["<unk>"], byte_fallback=False, fuse_unk=False))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


@kind
def bpe_word_ends() -> Tokenizer:
    """CLIP's and the first GPT's: the last character of a word is another."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    spaces = normalizers.Replace(Regex(r"\s+"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), spaces, normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=["<unk>"], limit_alphabet=100, end_of_word_suffix="</w>", show_progress=False
    )
    return trained(tokenizer, trainer)


@kind
def bpe_continuing() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]", continuing_subword_prefix="##", fuse_unk=True))
    tokenizer.normalizer = normalizers.Strip()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=["[UNK]"], limit_alphabet=100, continuing_subword_prefix="##", show_progress=False
    )
    return trained(tokenizer, trainer)


def word_piece(**normalizer) -> Tokenizer:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(**normalizer)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=700, special_tokens=special, limit_alphabet=250, show_progress=False)
    return trained(tokenizer, trainer)


@kind
def bert_uncased() -> Tokenizer:
    tokenizer = word_piece(lowercase=True)
    tokenizer.post_processor = around(tokenizer, "[CLS] $A [SEP]", ["[CLS]", "[SEP]"])
    return tokenizer


@kind
def bert_cased() -> Tokenizer:
    tokenizer = word_piece(lowercase=False)
    tokenizer.post_processor = processors.BertProcessing(
        ("[SEP]", tokenizer.token_to_id("[SEP]")), ("[CLS]", tokenizer.token_to_id("[CLS]"))
    )
    tokenizer.add_tokens([AddedToken("fox", single_word=True), AddedToken("Hund", single_word=True, lstrip=True)])
    return tokenizer


@kind
def distilbert() -> Tokenizer:
    tokenizer = word_piece(lowercase=True, strip_accents=False, handle_chinese_chars=False)
    tokenizer.post_processor = around(tokenizer, "[CLS] $A [SEP]", ["[CLS]", "[SEP]"])
    tokenizer.add_tokens([AddedToken("BROWN", normalized=True), AddedToken("Straße", normalized=True, rstrip=True)])
    return tokenizer


def charsmap(rules: dict[str, str]) -> bytes:
    """SentencePiece's table of replacements: a double array whose nodes each get 256 places of their own."""
    texts = bytearray(b"\0")
    values = {}
    for key, to in rules.items():
        values[key.encode()] = len(texts)
        texts += to.encode() + b"\0"
    prefixes = sorted({key[:n] for key in values for n in range(len(key) + 1)}, key=lambda p: (len(p), p))
    base = {prefix: 256 * (index + 1) for index, prefix in enumerate(prefixes)}
    units = [0] * (256 * (len(prefixes) + 1))
    place = {b"": 0}
    for prefix in prefixes[1:]:
        place[prefix] = base[prefix[:-1]] ^ prefix[-1]
    for prefix in prefixes:
        offset = place[prefix] ^ base[prefix]
        # Offsets of 2^21 and more are multiples of 256, written without their last eight bits.
        spelled = offset << 10 if offset < 1 << 21 else (offset >> 8) << 10 | 1 << 9
        leaf = prefix in values
        units[place[prefix]] |= spelled | (1 << 8 if leaf else 0) | (prefix[-1] if prefix else 0)
        if leaf:
            units[base[prefix]] = values[prefix] | 1 << 31
    return struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + bytes(texts)


RULES = {
    "\u00a0": " ", "\u3000": " ", "\t": " ", "\n": " ", "\r": " ", "ﬁ": "fi", "ﬂ": "fl", "½": "1⁄2", "²": "2", "™": "TM",
    "…": "...", "①": "1", "㎏": "kg", "ｆ": "f", "ｕ": "u", "ｌ": "l", "ﷺ": "صلى الله عليه وسلم", "e\u0301": "é", "é": "é",
    "\u200b": " ", "\u200d": "", "\u0001": "", "가": "가", "s\u0307\u0323": "ṩ", "Å": "Å", "ﾊ": "ハ",
}  # fmt: skip


def with_charsmap(tokenizer: Tokenizer) -> Tokenizer:
    """`Precompiled` first among the normalizers, which the package can read but not make."""
    data = json.loads(tokenizer.to_str())
    step = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap(RULES)).decode()}
    rest = data["normalizer"]
    data["normalizer"] = {"type": "Sequence", "normalizers": [step] + ([rest] if rest else [])}
    return Tokenizer.from_str(json.dumps(data))


def unigram(special: list[str], size: int = 600) -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=size, special_tokens=special, unk_token="<unk>", show_progress=False)
    return trained(tokenizer, trainer)


@kind
def t5() -> Tokenizer:
    tokenizer = unigram(["<pad>", "</s>", "<unk>"])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.post_processor = around(tokenizer, "$A </s>", ["</s>"])
    return with_charsmap(tokenizer)


@kind
def xlm_roberta() -> Tokenizer:
    tokenizer = unigram(["<s>", "<pad>", "</s>", "<unk>"])
    tokenizer.normalizer = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    tokenizer.post_processor = around(tokenizer, "<s> $A </s>", ["<s>", "</s>"])
    return with_charsmap(tokenizer)


@kind
def unigram_bytes() -> Tokenizer:
    data = json.loads(unigram(["<unk>"], size=400).to_str())
    # A third of the corpus's characters are unknown, so that there is something to fall back from.
    kept = [entry for i, entry in enumerate(data["model"]["vocab"]) if i < 1 or len(entry[0]) > 1 or i % 3]
    data["model"]["vocab"] = kept + [[token, -9.0] for token in BYTE_TOKENS]
    data["model"]["byte_fallback"] = True
    data["model"]["unk_id"] = 0
    return Tokenizer.from_str(json.dumps(data))


@kind
def word_level() -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trained(tokenizer, trainers.WordLevelTrainer(vocab_size=200, special_tokens=["[UNK]", "[BOS]"], show_progress=False))
    tokenizer.post_processor = around(tokenizer, "[BOS] $A", ["[BOS]"])
    return tokenizer


def only_cut(step: pre_tokenizers.PreTokenizer) -> Tokenizer:
    """Every word is unknown, so that offsets show where a text is cut and nothing else."""
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = step
    return tokenizer


@kind
def cut_gpt2() -> Tokenizer:
    return only_cut(pre_tokenizers.ByteLevel(add_prefix_space=False))


@kind
def cut_llama3() -> Tokenizer:
    return only_cut(pre_tokenizers.Split(Regex(LLAMA3), "isolated"))


@kind
def cut_o200k() -> Tokenizer:
    return only_cut(pre_tokenizers.Split(Regex(O200K), "isolated"))


@kind
def cut_classes() -> Tokenizer:
    """What Oniguruma and PCRE2 do not agree on by themselves."""
    pattern = r"\bfox\b|^ +|\w+(?=\s)|\d{1,2}+|[\p{Han}\p{Hiragana}]{,3}+|\p{^L}{2}|[^\S\n]+$|(?i)[a-f]'s?|\S"
    return only_cut(pre_tokenizers.Split(Regex(pattern), "isolated"))


@kind
def cut_removed() -> Tokenizer:
    steps = [pre_tokenizers.Split(Regex(r"\p{P}+"), "removed"), pre_tokenizers.Split("ing", "merged_with_previous")]
    steps += [pre_tokenizers.Split(Regex(r"[aeiou]+"), "merged_with_next", invert=True)]
    return only_cut(pre_tokenizers.Sequence(steps))


def make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, build in KINDS.items():
        build().save(str(folder / f"{name}.json"))


if __name__ == "__main__":
    make(Path(sys.argv[1]))
