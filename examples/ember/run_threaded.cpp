#include "run.hpp"

int ember::run_threaded(const settings& s) { return run<tinygrad::default_policy>(s); }
