// Draws a recorded graph as Graphviz text: one box for each number (or tensor) with the operation that made it, its
// data and its gradient, and an arrow from each input to each result.
//
//   std::ofstream("neuron.dot") << to_dot(y, {{x1, "x1"}, {w1, "w1"}});   // then: dot -Tsvg -O neuron.dot
//
// Boxes are called n0, n1, ... in an order in which inputs come before results, so that the text is the same on every
// run. Works for Value<T> and Tensor<T, P>; anything else that specialises drawn_graph can be drawn as well. A Tensor's
// graph is there until backward() consumes it: draw before, or keep it with backward(true).
//
// Format: the DOT language, https://graphviz.org/doc/info/lang.html
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <tinygrad/core/config.hpp>
#include <tinygrad/fwd.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

template <std::floating_point T>
class Value;

/// How to walk the graph behind a G, and what to write into its boxes. A specialisation offers
///   using handle                            something that refers to one box
///   handle handle_of(const G&)
///   std::uint64_t key(handle)               the same for two handles if and only if they refer to the same box
///   std::vector<handle> inputs(handle)      in the order of the operation; twice if used twice
///   bool is_leaf(handle)
///   std::string label(handle)               lines separated by '\n'
/// all static. The headers of Value and Tensor are not needed to declare these two.
template <class G>
struct drawn_graph;

namespace detail {

inline std::string short_number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", x);
  return text;
}

/// Up to four numbers are written out; of more, only that there are some.
template <class T>
std::string short_list(const T* numbers, std::size_t count) {
  if (count == 1) return short_number(static_cast<double>(numbers[0]));
  if (count > 4) return "[...]";
  std::string text = "[";
  for (std::size_t k = 0; k < count; ++k) text += (k == 0 ? "" : ", ") + short_number(static_cast<double>(numbers[k]));
  return text + "]";
}

/// The text as a double-quoted string of the DOT language. Lines end with \n, which centres them.
inline std::string dot_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n')
      quoted += "\\n";
    else
      quoted += c;
  }
  return quoted + '"';
}

inline std::string line_if(std::string_view text) { return text.empty() ? std::string() : std::string(text) + '\n'; }

}  // namespace detail

template <std::floating_point T>
struct drawn_graph<Value<T>> {
  using handle = Value<T>;
  static handle handle_of(const Value<T>& x) { return x; }
  static std::uint64_t key(const handle& x) { return static_cast<std::uint32_t>(x.position_on_tape()); }
  static std::vector<handle> inputs(const handle& x) { return x.children(); }
  static bool is_leaf(const handle& x) { return x.is_leaf(); }
  static std::string label(const handle& x) {
    return detail::line_if(x.op()) + "data " + detail::short_number(static_cast<double>(x.data())) + "\ngrad " +
           detail::short_number(static_cast<double>(x.grad()));
  }
};

template <class T, class P>
struct drawn_graph<Tensor<T, P>> {
  using handle = decltype(std::declval<const Tensor<T, P>&>().handle().get());
  static handle handle_of(const Tensor<T, P>& x) { return x.handle().get(); }
  static std::uint64_t key(handle x) { return x->sequence; }
  static std::vector<handle> inputs(handle x) {
    std::vector<handle> list;
    if (x->op == nullptr) return list;
    for (const auto& input : x->op->inputs()) list.push_back(input.get());
    return list;
  }
  static bool is_leaf(handle x) { return x->is_leaf(); }
  static std::string label(handle x) {
    std::string text = x->name == nullptr ? std::string() : *x->name + '\n';
    if (!x->is_leaf()) text += (x->consumed ? "consumed" : std::string(x->op->name())) + '\n';
    text += to_string(x->shape) + "\ndata " + detail::short_list(x->data, x->count());
    if (!x->grad) return text;
    return text + "\ngrad " + detail::short_list(static_cast<const T*>(x->grad->data()), x->count());
  }
};

namespace detail {

/// Visits everything behind a root once, inputs before results, without recursion.
template <class G>
class dot_writer {
  using graph = drawn_graph<G>;
  using handle = typename graph::handle;

 public:
  explicit dot_writer(const std::vector<std::pair<G, std::string>>& names) {
    for (const auto& [which, name] : names) names_[graph::key(graph::handle_of(which))] = name;
  }

  std::string draw(const G& root) {
    path_.push_back(begin(graph::handle_of(root)));
    while (!path_.empty()) {
      step& top = path_.back();
      if (top.next == top.inputs.size()) {
        write_box(top);
        path_.pop_back();
        continue;
      }
      const handle& input = top.inputs[top.next++];
      if (!numbers_.contains(graph::key(input))) path_.push_back(begin(input));
    }
    return text_ + "}\n";
  }

 private:
  /// A box on the way from the root to the one being visited, and how many of its inputs have been.
  struct step {
    handle box;
    std::vector<handle> inputs;
    std::size_t next;
  };
  static std::string box_name(std::size_t number) { return std::string("n").append(std::to_string(number)); }
  static step begin(const handle& box) { return {box, graph::inputs(box), 0}; }

  /// All inputs have their numbers: time for this one's box and the arrows into it.
  void write_box(const step& done) {
    const std::uint64_t key = graph::key(done.box);
    const std::string id = box_name(numbers_.size());
    numbers_.emplace(key, numbers_.size());
    const auto name = names_.find(key);
    const std::string title = name == names_.end() ? std::string() : name->second + '\n';
    text_ += "  " + id + " [label=" + dot_quoted(title + graph::label(done.box)) +
             (graph::is_leaf(done.box) ? ", style=\"rounded,filled\", fillcolor=\"#e8eef7\"];\n" : "];\n");
    for (const handle& input : done.inputs)
      text_ += "  " + box_name(numbers_.at(graph::key(input))) + " -> " + id + ";\n";
  }

  std::unordered_map<std::uint64_t, std::string> names_;
  std::unordered_map<std::uint64_t, std::size_t> numbers_;
  std::vector<step> path_;
  std::string text_ =
      "digraph {\n  rankdir=LR;\n  node [shape=box, style=rounded, fontname=\"Helvetica\", fontsize=11];\n";
};

}  // namespace detail

/// The graph behind `root` as Graphviz text. `names` titles some of its boxes.
template <class G>
std::string to_dot(const G& root, const std::vector<std::pair<G, std::string>>& names = {}) {
  return detail::dot_writer<G>(names).draw(root);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
