// Gradients of the structured operations under the policy naive.
#include "ops/all_ops.hpp"

using namespace all_ops_test;

TEST_CASE("structured operations pass the double gradient check under naive") {
  check_gradients<naive, structured_ops>();
}
