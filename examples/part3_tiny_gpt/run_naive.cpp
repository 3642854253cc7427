#include "run.hpp"

int part3::run_naive(const settings& s) { return run<tinygrad::naive>(s); }
