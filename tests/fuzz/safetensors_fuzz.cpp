// Any bytes: a safetensors file is refused by a format_error, or all of it can be listed, found and read.
#include <cstdint>
#include <span>
#include <string>
#include <tinygrad/io/safetensors.hpp>

#include "driver.hpp"
#include "support/file_bytes.hpp"

using namespace tinygrad;
using tinygrad_test::safetensors_bytes;

std::vector<std::string> fuzz_seeds() {
  const std::string data(64, '\x3f');
  return {safetensors_bytes("{}", ""),
          safetensors_bytes(R"({"test":{"dtype":"I32","shape":[2,2],"data_offsets":[0,16]}})", data.substr(0, 16)),
          safetensors_bytes(R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[3],"data_offsets":[0,6]},)"
                            R"("h":{"dtype":"F16","shape":[],"data_offsets":[6,8]},)"
                            R"("z":{"dtype":"F64","shape":[0,4],"data_offsets":[8,8]},)"
                            R"("d":{"dtype":"F64","shape":[1,2],"data_offsets":[8,24]}}  )",
                            data.substr(0, 24)),
          safetensors_bytes(R"({"q":{"dtype":"F4","shape":[2],"data_offsets":[0,1],"x":[{}]},)"
                            R"("m":{"dtype":"BOOL","shape":[3],"data_offsets":[1,4]}})",
                            data.substr(0, 4))};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    const safetensors_file file(bytes, "fuzz");
    std::uint64_t covered = 0;
    for (const tensor_info& tensor : file.tensors()) {
      must(file.find(tensor.name) == &tensor, "every tensor is found by its name");
      must(file.bytes(tensor).size() == tensor.bytes, "its bytes are inside the file");
      covered += tensor.bytes;
      if (readable_as<double>(tensor.type))
        must(file.read<double>(tensor).size() == tensor.count(), "it is read whole");
      static_cast<void>(file.view<float>(tensor));
    }
    must(covered < size, "the tensors fit the file");
    for (const tensor_info& tensor : file.tensors()) static_cast<void>(file.shape(tensor));
  } catch (const format_error& error) {
    must(error.offset() <= size, "an error inside the file");
  }
  return 0;
}
