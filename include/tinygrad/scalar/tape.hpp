// The memory behind Value<T>: one growing list of numbers and of how each was made, per thread and scalar type.
//
// Every number has a position. Two kinds of numbers live on the two sides of position 0:
//
//      ... -3 -2 -1 | 0 1 2 3 4 ... size - 1
//      leaves       | results, in the order in which they were computed
//
// Leaves (parameters, inputs) are made by the user and may live long; their slots are reused one by one. Results are
// made by operations and die young. A result depends only on positions before its own, so cutting the list off behind
// some position never takes away what the rest needs. Hence the one rule of this arena:
//
//      The list ends at the last result that some Value still refers to.
//
// When the loss of a training step goes out of scope, the whole step is cut off, and the next step writes the same
// memory again. A Value never dangles, nobody has to call clear(), and nothing is freed number by number. The price:
// a result that is kept (`best = loss;`) keeps every older result in memory; keep its number (`loss.data()`) instead.
//
// Each attribute is an array of its own, so that recording and walking back touch few bytes: 52 a number in double.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <tinygrad/core/config.hpp>
#include <tinygrad/core/error.hpp>
#include <type_traits>
#include <utility>

namespace tinygrad::inline TINYGRAD_ABI {

/// How far a tape is filled, in numbers.
struct tape_usage {
  std::size_t results;   // recorded and not yet cut off
  std::size_t leaves;    // referred to by a Value or by a recorded result
  std::size_t capacity;  // results that fit before more memory is needed
};

/// The tape of one thread. Its members are open to Value<T>; everybody else uses Value<T>. Constant-initialised and
/// trivially destructible on purpose: reaching it is then one offset from the thread pointer, with no guard.
template <class T>
struct scalar_tape {
  using position = std::int32_t;

  /// The two inputs of a result and the local derivative with respect to each. An operation with one input has `none`
  /// for the other, with slope 0: walking back adds zeros to that slot and needs no question.
  struct edges {
    T slope[2];
    position input[2];
  };
  static constexpr position none = -1;

  edges* from = nullptr;  // these five point at position 0 of an array each;
  T* data = nullptr;      // positions from -leaf_capacity to capacity - 1 are valid
  T* grad = nullptr;
  std::uint32_t* handles = nullptr;  // how many Values refer to this number
  const char** op = nullptr;         // what made this number, as a person writes it; empty for a leaf

  std::ptrdiff_t size = 0;  // results recorded
  std::ptrdiff_t capacity = 0;
  std::uint32_t id = no_tape;  // no two tapes of a process share one

  // --- Recording ----------------------------------------------------------------------------------------------------

  /// Appends a result, which starts with one handle.
  TINYGRAD_ALWAYS_INLINE position record(const char* name, T value, position a, T slope_a, position b, T slope_b) {
    if (size == capacity) [[unlikely]]
      make_room(capacity + 1, 0);
    const auto at = static_cast<position>(size++);
    from[at] = {{slope_a, slope_b}, {a, b}};
    data[at] = value;
    grad[at] = T(0);
    handles[at] = 1;
    op[at] = name;
    if (a < 0) note_use(a, at);
    if (b < 0) note_use(b, at);
    return at;
  }

  /// Takes a leaf slot, with one handle.
  position make_leaf(T value) {
    if (free_leaf_ == list_end && leaf_count_ == leaf_capacity_) [[unlikely]]
      make_room(0, leaf_capacity_ + 1);
    const position at = free_leaf_ == list_end ? static_cast<position>(-1 - leaf_count_++) : free_leaf_;
    if (at == free_leaf_) free_leaf_ = next_leaf(at);
    first_use(at) = never;
    data[at] = value;
    grad[at] = T(0);
    handles[at] = 1;
    op[at] = "";
    ++leaves_alive_;
    return at;
  }

  /// One Value less refers to `at`.
  TINYGRAD_ALWAYS_INLINE void release(position at) noexcept {
    if (--handles[at] != 0) return;
    if (at < 0)
      retire(at);
    else if (at + 1 == size)
      cut();
  }

