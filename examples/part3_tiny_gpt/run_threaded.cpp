#include "run.hpp"

int part3::run_threaded(const settings& s) { return run<tinygrad::default_policy>(s); }
