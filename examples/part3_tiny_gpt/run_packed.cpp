#include "run.hpp"

int part3::run_packed(const settings& s) { return run<tinygrad::packed>(s); }
