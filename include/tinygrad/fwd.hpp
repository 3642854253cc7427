// Forward declarations, and the one place where the default policy is named.
#pragma once

#include <tinygrad/core/config.hpp>

namespace tinygrad::inline TINYGRAD_ABI {

struct naive;
struct packed;
template <class Leaf>
struct threaded;

/// What a tensor computes with when nothing else is said: packed SIMD on every core.
using default_policy = threaded<packed>;

template <class T, class P = default_policy>
class Tensor;

}  // namespace tinygrad::inline TINYGRAD_ABI
