// Matrix product at the speed of the machine: C[m, n] (+)= A[m, k] B[k, n], any strides, batched.
//
// The way of Goto and BLIS: k is cut into blocks, B's block is packed into panels as wide as the register tile, and
// tiles of C of at most six rows are computed from them (gemm_tile.hpp, gemm_pack.hpp). B is read in place when few
// rows would use the copy; A always is, unless it is transposed, because a tile reads six streams of it as fast as a
// packed one. Products of one or a few rows go their own way (gemm_rows.hpp).
//
// `Split` says how work is spread (parallel/split.hpp). Only rows and columns of C and the products of a batch are
// dealt out, and neither the path nor the blocks of k depend on the number of threads: results are the same to the bit.
#pragma once

#include <tinygrad/kernel/gemm_args.hpp>
#include <tinygrad/kernel/gemm_pack.hpp>
#include <tinygrad/kernel/gemm_rows.hpp>
#include <tinygrad/kernel/gemm_tile.hpp>
#include <tinygrad/kernel/naive_gemm.hpp>
#include <tinygrad/parallel/split.hpp>

namespace tinygrad::inline TINYGRAD_ABI {
namespace detail {

/// Whether m n k multiplications are too few for packing and threads to pay.
constexpr bool small_work(std::size_t m, std::size_t n, std::size_t k) noexcept {
  constexpr std::size_t limit = std::size_t{1} << 18;  // 64 cubed
  return m * n <= limit && m * n * k <= limit;
}

/// One product by tiles.
template <class T>
class tiled_product {
  using tile = gemm_tile<T>;
  // Elements of k in a block at most. A strip of B stays in the second cache while all rows pass over it; with few
  // rows a shorter one, nearer to the core, is better.
  static constexpr std::size_t deep = 3072 / sizeof(T), shallow = 1536 / sizeof(T), rows_for_deep = 128;
  // Up to so many rows B is read in place. A narrow tile takes one or two cache lines of each row of B, rows that lie a
  // page or more apart: if B is larger than the second cache it is packed for all but the fewest rows, in blocks that
  // stay in that cache. (64, 768) x (768, 3072) on a Zen 3: 36 GFLOP/s in place, 43 in blocks of 8 MiB, 54 in these.
  static constexpr bool narrow = tile::columns * sizeof(T) <= 128;
  static constexpr std::size_t direct_rows = 384, direct_rows_narrow = 12, second_cache = std::size_t{256} << 10;
  // Of packed blocks.
  static constexpr std::size_t b_bytes = narrow ? second_cache : std::size_t{8} << 20, a_bytes = std::size_t{4} << 20;
  static constexpr std::size_t task_rows = 192;
  static constexpr std::size_t task_work = 1 << 17;  // multiplications worth a task

 public:
  explicit tiled_product(const gemm_args<T>& args) noexcept
      : g_(args),
        small_(small_work(g_.m, g_.n, g_.k)),
        pack_b_(g_.b_col != 1 || (!small_ && g_.m > rows_in_place())),
        pack_a_(!small_ && g_.a_col != 1),
        panels_(ceil_div(g_.n, tile::columns)),
        groups_(g_.m, ceil_div(g_.m, tile::height)),
        depths_(g_.k, small_ ? 1 : ceil_div(g_.k, pack_b_ || g_.m > rows_for_deep ? deep : shallow)) {
    depth_ = depths_.largest();
    column_blocks_ = blocks(panels_, tile::columns * depth_, b_bytes / sizeof(T));
    row_blocks_ = blocks(groups_.parts, pack_a_ ? tile::height * depth_ : 0, a_bytes / sizeof(T));
  }

  template <class Split>
  void run() noexcept {
    const packing_buffer<T> b_buffer(b_buffer_size());
    const packing_buffer<T> a_buffer(pack_a_ ? row_blocks_.largest() * tile::height * depth_ : 0);
    if (b_buffer.failed() || a_buffer.failed()) return naive_gemm(g_);
    b_packed_ = b_buffer.data();
    a_packed_ = a_buffer.data();
    for (std::size_t jc = 0; jc < column_blocks_.parts; ++jc) {
      for (std::size_t pc = 0; pc < depths_.parts; ++pc) {
        for (std::size_t ic = 0; ic < row_blocks_.parts; ++ic) {
          enter(jc, pc, ic);
          pack<Split>(ic == 0);
          compute<Split>();
        }
      }
    }
  }

