#include "run.hpp"

int part2::run_threaded(const settings& s) { return run<tinygrad::default_policy>(s); }
