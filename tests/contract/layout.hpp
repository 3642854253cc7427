// What the source tree must look like, as functions from texts to lists of problems, so that the rules themselves can
// be tested. A problem reads "file: what is wrong".
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tinygrad_test {

/// Texts by path; headers are named as an include names them, below tinygrad/: "core/shape.hpp".
using source_tree = std::map<std::string, std::string>;
using problems = std::vector<std::string>;

/// The table of floors.txt.
struct floor_table {
  std::map<std::string, int> floor_of;  // folder, or file of the top folder
  std::set<std::string> opt_in;         // files and folders that tinygrad.hpp must not reach
};
floor_table parse_floors(std::string_view text);

/// The names between <> or "" of all #include lines.
std::vector<std::string> includes_of(std::string_view text);

/// Includes that point up or sideways, folders without a floor, includes of headers that do not exist.
problems check_floors(const source_tree& headers, const floor_table& table);
/// Rings of headers that include each other.
problems check_cycles(const source_tree& headers);
/// Headers that tinygrad.hpp does not reach though they are not opt-in, and the reverse.
problems check_reachable(const source_tree& headers, const floor_table& table);
/// A comment first, then #pragma once, the ABI namespace, no heavy standard header, no output and no exit.
problems check_conventions(const source_tree& headers);
/// Files of ops/ that ops/all.hpp does not include, and operations its list does not name.
problems check_all_ops(const source_tree& headers);
/// Marks of unfinished work and paths of one machine, in any source file.
problems check_left_overs(const source_tree& sources);

}  // namespace tinygrad_test
