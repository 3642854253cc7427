// .npy: what is read and how, and what is written.
#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tinygrad/io/npy.hpp>
#include <utility>
#include <vector>

#include "support/expect_error.hpp"
#include "support/file_bytes.hpp"
#include "support/temp_folder.hpp"

using namespace tinygrad;
using tinygrad_test::expect_format_error;
using tinygrad_test::le;
using tinygrad_test::span_of;
using tinygrad_test::temp_folder;

namespace {

// A version 1.0 file with this header, not padded: readers must not rely on padding.
std::string npy_bytes(std::string_view header, std::string_view data) {
  return std::string("\x93NUMPY\1\0", 8) + le(static_cast<std::uint16_t>(header.size())) + std::string(header) +
         std::string(data);
}
npy_file open_bytes(std::string bytes) {
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  return npy_file(span_of(*owner), "array.npy", owner);
}

template <class T>
std::string written(const temp_folder& folder, const Shape& shape, const std::vector<T>& values) {
  write_npy<T>(folder / "f.npy", shape, values);
  return folder.get("f.npy");
}

}  // namespace

TEST_CASE("I01, I02: headers are NumPy's, byte for byte") {
  const temp_folder folder;
  struct expected {
    Shape shape;
    std::string dictionary;
  };
  for (const expected& each : {expected{{}, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }"},
                               {{3}, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"},
                               {{2, 3}, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"},
                               {{0}, "{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }"}}) {
    const std::vector<float> values(each.shape.count(), 0.5f);
    std::string header = each.dictionary;
    header.resize(117, ' ');
    std::string data;
    for (const float value : values) data += le(value);
    CHECK(written(folder, each.shape, values) == npy_bytes(header + "\n", data));
  }
}

TEST_CASE("I01: data starts at a multiple of 64 whatever the shape, and the header ends with a newline") {
  const temp_folder folder;
  for (const std::size_t first : {1UL, 10UL, 1234UL, 1000000UL})
    for (int rank = 1; rank <= 6; ++rank) {
      Shape shape{first};
      for (int axis = 2; axis < rank; ++axis) shape.append(1000 / static_cast<std::size_t>(rank * rank));
      if (rank > 1) shape.append(0);  // no data, however long the header
      if (rank == 1 && first > 10) continue;
      const std::vector<std::int16_t> values(shape.count());
      const std::string bytes = written(folder, shape, values);
      const std::size_t start = bytes.size() - 2 * values.size();
      CHECK(start % 64 == 0);
      CHECK(bytes[start - 1] == '\n');
      CHECK(open_bytes(bytes).shape() == shape);
    }
}

TEST_CASE("what is written reads back, for every element type") {
  const temp_folder folder;
  const auto check = [&]<class T>(std::string_view descr, std::vector<T> values) {
    const std::string bytes = written(folder, Shape{values.size()}, values);
    CHECK(bytes.find(descr) != std::string::npos);
    const npy_file file(folder / "f.npy");
    CHECK(file.type() == dtype_of<T>);
    const std::vector<T> back = file.read<T>();
    CHECK(std::equal(back.begin(), back.end(), values.begin(), values.end()));
    const auto view = file.view<T>();
    REQUIRE(view.has_value());
    CHECK(std::equal(view->begin(), view->end(), values.begin(), values.end()));
  };
  check("'<f4'", std::vector<float>{0.1f, -0.0f, 3e38f});
  check("'<f8'", std::vector<double>{0.1, 1e300});
  check("'<f2'", std::vector<f16>{f16(0.1f), f16(65504.0f)});
  check("'|i1'", std::vector<std::int8_t>{-128, 127});
  check("'|u1'", std::vector<std::uint8_t>{0, 255});
  check("'<i2'", std::vector<std::int16_t>{-32768, 7});
  check("'<u2'", std::vector<std::uint16_t>{65535});
  check("'<i4'", std::vector<std::int32_t>{INT32_MIN, 7});
  check("'<u4'", std::vector<std::uint32_t>{UINT32_MAX});
  check("'<i8'", std::vector<std::int64_t>{INT64_MIN, 7});
  check("'<u8'", std::vector<std::uint64_t>{UINT64_MAX});
}

TEST_CASE("truth values") {
  const temp_folder folder;
  const bool values[] = {true, false, true};
  write_npy<bool>(folder / "b.npy", Shape{3}, values);
  CHECK(folder.get("b.npy").find("'|b1'") != std::string::npos);
  bool back[3];
  npy_file(folder / "b.npy").read<bool>(std::span<bool>(back));
  CHECK(back[0]);
  CHECK_FALSE(back[1]);
  CHECK(back[2]);
  CHECK(npy_file(folder / "b.npy").read<float>() == std::vector<float>{1.0f, 0.0f, 1.0f});
}

TEST_CASE("I03: versions 1, 2 and 3, and a header longer than 256 bytes") {
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }";
  header.resize(1000, ' ');
  header += '\n';
  const std::string data = le(std::int32_t{5}) + le(std::int32_t{-6});
  CHECK(open_bytes(npy_bytes(header, data)).read<std::int32_t>() == std::vector<std::int32_t>{5, -6});
  for (const char version : {'\2', '\3'}) {
    const std::string bytes =
        std::string("\x93NUMPY") + version + '\0' + le(static_cast<std::uint32_t>(header.size())) + header + data;
    CHECK(open_bytes(bytes).read<std::int32_t>() == std::vector<std::int32_t>{5, -6});
  }
}

TEST_CASE("I04: Fortran order comes out in C order, whatever the spacing") {
  const std::string data = le(1.0f) + le(4.0f) + le(2.0f) + le(5.0f) + le(3.0f) + le(6.0f);
  for (const char* header : {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
                             "{'descr':'<f4','fortran_order':True,'shape':(2,3)}",
                             " {\n\"descr\" :  \"<f4\" , 'fortran_order'\t:  True , 'shape' : ( 2 , 3 , ) , } \n"}) {
    const npy_file file = open_bytes(npy_bytes(header, data));
    CHECK(file.fortran_order());
    CHECK(file.read<float>() == std::vector<float>{1, 2, 3, 4, 5, 6});
    CHECK_FALSE(file.view<float>().has_value());
  }
  for (const char* header : {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
                             "{'shape':(2,3),'fortran_order'  :False,'descr':'<f4'}"})
    CHECK(open_bytes(npy_bytes(header, data)).read<float>() == std::vector<float>{1, 4, 2, 5, 3, 6});
}

TEST_CASE("I04: Fortran order in three dimensions, one, and none") {
  // Element (i, j, k) holds 100 i + 10 j + k; written with the first axis fastest.
  std::string data;
  for (std::int16_t k = 0; k < 4; ++k)
    for (std::int16_t j = 0; j < 3; ++j)
      for (std::int16_t i = 0; i < 2; ++i) data += le(static_cast<std::int16_t>(100 * i + 10 * j + k));
  const npy_file file = open_bytes(npy_bytes("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3, 4), }", data));
  const std::vector<std::int16_t> values = file.read<std::int16_t>();
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 4; ++k)
        CHECK(values[(i * 3 + j) * 4 + k] == static_cast<std::int16_t>(100 * i + 10 * j + k));
  CHECK(open_bytes(npy_bytes("{'descr': '<i2', 'fortran_order': True, 'shape': (), }", le(std::int16_t{9})))
            .read<std::int16_t>() == std::vector<std::int16_t>{9});
  CHECK(open_bytes(npy_bytes("{'descr': '<i2', 'fortran_order': True, 'shape': (1,), }", le(std::int16_t{9})))
            .read<std::int16_t>() == std::vector<std::int16_t>{9});
  CHECK(open_bytes(npy_bytes("{'descr': '<i2', 'fortran_order': True, 'shape': (2, 0), }", "")).read<float>().empty());
}

