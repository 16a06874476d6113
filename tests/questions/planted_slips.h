/// Plain kernels with a slip planted in them, and the judge's verdicts on their outputs.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/compute.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/judge/judge.h"
#include "kernels/slips/softmax_variant.h"
#include "tests/support/support.h"

namespace attoscope::planted {

using Values = std::vector<double>;

/// The problem and tensors as the experiment rounds them for a kernel.
struct Seen {
  Tensors t;
  Problem p;
  double q(int i, int c) const { return t.q[static_cast<std::size_t>(i * t.d + c)]; }
  double k(int j, int c) const { return t.k[static_cast<std::size_t>(j * t.d + c)]; }
  double v(int j, int c) const { return t.v[static_cast<std::size_t>(j * t.d_v + c)]; }
  double dot(int i, int j) const {
    double sum = 0;
    for (int c = 0; c < t.d; ++c) sum += q(i, c) * k(j, c);
    return sum;
  }
  bool sees(int i, int j) const { return sees_key(p, i, j); }
  /// Index of the key at the position of query i.
  int stands_at(int i) const { return i + (p.mask.top_left ? 0 : t.n_k - t.n); }
  /// The correct score.
  double S(int i, int j) const {
    double s = dot(i, j) * scale_of(p);
    if (p.softcap != 0) s = p.softcap * std::tanh(s / p.softcap);
    return s - p.alibi * std::abs(stands_at(i) - j);
  }
  double score(int i, int j) const { return sees(i, j) ? S(i, j) : -infinity; }
};

/// Normal inputs in steps of 1/64, which every format holds.
Tensors drawn(const AttentionShape& shape, std::uint64_t seed = 1);
Tensors drawn(int n, int d, std::uint64_t seed = 1);
Problem problem(const AttentionShape& shape, Mask mask = {}, std::uint64_t seed = 1);
Problem problem(int n = 200, int d = 32, Mask mask = {}, std::uint64_t seed = 1);
/// A problem whose numbers `f` holds, with Q times `size`.
Problem problem_in(const Format& f, const AttentionShape& shape, Mask mask, std::uint64_t seed, double size = 1);
inline const Mask causal{Mask::Kind::causal};
inline Mask window(int w) { return {Mask::Kind::window, w}; }

Seen seen(const Problem& p);

/// A number for query i and key j, or for key j and column c.
using Entry = std::function<double(int, int)>;
/// Softmax over any scores (-infinity hides a key) times any values.
Values softmax(const Seen& x, const Entry& score, const Entry& value, double extra_l = 0);
Values softmax(const Seen& x, const Entry& score);
Values right(const Seen& x);
/// Attention under the mask sees(query, key).
Values masked(const Seen& x, const std::function<bool(int, int)>& sees);
Values rescored(const Seen& x, const Entry& S);

/// An online loop over tiles of keys that forgets to rescale O or l.
Values stale(const Seen& x, int tile, bool rescales_O, bool rescales_l);

/// Computes runs of `length` keys apart, with P rounded to `of_P` if given; merges them with weights exp(power * log-sum-exp).
Values merged(const Seen& x, int length, double power, const std::optional<Format>& of_P = {});

/// The wrong max of an online loop.
enum class Max { P_of_the_tile_before, never_after_the_first_tile, alpha_one_tile_late, never_stored };

/// An online loop over tiles of keys with an outdated max.
Values stale_max(const Seen& x, int tile, Max kind);

/// `o` with row row(i) as row i (-1: zeros) and column column(c) as column c; an empty function keeps the order.
Values moved(const Values& o, int columns, const std::function<int(int)>& row, const std::function<int(int)>& column = {});

/// The formats of planted slips; only one under sanitizers.
std::vector<Format> planted_formats();

/// The output as stored.
std::shared_ptr<const Values> stored(Values o, const Format& f);

/// An output stored in `f`, the kernel's D, as input of the judge, and the judge's verdict on it.
JudgedOutput judged_output(const Problem& p, Values o, const Format& f, const std::optional<Method>& declared = {});
Judged judged(const Problem& p, Values o, const Format& f, const std::optional<Method>& declared = {});

Experiment with_output(const Problem& p, Values o, const Format& f = bf16);

/// The judge's verdict on an output stored in `f`, and the slip that the judge names if the output is wrong.
struct Said {
  HeadJudgement head;
  std::optional<Slip> slip;
  std::string text() const;
};
Said said_of(const Problem& p, Values o, const Format& f = bf16, const OtherHeads& heads = {});

/// Expects the verdict wrong, with a slip of this kind in these words that explains nearly all of the error.
void expect_slip(const Said& d, Slip::Kind kind, const std::string& words);
/// Expects the slip to be found in each of planted_formats().
void expect_found(const Problem& p, const Values& o, Slip::Kind kind, const std::string& words, const OtherHeads& heads = {});

}  // namespace attoscope::planted
