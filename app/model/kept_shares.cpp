#include "app/model/kept_shares.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "app/session/session.h"
#include "kernels/experiment/arithmetic_version.h"
#include "kernels/experiment/text.h"

namespace attoscope::app {
namespace {

/// A hash of a model's sizes and weights.
std::uint64_t digest_of(const LanguageModel& model) {
  std::uint64_t digest = 0;
  const auto add = [&](const WeightMatrix& w) {
    digest =
        XXH3_64bits_withSeed(w.values.data(), w.values.size() * sizeof(float), digest + static_cast<std::uint64_t>(w.cols));
  };
  add(model.embedding);
  for (const LayerWeights& layer : model.layers)
    for (const WeightMatrix& w : layer) add(w);
  add(model.norm);
  add(model.head);
  return digest;
}

std::string rope_text(const Rope& r) {
  std::string text =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {}", r.theta, static_cast<int>(r.pairs), static_cast<int>(r.scaling),
                  r.factor, r.original_length, r.longest, r.low_factor, r.high_factor, r.beta_fast, r.beta_slow, r.truncates,
                  r.attention_factor, r.mscale, r.mscale_all);
  for (const auto* const list : {&r.short_factors, &r.long_factors, &r.divisors})
    for (const double x : *list) text += fmt::format(" {}", x);
  return text;
}

std::string around_text(const Surroundings& s) {
  std::string text = fmt::format("{} {} {} {} {} {}", s.in_double, name(s.sums), s.sum_pieces, s.unrounded_variance,
                                 s.pairs ? static_cast<int>(*s.pairs) : -1, s.loss_block);
  for (const Rounding& r : s.steps) text += " " + rounding_text(r);
  return text;
}

/// Cache key: everything that the shares of `q` depend on.
std::string text_of(const ModelQuestion& q) {
  const Architecture& a = q.model->architecture;
  const Experiment e = head_experiment(a, static_cast<int>(q.tokens.size()), q.a, q.format, q.seed);
  std::string text = "attoscope.share/2 " + answered_by(arithmetic_version) + json_text(experiment_json(e), -1);
  text += fmt::format("{:x} {} {} {} {} {}", digest_of(*q.model), a.heads, a.kv_heads, a.epsilon, q.only.layer, q.only.head);
  text += " " + rope_text(a.rope) + " " + around_text(q.around);
  for (const int token : q.tokens) text += fmt::format(" {}", token);
  return text;
}

}  // namespace

KeptShares::KeptShares(const std::string& directory, const ModelQuestion& question)
    : values_(directory, sizeof(double), std::uint64_t{64} << 20),
      question_(directory.empty() ? "" : text_of(question)),
      parts_(parts_of(question)) {}

std::string KeptShares::question_of(const ModelShare& part) const {
  return fmt::format("{} part {} {} {}", question_, part.layer, part.head, part.step);
}

int KeptShares::on_disk() const {
  if (!keeps()) return 0;
  return static_cast<int>(
      std::ranges::count_if(parts_, [&](const ModelShare& part) { return values_.find(question_of(part)).has_value(); }));
}

ShareMemory KeptShares::memory() {
  if (!keeps()) return {};
  const auto known = [this](const ModelShare& part) -> std::optional<double> {
    const std::optional<std::string> bytes = values_.find(question_of(part));
    if (!bytes) return std::nullopt;
    double share = 0;
    std::memcpy(&share, bytes->data(), sizeof share);
    ++known_;
    return share;
  };
  const auto found = [this](const ModelShare& part) {
    values_.keep(question_of(part), {reinterpret_cast<const char*>(&part.share), sizeof part.share});
    ++kept_;
  };
  return {known, found};
}

}  // namespace attoscope::app