  // --- Walking back -------------------------------------------------------------------------------------------------

  /// Adds seed * d(root) / d(leaf) to the grad of every leaf, and leaves the derivatives by the results in between in
  /// theirs. The list is in topological order already, so that this is one loop down the list, from `root` to the
  /// first result that `root` depends on.
  void backward(position root, T seed) noexcept {
    forget_result_gradients();
    grad[root] += seed;  // a result's is zero by now; a leaf's accumulates
    if (root < 0) return;
    auto first = static_cast<std::uint32_t>(root);  // unsigned: leaves then count as last
    for (position at = root; at >= static_cast<position>(first); --at) {
      const T g = grad[at];
      if (g == T(0)) continue;  // root does not depend on it
      const edges& e = from[at];
      grad[e.input[0]] += share(e.slope[0], g);
      grad[e.input[1]] += share(e.slope[1], g);
      first = smaller(first, smaller(static_cast<std::uint32_t>(e.input[0]), static_cast<std::uint32_t>(e.input[1])));
    }
    touched_first_ = static_cast<position>(first);
    touched_last_ = root;
  }

  [[nodiscard]] tape_usage usage() const noexcept {
    return {static_cast<std::size_t>(size), static_cast<std::size_t>(leaves_alive_),
            static_cast<std::size_t>(capacity)};
  }

 private:
  static constexpr std::uint32_t no_tape = 0xffffffffU;
  static constexpr position list_end = 0;  // no leaf has position 0
  static constexpr position never = (std::numeric_limits<position>::max)();

  // A leaf has no inputs; their places hold the first result that used it, and the next leaf of a list.
  position& first_use(position leaf) noexcept { return from[leaf].input[0]; }
  position& next_leaf(position leaf) noexcept { return from[leaf].input[1]; }
  TINYGRAD_ALWAYS_INLINE void note_use(position leaf, position by) noexcept {
    if (by < first_use(leaf)) first_use(leaf) = by;
  }

  static constexpr std::uint32_t smaller(std::uint32_t a, std::uint32_t b) noexcept { return a < b ? a : b; }
  /// slope * g, where a slope of zero passes nothing on, not even an infinite g: sqrt(x * x) has gradient 0 at 0.
  static constexpr T share(T slope, T g) noexcept { return slope == T(0) ? T(0) : slope * g; }

  /// The gradients of results belong to one walk; those of leaves stay.
  void forget_result_gradients() noexcept {
    for (position at = touched_first_; at <= touched_last_ && at < size; ++at) grad[at] = T(0);
    touched_last_ = -1;
  }

  /// Cuts off the results behind the last one that has a handle, then the leaves that only those depended on.
  void cut() noexcept {
    while (size > 0 && handles[size - 1] == 0) --size;
    while (retired_leaf_ != list_end && first_use(retired_leaf_) >= size) {
      const position leaf = retired_leaf_;
      retired_leaf_ = next_leaf(leaf);
      free(leaf);
    }
  }

  /// A leaf without handles is free, unless a recorded result may depend on it: then it waits for that one's end.
  void retire(position leaf) noexcept {
    if (first_use(leaf) >= size) return free(leaf);
    next_leaf(leaf) = retired_leaf_;
    retired_leaf_ = leaf;
  }
  void free(position leaf) noexcept {
    next_leaf(leaf) = free_leaf_;
    free_leaf_ = leaf;
    --leaves_alive_;
  }

  // --- Memory -------------------------------------------------------------------------------------------------------

  TINYGRAD_COLD void make_room(std::ptrdiff_t results, std::ptrdiff_t leaves);
  static std::ptrdiff_t enlarged(std::ptrdiff_t now, std::ptrdiff_t wanted);
  template <class A>
  void resize(A*& array, std::ptrdiff_t numbers);
  template <class A>
  void shift(A*& array, std::ptrdiff_t by) noexcept;
  template <class A>
  void give_back(A*& array) noexcept;
  void close() noexcept;