 private:
  [[nodiscard]] std::size_t rows_in_place() const noexcept {
    return narrow && g_.k * g_.n > second_cache / sizeof(T) ? direct_rows_narrow : direct_rows;
  }
  /// `count` units of `unit` elements each in nearly equal blocks of about `limit` elements at most.
  static constexpr even_parts blocks(std::size_t count, std::size_t unit, std::size_t limit) noexcept {
    return {count, count * unit <= limit ? 1 : ceil_div(count * unit, limit)};
  }
  void enter(std::size_t jc, std::size_t pc, std::size_t ic) noexcept {
    panel_begin_ = column_blocks_.begin(jc);
    panel_count_ = column_blocks_.size(jc);
    p_begin_ = depths_.begin(pc);
    depth_ = depths_.size(pc);
    group_begin_ = row_blocks_.begin(ic);
    group_count_ = row_blocks_.size(ic);
  }

  [[nodiscard]] std::size_t panel_columns(std::size_t panel) const noexcept {
    return smaller(g_.n - panel * tile::columns, tile::columns);
  }
  [[nodiscard]] const T* b_at(std::size_t column) const noexcept {
    return g_.b + static_cast<std::ptrdiff_t>(p_begin_) * g_.b_row + static_cast<std::ptrdiff_t>(column) * g_.b_col;
  }
  [[nodiscard]] const T* a_at(std::size_t group) const noexcept {
    return g_.a + static_cast<std::ptrdiff_t>(groups_.begin(group)) * g_.a_row +
           static_cast<std::ptrdiff_t>(p_begin_) * g_.a_col;
  }
  [[nodiscard]] T* packed_group(std::size_t group) const noexcept {
    return a_packed_ + (groups_.begin(group) - groups_.begin(group_begin_)) * depth_;
  }

  /// Calls f(kind, offset, columns, packed copy or null) for the strips of a panel. A strip that reaches past the last
  /// column of B is always packed.
  template <class F>
  TINYGRAD_ALWAYS_INLINE void for_strips(std::size_t panel, F&& f) const noexcept {
    const std::size_t cols = panel_columns(panel);
    for (std::size_t offset = 0, width; offset < cols; offset += width) {
      const std::size_t kind = tile::kind_for(cols - offset);
      width = tile::columns_of(kind);
      T* copy = nullptr;
      if (pack_b_)
        copy = b_packed_ + ((panel - panel_begin_) * tile::columns + offset) * depth_;
      else if (width > cols - offset)
        copy = b_packed_;
      f(kind, offset, smaller(width, cols - offset), copy);
    }
  }
  /// Elements of packed B at most: all panels of a block, or only a last strip that reaches past B.
  [[nodiscard]] std::size_t b_buffer_size() const noexcept {
    if (pack_b_) return column_blocks_.largest() * tile::columns * depth_;
    return g_.n % tile::least != 0 ? tile::columns * depth_ : 0;
  }

