// JSON as a tree of values: parse, look things up with errors that name file and byte, build, write.
//
//   const json_document config = read_json_file("config.json");
//   const auto layers = config.root()["n_layer"].uint64();          // format_error with path and byte when absent
//   for (const json_member& entry : config.root()["vocab"].object()) use(entry.key, entry.value);
//
// Objects keep the order of their members. Parsing is iterative and takes time and memory linear in the text; depth,
// text size and number of values are limited (json_limits), and what a repeated key means is the caller's choice.
// Source: RFC 8259; the tokenizer is in json_reader.hpp.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tinygrad/io/json_reader.hpp>
#include <tinygrad/io/mapped_file.hpp>
#include <tinygrad/io/text_quote.hpp>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

namespace detail {
class json_builder;
}
class json_value;
struct json_member;
using json_array = std::vector<json_value>;
using json_object = std::vector<json_member>;

/// What to do when an object names a member twice. RFC 8259 leaves it open, so parsers differ: an attack surface.
enum class duplicate_keys : std::uint8_t { reject, keep_first, keep_last };

/// One value: null, boolean, number, string, array or object. A regular type; copies are deep.
class json_value {
 public:
  // Constructors are defined below, where json_member is complete.
  json_value() = default;
  json_value(std::nullptr_t);
  json_value(bool value);
  json_value(const json_number& value);
  template <class N>
  requires(std::is_arithmetic_v<N> && !std::is_same_v<N, bool>) json_value(N value);
  json_value(std::string value);
  json_value(std::string_view value);
  json_value(const char* value);
  json_value(json_array value);
  json_value(json_object value);

  [[nodiscard]] json_kind kind() const noexcept {
    constexpr json_kind kinds[] = {json_kind::null,   json_kind::boolean, json_kind::number, json_kind::number,
                                   json_kind::number, json_kind::string,  json_kind::array,  json_kind::object};
    return kinds[data_.index()];
  }
  [[nodiscard]] bool is_null() const noexcept { return kind() == json_kind::null; }

  // The content when it is of that kind (and, for whole numbers, fits); else nothing.
  [[nodiscard]] std::optional<bool> as_boolean() const noexcept { return copy_of<bool>(); }
  [[nodiscard]] std::optional<std::uint64_t> as_uint64() const noexcept { return copy_of<std::uint64_t>(); }
  [[nodiscard]] std::optional<std::int64_t> as_int64() const noexcept {
    if (const auto* natural = std::get_if<std::uint64_t>(&data_); natural && *natural >> 63 == 0)
      return static_cast<std::int64_t>(*natural);
    return copy_of<std::int64_t>();
  }
  [[nodiscard]] std::optional<double> as_double() const noexcept {
    if (const auto* natural = std::get_if<std::uint64_t>(&data_)) return static_cast<double>(*natural);
    if (const auto* negative = std::get_if<std::int64_t>(&data_)) return static_cast<double>(*negative);
    return copy_of<double>();
  }
  [[nodiscard]] const std::string* as_string() const noexcept { return std::get_if<std::string>(&data_); }
  [[nodiscard]] const json_array* as_array() const noexcept { return std::get_if<json_array>(&data_); }
  [[nodiscard]] const json_object* as_object() const noexcept { return std::get_if<json_object>(&data_); }
  [[nodiscard]] json_array* as_array() noexcept { return std::get_if<json_array>(&data_); }
  [[nodiscard]] json_object* as_object() noexcept { return std::get_if<json_object>(&data_); }

  /// The member called `key`, or null when there is none or this is no object. Looks at the members one by one.
  [[nodiscard]] const json_value* find(std::string_view key) const noexcept;

  /// Byte offset of the value in the text it was parsed from; 0 for values built by hand. Not part of ==.
  [[nodiscard]] std::uint32_t position() const noexcept { return position_; }

  friend bool operator==(const json_value& a, const json_value& b);

 private:
  friend class detail::json_builder;
  template <class A>
  [[nodiscard]] std::optional<A> copy_of() const noexcept {
    const A* found = std::get_if<A>(&data_);
    return found != nullptr ? std::optional<A>(*found) : std::nullopt;
  }

  // Whole numbers are kept as uint64, or as int64 when negative, so that each has one representation.
  [[no_unique_address]] std::variant<std::monostate, bool, std::uint64_t, std::int64_t, double, std::string, json_array,
                                     json_object>
      data_;
  std::uint32_t position_ = 0;
};

