// Matrix product at the speed of the machine: C[m, n] (+)= A[m, k] B[k, n], any strides, batched.
//
// The way of Goto and BLIS: k is cut into blocks, B's block is packed into panels as wide as the register tile, A's
// into groups of at most six rows, and tiles of C are computed from them (gemm_tile.hpp, gemm_pack.hpp). Products of a
// few rows go their own way (gemm_rows.hpp), small ones skip the packing that would not pay.
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

constexpr std::size_t ceil_div(std::size_t a, std::size_t b) noexcept { return a == 0 ? 0 : (a - 1) / b + 1; }
constexpr std::size_t smaller(std::size_t a, std::size_t b) noexcept { return b < a ? b : a; }

/// `count` things dealt into `parts` nearly equal runs, the longer ones first.
struct even_parts {
  std::size_t count, parts;
  [[nodiscard]] constexpr std::size_t begin(std::size_t part) const noexcept {
    return part * (count / parts) + smaller(part, count % parts);
  }
  [[nodiscard]] constexpr std::size_t size(std::size_t part) const noexcept { return begin(part + 1) - begin(part); }
};

/// One product by tiles.
template <class T>
class tiled_product {
  using tile = gemm_tile<T>;
  // Elements of k a block holds at most, and bytes of the packed blocks of B and A.
  static constexpr std::size_t packed_depth = 3072 / sizeof(T), direct_depth = 1024 / sizeof(T);
  static constexpr std::size_t panel_bytes = std::size_t{8} << 20, rows_bytes = std::size_t{4} << 20;
  static constexpr std::size_t direct_rows = 384;    // up to so many rows B is read in place
  static constexpr std::size_t block_rows = 192;     // of A in one task
  static constexpr std::size_t task_work = 1 << 17;  // multiplications worth a task

 public:
  explicit tiled_product(const gemm_args<T>& args) noexcept : g_(args) {
    pack_b_ = g_.b_col != 1 || g_.m > direct_rows;
    pack_a_ = g_.a_col != 1 || g_.m > direct_rows;
    const std::size_t depth = pack_b_ ? packed_depth : direct_depth;
    depths_ = {g_.k, ceil_div(g_.k, depth)};
    const std::size_t panels = ceil_div(g_.n, tile::columns);
    columns_ = {panels, ceil_div(panels, panel_bytes / sizeof(T) / depths_.size(0) / tile::columns)};
    const std::size_t groups = ceil_div(g_.m, tile::height);
    groups_ = {g_.m, groups};
    const std::size_t stride = row_stride();
    rows_ = {groups, ceil_div(groups, rows_bytes / sizeof(T) / stride / tile::height)};
  }

  template <class Split>
  void run() noexcept {
    const std::size_t panels = pack_b_ ? columns_.size(0) : 1;
    const packing_buffer<T> b_buffer(panels * depths_.size(0) * tile::columns);
    const packing_buffer<T> a_buffer(pack_a_ ? rows_.size(0) * tile::height * row_stride() : 0);
    if (b_buffer.failed() || a_buffer.failed()) return naive_gemm(g_);
    b_packed_ = b_buffer.data();
    a_packed_ = a_buffer.data();
    for (std::size_t jc = 0; jc < columns_.parts; ++jc) {
      for (std::size_t pc = 0; pc < depths_.parts; ++pc) {
        for (std::size_t ic = 0; ic < rows_.parts; ++ic) {
          enter(jc, pc, ic);
          pack<Split>(ic == 0);
          compute<Split>();
        }
      }
    }
  }

 private:
  /// Distance of packed rows of A: padded so that six rows do not fall into one cache set.
  [[nodiscard]] std::size_t row_stride() const noexcept { return (depths_.size(0) + 15) / 16 * 16 + 16; }

