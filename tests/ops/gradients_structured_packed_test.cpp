// Gradients of the structured operations under the policy packed.
#include "ops/all_ops.hpp"

using namespace all_ops_test;

TEST_CASE("structured operations pass the double gradient check under packed") {
  check_gradients<packed, structured_ops>();
}
