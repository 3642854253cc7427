// expect: all tensors of an operation must have the same element type and policy
#include <tinygrad/ops/all.hpp>

#ifdef TINYGRAD_FIXED
using other = tinygrad::naive;
#else
using other = tinygrad::packed;
#endif

void use(const tinygrad::Tensor<float, tinygrad::naive>& a, const tinygrad::Tensor<float, other>& b) { (void)(a * b); }