  void enter(std::size_t jc, std::size_t pc, std::size_t ic) noexcept {
    panel_begin_ = columns_.begin(jc);
    panel_count_ = columns_.size(jc);
    p_begin_ = depths_.begin(pc);
    depth_ = depths_.size(pc);
    group_begin_ = rows_.begin(ic);
    group_count_ = rows_.size(ic);
  }
  [[nodiscard]] std::size_t panel_columns(std::size_t panel) const noexcept {
    return smaller(g_.n - panel * tile::columns, tile::columns);
  }
  static constexpr bool wide(std::size_t cols) noexcept { return cols > tile::width / 2 * tile::lanes; }
  /// A panel that reaches past the last column of B is always packed.
  [[nodiscard]] bool packed(std::size_t panel) const noexcept {
    return pack_b_ || panel_columns(panel) % (tile::width / 2 * tile::lanes) != 0;
  }
  [[nodiscard]] T* packed_panel(std::size_t panel) const noexcept {
    return b_packed_ + (pack_b_ ? (panel - panel_begin_) * depth_ * tile::columns : 0);
  }
  [[nodiscard]] T* packed_group(std::size_t group) const noexcept {
    return a_packed_ + (groups_.begin(group) - groups_.begin(group_begin_)) * row_stride();
  }
  [[nodiscard]] const T* b_at(std::size_t panel) const noexcept {
    return g_.b + static_cast<std::ptrdiff_t>(p_begin_) * g_.b_row +
           static_cast<std::ptrdiff_t>(panel * tile::columns) * g_.b_col;
  }
  [[nodiscard]] const T* a_at(std::size_t group) const noexcept {
    return g_.a + static_cast<std::ptrdiff_t>(groups_.begin(group)) * g_.a_row +
           static_cast<std::ptrdiff_t>(p_begin_) * g_.a_col;
  }

