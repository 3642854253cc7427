#include "layout.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <sstream>

namespace tinygrad_test {
namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The folder of "core/shape.hpp", or the file itself in the top folder.
std::string place_of(const std::string& header) { return header.substr(0, header.find('/')); }

// Included headers of the library, without the leading "tinygrad/".
std::vector<std::string> own_includes(const std::string& text) {
  constexpr std::string_view prefix = "tinygrad/";
  std::vector<std::string> own;
  for (const std::string& name : includes_of(text))
    if (name.starts_with(prefix)) own.push_back(name.substr(prefix.size()));
  return own;
}

bool is_word_part(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool contains_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const bool starts = at == 0 || !is_word_part(text[at - 1]);
    const bool ends = at + word.size() == text.size() || !is_word_part(text[at + word.size()]);
    if (starts && ends) return true;
  }
  return false;
}

std::set<std::string> reached_from(const std::string& root, const source_tree& headers) {
  std::set<std::string> reached;
  std::vector<std::string> open{root};
  while (!open.empty()) {
    const std::string header = open.back();
    open.pop_back();
    const auto found = headers.find(header);
    if (found == headers.end() || !reached.insert(header).second) continue;
    for (const std::string& next : own_includes(found->second)) open.push_back(next);
  }
  return reached;
}

// The struct or class that encloses a position: the last one named before it.
std::string struct_before(std::string_view text, std::size_t position) {
  const std::size_t keyword = text.rfind("struct ", position);
  if (keyword == std::string_view::npos) return "";
  const std::size_t begin = keyword + std::string_view("struct ").size();
  std::size_t end = begin;
  while (end < text.size() && is_word_part(text[end])) ++end;
  return std::string(text.substr(begin, end - begin));
}

}  // namespace

floor_table parse_floors(std::string_view text) {
  floor_table table;
  for (const std::string& line : lines_of(text)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string first, name;
    words >> first;
    while (words >> name) {
      if (first == "opt-in")
        table.opt_in.insert(name);
      else
        table.floor_of[name] = std::stoi(first);
    }
  }
  return table;
}

std::vector<std::string> includes_of(std::string_view text) {
  std::vector<std::string> names;
  for (const std::string& line : lines_of(text)) {
    const std::size_t hash = line.find_first_not_of(" \t");
    if (hash == std::string::npos || line[hash] != '#') continue;
    const std::size_t word = line.find_first_not_of(" \t", hash + 1);
    if (word == std::string::npos || line.compare(word, 7, "include") != 0) continue;
    const std::size_t open = line.find_first_of("<\"", word);
    if (open == std::string::npos) continue;
    const std::size_t close = line.find_first_of(">\"", open + 1);
    names.push_back(line.substr(open + 1, close - open - 1));
  }
  return names;
}

problems check_floors(const source_tree& headers, const floor_table& table) {
  problems found;
  const auto floor_of = [&](const std::string& header) -> std::optional<int> {
    if (header == place_of(header) && table.opt_in.contains(header)) return 100;
    const auto entry = table.floor_of.find(place_of(header));
    return entry == table.floor_of.end() ? std::nullopt : std::optional(entry->second);
  };
  for (const auto& [header, text] : headers) {
    const auto from = floor_of(header);
    if (!from) found.push_back(header + ": its folder has no floor in floors.txt");
    for (const std::string& included : own_includes(text)) {
      const auto to = floor_of(included);
      const bool same_folder = place_of(included) == place_of(header);
      if (!headers.contains(included)) found.push_back(header + ": includes " + included + ", which does not exist");
      if (!from || !to || same_folder || *to < *from) continue;
      found.push_back(header + " (floor " + std::to_string(*from) + "): includes " + included + " (floor " +
                      std::to_string(*to) + "); an include may only point down");
    }
    for (const std::string& included : includes_of(text))
      if (headers.contains(included)) found.push_back(header + ": write <tinygrad/" + included + ">");
    if (place_of(header) != "scalar" && header != "tinygrad.hpp" && contains(text, "<tinygrad/scalar/") &&
        place_of(header) != "viz")
      found.push_back(header + ": nothing but tinygrad.hpp and viz/ may stand on the scalar engine");
    if (place_of(header) == "scalar")
      for (const std::string& included : own_includes(text))
        if (place_of(included) != "core" && place_of(included) != "scalar")
          found.push_back(header + ": the scalar engine stands on core alone, not on " + included);
  }
  return found;
}

