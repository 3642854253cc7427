// tinygrad for C++: the whole library, in reading order. Opt-in headers that need something installed are not here.
#pragma once

#include <tinygrad/core/config.hpp>        // version, attributes, the ABI namespace
#include <tinygrad/core/error.hpp>         // every error type
#include <tinygrad/core/shape.hpp>         // sizes of axes, broadcasting
#include <tinygrad/core/random.hpp>        // the portable generator
#include <tinygrad/fwd.hpp>                // the default policy
#include <tinygrad/simd/math.hpp>          // exp, log, tanh, ... on packs and numbers
#include <tinygrad/dual/dual.hpp>          // forward mode: where every elementwise derivative comes from
#include <tinygrad/kernel/policy.hpp>      // naive, packed, threaded
#include <tinygrad/tensor/tensor.hpp>      // the tensor and its graph
#include <tinygrad/tensor/print.hpp>       // tensors as text
#include <tinygrad/ops/all.hpp>            // every operation
#include <tinygrad/optim/adam.hpp>         // Adam, AdamW
#include <tinygrad/optim/clip.hpp>         // gradient clipping
#include <tinygrad/optim/schedule.hpp>     // learning rates over time
#include <tinygrad/optim/sgd.hpp>          // SGD with momentum