  std::ptrdiff_t leaf_count_ = 0;  // leaf slots taken so far; slot k has position -1 - k
  std::ptrdiff_t leaf_capacity_ = 0;
  std::ptrdiff_t leaves_alive_ = 0;
  position free_leaf_ = list_end;     // slots to take again
  position retired_leaf_ = list_end;  // leaves without handles that recorded results may depend on
  position touched_first_ = 0;        // the results whose grad the last walk wrote
  position touched_last_ = -1;
};

/// The calling thread's tape.
template <class T>
inline constinit thread_local scalar_tape<T> this_thread_tape{};

/// Makes room for at least that many results and leaves, in all; amortised constant time a number. Throws
/// std::bad_alloc or graph_error, and the tape is then as it was.
template <class T>
void scalar_tape<T>::make_room(std::ptrdiff_t results, std::ptrdiff_t leaves) {
  struct owner {  // gives the memory back when the thread ends
    ~owner() { this_thread_tape<T>.close(); }
  };
  static thread_local const owner registered;
  static_cast<void>(registered);

  const std::ptrdiff_t new_capacity = enlarged(capacity, results);
  const std::ptrdiff_t new_leaf_capacity = enlarged(leaf_capacity_, leaves);
  const std::ptrdiff_t numbers = new_capacity + new_leaf_capacity;
  resize(from, numbers);
  resize(data, numbers);
  resize(grad, numbers);
  resize(handles, numbers);
  resize(op, numbers);
  const std::ptrdiff_t by = new_leaf_capacity - leaf_capacity_;
  shift(from, by);
  shift(data, by);
  shift(grad, by);
  shift(handles, by);
  shift(op, by);
  capacity = new_capacity;
  leaf_capacity_ = new_leaf_capacity;

  if (id != no_tape) return;
  static std::atomic<std::uint32_t> next_id{1};
  id = next_id.fetch_add(1, std::memory_order_relaxed);
  leaf_count_ = 1;  // slot `none`, which is in use from the start and never freed
  grad[none] = T(0);
  first_use(none) = (std::numeric_limits<position>::min)();
}

/// A capacity that holds `wanted`: at least the present one, and doubled when that is not enough.
template <class T>
std::ptrdiff_t scalar_tape<T>::enlarged(std::ptrdiff_t now, std::ptrdiff_t wanted) {
  constexpr std::ptrdiff_t least = 1024;
  constexpr std::ptrdiff_t most = std::ptrdiff_t{1} << 30;
  if (wanted > most) throw graph_error("[value] the tape is full: it holds at most 2^30 results and 2^30 leaves");
  if (now == 0) return least;
  return wanted > now ? 2 * now : now;
}

/// Gives the array room for so many numbers, what it holds unmoved. realloc: a large block then moves without a copy.
template <class T>
template <class A>
void scalar_tape<T>::resize(A*& array, std::ptrdiff_t numbers) {
  static_assert(std::is_trivially_copyable_v<A>);
  A* const block = array == nullptr ? nullptr : array - leaf_capacity_;
  void* const moved = std::realloc(block, static_cast<std::size_t>(numbers) * sizeof(A));
  if (moved == nullptr) throw std::bad_alloc();
  array = static_cast<A*>(moved) + leaf_capacity_;
}

/// Moves the array's numbers up, to make room for more leaves below them.
template <class T>
template <class A>
void scalar_tape<T>::shift(A*& array, std::ptrdiff_t by) noexcept {
  const auto used = static_cast<std::size_t>(leaf_count_ + size);
  if (by != 0 && used != 0) std::memmove(array - leaf_count_ + by, array - leaf_count_, used * sizeof(A));
  array += by;
}

template <class T>
template <class A>
void scalar_tape<T>::give_back(A*& array) noexcept {
  if (array != nullptr) std::free(array - leaf_capacity_);
}

template <class T>
void scalar_tape<T>::close() noexcept {
  give_back(from);
  give_back(data);
  give_back(grad);
  give_back(handles);
  give_back(op);
  *this = scalar_tape{};
}

}  // namespace tinygrad::inline TINYGRAD_ABI
