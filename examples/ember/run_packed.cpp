#include "run.hpp"

int ember::run_packed(const settings& s) { return run<tinygrad::packed>(s); }
