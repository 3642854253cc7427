// A policy of your own: how matrix products are computed is said once, and every operation and gradient uses it.
//
// `blocked` takes everything from `packed` but the product, which is a loop in blocks of k that also counts its work.
// A BLAS is plugged in the same way: translate gemm_args and call it. threaded<blocked> would work as well.
#include <cstdio>
#include <tinygrad/testing/close.hpp>
#include <tinygrad/tinygrad.hpp>

using namespace tinygrad;

struct blocked : packed {
  static constexpr std::string_view name = "blocked";
  static inline double multiplications = 0;

  // C[m, n] (+)= A[m, k] B[k, n], `batch` times; element (i, p) of A lies at a[i * a_row + p * a_col].
  template <class T>
  static void gemm(const gemm_args<T>& args) noexcept {
    using index = std::ptrdiff_t;
    const auto m = static_cast<index>(args.m), n = static_cast<index>(args.n), k = static_cast<index>(args.k);
    multiplications += static_cast<double>(args.batch) * static_cast<double>(m * n * k);
    for (std::size_t product = 0; product < args.batch; ++product) {
      const gemm_args<T> g = args.single(product);
      for (index i = 0; i < m && !g.accumulate; ++i)
        for (index j = 0; j < n; ++j) g.c[i * g.c_row + j] = 0;
      for (index block = 0; block < k; block += 64)  // 64 rows of B stay in the cache while all of A's rows use them
        for (index i = 0; i < m; ++i)
          for (index p = block; p < k && p < block + 64; ++p)
            for (index j = 0; j < n; ++j)
              g.c[i * g.c_row + j] += g.a[i * g.a_row + p * g.a_col] * g.b[p * g.b_row + j * g.b_col];
    }
  }
};
static_assert(kernel_policy<blocked>);

// The same model, data and first weights for every policy; the weights after ten steps.
template <class P>
Tensor<float, P> train() {
  using tensor = Tensor<float, P>;
  Random random(1);
  const tensor x = tensor::randn({64, 32}, random), wanted = tensor::randn({64, 8}, random);
  const tensor w1 = tensor::randn({32, 100}, random, 0.2F).requires_grad();
  const tensor w2 = tensor::randn({100, 8}, random, 0.1F).requires_grad();
  Sgd<float, P> optimizer({w1, w2}, {.learning_rate = 0.1});
  for (int step = 0; step < 10; ++step) {
    const tensor loss = mse_loss(matmul(tanh(matmul(x, w1)), w2), wanted);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (step % 9 == 0) std::printf("%s: step %d, loss %.6f\n", P::name.data(), step, double{loss.item()});
  }
  return w1;
}

int main() {
  const double difference = max_abs_difference(train<naive>(), train<blocked>());
  std::printf("%.0f multiplications; weights differ by at most %.1e\n", blocked::multiplications, difference);
  return difference < 1e-5 ? 0 : 1;
}
