// What a fuzz target gives beside libFuzzer's own LLVMFuzzerTestOneInput.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

/// Inputs to start from: valid ones of every kind, written out in the target's source.
std::vector<std::string> fuzz_seeds();

/// For targets: a property that must hold for every input. The exception reaches the driver, or ends libFuzzer.
inline void must(bool holds, const char* property) {
  if (!holds) throw std::logic_error(property);
}
