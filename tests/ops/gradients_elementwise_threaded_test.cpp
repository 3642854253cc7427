// Gradients of the elementwise operations under the policy threaded<packed>.
#include "ops/all_ops.hpp"

using namespace all_ops_test;

TEST_CASE("elementwise operations pass the double gradient check under threaded<packed>") {
  check_gradients<threaded<packed>, elementwise_ops>();
}