TEST_CASE("big-endian arrays are read right") {
  CHECK(open_bytes(npy_bytes("{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }",
                             std::string_view("\0\0\1\2\xff\xff\xff\xfe", 8)))
            .read<std::int32_t>() == std::vector<std::int32_t>{258, -2});
  const npy_file file = open_bytes(
      npy_bytes("{'descr': '>f2', 'fortran_order': True, 'shape': (1, 2), }", std::string_view("\x3e\x00\xc0\x00", 4)));
  CHECK(file.read<float>() == std::vector<float>{1.5f, -2.0f});
  CHECK_FALSE(file.view<f16>().has_value());
}

TEST_CASE("Python 2 wrote its long integers with an L") {
  CHECK(open_bytes(npy_bytes("{'descr': '|u1', 'fortran_order': False, 'shape': (2L, 1L), }", "ab")).shape() ==
        Shape{2, 1});
}

TEST_CASE("I05: bf16 values are written as f4") {
  const temp_folder folder;
  const std::vector<bf16> values{bf16(1.5f), bf16(-3e38f)};
  write_npy<bf16>(folder / "f.npy", Shape{2}, values);
  const npy_file file(folder / "f.npy");
  CHECK(file.type() == dtype::f32);
  CHECK(file.read<float>() == std::vector<float>{1.5f, static_cast<float>(values[1])});
}

TEST_CASE("a shape that does not fit the values is not written") {
  const temp_folder folder;
  CHECK_THROWS_AS(write_npy<float>(folder / "f.npy", Shape{2}, std::vector<float>(3)), shape_error);
  CHECK(folder.file_count() == 0);
}

TEST_CASE("reading as another kind of number is refused, into another size too") {
  const npy_file file = open_bytes(npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", le(1.0f)));
  expect_format_error([&] { static_cast<void>(file.read<std::int32_t>()); }, {"array of F32 cannot be read as I32"});
  std::vector<float> two(2);
  CHECK_THROWS_AS(file.read<float>(std::span<float>(two)), shape_error);
}
