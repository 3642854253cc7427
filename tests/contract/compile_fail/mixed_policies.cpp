// expect: all tensors of an operation must have the same element type and policy
#include <tinygrad/ops/all.hpp>

#ifdef TINYGRAD_FIXED
using second_type = tinygrad::naive;
#else
using second_type = tinygrad::packed;
#endif

void use(const tinygrad::Tensor<float, tinygrad::naive>& a, const tinygrad::Tensor<float, second_type>& b) {
  (void)(a * b);
}
