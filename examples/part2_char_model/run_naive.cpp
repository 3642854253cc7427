#include "run.hpp"

int part2::run_naive(const settings& s) { return run<tinygrad::naive>(s); }
