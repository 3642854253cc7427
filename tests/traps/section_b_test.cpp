// Known traps, section B: softmax, cross-entropy, norms, GELU.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <tinygrad/ops/activation.hpp>
#include <tinygrad/ops/cross_entropy.hpp>
#include <tinygrad/ops/elementary.hpp>
#include <tinygrad/ops/matmul.hpp>
#include <tinygrad/ops/norm.hpp>
#include <tinygrad/ops/operators.hpp>
#include <tinygrad/ops/softmax.hpp>
#include <tinygrad/testing/close.hpp>

#include "support/error_text.hpp"

using namespace tinygrad;
using tinygrad_test::error_text;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

bool all_finite(const auto& x) {
  for (const auto value : x.data())
    if (!std::isfinite(value)) return false;
  return true;
}

}  // namespace

TEST_CASE_TEMPLATE("B01 an attention row that may look nowhere gives zeros, and zero gradients", P, naive, packed) {
  using tensor = Tensor<float, P>;
  Random random(6);
  const auto draw = [&] { return tensor::uniform({1, 1, 4, 2}, random, -1, 1).requires_grad(); };
  const tensor q = draw(), k = draw(), v = draw();
  tensor mask = tensor::ones({4, 4});
  for (std::size_t j = 0; j < 4; ++j) mask.mutable_data()[4 + j] = 0;
  const auto attend = [&](const tensor& allowed) {
    return matmul(softmax(where(allowed, matmul_t(q, k), tensor::scalar(-infinity))), v);
  };
  const tensor y = attend(mask), unmasked = attend(tensor::ones({4, 4}));
  CHECK(y.data()[2] == 0);
  CHECK(y.data()[3] == 0);
  for (const std::size_t i : {0U, 1U, 4U, 5U, 6U, 7U}) CHECK(y.data()[i] == unmasked.data()[i]);
  y.backward(tensor::ones(y.shape()));
  CHECK(q.grad().data()[2] == 0);
  CHECK(q.grad().data()[3] == 0);
  CHECK(all_finite(q.grad()));
  CHECK(all_finite(k.grad()));
  CHECK(all_finite(v.grad()));
}

TEST_CASE_TEMPLATE("B01 the same in a causal softmax, and in plain softmax", P, naive, packed) {
  using tensor = Tensor<float, P>;
  const tensor scores = tensor::from({-infinity, 5, -infinity, 1}, {2, 2}).requires_grad();
  const tensor y = causal_softmax(scores);
  CHECK(max_abs_difference(y, tensor::from({0, 0, 0, 1}, {2, 2})) == 0);
  y.backward(tensor::ones({2, 2}));
  CHECK(max_abs_difference(scores.grad(), tensor::zeros({2, 2})) == 0);
  CHECK(max_abs_difference(softmax(tensor::full({40}, -infinity)), tensor::zeros({40})) == 0);
}

TEST_CASE_TEMPLATE("B02 equal logits cost log 2 however large they are", P, naive, packed) {
  const auto logits = Tensor<float, P>::from({1e8F, 1e8F}, {1, 2}).requires_grad();
  const auto loss = cross_entropy(logits, {1});
  CHECK(loss.item() == doctest::Approx(0.693147).epsilon(1e-6));
  loss.backward();
  CHECK(max_abs_difference(logits.grad(), Tensor<float, P>::from({0.5F, -0.5F}, {1, 2})) < 1e-7);
}

TEST_CASE_TEMPLATE("B03 far apart logits overflow neither forward nor backward", P, naive, packed) {
  const auto logits = Tensor<float, P>::from({-431, 279, 427}, {1, 3}).requires_grad();
  const auto loss = cross_entropy(logits, {0});
  CHECK(loss.item() == 858);
  loss.backward();
  CHECK(max_abs_difference(logits.grad(), Tensor<float, P>::from({-1, 0, 1}, {1, 3})) == 0);

  const auto wide = Tensor<double, P>::from({-431, 279, 427}, {1, 3}).requires_grad();
  cross_entropy(wide, {0}).backward();
  CHECK(wide.grad().data()[1] == doctest::Approx(std::exp(-148.0)).epsilon(1e-12));

  const auto x = Tensor<float, P>::from({-1047, -981, 1891}).requires_grad();
  softmax(x).backward(Tensor<float, P>::ones({3}));
  CHECK(max_abs_difference(x.grad(), Tensor<float, P>::zeros({3})) == 0);
}