struct json_member {
  std::string key;
  json_value value;

  friend bool operator==(const json_member& a, const json_member& b) { return a.key == b.key && a.value == b.value; }
};

inline json_value::json_value(std::nullptr_t) {}
inline json_value::json_value(bool value) : data_(value) {}
inline json_value::json_value(std::string value) : data_(std::move(value)) {}
inline json_value::json_value(std::string_view value) : data_(std::string(value)) {}
inline json_value::json_value(const char* value) : data_(std::string(value)) {}
inline json_value::json_value(const json_number& value) {
  switch (value.kind) {
    case json_number::form::natural:
      data_ = value.natural;
      break;
    case json_number::form::negative:
      data_ = value.negative;
      break;
    case json_number::form::real:
      data_ = value.real;
      break;
  }
}
template <class N>
requires(std::is_arithmetic_v<N> && !std::is_same_v<N, bool>) json_value::json_value(N value)
    : json_value(json_number(value)) {}
inline json_value::json_value(json_array value) : data_(std::move(value)) {}
inline json_value::json_value(json_object value) : data_(std::move(value)) {}
inline bool operator==(const json_value& a, const json_value& b) { return a.data_ == b.data_; }
inline const json_value* json_value::find(std::string_view key) const noexcept {
  if (const json_object* members = as_object())
    for (const json_member& member : *members)
      if (member.key == key) return &member.value;
  return nullptr;
}

// --- parsing -----------------------------------------------------------------------------------------------------

namespace detail {

/// One member that names a key again: the index of the first with that key, and its own.
struct repeated_member {
  std::uint32_t first, again;
};

[[nodiscard]] inline std::uint64_t key_hash(std::string_view key) noexcept {
  constexpr std::uint64_t factor = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio, odd
  std::uint64_t hash = key.size();
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * factor;
    hash ^= hash >> 32;
  };
  while (key.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, key.data(), 8);
    mix(word);
    key.remove_prefix(8);
  }
  std::uint64_t word = 0;
  for (const char c : key) word = word << 8 | static_cast<unsigned char>(c);
  mix(word);
  return hash;
}

/// Repeats found by sorting: n log n for any keys whatever.
[[nodiscard]] inline std::vector<repeated_member> repeats_by_sorting(const json_object& members) {
  std::vector<std::uint32_t> order(members.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    const int compared = members[a].key.compare(members[b].key);
    return compared != 0 ? compared < 0 : a < b;
  });
  std::vector<repeated_member> repeats;
  std::uint32_t first = 0;
  for (const std::uint32_t index : order) {
    if (index != order.front() && members[index].key == members[first].key) {
      repeats.push_back({first, index});
    } else {
      first = index;
    }
  }
  std::sort(repeats.begin(), repeats.end(), [](auto a, auto b) { return a.again < b.again; });
  return repeats;
}

/// All members whose key was there before, in order. Linear: an open-addressing table; keys that were made to collide
/// end the probing early, and sorting takes over.
[[nodiscard]] inline std::vector<repeated_member> find_repeats(const json_object& members) {
  std::vector<repeated_member> repeats;
  if (members.size() < 2) return repeats;
  std::size_t slot_count = 8;
  while (slot_count < members.size() * 2) slot_count *= 2;
  std::vector<std::uint32_t> slots(slot_count);  // index of a member plus one; 0 is free
  for (std::uint32_t index = 0; index < members.size(); ++index) {
    const std::string& key = members[index].key;
    std::size_t slot = key_hash(key) & (slot_count - 1);
    for (int probes = 0; slots[slot] != 0; slot = (slot + 1) & (slot_count - 1)) {
      const std::uint32_t first = slots[slot] - 1;
      if (members[first].key == key) {
        repeats.push_back({first, index});
        break;
      }
      if (++probes == 128) return repeats_by_sorting(members);
    }
    if (slots[slot] == 0) slots[slot] = index + 1;
  }
  return repeats;
}

/// Builds the tree from the reader's pieces.
class json_builder {
 public:
  json_builder(json_reader& in, duplicate_keys policy) : in_(in), policy_(policy) {}

