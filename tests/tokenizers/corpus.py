"""Texts for the comparison of tokenizers: seeded, in many scripts, with what usually goes wrong."""

from __future__ import annotations

import random

SENTENCES = [
    "The quick brown fox jumps over the lazy dog, and didn't look back; it's what we'll all do someday.",
    "In 1984, 3.14159 people (about 1,234,567) paid $99.99 for 10^6 widgets -- why? Because they're cheap!",
    "Der schnelle braune Fuchs springt über den faulen Hund. Straße, Größe, Öl, Ärger.",
    "L'élève a mangé une crêpe à Noël; ça coûte 12 € à Besançon, où naïveté rime avec cœur.",
    "El niño comió piñas en la montaña. ¿Qué pasó? ¡Nada!",
    "Быстрая коричневая лиса прыгает через ленивую собаку. Ёжик й.",
    "Η γρήγορη καφέ αλεπού πηδάει πάνω από το τεμπέλικο σκυλί. ΣΊΣΥΦΟΣ.",
    "敏捷的棕色狐狸跳过了懒狗。今天天气很好，我们去公园吧！",
    "素早い茶色の狐がのろまな犬を飛び越える。カタカナとひらがな、ﾊﾝｶｸ。",
    "빠른 갈색 여우가 게으른 개를 뛰어넘습니다. 한국어 문장입니다.",
    "الثعلب البني السريع يقفز فوق الكلب الكسول. مَرْحَبًا",
    "השועל החום המהיר קופץ מעל הכלב העצלן. שָׁלוֹם",
    "तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर कूदती है। क्षत्रिय ज्ञान",
    "สุนัขจิ้งจอกสีน้ำตาลกระโดดข้ามสุนัขขี้เกียจ",
    "Tiếng Việt có nhiều dấu: ầ ế ỗ ữ ặ.",
    "İstanbul'da ışık ve gölge; ıIiİ.",
    "def f(x, *args, **kw):\n    return {k: v for k, v in kw.items() if x >= 0x1F and not args[-1]}\n",
    "#include <vector>\nint main() {\n\tfor (auto&& i : v) { std::cout << i++ << \"\\n\"; }\n}\r\n",
    "SELECT * FROM t WHERE a_b = 'c' AND d != 1e-5; -- comment\n\n\n",
    "https://example.com/path?q=1&r=%20#frag user@host.org C:\\dir\\file.txt snake_case camelCase UPPER",
    "I'M SURE THEY'LL SAY WE'VE DONE WHAT'S RIGHT, he'd've",
    "👩‍👩‍👧‍👦 👍🏽 🇩🇪🇫🇷 ❤️ 🏳️‍🌈 🤷🏿‍♀️ 1️⃣",
    "ﬁne ﬂow ½ ² ℌ ① Ⅷ ㎏ ｆｕｌｌｗｉｄｔｈ ﷺ ™ … ‘q’ “d” —",
]

ODD = [
    "", " ", "  ", "   ", "\t", "\n", "\n\n", "\r\n", " \n ", "\u00a0", "\u3000", "\u2003a\u2009b", "\u200b", "\u200d",
    "\ufeff", "\u0000", "a\u0000b", "\u0001\u0002\u001f", "\u007f", "\u0085", "\u2028x\u2029", "\ufffd", "\ufffe",
    "\u180e", "a\u180eb", "e\u0301", "\u0301e", "\u0301", "e\u0301\u0323", "e\u0323\u0301", "\u1e69", "s\u0307\u0323", "\u212b", "\uac00\u11a8",
    "\u1100\u1161\u11a8", "\u0958", "\u2126", "\ufb01", "\u01c6", "\u0130", "\u0149", "\u1e9e", "\u03a3", "'S 'ſ 'K",
    "a" * 200, " " * 50 + "x", "x" + " " * 50, "\n" * 40, "ab" * 100, "!" * 120, "=" * 64 + "\n", "1234567890" * 8,
    "日" * 60, "🙂" * 20, "é" * 80, "e\u0301" * 40, "\u0301" * 40, "\U0010ffff", "\ue000", "\U000f0000", "\u0378",
    "▁", "▁▁a", "a▁b", " ▁ ", "Ġ", "Ġa Ċ", "##a", "a##b", "<0x0A>", "<0x41>", "</w>", "[UNK]", "<unk>",
]


def texts(special: list[str], count: int = 5000, seed: int = 1) -> list[str]:
    """At least `count` texts; `special` are the tokenizer's own special tokens, put into some of them."""
    rng = random.Random(seed)
    pool = ODD + SENTENCES + special
    found = list(pool)
    words = [word for sentence in SENTENCES for word in sentence.split(" ")]
    spaces = [" ", " ", " ", "", "  ", "\n", "\t", "\u00a0", "\u3000", " \n", "\u200b", "\r\n\r\n"]
    while len(found) < count:
        kind = rng.random()
        if kind < 0.35:
            parts = [rng.choice(words) + rng.choice(spaces) for _ in range(rng.randint(1, 12))]
        elif kind < 0.55:
            parts = [rng.choice(pool) + rng.choice(spaces) for _ in range(rng.randint(1, 5))]
        elif kind < 0.7:
            parts = [mutated(rng.choice(SENTENCES), rng)]
        elif kind < 0.85:
            parts = [chr(any_code_point(rng)) for _ in range(rng.randint(1, 20))]
        else:
            parts = [rng.choice(special or [""]) + rng.choice(spaces) + rng.choice(words) + rng.choice(spaces)
                     for _ in range(rng.randint(1, 4))]
        found.append("".join(parts))
    return found


def mutated(text: str, rng: random.Random) -> str:
    characters = list(text)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(characters) + 1)
        what = rng.random()
        if what < 0.5:
            characters.insert(at, rng.choice(ODD))
        elif what < 0.8:
            characters.insert(at, chr(any_code_point(rng)))
        else:
            del characters[at : at + rng.randint(1, 9)]
    return "".join(characters)


def any_code_point(rng: random.Random) -> int:
    """Any character but surrogates, most often of the first planes' first parts."""
    top = rng.choice([0x80, 0x300, 0x700, 0x1000, 0x3000, 0xFFFF, 0x1FFFF, 0x10FFFF])
    while 0xD800 <= (found := rng.randint(0, top)) < 0xE000:
        pass
    return found
