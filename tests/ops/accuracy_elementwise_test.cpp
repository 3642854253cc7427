// Accuracy of the elementwise operations in packs against the textbook loops.
#include "ops/all_ops.hpp"

using namespace all_ops_test;

TEST_CASE("elementwise operations are as accurate in packs as in the textbook loops") {
  check_accuracy<packed, elementwise_ops>();
}