  [[nodiscard]] json_value build() {
    json_value root;
    fill(root);
    while (!open_.empty()) {
      json_value& container = *open_.back();
      if (json_array* elements = container.as_array()) {
        if (in_.next_element()) {
          fill(elements->emplace_back());
        } else {
          open_.pop_back();
        }
      } else {
        next_member(*container.as_object());
      }
    }
    in_.finish();
    return root;
  }

 private:
  void next_member(json_object& members) {
    std::string_view key;
    if (in_.next_key(key)) {
      json_member& member = members.emplace_back();
      member.key = key;
      fill(member.value);
    } else {
      open_.pop_back();
      resolve_repeats(members);
    }
  }

  // Reads one value into `slot`, or opens it. `slot` stays in place while open: its parent only grows when it is
  // closed.
  void fill(json_value& slot) {
    if (++count_ > in_.limits().values) in_.fail("more than " + std::to_string(in_.limits().values) + " values");
    switch (in_.peek()) {
      case json_kind::null:
        in_.read_null();
        break;
      case json_kind::boolean:
        slot.data_ = in_.read_boolean();
        break;
      case json_kind::number:
        slot = in_.read_number();
        break;
      case json_kind::string:
        slot.data_.emplace<std::string>(in_.read_string());
        break;
      case json_kind::array:
        in_.begin_array();
        slot.data_.emplace<json_array>();
        open_.push_back(&slot);
        break;
      case json_kind::object:
        in_.begin_object();
        slot.data_.emplace<json_object>();
        open_.push_back(&slot);
        break;
    }
    slot.position_ = static_cast<std::uint32_t>(in_.value_offset());
  }

  void resolve_repeats(json_object& members) const {
    const std::vector<repeated_member> repeats = find_repeats(members);
    if (repeats.empty()) return;
    if (policy_ == duplicate_keys::reject) {
      const json_member& again = members[repeats.front().again];
      in_.fail_at(again.value.position(), "duplicate key \"" + again.key + "\"");
    }
    std::vector<bool> drop(members.size());
    for (const auto [first, again] : repeats) {
      if (policy_ == duplicate_keys::keep_last) members[first].value = std::move(members[again].value);
      drop[again] = true;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (drop[i]) continue;
      if (kept != i) members[kept] = std::move(members[i]);
      ++kept;
    }
    members.resize(kept);
  }

  json_reader& in_;
  duplicate_keys policy_;
  std::vector<json_value*> open_;  // containers not yet closed, outermost first
  std::uint64_t count_ = 0;
};

}  // namespace detail

/// Parses one value that is all of `text`. Throws format_error(path, byte offset).
[[nodiscard]] inline json_value parse_json(std::string_view text, const std::string& path = "json",
                                           duplicate_keys policy = duplicate_keys::reject, json_limits limits = {}) {
  limits.bytes = (std::min)(limits.bytes, std::uint64_t{(std::numeric_limits<std::uint32_t>::max)()});  // position()
  json_reader reader(text, path, limits);
  return detail::json_builder(reader, policy).build();
}

// --- looking things up -------------------------------------------------------------------------------------------

/// A value together with the file it came from, so that a wrong or missing member is a format_error that says where.
/// A view: the document must outlive it.
class json_ref {
 public:
  json_ref(const json_value& value, const std::string& path) : value_(&value), path_(&path) {}

  [[nodiscard]] const json_value& value() const noexcept { return *value_; }
  [[nodiscard]] json_kind kind() const noexcept { return value_->kind(); }
  [[nodiscard]] bool is_null() const noexcept { return value_->is_null(); }

  /// The member called `key`, which must exist.
  [[nodiscard]] json_ref operator[](std::string_view key) const {
    if (const auto member = find(key)) return *member;
    fail("the member \"" + std::string(key) + "\" is missing");
  }
  /// Element `index` of an array, which must exist.
  [[nodiscard]] json_ref operator[](std::size_t index) const {
    const json_array& elements = array();
    if (index >= elements.size())
      fail("element " + std::to_string(index) + " of an array of " + std::to_string(elements.size()));
    return {elements[index], *path_};
  }
  /// The member called `key`, or nothing; this must be an object.
  [[nodiscard]] std::optional<json_ref> find(std::string_view key) const {
    static_cast<void>(object());
    const json_value* found = value_->find(key);
    return found != nullptr ? std::optional<json_ref>({*found, *path_}) : std::nullopt;
  }

