#!/usr/bin/env python3
"""Writes pretokenizer_golden.txt: how the published regular expressions split texts, by the module `regex`.

    pip install regex
    python3 tests/text/pretokenizer_golden.py > tests/text/pretokenizer_golden.txt

A line: name of the pre-tokenizer, the text in hexadecimal, the lengths of its pieces in bytes; separated by blanks.
Several expressions after one another split the pieces of those before, as in the models' tokenizer.json.
"""
import random

import regex

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
QWEN35 = QWEN2.replace(r"?\p{L}+", r"?[\p{L}\p{M}]+").replace(r" ?[^\s\p{L}\p{N}]+", r" ?[^\s\p{L}\p{M}\p{N}]+")
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"


def cased(suffix, digits):
    prefix = r"[^\r\n\p{L}\p{N}]?"
    return (f"{prefix}{UPPER}*{LOWER}+{suffix}|{prefix}{UPPER}+{LOWER}*{suffix}|{digits}"
            r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


EXPRESSIONS = {
    "gpt-2": [GPT2],
    "llama-bpe": [LLAMA3],
    "qwen2": [QWEN2],
    "qwen35": [QWEN35],
    "starcoder": [r"\p{N}", GPT2],
    "falcon": [r"[\p{P}\$\+<=>\^~\|`]+", GPT2, "[0-9][0-9][0-9]"],
    "deepseek-coder": [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"\p{N}"],
    "tekken": [cased("", r"\p{N}")],
    "gpt-4o": [cased("(?i:'s|'t|'re|'ve|'m|'ll|'d)?", r"\p{N}{1,3}")],
}

WRITTEN = [
    "I'm here, you'LL see: it's 'ſ and ''s, WE'Ve DON'T re'd",
    "x = 1234567 + 89;\n\n\tif (a<=b) {\r\n    return `$c`;  }\n",
    "   three blanks \u00a0\u3000 and others\u2028next  ",
    "مُحَمَّد ٠١٢٣٤ नमस्ते e\u0301é",
    "中文字 한국어 日本語カタカナ 100元，好。",
    "HelloWorld camelCaseNAME ǅabc ʰello ªºX/path\n/next",
    "\n \n\n \n\n\n \t \t\t \t\n  \n   \n    \n🚀 (normal) 😶\u200d🌫️ ½²Ⅷ",
    "/\\!?...\r\n//// 12 3456 78901 a1b22c333d4444",
    " ", "\n", "'", "  ", "", " '", "'s", "1", "\u0301", "\u0301A", "a\u0301\u0301 \u0301",
]
POOL = " \n\r\t'sStTmMdDlLrReEvVaAzZ019!?.,/$+<=>^~|`ſÉé٣مُحि्中文字가-_\u00a0\u3000ǅªʰ😀\u200d½"


def split(expressions, text):
    pieces = [text]
    for expression in expressions:
        refined = []
        for piece in pieces:
            at = 0
            for match in regex.finditer(expression, piece):
                refined += [piece[at:match.start()], match[0]]
                at = match.end()
            refined.append(piece[at:])
        pieces = [p for p in refined if p]
    return pieces


def main():
    rng = random.Random(20)
    texts = WRITTEN + ["".join(rng.choice(POOL) * rng.choice([1, 1, 1, 2, 3]) for _ in range(70)) for _ in range(12)]
    for name, expressions in EXPRESSIONS.items():
        for text in texts:
            lengths = " ".join(str(len(piece.encode())) for piece in split(expressions, text))
            print(f"{name} {text.encode().hex() or '-'} {lengths}".rstrip())


if __name__ == "__main__":
    main()
