// The structured operations with one, two and three threads.
#include "ops/all_ops.hpp"

using namespace all_ops_test;

TEST_CASE("structured operations give the same bits for any number of threads") {
  check_threads<packed, structured_ops>();
}
