#!/usr/bin/env python3
"""Writes quant_golden.bin: blocks of random bytes with the values that the gguf package reads out of them, and random
values with the blocks that it makes of them.

    pip install gguf numpy          (gguf 0.19.0, numpy 2.4.6 made the committed file)
    python3 make_quant_golden.py

Records, little-endian: u32 type | u32 kind | u32 bytes | u32 floats | the bytes | the floats. Kind 0: the bytes are
read as the floats. Kind 1: the floats are stored as the bytes. Scales are small ordinary numbers, so that values are
finite, except in the plain formats, whose bytes are anything; some blocks are all zero.
"""
import pathlib
import struct

import numpy as np
from gguf import GGMLQuantizationType as T, quants
from gguf.constants import GGML_QUANT_SIZES

random = np.random.default_rng(20240229)

# Where the half-precision scales of a block lie.
SCALES = {T.Q8_0: [0], T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q2_K: [80, 82], T.Q3_K: [108],
          T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208]}


def random_blocks(kind, count):
    size = GGML_QUANT_SIZES[kind][1]
    blocks = random.integers(0, 256, (count, size), dtype=np.uint8)
    for offset in SCALES.get(kind, []):
        scales = (random.standard_normal(count) * 10.0 ** random.uniform(-6, 1, count)).astype(np.float16)
        blocks[:, offset:offset + 2] = scales.view(np.uint8).reshape(count, 2)
    if kind in SCALES:
        blocks[-1] = 0
    return blocks


def q8_k_blocks(count):
    scales = random.standard_normal(count).astype("<f4")
    levels = random.integers(-128, 128, (count, 256)).astype(np.int8)
    sums = levels.reshape(count, 16, 16).sum(axis=2, dtype=np.int16).astype("<i2")
    parts = [part.view(np.uint8).reshape(count, -1) for part in (scales, levels, sums)]
    return np.concatenate(parts, axis=1), levels.astype(np.float32) * scales[:, None]


def record(kind, what, data, values):
    data, values = np.ascontiguousarray(data).tobytes(), np.ascontiguousarray(values, "<f4").tobytes()
    return struct.pack("<IIII", kind, what, len(data), len(values) // 4) + data + values


def samples(kind, count):
    elements = GGML_QUANT_SIZES[kind][0]
    values = random.standard_normal((count, elements)) * 10.0 ** random.uniform(-3, 3, (count, 1))
    values[0] = 0
    values[1] = 1.5  # all alike: no range
    values[2, ::2] *= -1
    return values.astype(np.float32)


out = b""
for kind in (T.F32, T.F16, T.BF16):
    blocks = random_blocks(kind, 64)
    out += record(kind, 0, blocks, quants.dequantize(blocks.reshape(-1), kind))
for kind in SCALES:
    blocks = random_blocks(kind, 9 if GGML_QUANT_SIZES[kind][0] == 32 else 4)
    out += record(kind, 0, blocks, quants.dequantize(blocks, kind))
out += record(T.Q8_K, 0, *q8_k_blocks(2))
for kind in (T.Q8_0, T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1):
    values = samples(kind, 12)
    out += record(kind, 1, quants.quantize(values, kind), values)
for kind in (T.F16, T.BF16):
    values = samples(kind, 64)
    out += record(kind, 1, quants.quantize(values.reshape(-1), kind).view(np.uint8), values)
pathlib.Path(__file__).with_name("quant_golden.bin").write_bytes(out)
print(len(out), "bytes")
