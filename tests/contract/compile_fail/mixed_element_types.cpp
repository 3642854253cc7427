// expect: all tensors of an operation must have the same element type and policy
#include <tinygrad/ops/all.hpp>

#ifdef TINYGRAD_FIXED
using second_type = float;
#else
using second_type = double;
#endif

void use(const tinygrad::Tensor<float>& a, const tinygrad::Tensor<second_type>& b) { (void)(a + b); }