problems check_cycles(const source_tree& headers) {
  problems found;
  for (const auto& [header, text] : headers)
    for (const std::string& included : own_includes(text))
      if (reached_from(included, headers).contains(header))
        found.push_back(header + ": includes " + included + ", which includes it again");
  return found;
}

problems check_reachable(const source_tree& headers, const floor_table& table) {
  problems found;
  const std::set<std::string> reached = reached_from("tinygrad.hpp", headers);
  for (const auto& [header, text] : headers) {
    const bool opt_in = table.opt_in.contains(header) || table.opt_in.contains(place_of(header));
    if (opt_in && reached.contains(header)) found.push_back(header + ": is opt-in, yet tinygrad.hpp reaches it");
    if (!opt_in && !reached.contains(header)) found.push_back(header + ": tinygrad.hpp does not reach it");
  }
  return found;
}

problems check_conventions(const source_tree& headers) {
  constexpr std::array heavy = {"regex", "iostream", "ranges", "format", "source_location", "mdspan"};
  constexpr std::array loud = {"std::cout",   "std::cerr",  "std::printf(",    "std::puts(",
                               "std::abort(", "std::exit(", "std::terminate(", "using namespace std"};
  problems found;
  for (const auto& [header, text] : headers) {
    if (!text.starts_with("//")) found.push_back(header + ": must open with a comment that says what it is");
    const std::size_t pragma = text.find("\n#pragma once\n");
    if (pragma == std::string::npos || text.find("#include") < pragma)
      found.push_back(header + ": needs #pragma once before its first include");
    // Exceptions alone live outside the ABI namespace.
    if (header != "core/error.hpp" && contains(text, "namespace tinygrad {"))
      found.push_back(header + ": opens namespace tinygrad without TINYGRAD_ABI");
    for (const std::string& included : includes_of(text))
      if (std::find(heavy.begin(), heavy.end(), included) != heavy.end())
        found.push_back(header + ": <" + included + "> costs every user too much or is missing in a supported library");
    for (const std::string_view word : loud)
      if (contains(text, word)) found.push_back(header + ": the library never prints or exits: " + std::string(word));
  }
  return found;
}

problems check_all_ops(const source_tree& headers) {
  problems found;
  const auto all = headers.find("ops/all.hpp");
  if (all == headers.end()) return {"ops/all.hpp: is missing"};
  const auto included = own_includes(all->second);
  const std::string list = all->second.substr((std::min)(all->second.find("op_list<"), all->second.size()));
  for (const auto& [header, text] : headers) {
    if (place_of(header) != "ops" || header == "ops/all.hpp") continue;
    if (!reached_from("ops/all.hpp", headers).contains(header))
      found.push_back(header + ": ops/all.hpp does not include it");
    constexpr std::string_view mark = "std::string_view name = \"";
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
      const std::size_t line = text.rfind('\n', at) + 1;
      if (text.compare(text.find_first_not_of(' ', line), 2, "//") == 0) continue;  // an example in a comment
      const std::string op = struct_before(text, at);
      if (!contains_word(list, op)) found.push_back(header + ": the list in ops/all.hpp does not name " + op);
    }
  }
  return found;
}

problems check_left_overs(const source_tree& sources) {
  // Spelled in two parts, so that this file does not find itself.
  const std::array marks = {std::string("TO") + "DO", std::string("FIX") + "ME", std::string("XX") + "X",
                            std::string("not ") + "implemented", std::string("#if ") + "0"};
  const std::array paths = {std::string("/tm") + "p/", std::string("/wor") + "k/", std::string("/roo") + "t/",
                            std::string("/hom") + "e/"};
  problems found;
  for (const auto& [path, text] : sources) {
    std::size_t number = 0;
    for (const std::string& line : lines_of(text)) {
      ++number;
      const std::string where = path + ":" + std::to_string(number) + ": ";
      for (const std::string& mark : marks)  // unless in quotes: a comment may cite somebody else's
        if (contains_word(line, mark) && !contains(line, '"' + mark)) found.push_back(where + "unfinished: " + mark);
      for (const std::string& machine : paths)
        if (contains(line, machine)) found.push_back(where + "a path of one machine: " + machine);
    }
  }
  return found;
}

}  // namespace tinygrad_test
