// Gradients of the structured operations under the policy threaded<packed>.
#include "ops/all_ops.hpp"

using namespace all_ops_test;

TEST_CASE("structured operations pass the double gradient check under threaded<packed>") {
  check_gradients<threaded<packed>, structured_ops>();
}
