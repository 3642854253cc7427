// expect: all tensors of an operation must have the same element type and policy
#include <tinygrad/ops/all.hpp>

#ifdef TINYGRAD_FIXED
using other = float;
#else
using other = double;
#endif

void use(const tinygrad::Tensor<float>& a, const tinygrad::Tensor<other>& b) { (void)(a + b); }
