// Rotary position embedding: pairs of channels of each head are turned by an angle that grows with the position.
//
//   (x_a, x_b) -> (x_a cos t - x_b sin t, x_a sin t + x_b cos t),   t = position / theta^(2 i / D) for pair i
// Which channels form pair i is the model's convention: interleaved (2i, 2i + 1), as in the paper, in llama2.c and in
// GGUF files of Llama; or halves (i, i + D/2), as in Hugging Face checkpoints. Mixing them up runs and is wrong.
// Source: Su et al. 2021, arXiv:2104.09864; frequency scaling: Llama 3.1's model card and its configuration files.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <string_view>
#include <tinygrad/ops/op.hpp>
#include <vector>

namespace tinygrad::inline TINYGRAD_ABI {

enum class rope_pairs : unsigned char { interleaved, halves };

/// Angular frequency of each pair: 1 / theta^(2 i / depth), for i < depth / 2. Throws value_error for an odd depth.
[[nodiscard]] inline std::vector<double> rope_frequencies(std::size_t depth, double theta) {
  if (depth == 0 || depth % 2 != 0 || !(theta > 0))
    throw value_error("[rope] heads of " + std::to_string(depth) + " channels cannot be paired");
  std::vector<double> result;
  for (std::size_t i = 0; i < depth / 2; ++i)
    result.push_back(std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(depth)));
  return result;
}

/// Llama 3's stretching of long wavelengths, in configuration files called rope_type "llama3".
struct rope_scaling {
  double factor = 8;
  double low_frequency_factor = 1;
  double high_frequency_factor = 4;
  double original_positions = 8192;
};

/// Wavelengths beyond original / low are stretched by `factor`, those below original / high are left, and between the
/// two the frequency is interpolated.
inline void scale_frequencies(std::vector<double>& frequencies, const rope_scaling& s) {
  for (double& frequency : frequencies) {
    const double wavelength = 2 * std::numbers::pi / frequency;
    const double turns = s.original_positions / wavelength;  // within the original context
    if (turns < s.low_frequency_factor) {
      frequency /= s.factor;
    } else if (turns <= s.high_frequency_factor) {
      const double smooth = (turns - s.low_frequency_factor) / (s.high_frequency_factor - s.low_frequency_factor);
      frequency = (1 - smooth) * frequency / s.factor + smooth * frequency;
    }
  }
}

/// Cosines and sines [length, pairs] of the positions from `first` on, computed in double.
template <class T, class P>
struct rope_angles {
  Tensor<T, P> cosines, sines;

  rope_angles(const std::vector<double>& frequencies, std::size_t first, std::size_t length)
      : cosines(Tensor<T, P>::empty({length, frequencies.size()})),
        sines(Tensor<T, P>::empty({length, frequencies.size()})) {
    T* c = cosines.mutable_data().data();
    T* s = sines.mutable_data().data();
    for (std::size_t t = 0; t < length; ++t)
      for (const double frequency : frequencies) {
        const double angle = static_cast<double>(first + t) * frequency;
        *c++ = static_cast<T>(std::cos(angle));
        *s++ = static_cast<T>(std::sin(angle));
      }
  }
};

/// x [B, T, heads * D], cosines and sines [T, D/2] (they get no gradient).
struct rope_op {
  static constexpr std::string_view name = "rope";

  std::size_t heads = 1;
  rope_pairs pairs = rope_pairs::interleaved;

  [[nodiscard]] Shape shape_of(const Shape& x, const Shape& cosines, const Shape& sines) const {
    if (x.rank() != 3 || heads == 0 || x[2] % (2 * heads) != 0)
      throw_shape(name, "channels do not pair up", x, "the shape must be (B, T, heads * D) with an even D");
    if (cosines != sines || cosines != Shape{x[1], x[2] / heads / 2})
      throw_shape(name, "angles do not fit", x, cosines, "cosines and sines must be (T, D / 2)");
    return x;
  }

  template <class P, class T>
  void forward(view<T> y, view<const T> x, view<const T> cosines, view<const T> sines) const {
    rotate<P>(x.data, y.data, x.shape, cosines.data, sines.data, T(1), false);
  }
  // The rotation is orthogonal: its transpose turns back.
  template <class P, class T>
  void backward(const result<T>& y, view<const T> x, view<const T> cosines, view<const T> sines, grad_slot<T> dx,
                grad_slot<T>, grad_slot<T>) const {
    if (!dx) return;
    const grad_target<T> target = dx.open();
    rotate<P>(y.grad, target.data, x.shape, cosines.data, sines.data, T(-1), target.accumulate);
  }

  template <class Try>
  static void examples(Try&& attempt) {
    const auto turn = [&](const Shape& shape, std::size_t count, rope_pairs order) {
      attempt({shape}, [=](const auto& x) {
        using input = std::remove_cvref_t<decltype(x[0])>;
        const rope_angles<typename input::value_type, typename input::policy> angles(
            rope_frequencies(shape[2] / count, 100), 3, shape[1]);
        return apply(rope_op{count, order}, x[0], angles.cosines, angles.sines);
      });
    };
    for (const rope_pairs pairs : {rope_pairs::interleaved, rope_pairs::halves}) {
      turn({2, 3, 12}, 3, pairs);
      turn({1, 5, 34}, 1, pairs);
      turn({0, 2, 4}, 2, pairs);
    }
  }
  template <class Try>
  static void typical(Try&& attempt) {
    attempt({{4, 256, 512}}, [](const auto& x) {
      using input = std::remove_cvref_t<decltype(x[0])>;
      const rope_angles<typename input::value_type, typename input::policy> angles(rope_frequencies(64, 1e4), 0, 256);
      return apply(rope_op{8, rope_pairs::halves}, x[0], angles.cosines, angles.sines);
    });
  }

 private:
  /// y (+)= x turned by the angles, or back with direction -1.
  template <class P, class T>
  void rotate(const T* x, T* y, const Shape& shape, const T* cosines, const T* sines, T direction,
              bool accumulate) const {
    const std::size_t length = shape[1], width = shape[2], half = width / heads / 2;
    const std::size_t next = pairs == rope_pairs::interleaved ? 2 : 1;  // from one pair's first channel to the next's
    const std::size_t apart = pairs == rope_pairs::interleaved ? 1 : half;
    P::for_range(shape[0] * length, 4096 / (width + 1) + 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        const T* c = cosines + row % length * half;
        const T* s = sines + row % length * half;
        for (std::size_t head = 0; head < heads; ++head)
          for (std::size_t i = 0; i < half; ++i) {
            const std::size_t a = row * width + head * 2 * half + i * next, b = a + apart;
            const T first = x[a] * c[i] - direction * x[b] * s[i];
            const T second = direction * x[a] * s[i] + x[b] * c[i];
            y[a] = accumulate ? y[a] + first : first;
            y[b] = accumulate ? y[b] + second : second;
          }
      }
    });
  }
};

/// Turns the pairs of channels of every head by the angles. x [B, T, heads * D] -> the same shape.
template <class T, class P>
[[nodiscard]] Tensor<T, P> rope(const Tensor<T, P>& x, const rope_angles<T, P>& angles, std::size_t heads,
                                rope_pairs pairs) {
  return apply(rope_op{heads, pairs}, x, angles.cosines, angles.sines);
}

}  // namespace tinygrad::inline TINYGRAD_ABI
