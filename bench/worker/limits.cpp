// fma                    multiply-adds in registers, one core
// read BYTES             reading once through, all threads
#include "../support/machine.hpp"
#include "worker.hpp"

namespace tinygrad_bench {

work make_limit(arguments what) {
  if (what[0] == "fma") return {[] { fma_in_registers(); }, fma_flop, 0};
  const auto data = std::make_shared<const read_buffer>(number(at(what, 1)));
  return {[data] { data->read(); }, 0, static_cast<double>(data->bytes())};
}

}  // namespace tinygrad_bench
