// The source tree keeps its rules, and the rules notice when they are broken.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "layout.hpp"

using namespace tinygrad_test;

namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

const std::filesystem::path root = TINYGRAD_SOURCE_DIR;

source_tree read_tree(const std::filesystem::path& folder, const std::filesystem::path& names_from) {
  source_tree tree;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (!entry.is_regular_file() || entry.file_size() > 2'000'000) continue;
    for (const char* known : {".hpp", ".cpp", ".h", ".txt", ".cmake", ".in", ".md", ".sh", ".py", ".json", ".yml"})
      if (extension == known) tree[entry.path().lexically_relative(names_from).generic_string()] = read(entry.path());
  }
  return tree;
}

const source_tree& library() {
  static const source_tree headers = read_tree(root / "include/tinygrad", root / "include/tinygrad");
  return headers;
}

const floor_table& floors() {
  static const floor_table table = parse_floors(read(root / "tests/contract/floors.txt"));
  return table;
}

void check_none(const problems& found) {
  for (const std::string& problem : found) FAIL_CHECK(problem);
  CHECK(library().size() > 10);
}

}  // namespace

TEST_CASE("layout: an include points down the table of floors or stays in its folder") {
  check_none(check_floors(library(), floors()));
  CHECK(check_cycles(library()).empty());
}

TEST_CASE("layout: tinygrad.hpp reaches every header that is not opt-in") {
  if (library().contains("tinygrad.hpp")) check_none(check_reachable(library(), floors()));
}

TEST_CASE("layout: every header opens with a comment, is included once, lives in the ABI namespace, stays silent") {
  check_none(check_conventions(library()));
}

TEST_CASE("layout: every operation is in ops/all.hpp") { check_none(check_all_ops(library())); }

TEST_CASE("layout: no unfinished work and no path of one machine") {
  for (const char* folder : {"include", "tests", "bench", "examples", "cmake"})
    check_none(check_left_overs(read_tree(root / folder, root)));
}

TEST_CASE("README: its program is examples/readme_training.cpp") {
  const std::string readme = read(root / "README.md");
  CHECK(readme.find("```cpp\n" + read(root / "examples/readme_training.cpp") + "```\n") != std::string::npos);
}

TEST_CASE("the rules notice an include that points up, sideways, nowhere, or round in a ring") {
  const floor_table table = parse_floors("# comment\n0 core\n1 simd parallel scalar\n2 dual\nopt-in blas.hpp\n");
  const auto with = [&](const std::string& header, const std::string& text) {
    source_tree tree{{"core/a.hpp", ""}, {"simd/b.hpp", "#include <tinygrad/core/a.hpp>\n"}, {"scalar/v.hpp", ""}};
    tree[header] = text;
    return check_floors(tree, table);
  };
  CHECK(with("dual/d.hpp", "#include <tinygrad/simd/b.hpp>\n#include <vector>\n").empty());
  CHECK(with("core/c.hpp", "  #  include <tinygrad/simd/b.hpp>\n") ==
        problems{"core/c.hpp (floor 0): includes simd/b.hpp (floor 1); an include may only point down"});
  CHECK(with("parallel/p.hpp", "#include <tinygrad/simd/b.hpp>\n").size() == 1);
  CHECK(with("dual/d.hpp", "#include <tinygrad/core/gone.hpp>\n") ==
        problems{"dual/d.hpp: includes core/gone.hpp, which does not exist"});
  CHECK(with("attic/x.hpp", "") == problems{"attic/x.hpp: its folder has no floor in floors.txt"});
  CHECK(with("dual/d.hpp", "#include <tinygrad/scalar/v.hpp>\n").size() == 1);
  CHECK(with("scalar/w.hpp", "#include <tinygrad/core/a.hpp>\n").empty());

  const source_tree ring{{"core/a.hpp", "#include <tinygrad/core/b.hpp>\n"},
                         {"core/b.hpp", "#include <tinygrad/core/a.hpp>\n"}};
  CHECK(check_cycles(ring).size() == 2);
}

TEST_CASE("the rules notice a header that nobody reaches and an opt-in header that everybody gets") {
  const floor_table table = parse_floors("0 core\n9 tinygrad.hpp\nopt-in blas.hpp\n");
  const source_tree tree{{"tinygrad.hpp", "#include <tinygrad/blas.hpp>\n"}, {"blas.hpp", ""}, {"core/lost.hpp", ""}};
  CHECK(check_reachable(tree, table) ==
        problems{"blas.hpp: is opt-in, yet tinygrad.hpp reaches it", "core/lost.hpp: tinygrad.hpp does not reach it"});
}

TEST_CASE("the rules notice missing comments, guards and namespaces, heavy headers and output") {
  const auto count = [](const std::string& text) { return check_conventions({{"core/a.hpp", text}}).size(); };
  CHECK(count("// What it is.\n#pragma once\n#include <vector>\nnamespace tinygrad::inline TINYGRAD_ABI {}\n") == 0);
  CHECK(count("#pragma once\n") == 2);  // no comment, and no line before the guard
  CHECK(count("// What it is.\n#include <vector>\n#pragma once\n") == 1);
  CHECK(count("// What it is.\n#pragma once\nnamespace tinygrad {}\n") == 1);
  CHECK(count("// What it is.\n#pragma once\n#include <regex>\n") == 1);
  CHECK(count("// What it is.\n#pragma once\nvoid f() { std::abort(); }\n") == 1);
}

TEST_CASE("the rules notice an operation that is missing from the list") {
  const std::string op = "struct tanh_op {\n  static constexpr std::string_view name = \"tanh\";\n};\n";
  source_tree tree{{"ops/all.hpp", "#include <tinygrad/ops/tanh.hpp>\nusing all_ops = op_list<tanh_op>;\n"},
                   {"ops/tanh.hpp", op}};
  CHECK(check_all_ops(tree).empty());
  tree["ops/sinh.hpp"] = "struct sinh_op {\n  static constexpr std::string_view name = \"sinh\";\n};\n";
  CHECK(check_all_ops(tree) == problems{"ops/sinh.hpp: ops/all.hpp does not include it",
                                        "ops/sinh.hpp: the list in ops/all.hpp does not name sinh_op"});
}

TEST_CASE("the rules notice marks of unfinished work and machine paths") {
  const source_tree tree{{"a.cpp",
                          "int x;  // TO"
                          "DO later\nopen(\"/tm"
                          "p/x\");\n"}};
  CHECK(check_left_overs(tree) == problems{"a.cpp:1: unfinished: TO"
                                           "DO",
                                           "a.cpp:2: a path of one machine: /tm"
                                           "p/"});
}
