// Gradients of the elementwise operations under the policy naive.
#include "ops/all_ops.hpp"

using namespace all_ops_test;

TEST_CASE("elementwise operations pass the double gradient check under naive") {
  check_gradients<naive, elementwise_ops>();
}
