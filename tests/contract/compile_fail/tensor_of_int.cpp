// expect: T must be float or double
#include <tinygrad/ops/all.hpp>

#ifdef TINYGRAD_FIXED
using element = float;
#else
using element = int;
#endif

void use() { (void)tinygrad::Tensor<element>::zeros({2, 3}); }