TEST_CASE_TEMPLATE("B04 log_softmax is not the logarithm of a softmax that underflowed", P, naive, packed) {
  using tensor = Tensor<float, P>;
  CHECK(max_abs_difference(log_softmax(tensor::from({0, -200})), tensor::from({0, -200})) == 0);
  const tensor y = log_softmax(tensor::from({-40.1F, 94.7F, 0, 12.5F}));
  CHECK(all_finite(y));
  CHECK(y.data()[0] == doctest::Approx(-134.8));
  CHECK(y.data()[1] == 0);
}

TEST_CASE_TEMPLATE("B05 when every target is ignored the loss is 0 and so is the gradient", P, naive, packed) {
  using tensor = Tensor<float, P>;
  const tensor logits = tensor::from({1, 2, 3}, {1, 3}).requires_grad();
  const tensor loss = cross_entropy(logits, {-1}, {reduction::mean, -1, 0});
  CHECK(loss.item() == 0);
  loss.backward();
  CHECK(max_abs_difference(logits.grad(), tensor::zeros({1, 3})) == 0);
  CHECK(cross_entropy(tensor::from({1, 2, 3, 3, 2, 1}, {2, 3}), {2, -100}).item() ==
        doctest::Approx(0.407606).epsilon(1e-6));
}

TEST_CASE("B06 a target out of range is an error, unless it is the one to ignore") {
  using tensor = Tensor<float>;
  CHECK(error_text([] {
          (void)cross_entropy(tensor::zeros({2, 5}), {3, -4}, {reduction::mean, -1, 0});
        }) ==
        "[cross_entropy] target out of range: target -4 at position 1, logits (2, 5); 0 <= target < 5, or "
        "ignore_index -1");
  for (const reduction how : {reduction::none, reduction::mean, reduction::sum}) {
    const auto loss = cross_entropy(tensor::zeros({2, 3}), {255, 0}, {how, 255, 0});
    CHECK(loss.data()[loss.count() - 1] == doctest::Approx(std::log(3.0)));
    CHECK(loss.data()[0] == (how == reduction::none ? doctest::Approx(0) : doctest::Approx(std::log(3.0))));
  }
}

TEST_CASE_TEMPLATE("B07 the variance does not cancel where the mean is large", P, naive, packed) {
  using tensor = Tensor<float, P>;
  const tensor steps = tensor::from({-1.341635F, -0.447212F, 0.447212F, 1.341635F});
  CHECK(max_abs_difference(layer_norm(tensor::from({40000, 40001, 40002, 40003})), steps) < 1e-6);
  CHECK(max_abs_difference(layer_norm(tensor::from({80000, 80001, 80002, 80003})), steps) < 1e-6);
  CHECK(max_abs_difference(layer_norm(tensor::full({256}, 1234)), tensor::zeros({256})) == 0);
  CHECK(max_abs_difference(layer_norm(tensor::from({1449.5706F, 1448.8741F, 1450.6504F, 1449.2633F})),
                           tensor::from({-0.02884F, -1.08352F, 1.60651F, -0.49415F})) < 2e-4);
}

TEST_CASE_TEMPLATE("B08 a constant row normalises to zero, with a finite gradient", P, naive, packed) {
  using tensor = Tensor<float, P>;
  for (const float value : {100.0F, 1e10F, 0.1F, -3.3e-5F}) {
    const tensor x = tensor::full({9}, value).requires_grad();
    const tensor y = layer_norm(x);
    CHECK(max_abs_difference(y, tensor::zeros({9})) == 0);
    y.backward(tensor::arange(9));
    CHECK(all_finite(x.grad()));
  }
}

TEST_CASE("B09 GELU has two forms with two names") {
  const auto at = [](double x) { return Tensor<double>::scalar(x); };
  CHECK(gelu_erf(at(1)).item() == doctest::Approx(0.8413447).epsilon(1e-7));
  CHECK(gelu(at(1)).item() == doctest::Approx(0.8411920).epsilon(1e-7));
  CHECK(std::fabs(gelu(at(-2.699)).item() - gelu_erf(at(-2.699)).item()) == doctest::Approx(4.73e-4).epsilon(1e-3));
}