  template <class Split>
  void pack(bool with_b) noexcept {
    if (!pack_b_ && with_b) pack_panel(panel_begin_ + panel_count_ - 1);
    const std::size_t b_units = with_b && pack_b_ ? panel_count_ : 0, a_units = pack_a_ ? group_count_ : 0;
    if (small_) return pack_units(0, b_units, b_units);
    const std::size_t grain = ceil_div(task_work / 8, depth_ * tile::columns);
    Split::run(b_units + a_units, grain, [&](std::size_t begin, std::size_t end) { pack_units(begin, end, b_units); });
  }
  void pack_units(std::size_t begin, std::size_t end, std::size_t b_units) const noexcept {
    const std::size_t whole = g_.n / tile::columns - panel_begin_;  // panels of the block without a partial one
    if (g_.b_col == 1 && begin < smaller(b_units, whole)) {
      const std::size_t stop = smaller(end, smaller(b_units, whole));
      pack_whole_panels(begin, stop);
      begin = stop;
    }
    for (std::size_t unit = begin; unit < end; ++unit) {
      unit < b_units ? pack_panel(panel_begin_ + unit) : pack_group(group_begin_ + unit - b_units);
    }
  }
  /// Panels of the block whose columns all exist, several at a time, so that B is read in long pieces of its rows.
  void pack_whole_panels(std::size_t begin, std::size_t end) const noexcept {
    constexpr std::size_t together = ceil_div(4096, tile::columns * sizeof(T));
    for (std::size_t first = begin; first < end; first += together) {
      const T* from = b_at((panel_begin_ + first) * tile::columns);
      T* to = b_packed_ + first * tile::columns * depth_;
      for (std::size_t p = 0; p < depth_; ++p, from += g_.b_row, to += tile::columns) {
        for (std::size_t panel = 0; panel < smaller(together, end - first); ++panel) {
          copy_padded(from + panel * tile::columns, tile::columns, tile::columns, to + panel * tile::columns * depth_);
        }
      }
    }
  }
  void pack_panel(std::size_t panel) const noexcept {
    for_strips(panel, [&](std::size_t kind, std::size_t offset, std::size_t cols, T* copy) {
      if (copy == nullptr) return;
      pack_strip(b_at(panel * tile::columns + offset), g_.b_row, g_.b_col, depth_, cols, tile::columns_of(kind), copy);
    });
  }
  void pack_group(std::size_t group) const noexcept {
    pack_rows_transposed(a_at(group), g_.a_row, g_.a_col, groups_.size(group), depth_, packed_group(group));
  }

  template <class Split>
  void compute() noexcept {
    if (small_) return compute_block(0, group_count_, 0, panel_count_);
    const even_parts tall(group_count_, ceil_div(group_count_, task_rows / tile::height));
    const auto width = static_cast<std::size_t>(Split::width());
    const std::size_t across = width == 1 ? 1 : smaller(panel_count_, ceil_div(4 * width, tall.parts));
    const even_parts broad(panel_count_, across);
    const std::size_t work = tall.largest() * tile::height * broad.largest() * tile::columns * depth_;
    Split::run(tall.parts * across, ceil_div(task_work, work), [&](std::size_t begin, std::size_t end) {
      for (std::size_t task = begin; task < end; ++task) {
        const std::size_t row = task / across, column = task % across;
        compute_block(tall.begin(row), tall.size(row), broad.begin(column), broad.size(column));
      }
    });
  }

  /// The tiles of some groups of rows and some panels, both counted from the block's first.
  void compute_block(std::size_t first_group, std::size_t groups, std::size_t first_panel,
                     std::size_t panels) const noexcept {
    tile_args<T> args{};
    args.k = depth_;
    args.c_row = g_.c_row;
    args.accumulate = g_.accumulate || p_begin_ != 0;
    const std::size_t group = group_begin_ + first_group;
    for (std::size_t panel = panel_begin_ + first_panel; panels != 0; --panels, ++panel) {
      for_strips(panel, [&](std::size_t kind, std::size_t offset, std::size_t cols, const T* copy) {
        const std::size_t column = panel * tile::columns + offset;
        args.b = copy != nullptr ? copy : b_at(column);
        args.b_row = copy != nullptr ? static_cast<std::ptrdiff_t>(tile::columns_of(kind)) : g_.b_row;
        args.cols = cols;
        run_tiles(group, group + groups, tile_table<T>::functions[kind], g_.c + column, args);
      });
    }
  }
  void run_tiles(std::size_t begin, std::size_t end, const tile_function<T>* tiles, T* c,
                 tile_args<T>& args) const noexcept {
    for (std::size_t group = begin; group < end; ++group) {
      const std::size_t rows = groups_.size(group);
      args.a = pack_a_ ? packed_group(group) : a_at(group);
      args.a_row = pack_a_ ? 1 : g_.a_row;
      args.a_col = pack_a_ ? static_cast<std::ptrdiff_t>(rows) : g_.a_col;
      args.c = c + static_cast<std::ptrdiff_t>(groups_.begin(group)) * g_.c_row;
      tiles[rows - 1](args);
    }
  }

