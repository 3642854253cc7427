// gemm WHOSE f32|f64 M K N [BATCH]    C[M, N] = A[M, K] B[K, N]; WHOSE: ours, naive, openblas, eigen
// gemv WHOSE K N rows|columns         y[N] = x[K] W; W stored [K, N] (rows) or [N, K] (columns), as models store theirs
#include <tinygrad/kernel/policy.hpp>

#include "worker.hpp"

#if defined(TINYGRAD_BENCH_OPENBLAS)
#include <cblas.h>
#endif
#if defined(TINYGRAD_BENCH_EIGEN)
#include <Eigen/Core>
#endif

namespace tinygrad_bench {

namespace {

using namespace tinygrad;

template <class T>
struct product {
  std::size_t m, k, n, batch;
  bool turned;  // B is stored [n, k]
  std::vector<T> a, b, c;

  product(std::size_t rows, std::size_t inner, std::size_t columns, std::size_t count, bool transposed = false)
      : m(rows),
        k(inner),
        n(columns),
        batch(count),
        turned(transposed),
        a(random_numbers<T>(count * rows * inner)),
        b(random_numbers<T>(count * inner * columns)),
        c(count * rows * columns) {}
};

template <class P, class T>
void run_policy(product<T>& x) {
  const auto m = static_cast<std::ptrdiff_t>(x.m), k = static_cast<std::ptrdiff_t>(x.k),
             n = static_cast<std::ptrdiff_t>(x.n);
  P::gemm(gemm_args<T>{x.m, x.n, x.k, x.a.data(), k, 1, x.b.data(), x.turned ? 1 : n, x.turned ? k : 1, x.c.data(), n,
                       false, x.batch, m * k, k * n, m * n});
}

#if defined(TINYGRAD_BENCH_OPENBLAS)
void one_product(int m, int k, int n, const float* a, const float* b, float* c) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k, b, n, 0, c, n);
}
void one_product(int m, int k, int n, const double* a, const double* b, double* c) {
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k, b, n, 0, c, n);
}
template <class T>
void run_openblas(product<T>& x) {
  const auto m = static_cast<int>(x.m), k = static_cast<int>(x.k), n = static_cast<int>(x.n);
  if constexpr (std::is_same_v<T, float>) {
    if (x.m == 1 && x.turned)
      return cblas_sgemv(CblasRowMajor, CblasNoTrans, n, k, 1, x.b.data(), k, x.a.data(), 1, 0, x.c.data(), 1);
    if (x.m == 1)
      return cblas_sgemv(CblasRowMajor, CblasTrans, k, n, 1, x.b.data(), n, x.a.data(), 1, 0, x.c.data(), 1);
  }
  for (std::size_t i = 0; i < x.batch; ++i)
    one_product(m, k, n, x.a.data() + i * x.m * x.k, x.b.data() + i * x.k * x.n, x.c.data() + i * x.m * x.n);
}
#endif

#if defined(TINYGRAD_BENCH_EIGEN)
template <class T>
void run_eigen(product<T>& x) {
  using matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto m = static_cast<Eigen::Index>(x.m), k = static_cast<Eigen::Index>(x.k), n = static_cast<Eigen::Index>(x.n);
  for (std::size_t i = 0; i < x.batch; ++i) {
    const Eigen::Map<const matrix> left(x.a.data() + i * x.m * x.k, m, k);
    const Eigen::Map<const matrix> right(x.b.data() + i * x.k * x.n, k, n);
    Eigen::Map<matrix>(x.c.data() + i * x.m * x.n, m, n).noalias() = left * right;
  }
}
#endif

template <class T>
std::function<void()> call_of(const std::string& whose, std::shared_ptr<product<T>> x) {
  if (whose == "ours") return [x] { run_policy<threaded<packed>>(*x); };
  if (whose == "naive") return [x] { run_policy<naive>(*x); };
#if defined(TINYGRAD_BENCH_OPENBLAS)
  if (whose == "openblas") return [x] { run_openblas(*x); };
#endif
#if defined(TINYGRAD_BENCH_EIGEN)
  if (whose == "eigen" && !x->turned) return [x] { run_eigen(*x); };
#endif
  throw std::invalid_argument("this build has no products by " + whose);
}

template <class T>
work make_gemm(arguments what) {
  const std::size_t m = number(at(what, 3)), k = number(at(what, 4)), n = number(at(what, 5));
  const std::size_t batch = what.size() > 6 ? number(what[6]) : 1;
  return {call_of(what[1], std::make_shared<product<T>>(m, k, n, batch)), 2.0 * static_cast<double>(m * k * n * batch),
          0};
}

}  // namespace

work make_product(arguments what) {
  if (what[0] == "gemm") return at(what, 2) == "f64" ? make_gemm<double>(what) : make_gemm<float>(what);
  const std::size_t k = number(at(what, 2)), n = number(at(what, 3));
  const auto x = std::make_shared<product<float>>(1, k, n, 1, at(what, 4) == "columns");
  return {call_of(what[1], x), 2.0 * static_cast<double>(k * n), static_cast<double>(k * n * sizeof(float))};
}

}  // namespace tinygrad_bench
