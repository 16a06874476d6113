// Fits rotary positions (RoPE, arXiv 2104.09864) of the wrong kind or the wrong position: rotates Q and K back, then by the
// mistake.
#include <cmath>
#include <functional>

#include "kernels/experiment/experiment.h"
#include "kernels/judge/wrong_output.h"

namespace attoscope {
namespace {

using Kind = Slip::Kind;

/// Q and K were rounded after their rotation, so a row may be three times as far off as usual. A smaller error is not evidence.
constexpr double unknown_rounding = 2, least_ratio = 10;

/// Pairs of columns and their frequencies base^(-2 p / d): column p with p + d/2 as in GPT-NeoX, or neighbours as in GPT-J.
struct Rotary {
  double base = 1e4;
  bool interleaved = false;
};

using Position = std::function<double(int row)>;

/// Rotates rows of x (rows x d) by their positions, or by the negative positions if `back`.
void rotate(std::vector<double>& x, int d, const Rotary& kind, const Position& position, bool back) {
  const int half = d / 2, rows = static_cast<int>(x.size()) / d;
  std::vector<double> frequency;
  for (int p = 0; p < half; ++p) frequency.push_back(std::pow(kind.base, -2.0 * p / d));
  for (int i = 0; i < rows; ++i)
    for (int p = 0; p < half; ++p) {
      const double angle = (back ? -1 : 1) * position(i) * frequency[at(p)], cosine = std::cos(angle), sine = std::sin(angle);
      double& a = x[at(i * d + (kind.interleaved ? 2 * p : p))];
      double& b = x[at(i * d + (kind.interleaved ? 2 * p + 1 : p + half))];
      const double before = a;
      a = before * cosine - b * sine;
      b = b * cosine + before * sine;
    }
}

/// A rotation that a kernel may apply instead of the right one.
struct OtherRotation {
  std::string text;  ///< after "RoPE of K "
  std::function<void(std::vector<double>& x, const Position& position)> apply;
};

std::vector<OtherRotation> other_rotations(const Rotary& right, int d) {
  const auto rotates = [d](const Rotary& kind, const std::function<double(double)>& moved) {
    return [d, kind, moved](std::vector<double>& x, const Position& position) {
      rotate(x, d, kind, [&](int i) { return moved(position(i)); }, false);
    };
  };
  const auto same = [](double p) { return p; };
  Rotary other = right;
  other.interleaved = !right.interleaved;
  const std::string kind = other.interleaved ? "interleaved instead of in halves" : "in halves instead of interleaved";
  std::vector<OtherRotation> all{{"missing", [](auto&, auto&) {}},
                                 {kind, rotates(other, same)},
                                 {"one position late", rotates(right, [](double p) { return p + 1; })},
                                 {"one position early", rotates(right, [](double p) { return p - 1; })},
                                 {"with positions rounded to bf16", rotates(right, [](double p) { return round(bf16, p); })},
                                 {"with positions rounded to fp16", rotates(right, [](double p) { return round(fp16, p); })},
                                 {"applied twice", rotates(right, [](double p) { return 2 * p; })},
                                 {"in the wrong direction", rotates(right, [](double p) { return -p; })}};
  for (const double base : {1e4, 5e5, 1e6})
    if (base != right.base) all.push_back({"with another base", rotates({base, right.interleaved}, same)});
  return all;
}

}  // namespace

NamedSlip rotary_fit(const WrongOutput& wrong) {
  const Tensors& own = wrong.tensors();
  if (own.d % 2 != 0 || own.n_k > 4096 || own.n < 2 || wrong.found().ratio < least_ratio) return {};
  const Position of_key = [](int j) { return static_cast<double>(j); },
                 of_query = [offset = diagonal(wrong.problem())](int i) { return static_cast<double>(i + offset); };
  for (const double base : {1e4, 5e5, 1e6})
    for (const bool interleaved : {false, true}) {
      const Rotary right{base, interleaved};
      Tensors back = own;
      rotate(back.q, own.d, right, of_query, true);
      rotate(back.k, own.d, right, of_key, true);
      for (const OtherRotation& other : other_rotations(right, own.d)) {
        wrong.check();
        std::vector<double> q = back.q, k = back.k;
        other.apply(q, of_query);
        other.apply(k, of_key);
        const MistakenKernel of_k = wrong.kernel_with(&Tensors::k, std::move(k));
        const MistakenKernel of_q = wrong.kernel_with(&Tensors::q, q);
        MistakenKernel of_both = of_k;
        of_both.head = std::make_shared<const VariantHead>(with_part(*of_k.head, &Tensors::q, std::move(q)));
        for (auto [which, kernel] : {std::pair{"K", of_k}, {"Q", of_q}, {"Q and K", of_both}}) {
          kernel.slack = unknown_rounding;
          if (NamedSlip slip = wrong.named_in_rows(Kind::operands, std::string("RoPE of ") + which + " " + other.text,
                                                   wrong.rows_of(std::move(kernel))))
            return slip;
        }
      }
    }
  return {};
}

}  // namespace attoscope
