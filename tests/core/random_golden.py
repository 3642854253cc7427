"""Prints the golden numbers of random_test.cpp from a second, slow implementation of core/random.hpp: every fused
multiply-add is computed with exact rational numbers and rounded once. The jump is taken by linear algebra over bits."""
import math
import re
import struct
from fractions import Fraction
from pathlib import Path

MASK = (1 << 64) - 1
HEADER = (Path(__file__).parents[2] / "include/tinygrad/core/random.hpp").read_text()


def rotl(x, k):
    return ((x << k) | (x >> (64 - k))) & MASK


def splitmix64(counter):
    counter = (counter + 0x9E3779B97F4A7C15) & MASK
    z = counter
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return counter, z ^ (z >> 31)


def seeded(seed):
    state = []
    for _ in range(4):
        seed, word = splitmix64(seed)
        state.append(word)
    return state


def draw(s):
    result = (rotl((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
    t = (s[1] << 17) & MASK
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = rotl(s[3], 45)
    return result


def jumped(state):
    def pack(s):
        return s[0] | s[1] << 64 | s[2] << 128 | s[3] << 192

    def unpack(v):
        return [(v >> (64 * i)) & MASK for i in range(4)]

    def apply(columns, v):
        result = 0
        for i in range(256):
            if v >> i & 1:
                result ^= columns[i]
        return result

    columns = []
    for i in range(256):
        s = unpack(1 << i)
        draw(s)
        columns.append(pack(s))
    for _ in range(128):
        columns = [apply(columns, c) for c in columns]
    return unpack(apply(columns, pack(state)))


def fma(a, b, c):
    return float(Fraction(a) * Fraction(b) + Fraction(c))


def to_float32(x):
    """An exact rational rounded once to float32 (normal range, ties to even)."""
    x = Fraction(x)
    if x == 0:
        return 0.0
    exponent = math.frexp(float(x))[1] - 24
    scaled = x / Fraction(2) ** exponent
    return float(Fraction(round(scaled)) * Fraction(2) ** exponent)


def polynomial(x, c):
    total = c[-1]
    for coefficient in reversed(c[:-1]):
        total = fma(total, x, coefficient)
    return total


def coefficients(name, after):
    text = HEADER[HEADER.index(after):]
    body = re.search(r"double " + name + r"\[\] = \{([^}]*)\}", text).group(1)
    return [float(number) for number in body.split(",")]


def portable_log(x):
    mantissa, exponent = math.frexp(x)
    if mantissa < math.sqrt(2) / 2:
        mantissa *= 2
        exponent -= 1
    s = (mantissa - 1) / (mantissa + 1)
    return fma(exponent, math.log(2), 2 * s * polynomial(s * s, [1.0] + [1.0 / n for n in range(3, 22, 2)]))


def quantile(q):
    if abs(q) <= 0.425:
        r = fma(-q, q, 0.180625)
        where = "double normal_quantile"
        return q * polynomial(r, coefficients("numerator", where)) / polynomial(r, coefficients("denominator", where))
    r = math.sqrt(-portable_log(0.5 - abs(q)))
    part, r = ("near", r - 1.6) if r <= 5 else ("far", r - 5)
    where = "double normal_tail"
    z = polynomial(r, coefficients(part + "_numerator", where))
    z /= polynomial(r, coefficients(part + "_denominator", where))
    return -z if q < 0 else z


def normal(s):
    return quantile((2 * (draw(s) >> 11) + 1 - 2**53) * 2.0**-54)


def below(s, n):
    if n == 1:
        return 0
    while True:
        value = draw(s) >> (64 - (n - 1).bit_length())
        if value < n:
            return value


def show(title, values):
    print(title, ", ".join(value.hex() if isinstance(value, float) else str(value) for value in values))


s = [1, 2, 3, 4]
show("raw from {1, 2, 3, 4}", [draw(s) for _ in range(10)])
show("state of seed 42", seeded(42))
show("jumped from {1, 2, 3, 4}", jumped([1, 2, 3, 4]))
s = seeded(42)
show("uniform double, seed 42", [(draw(s) >> 11) * 2.0**-53 for _ in range(4)])
s = seeded(42)
show("uniform float, seed 42", [(draw(s) >> 40) * 2.0**-24 for _ in range(4)])
s = seeded(42)
show("uniform(-0.1, 0.7), seed 42", [fma((draw(s) >> 11) * 2.0**-53, 0.7 - -0.1, -0.1) for _ in range(4)])
s = seeded(42)
lo, hi = to_float32(Fraction("-0.1")), to_float32(Fraction("0.7"))
width = Fraction(to_float32(Fraction(hi) - Fraction(lo)))
show("uniform(-0.1f, 0.7f), seed 42",
     [to_float32(Fraction(draw(s) >> 40, 2**24) * width + Fraction(lo)) for _ in range(4)])
s = seeded(42)
normals = [normal(s) for _ in range(2000)]
show("normal, seed 42", normals[:8])
show("their float", [to_float32(z) for z in normals[:4]])
checksum = 0
for z in normals:
    checksum = (checksum * 31 + int.from_bytes(struct.pack("<d", z), "little")) & MASK
show("checksum of the bits of 2000 normals", [checksum])
show("quantiles at 2^-54, 3 2^-54, 2^-40, 2^-20 (odd neighbours)",
     [quantile(2.0**-54 - 0.5), quantile(3 * 2.0**-54 - 0.5), quantile(2.0**-40 + 2.0**-54 - 0.5),
      quantile(2.0**-20 + 2.0**-54 - 0.5)])
s = seeded(42)
show("below(10), seed 42", [below(s, 10) for _ in range(12)])
s = seeded(42)
order = list(range(10))
for left in range(10, 1, -1):
    j = below(s, left)
    order[left - 1], order[j] = order[j], order[left - 1]
show("permutation(10), seed 42", order)
s = seeded(42)
show("split of seed 42, its state", [splitmix64(draw(s))[1] for _ in range(4)])
show("the parent's next", [draw(s)])
