// The peer of bench/compile_time.py: the circle network (2 -> 16 -> 2, tanh, softmax cross-entropy, SGD) written on
// <Eigen/Dense> with its derivatives by hand. The matrix work is that of examples/readme_training.cpp; there is no
// autograd here to compile.
#include <Eigen/Dense>
#include <cstdio>

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Row = Eigen::Matrix<float, 1, Eigen::Dynamic>;

int main() {
  constexpr int points = 256;
  const Matrix x = Matrix::Random(points, 2);
  Matrix wanted = Matrix::Zero(points, 2);  // one-hot: inside the circle or outside
  for (int i = 0; i < points; ++i) wanted(i, x.row(i).squaredNorm() < 0.5f ? 1 : 0) = 1;

  Matrix w1 = Matrix::Random(2, 16), w2 = Matrix::Random(16, 2);
  Row b1 = Row::Zero(16), b2 = Row::Zero(2);
  const float rate = 0.5f;
  for (int step = 0; step <= 500; ++step) {
    const Matrix hidden = ((x * w1).rowwise() + b1).array().tanh().matrix();
    const Matrix logits = (hidden * w2).rowwise() + b2;
    const Matrix shifted = (logits.colwise() - logits.rowwise().maxCoeff()).array().exp().matrix();
    const Matrix p = (shifted.array().colwise() / shifted.rowwise().sum().array()).matrix();
    const float loss = -(p.array().log() * wanted.array()).sum() / points;
    if (step % 100 == 0) std::printf("step %3d  loss %.4f\n", step, static_cast<double>(loss));

    const Matrix dlogits = (p - wanted) / points;
    const Matrix dhidden = ((dlogits * w2.transpose()).array() * (1 - hidden.array().square())).matrix();
    w2 -= rate * (hidden.transpose() * dlogits);
    b2 -= rate * dlogits.colwise().sum();
    w1 -= rate * (x.transpose() * dhidden);
    b1 -= rate * dhidden.colwise().sum();
  }
}
