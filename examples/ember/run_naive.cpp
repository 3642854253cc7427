#include "run.hpp"

int ember::run_naive(const settings& s) { return run<tinygrad::naive>(s); }