  template <class Split>
  void pack(bool with_b) noexcept {
    const std::size_t b_units = with_b ? panel_count_ : 0, a_units = pack_a_ ? group_count_ : 0;
    const std::size_t grain = ceil_div(task_work / 8, depth_ * tile::columns);
    Split::run(b_units + a_units, grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t unit = begin; unit < end; ++unit) {
        unit < b_units ? pack_one_panel(panel_begin_ + unit) : pack_group(group_begin_ + unit - b_units);
      }
    });
  }
  void pack_one_panel(std::size_t panel) const noexcept {
    if (!packed(panel)) return;
    const std::size_t cols = panel_columns(panel);
    const std::size_t width = wide(cols) ? tile::columns : tile::width / 2 * tile::lanes;
    pack_panel(b_at(panel), g_.b_row, g_.b_col, depth_, cols, width, packed_panel(panel));
  }
  void pack_group(std::size_t group) const noexcept {
    T* const to = packed_group(group);
    const std::size_t rows = groups_.size(group);
    if (g_.a_col != 1) return pack_rows_transposed(a_at(group), g_.a_row, g_.a_col, rows, depth_, to);
    const std::size_t padded = ceil_div(depth_, tile::lanes) * tile::lanes;
    for (std::size_t i = 0; i < rows; ++i) {
      const T* const row = a_at(group) + static_cast<std::ptrdiff_t>(i) * g_.a_row;
      copy_padded(row, depth_, padded, to + i * row_stride());
    }
  }

  template <class Split>
  void compute() noexcept {
    const even_parts tall{group_count_, ceil_div(group_count_, block_rows / tile::height)};
    const auto width = static_cast<std::size_t>(Split::width());
    const std::size_t across = width == 1 ? 1 : smaller(panel_count_, ceil_div(4 * width, tall.parts));
    const even_parts broad{panel_count_, across};
    const std::size_t work = tall.size(0) * tile::height * broad.size(0) * tile::columns * depth_;
    Split::run(tall.parts * across, ceil_div(task_work, work), [&](std::size_t begin, std::size_t end) {
      for (std::size_t task = begin; task < end; ++task) {
        compute_block(tall.begin(task / across), tall.size(task / across), broad.begin(task % across),
                      broad.size(task % across));
      }
    });
  }

  /// The tiles of some groups of rows and some panels, both counted from the block's first.
  void compute_block(std::size_t first_group, std::size_t groups, std::size_t first_panel,
                     std::size_t panels) const noexcept {
    for (std::size_t panel = panel_begin_ + first_panel; panels != 0; --panels, ++panel) {
      tile_args<T> args;
      args.k = depth_;
      args.cols = panel_columns(panel);
      const bool is_wide = wide(args.cols);
      args.b = packed(panel) ? packed_panel(panel) : b_at(panel);
      args.b_row = !packed(panel) ? g_.b_row
                   : is_wide      ? static_cast<std::ptrdiff_t>(tile::columns)
                                  : static_cast<std::ptrdiff_t>(tile::width / 2 * tile::lanes);
      args.c_row = g_.c_row;
      args.accumulate = g_.accumulate || p_begin_ != 0;
      for (std::size_t group = group_begin_ + first_group; group < group_begin_ + first_group + groups; ++group) {
        set_rows(group, args);
        args.c = g_.c + static_cast<std::ptrdiff_t>(groups_.begin(group)) * g_.c_row + panel * tile::columns;
        run_tile(groups_.size(group), is_wide, args);
      }
    }
  }
  void set_rows(std::size_t group, tile_args<T>& args) const noexcept {
    args.a = pack_a_ ? packed_group(group) : a_at(group);
    if (!pack_a_) {
      args.a_row = g_.a_row;
      args.a_col = g_.a_col;
    } else if (g_.a_col == 1) {
      args.a_row = static_cast<std::ptrdiff_t>(row_stride());
      args.a_col = 1;
    } else {
      args.a_row = 1;
      args.a_col = static_cast<std::ptrdiff_t>(groups_.size(group));
    }
  }

  const gemm_args<T>& g_;
  bool pack_a_, pack_b_;
  even_parts depths_{}, columns_{}, groups_{}, rows_{};  // blocks of k, of panels, rows in groups, blocks of groups
  T* b_packed_ = nullptr;
  T* a_packed_ = nullptr;
  // The block in work.
  std::size_t panel_begin_ = 0, panel_count_ = 0, p_begin_ = 0, depth_ = 0, group_begin_ = 0, group_count_ = 0;
};

inline constexpr std::size_t few_rows = 8;

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
  // Dot products want the rows of A contiguous.
  const bool gather = g.a_col != 1;
  const packing_buffer<T> buffer(gather ? g.m * g.k : 0);
  if (buffer.failed()) return naive_gemm(g);
  for (std::size_t i = 0; i < g.m && gather; ++i) {
    pack_rows_transposed(g.a + static_cast<std::ptrdiff_t>(i) * g.a_row, 0, g.a_col, 1, g.k, buffer.data() + i * g.k);
  }
  const T* const a = gather ? buffer.data() : g.a;
  const std::ptrdiff_t a_row = gather ? static_cast<std::ptrdiff_t>(g.k) : g.a_row;
  Split::run(g.n, grain, [&](std::size_t begin, std::size_t end) { few_rows_dots(g, a, a_row, begin, end); });
}

/// One product. The path depends on shapes and strides only, never on the threads.
template <class T, class Split>
void single_product(const gemm_args<T>& g) noexcept {
  if (g.k == 0) return empty_product(g);
  if (g.n == 1 && g.m != 1 && g.c_row == 1) {  // a column: the transposed product has one row
    gemm_args<T> row{1, g.m, g.k, g.b, g.b_col, g.b_row, g.a, g.a_col, g.a_row, g.c, 1, g.accumulate};
    return single_product<T, Split>(row);
  }
  if (g.m <= few_rows && (g.b_col == 1 || g.b_row == 1)) return few_rows_product<T, Split>(g);
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
