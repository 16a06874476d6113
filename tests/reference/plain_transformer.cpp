#include "tests/reference/plain_transformer.h"

#include <cmath>
#include <string>

namespace attoscope::plain {
namespace {

/// All numbers in the order of their computation: each comes from at most two others and has its derivatives by these.
class Tape {
 public:
  using Number = std::size_t;  ///< a place on the tape

  Number add(double value, Number x = 0, double slope_x = 0, Number y = 0, double slope_y = 0) {
    entries_.push_back({value, slope_x, slope_y, x, y});
    return entries_.size() - 1;
  }
  double value(Number x) const { return entries_[x].value; }

  /// Derivatives of `result` by every number before it.
  std::vector<double> slopes(Number result) const {
    std::vector<double> slope(entries_.size());
    slope[result] = 1;
    for (Number i = result + 1; i-- > 0;) {
      slope[entries_[i].x] += entries_[i].slope_x * slope[i];
      slope[entries_[i].y] += entries_[i].slope_y * slope[i];
    }
    return slope;
  }

 private:
  struct Entry {
    double value, slope_x, slope_y;
    Number x, y;
  };
  std::vector<Entry> entries_;
};

/// A number on the tape.
struct Real {
  Tape* tape;
  Tape::Number place;
  double value() const { return tape->value(place); }
};
Real operator+(Real a, Real b) { return {a.tape, a.tape->add(a.value() + b.value(), a.place, 1, b.place, 1)}; }
Real operator-(Real a, Real b) { return {a.tape, a.tape->add(a.value() - b.value(), a.place, 1, b.place, -1)}; }
Real operator*(Real a, Real b) { return {a.tape, a.tape->add(a.value() * b.value(), a.place, b.value(), b.place, a.value())}; }
Real operator/(Real a, Real b) {
  const double y = a.value() / b.value();
  return {a.tape, a.tape->add(y, a.place, 1 / b.value(), b.place, -y / b.value())};
}
Real operator*(double a, Real b) { return {b.tape, b.tape->add(a * b.value(), b.place, a)}; }
Real operator+(Real a, double b) { return {a.tape, a.tape->add(a.value() + b, a.place, 1)}; }
Real exp(Real x) { return {x.tape, x.tape->add(std::exp(x.value()), x.place, std::exp(x.value()))}; }
Real log(Real x) { return {x.tape, x.tape->add(std::log(x.value()), x.place, 1 / x.value())}; }
Real sqrt(Real x) { return {x.tape, x.tape->add(std::sqrt(x.value()), x.place, 0.5 / std::sqrt(x.value()))}; }
Real tanh(Real x) {
  const double y = std::tanh(x.value());
  return {x.tape, x.tape->add(y, x.place, 1 - y * y)};
}

using Vector = std::vector<Real>;    // channels of a token
using Tokens = std::vector<Vector>;  // of one sequence

Real sum(const Vector& x) {
  Real total = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) total = total + x[i];
  return total;
}
Real dot(const Vector& x, const Vector& y) {
  Vector terms;
  for (std::size_t i = 0; i < x.size(); ++i) terms.push_back(x[i] * y[i]);
  return sum(terms);
}
Vector operator+(const Vector& x, const Vector& y) {
  Vector z;
  for (std::size_t i = 0; i < x.size(); ++i) z.push_back(x[i] + y[i]);
  return z;
}

/// softmax(x)
Vector shares(const Vector& x) {
  Vector e;
  for (const Real& value : x) e.push_back(exp(value));
  const Real total = sum(e);
  for (Real& value : e) value = value / total;
  return e;
}

Real gelu(Real x) { return 0.5 * x * (tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)) + 1.0); }

class Transformer {
 public:
  Transformer(const ModelShape& shape, const Parameters& parameters, const std::vector<double>& weights)
      : shape_(shape), parameters_(parameters) {
    for (const double w : weights) weights_.push_back({&tape_, tape_.add(w)});
  }

  LossAndGradient answer(const Batch& batch) {
    Vector losses;
    const auto context = static_cast<std::size_t>(shape_.context);
    for (std::size_t first = 0; first < batch.input.size(); first += context) {
      const Tokens x = stream(batch, first);
      for (std::size_t t = 0; t < context; ++t) {
        const Vector P = shares(times(norm(x[t], "final norm"), "head"));
        losses.push_back(-1.0 * log(P[batch.target[first + t]]));
      }
    }
    const Real loss = (1.0 / static_cast<double>(losses.size())) * sum(losses);
    std::vector<double> gradient = tape_.slopes(loss.place);
    gradient.resize(weights_.size());
    return {loss.value(), gradient};
  }

