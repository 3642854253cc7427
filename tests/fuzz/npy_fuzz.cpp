// Any bytes: an .npy file is refused by a format_error, or can be read whole.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/io/npy.hpp>

#include "driver.hpp"
#include "support/file_bytes.hpp"

using namespace tinygrad;
using tinygrad_test::le;

namespace {

std::string npy_bytes(std::string_view version, const std::string& length, std::string_view header, std::size_t data) {
  return "\x93NUMPY" + std::string(version) + length + std::string(header) + std::string(data, '\x41');
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  constexpr std::string_view c_order = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n";
  constexpr std::string_view fortran = "{\"shape\":(2L,1,3L),'fortran_order':True,'descr':'>i2'}";
  constexpr std::string_view vector = "{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }\n";
  constexpr std::string_view scalar = "{'descr': '<f8', 'fortran_order': True, 'shape': ()}";
  return {npy_bytes({"\1\0", 2}, le(static_cast<std::uint16_t>(c_order.size())), c_order, 24),
          npy_bytes({"\1\0", 2}, le(static_cast<std::uint16_t>(fortran.size())), fortran, 12),
          npy_bytes({"\2\0", 2}, le(static_cast<std::uint32_t>(vector.size())), vector, 5),
          npy_bytes({"\3\0", 2}, le(static_cast<std::uint32_t>(scalar.size())), scalar, 8)};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const npy_file file(std::as_bytes(std::span(data, size)), "fuzz");
    must(file.count() <= size, "no more elements than bytes");
    if (readable_as<double>(file.type())) must(file.read<double>().size() == file.count(), "the array is read whole");
    static_cast<void>(file.view<float>());
    static_cast<void>(file.shape());
  } catch (const format_error& error) {
    must(error.offset() <= size, "an error inside the file");
  }
  return 0;
}
