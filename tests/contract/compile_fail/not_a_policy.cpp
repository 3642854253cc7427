// expect: P must model tinygrad::kernel_policy
#include <tinygrad/ops/all.hpp>

struct mine {
  static constexpr std::string_view name = "mine";  // and no primitives
};

#ifdef TINYGRAD_FIXED
using policy = tinygrad::naive;
#else
using policy = mine;
#endif

void use() { (void)tinygrad::Tensor<float, policy>::zeros({2, 3}); }
