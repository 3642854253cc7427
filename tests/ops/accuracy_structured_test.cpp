// Accuracy of the structured operations in packs against the textbook loops.
#include "ops/all_ops.hpp"

using namespace all_ops_test;

TEST_CASE("structured operations are as accurate in packs as in the textbook loops") {
  check_accuracy<packed, structured_ops>();
}
