/// A kernel with replaceable steps for planted mistakes, and its calls.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "tests/questions/planted_faults.h"

namespace attoscope::planted {

/// An online loop over tiles of keys, with steps that a fault can replace.
struct Loop : Seen {
  Format f = bf16;
  int tile = 64;
  std::function<double(int i, int j)> S{};  ///< the scaled score, with cap and bias
  std::function<bool(int i, int j)> sees{};
  std::function<double(int i, int j, double e)> in_O{}, in_l{};  ///< weight of a key
  std::function<double(int i, int tile, double alpha)> alpha_of_O{}, alpha_of_l{};
  std::function<double(int i, int j, int c)> value{};
  std::function<double(double)> exp = [](double x) { return std::exp(x); };
  std::function<double(double)> round_l = [](double x) { return x; }, round_O = [](double x) { return x; };
  std::function<double(double)> round_P{};
  double first_O = 0;  ///< initial accumulator, before the first tile
  std::function<double(int i, double l, double m)> sum = [](int, double l, double) { return l; };

  explicit Loop(const Call& call) : Seen{call.own(), call.p}, f(call.f) {
    const Format to = f;
    round_P = [to](double e) { return round(to, e); };
  }

  double right_S(int i, int j) const { return Seen::S(i, j); }
  bool right_sees(int i, int j) const { return Seen::sees(i, j); }

  /// O, n x d_v.
  Values run() const;

 private:
  void add_row(int i, Values& o) const;
};

/// Shape, mask and format of a call.
struct Setting {
  int n = 240, d = 64;
  Mask mask{};
  int n_k = 0, d_v = 0, heads = 1;
  Format f = bf16;
  double deviation = 1;
};
inline constexpr Setting one_head{}, several_heads{.heads = 4};
inline Setting masked_by(Mask mask) { return {.mask = mask}; }

/// A call of this setting for each seed, with its tensors in D, changed by `edit`.
std::function<Call(std::uint64_t)> call_of(const Setting& s, const std::function<void(Call&)>& edit = {});
/// The call with `head` as the judged head.
Call of_head(const Call& call, int head);

/// The output of the loop that `edit` changes.
std::function<Values(const Call&)> loop(const std::function<void(Loop&, const Call&)>& edit);
/// The correct output, changed by `edit`.
std::function<Values(const Call&)> written(const std::function<void(Values&, const Call&)>& edit);
/// The correct output with row from(i) in place of row i.
std::function<Values(const Call&)> rows_from(const std::function<int(int)>& from);

// The groups of `planted_faults`, each in its own file.
std::vector<PlantedFault> faults_of_numbers();
std::vector<PlantedFault> faults_of_keys();
std::vector<PlantedFault> faults_of_loops();
std::vector<PlantedFault> faults_of_places();

}  // namespace attoscope::planted