  [[nodiscard]] bool boolean() const { return need(value_->as_boolean(), "a boolean"); }
  [[nodiscard]] std::uint64_t uint64() const { return need(value_->as_uint64(), "a whole number from 0 to 2^64 - 1"); }
  [[nodiscard]] std::int64_t int64() const { return need(value_->as_int64(), "a whole number that fits 64 bits"); }
  [[nodiscard]] double number() const { return need(value_->as_double(), "a number"); }
  [[nodiscard]] const std::string& string() const { return *need(pointer(value_->as_string()), "a string"); }
  [[nodiscard]] const json_array& array() const { return *need(pointer(value_->as_array()), "an array"); }
  [[nodiscard]] const json_object& object() const { return *need(pointer(value_->as_object()), "an object"); }

  [[noreturn]] TINYGRAD_COLD void fail(const std::string& what) const {
    throw format_error(*path_, value_->position(), what);
  }

 private:
  template <class P>
  static std::optional<P> pointer(P found) noexcept {
    return found != nullptr ? std::optional<P>(found) : std::nullopt;
  }
  template <class A>
  A need(std::optional<A> found, const char* wanted) const {
    if (!found) fail(std::string(wanted) + " is needed here, not " + std::string(name_of(kind())));
    return *found;
  }

  const json_value* value_;
  const std::string* path_;
};

/// A parsed file: the tree and where it came from.
struct json_document {
  json_value value;
  std::string path;

  [[nodiscard]] json_ref root() const noexcept { return {value, path}; }
};

/// Reads and parses a file. Throws io_error or format_error.
[[nodiscard]] inline json_document read_json_file(const std::string& path,
                                                  duplicate_keys policy = duplicate_keys::reject,
                                                  const json_limits& limits = {}) {
  const mapped_file file(path);
  return {parse_json(file.text(), path, policy, limits), path};
}

// --- writing -----------------------------------------------------------------------------------------------------

namespace detail {

class json_printer {
 public:
  explicit json_printer(int indent) : indent_(indent) {}

  void print(const json_value& value) {
    if (const json_array* elements = value.as_array()) return print_all(*elements, '[', ']');
    if (const json_object* members = value.as_object()) return print_all(*members, '{', '}');
    if (const std::string* string = value.as_string()) return append_json_string(out_, *string);
    if (const auto boolean = value.as_boolean()) {
      out_ += *boolean ? "true" : "false";
    } else if (const auto natural = value.as_uint64()) {
      out_ += std::to_string(*natural);
    } else if (const auto negative = value.as_int64()) {
      out_ += std::to_string(*negative);
    } else if (const auto real = value.as_double()) {
      print_real(*real);
    } else {
      out_ += "null";
    }
  }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  // The shortest text that reads back as the same double, and as a double.
  void print_real(double value) {
    if (!(value - value == 0)) throw value_error("[json] NaN and infinity cannot be written; JSON has no such numbers");
    char text[32];
    const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
    const std::string_view written(text, static_cast<std::size_t>(end - text));
    out_ += written;
    if (written.find_first_of(".e") == std::string_view::npos) out_ += ".0";
  }

  void print(const json_member& member) {
    append_json_string(out_, member.key);
    out_ += indent_ > 0 ? ": " : ":";
    print(member.value);
  }

  template <class Items>
  void print_all(const Items& items, char opener, char closer) {
    if (depth_ >= json_deepest)
      throw value_error("[json] values nested deeper than " + std::to_string(json_deepest) + " cannot be written");
    ++depth_;
    out_ += opener;
    bool first = true;
    for (const auto& item : items) {
      if (!std::exchange(first, false)) out_ += ',';
      new_line();
      print(item);
    }
    --depth_;
    if (!items.empty()) new_line();
    out_ += closer;
  }

  void new_line() {
    if (indent_ <= 0) return;
    out_ += '\n';
    out_.append(depth_ * static_cast<std::size_t>(indent_), ' ');
  }

  std::string out_;
  int indent_;
  std::size_t depth_ = 0;
};

}  // namespace detail

/// The value as JSON text: on one line without blanks, or one member a line indented by `indent` spaces a level.
/// parse_json gives back an equal value. Throws value_error for what JSON cannot say.
[[nodiscard]] inline std::string write_json(const json_value& value, int indent = 0) {
  detail::json_printer printer(indent);
  printer.print(value);
  return printer.take();
}

}  // namespace tinygrad::inline TINYGRAD_ABI
