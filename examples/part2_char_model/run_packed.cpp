#include "run.hpp"

int part2::run_packed(const settings& s) { return run<tinygrad::packed>(s); }
