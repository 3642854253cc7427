#!/usr/bin/env python3
"""Writes include/tinygrad/text/unicode_data.hpp from the Unicode Character Database.

    apt-get install unicode-data
    python3 cmake/generate_unicode.py [/usr/share/unicode] > include/tinygrad/text/unicode_data.hpp

Read: UnicodeData.txt (general categories) and PropList.txt (White_Space, and the version in its first line).
The table is a list of runs: every run starts at a code point and ends where the next one starts.
"""
import re
import sys

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


def white_space(path):
    """The set of White_Space code points and the version string."""
    points = set()
    with open(path, encoding="utf-8") as lines:
        version = re.match(r"# PropList-([0-9.]+)\.txt", next(lines)).group(1)
        for line in lines:
            match = re.match(r"([0-9A-F]+)(?:\.\.([0-9A-F]+))?\s*;\s*White_Space\b", line)
            if match:
                points.update(range(int(match[1], 16), int(match[2] or match[1], 16) + 1))
    return points, version


def bits(category, is_space):
    major = {"L": "letter", "N": "number", "M": "mark", "P": "punctuation", "S": "symbol"}.get(category[0])
    value = BITS[major] if major else 0
    if category in ("Lu", "Lt"):
        value |= BITS["upper"]
    if category == "Ll":
        value |= BITS["lower"]
    return value | (BITS["space"] if is_space else 0)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "/usr/share/unicode"
    category = categories(folder + "/UnicodeData.txt")
    spaces, version = white_space(folder + "/PropList.txt")
    classes = [bits(category[c], c in spaces) for c in range(CODE_POINTS)]
    runs = [(c, classes[c]) for c in range(CODE_POINTS) if c == 0 or classes[c] != classes[c - 1]]

    print(f"""// Classes of all code points of Unicode {version}, as runs: {{first code point of the run, its class bits}}; a run ends
// where the next begins. Bits: {", ".join(f"{name} {value}" for name, value in BITS.items())}.
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

inline constexpr unicode_run unicode_runs[{len(runs)}] = {{""")
    line = ""
    for first, value in runs:
        entry = f"{{0x{first:x},{value}}},"
        if len(line) + len(entry) > 118:
            print(" " + line)
            line = ""
        line += entry
    print(" " + line)
    print("};\n\n}  // namespace tinygrad::inline TINYGRAD_ABI\n// clang-format on")


if __name__ == "__main__":
    main()