  const gemm_args<T> g_;
  bool small_, pack_b_, pack_a_;
  std::size_t panels_;
  even_parts groups_;                               // rows in groups
  even_parts depths_, column_blocks_, row_blocks_;  // blocks of k, of panels and of groups
  T* b_packed_ = nullptr;
  T* a_packed_ = nullptr;
  // The block in work.
  std::size_t panel_begin_ = 0, panel_count_ = 0, p_begin_ = 0, depth_ = 0, group_begin_ = 0, group_count_ = 0;
};

/// C = 0, unless it accumulates: the product for k == 0.
template <class T>
void empty_product(const gemm_args<T>& g) noexcept {
  for (std::size_t i = 0; i < g.m && !g.accumulate; ++i) {
    T* const row = g.c + static_cast<std::ptrdiff_t>(i) * g.c_row;
    for (std::size_t j = 0; j < g.n; ++j) row[j] = T(0);
  }
}

/// A few rows times a matrix; columns are dealt out in multiples of the lanes.
template <class T, class Split>
void few_rows_product(const gemm_args<T>& g) noexcept {
  constexpr std::size_t least_work = 1 << 15;
  const std::size_t grain = (ceil_div(least_work, g.m * g.k) + 63) / 64 * 64;
  if (g.b_col == 1) {
    Split::run(g.n, grain, [&](std::size_t begin, std::size_t end) { few_rows_columns(g, begin, end); });
    return;
  }
  const bool gather = g.a_col != 1;  // dot products want the rows of A contiguous
  const packing_buffer<T> buffer(gather ? g.m * g.k : 0);
  if (buffer.failed()) return naive_gemm(g);
  gemm_args<T> h = g;
  if (gather) {
    pack_rows_transposed(g.a, g.a_col, g.a_row, g.k, g.m, buffer.data());
    h.a = buffer.data();
    h.a_row = static_cast<std::ptrdiff_t>(g.k);
    h.a_col = 1;
  }
  Split::run(g.n, grain, [&](std::size_t begin, std::size_t end) { few_rows_dots(h, begin, end); });
}

/// One product. The path depends on shapes and strides only, never on the threads.
template <class T, class Split>
void single_product(const gemm_args<T>& g) noexcept {
  if (g.k == 0) return empty_product(g);
  if (g.n == 1 && g.m != 1 && g.c_row == 1) {  // a column: the transposed product has one row
    gemm_args<T> row{1, g.m, g.k, g.b, g.b_col, g.b_row, g.a, g.a_col, g.a_row, g.c, 1, g.accumulate};
    return single_product<T, Split>(row);
  }
  const bool tiny = g.k * g.n <= 4096 && g.b_col == 1;
  if (g.m <= few_rows && !tiny && (g.b_col == 1 || g.b_row == 1)) return few_rows_product<T, Split>(g);
  tiled_product<T>(g).template run<Split>();
}

}  // namespace detail

/// C (+)= A B as gemm_args says.
template <class T, class Split>
void packed_gemm(const gemm_args<T>& args, Split) noexcept {
  if (args.m == 0 || args.n == 0 || args.batch == 0) return;
  if (args.batch == 1) return detail::single_product<T, Split>(args);
  const auto rows = static_cast<std::ptrdiff_t>(args.m);
  if (args.b_batch == 0 && args.a_batch == rows * args.a_row && args.c_batch == rows * args.c_row) {
    gemm_args<T> tall = args;  // one B for all and the rows follow each other: a single tall product
    tall.m *= tall.batch;
    tall.batch = 1;
    return detail::single_product<T, Split>(tall);
  }
  const auto width = static_cast<std::size_t>(Split::width());
  if (args.c_batch == 0 || args.batch < 4 * width) {
    for (std::size_t i = 0; i < args.batch; ++i) detail::single_product<T, Split>(args.single(i));
    return;
  }
  const std::size_t grain = detail::ceil_div(std::size_t{1} << 17, args.m * args.n * (args.k + 1));
  Split::run(args.batch, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) detail::single_product<T, Split>(args.single(i));
  });
}

}  // namespace tinygrad::inline TINYGRAD_ABI
