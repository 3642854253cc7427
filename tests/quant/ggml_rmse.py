#!/usr/bin/env python3
"""Prints the RMS errors of ggml's K formats on normal values, beside which k_formats_test.cpp puts ours.

    pip install gguf numpy llama-cpp-python          (gguf 0.19.0, numpy 2.4.6, llama-cpp-python 0.3.36)
    python3 ggml_rmse.py
"""
import ctypes
import pathlib

import llama_cpp
import numpy as np
from gguf import GGMLQuantizationType as T, quants

library = pathlib.Path(llama_cpp.__file__).with_name("lib") / "libggml-base.so"
quantize = ctypes.CDLL(str(library)).ggml_quantize_chunk
quantize.restype = ctypes.c_size_t
quantize.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 3, ctypes.c_void_p]
values = np.random.default_rng(1).standard_normal((1024, 256)).astype(np.float32)
for kind in (T.Q2_K, T.Q3_K, T.Q4_K, T.Q5_K, T.Q6_K):
    blocks = np.zeros(values.size * 2, np.uint8)
    size = quantize(int(kind), values.ctypes.data, blocks.ctypes.data, 0, *values.shape, None)
    read = quants.dequantize(blocks[:size].reshape(len(values), -1), kind)
    print(kind.name, np.sqrt(np.mean((read.astype(np.float64) - values) ** 2)))