 private:
  const ParameterTensor& tensor(const std::string& name) const {
    return parameters_.tensors[static_cast<std::size_t>(parameters_.index(name))];
  }
  Real weight(const ParameterTensor& tensor, int row, int col) const {
    return weights_[tensor.first + static_cast<std::size_t>(row) * static_cast<std::size_t>(tensor.cols) +
                    static_cast<std::size_t>(col)];
  }

  /// x.W
  Vector times(const Vector& x, const std::string& name) const {
    const ParameterTensor& W = tensor(name);
    Vector y;
    for (int col = 0; col < W.cols; ++col) {
      Vector column;
      for (int row = 0; row < W.rows; ++row) column.push_back(weight(W, row, col));
      y.push_back(dot(x, column));
    }
    return y;
  }

  Vector norm(const Vector& x, const std::string& name) const {
    const double share = 1.0 / static_cast<double>(x.size());
    Vector y = x;
    if (shape_.norm == Norm::layer) {
      const Real mean = share * sum(x);
      for (Real& value : y) value = value - mean;
    }
    const Real size = sqrt(share * dot(y, y) + 1e-5);
    for (int i = 0; i < shape_.width; ++i) {
      Real& value = y[static_cast<std::size_t>(i)];
      value = value / size * weight(tensor(name + " gain"), 0, i);
      if (shape_.norm == Norm::layer) value = value + weight(tensor(name + " bias"), 0, i);
    }
    return y;
  }

  /// Causal attention of one head for token t.
  Vector attention(const Tokens& q, const Tokens& k, const Tokens& v, std::size_t t, int head) const {
    const int d = shape_.head_dimension();
    const auto part = [&](const Vector& x) { return Vector(x.begin() + head * d, x.begin() + (head + 1) * d); };
    Vector scores;
    for (std::size_t key = 0; key <= t; ++key) scores.push_back(1 / std::sqrt(d) * dot(part(q[t]), part(k[key])));
    const Vector P = shares(scores);
    Vector o;
    for (std::size_t c = 0; c < static_cast<std::size_t>(d); ++c) {
      Vector column;
      for (std::size_t key = 0; key <= t; ++key) column.push_back(part(v[key])[c]);
      o.push_back(dot(P, column));
    }
    return o;
  }

  void layer(Tokens& x, const std::string& name) const {
    Tokens q, k, v;
    for (const Vector& token : x) {
      const Vector y = norm(token, name + " norm 1");
      q.push_back(times(y, name + " W_Q"));
      k.push_back(times(y, name + " W_K"));
      v.push_back(times(y, name + " W_V"));
    }
    for (std::size_t t = 0; t < x.size(); ++t) {
      Vector o;
      for (int head = 0; head < shape_.heads; ++head) {
        const Vector part = attention(q, k, v, t, head);
        o.insert(o.end(), part.begin(), part.end());
      }
      x[t] = x[t] + times(o, name + " W_O");
      Vector hidden = times(norm(x[t], name + " norm 2"), name + " W_1");
      for (Real& value : hidden) value = gelu(value);
      x[t] = x[t] + times(hidden, name + " W_2");
    }
  }

  /// The residual stream of a sequence after all layers.
  Tokens stream(const Batch& batch, std::size_t first) const {
    Tokens x;
    for (int t = 0; t < shape_.context; ++t) {
      Vector token;
      for (int c = 0; c < shape_.width; ++c)
        token.push_back(weight(tensor("embedding"), batch.input[first + static_cast<std::size_t>(t)], c) +
                        weight(tensor("positions"), t, c));
      x.push_back(token);
    }
    for (int i = 0; i < shape_.layers; ++i) layer(x, "layer " + std::to_string(i));
    return x;
  }

  ModelShape shape_;
  const Parameters& parameters_;
  Tape tape_;
  Vector weights_;  ///< first on the tape
};

}  // namespace

LossAndGradient transformer(const ModelShape& shape, const Parameters& parameters, const std::vector<double>& weights,
                            const Batch& batch) {
  return Transformer(shape, parameters, weights).answer(batch);
}

}  // namespace attoscope::plain
