// expect: no matching (member )?function for call to .*uniform
#include <tinygrad/core/random.hpp>

void use() {
  tinygrad::Random rng(1);
#ifdef TINYGRAD_FIXED
  (void)rng.uniform(-1.0, 1.0);
#else
  (void)rng.uniform(-1, 1);
#endif
}
