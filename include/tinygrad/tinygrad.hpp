// tinygrad for C++: the whole library, in reading order. Headers that need something installed are not here.
#pragma once

// clang-format off
#include <tinygrad/core/config.hpp>           // version, attributes, the ABI namespace
#include <tinygrad/core/error.hpp>            // every error type
#include <tinygrad/core/shape.hpp>            // sizes of axes, broadcasting
#include <tinygrad/core/random.hpp>           // the portable generator
#include <tinygrad/core/random_compat.hpp>    // the generators of .NET and Python
#include <tinygrad/core/half.hpp>             // f16 and bf16
#include <tinygrad/fwd.hpp>                   // the default policy
#include <tinygrad/scalar/value.hpp>          // reverse mode on single numbers: start reading here
#include <tinygrad/simd/build_info.hpp>       // which lanes this build has
#include <tinygrad/simd/math.hpp>             // exp, log, tanh, ... on packs and numbers
#include <tinygrad/dual/dual.hpp>             // forward mode: where every elementwise derivative comes from
#include <tinygrad/dual/derivative.hpp>       // derivatives of plain functions
#include <tinygrad/kernel/policy.hpp>         // naive, packed, threaded
#include <tinygrad/kernel/checked.hpp>        // the policy that checks every result
#include <tinygrad/tensor/tensor.hpp>         // the tensor and its graph
#include <tinygrad/tensor/print.hpp>          // tensors as text
#include <tinygrad/ops/all.hpp>               // every operation
#include <tinygrad/optim/sgd.hpp>             // SGD with momentum
#include <tinygrad/optim/adam.hpp>            // Adam, AdamW
#include <tinygrad/optim/clip.hpp>            // gradient clipping
#include <tinygrad/optim/schedule.hpp>        // learning rates over time
#include <tinygrad/testing/gradcheck.hpp>     // is a gradient right?
#include <tinygrad/testing/policy_check.hpp>  // is a policy as accurate as the textbook?
#include <tinygrad/nn/linear.hpp>             // modules: linear, embedding, norms
#include <tinygrad/nn/embedding.hpp>
#include <tinygrad/nn/norm.hpp>
#include <tinygrad/text/char_tokenizer.hpp>   // characters as tokens
#include <tinygrad/text/load_tokenizer.hpp>   // byte-level BPE and SentencePiece, from any file
#include <tinygrad/text/gguf_tokenizer.hpp>   // and out of a GGUF
#include <tinygrad/text/detokenizer.hpp>      // tokens as text, while they stream
#include <tinygrad/text/chat_template.hpp>    // conversations as text
#include <tinygrad/io/safetensors_model.hpp>  // weights in safetensors
#include <tinygrad/io/gguf_writer.hpp>        // GGUF, read and written
#include <tinygrad/io/npy.hpp>                // arrays for NumPy
#include <tinygrad/quant/matrix.hpp>           // weights as they are stored, F32 to Q2_K
#include <tinygrad/models/bigram.hpp>         // counting, and the same as a table
#include <tinygrad/models/char_mlp.hpp>       // the last eight characters
#include <tinygrad/models/gpt.hpp>            // GPT-2
#include <tinygrad/models/load_llama.hpp>    // Llama, Mistral, Qwen
#include <tinygrad/models/load_gguf.hpp>     // and GGUF files, quantised or not
#include <tinygrad/models/load_llama2c.hpp>  // and llama2.c checkpoints
#include <tinygrad/models/export_gguf.hpp>   // a GPT as GGUF
#include <tinygrad/models/load.hpp>           // published weights by name
#include <tinygrad/models/checkpoint.hpp>     // runs that can be resumed
#include <tinygrad/train/trainer.hpp>         // one update after another
#include <tinygrad/generate/generate.hpp>     // sampling with a key/value cache
#include <tinygrad/generate/probe.hpp>       // hidden states, for NumPy
#include <tinygrad/viz/dot.hpp>               // graphs as pictures
#include <tinygrad/viz/progress.hpp>          // runs as text
#include <tinygrad/viz/svg.hpp>               // charts
// clang-format on
