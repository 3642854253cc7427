// Gradients of the elementwise operations under the policy packed.
#include "ops/all_ops.hpp"

using namespace all_ops_test;

TEST_CASE("elementwise operations pass the double gradient check under packed") {
  check_gradients<packed, elementwise_ops>();
}
