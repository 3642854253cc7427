#!/usr/bin/env python3
"""Writes the Unicode tables of include/tinygrad/text/ from the Unicode Character Database.

    apt-get install unicode-data
    python3 cmake/generate_unicode.py [/usr/share/unicode]

unicode_data.hpp: classes of code points, from UnicodeData.txt (general categories) and PropList.txt (White_Space).
nfc_data.hpp: canonical decompositions and combining classes, from UnicodeData.txt and DerivedNormalizationProps.txt.
Tables of classes are lists of runs: every run starts at a code point and ends where the next one starts.
"""
import re
import sys
from pathlib import Path

CODE_POINTS = 0x110000
BITS = {  # must agree with unicode.hpp's enum; printed into the header so that a reader sees both
    "letter": 1, "number": 2, "space": 4, "mark": 8, "punctuation": 16, "symbol": 32, "upper": 64, "lower": 128,
}


def categories(path):
    """General category of every code point; ranges are two lines, '<..., First>' and '<..., Last>'."""
    result = ["Cn"] * CODE_POINTS
    first = None
    with open(path, encoding="ascii") as lines:
        for line in lines:
            code, name, category = line.split(";")[:3]
            last = int(code, 16)
            if name.endswith("First>"):
                first = last
                continue
            start = first if name.endswith("Last>") else last
            result[start:last + 1] = [category] * (last + 1 - start)
    return result


def bits(category, is_space):
    major = {"L": "letter", "N": "number", "M": "mark", "P": "punctuation", "S": "symbol"}.get(category[0])
    value = BITS[major] if major else 0
    if category in ("Lu", "Lt"):
        value |= BITS["upper"]
    if category == "Ll":
        value |= BITS["lower"]
    return value | (BITS["space"] if is_space else 0)


def property_points(path, pattern):
    """The set of code points of the lines that match `pattern` behind their range, and the version string."""
    points = set()
    with open(path, encoding="utf-8") as lines:
        version = re.search(r"-([0-9.]+)\.txt", next(lines)).group(1)
        for line in lines:
            match = re.match(r"([0-9A-F]+)(?:\.\.([0-9A-F]+))?\s*;\s*" + pattern, line)
            if match:
                points.update(range(int(match[1], 16), int(match[2] or match[1], 16) + 1))
    return points, version


def runs_of(values):
    return [(c, values[c]) for c in range(CODE_POINTS) if c == 0 or values[c] != values[c - 1]]


def table(entries):
    """Entries as initialisers, lines of at most 118 characters."""
    lines = [""]
    for entry in entries:
        text = "{" + ",".join(f"0x{x:x}" if x > 255 else str(x) for x in entry) + "},"
        if len(lines[-1]) + len(text) > 118:
            lines.append("")
        lines[-1] += text
    return "\n".join(" " + line for line in lines)


def classes_header(folder):
    category = categories(f"{folder}/UnicodeData.txt")
    spaces, version = property_points(f"{folder}/PropList.txt", r"White_Space\b")
    runs = runs_of([bits(category[c], c in spaces) for c in range(CODE_POINTS)])
    names = ", ".join(f"{name} {value}" for name, value in BITS.items())
    return f"""// Classes of all code points of Unicode {version}, as runs: {{first code point of the run, its class bits}}; a run ends
// where the next begins. Bits: {names}.
// Written by cmake/generate_unicode.py from UnicodeData.txt and PropList.txt (Debian's package unicode-data).
// Do not edit: run the script again. unicode.hpp is the header to include.
#pragma once

#include <cstdint>
#include <string_view>
#include <tinygrad/core/config.hpp>

// clang-format off
namespace tinygrad::inline TINYGRAD_ABI {{

inline constexpr std::string_view unicode_version = "{version}";

struct unicode_run {{
  std::uint32_t first : 24;
  std::uint32_t bits : 8;
}};

inline constexpr unicode_run unicode_runs[{len(runs)}] = {{
{table(runs)}
}};

}}  // namespace tinygrad::inline TINYGRAD_ABI
// clang-format on
"""


def nfc_header(folder):
    combining, decompositions = [0] * CODE_POINTS, []
    excluded, version = property_points(f"{folder}/DerivedNormalizationProps.txt", r"Full_Composition_Exclusion\b")
    unsettled, _ = property_points(f"{folder}/DerivedNormalizationProps.txt", r"NFC_QC; [NM]\b")
    with open(f"{folder}/UnicodeData.txt", encoding="ascii") as lines:
        for line in lines:
            fields = line.split(";")
            code = int(fields[0], 16)
            combining[code] = int(fields[3])
            if fields[5] and not fields[5].startswith("<"):
                parts = [int(part, 16) for part in fields[5].split()]
                decompositions.append((code, parts[0], parts[1] if len(parts) > 1 else 0, int(code in excluded)))
    runs = runs_of([(combining[c], int(c in unsettled)) for c in range(CODE_POINTS)])
    return f"""// Canonical decompositions and combining classes of Unicode {version}, for NFC; Hangul is left to arithmetic.
// Written by cmake/generate_unicode.py from UnicodeData.txt and DerivedNormalizationProps.txt (Debian's package
// unicode-data). Do not edit: run the script again. nfc.hpp is the header to include.
#pragma once

#include <cstdint>
#include <tinygrad/core/config.hpp>

// clang-format off
namespace tinygrad::inline TINYGRAD_ABI {{

// One step of decomposition; second is 0 where there is none. excluded: never made by composition.
struct nfc_decomposition {{
  std::uint32_t code, first, second : 31, excluded : 1;
}};
inline constexpr nfc_decomposition nfc_decompositions[{len(decompositions)}] = {{
{table(decompositions)}
}};

// Runs: {{first code point, combining class, 1 if NFC may change such a character}}.
struct nfc_run {{
  std::uint32_t first : 23, combining : 8, unsettled : 1;
}};
inline constexpr nfc_run nfc_runs[{len(runs)}] = {{
{table((first, *values) for first, values in runs)}
}};

}}  // namespace tinygrad::inline TINYGRAD_ABI
// clang-format on
"""


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode"
    target = Path(__file__).parents[1] / "include/tinygrad/text"
    (target / "unicode_data.hpp").write_text(classes_header(folder))
    (target / "nfc_data.hpp").write_text(nfc_header(folder))


if __name__ == "__main__":
    main()
