/// The Model workspace's input from the app, and its requests.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/experiment/method.h"
#include "kernels/experiment/table.h"
#include "ui/session/session.h"

namespace attoscope {
struct ModelAnswer;
enum class ModelPart : std::uint8_t;
}  // namespace attoscope

namespace attoscope::ui {

/// A checkpoint and a text as they were read, without the weights.
struct ModelReading {
  ModelPlan asked;
  std::string name;                                       ///< "SmolLM2-135M-Instruct.Q4_1"
  std::string about;                                      ///< "llama, 30 layers of 9 heads over 3, 134,515,008 weights"
  int layers = 0, heads = 0;                              ///< heads of a layer
  std::vector<int> tokens;                                ///< tokens to run
  std::size_t all_tokens = 0;                             ///< number of tokens of the whole text
  std::vector<std::string> text;                          ///< text of each token: its bytes, or "12" without byte-level tokens
  std::shared_ptr<const std::vector<std::string>> words;  ///< the vocabulary's texts; null: not known
  std::string wrong;  ///< one sentence why there is no model or no text; empty: both are there
};

/// A question and its answer. `reading` holds the text.
struct ModelFound {
  std::shared_ptr<const ModelReading> reading;
  Method a{}, b{};
  std::string a_name{}, b_name{};  ///< "flash2 hw", "fa3_fp8"
  Format format = bf16;
  std::uint64_t seed = 1;
  std::shared_ptr<const ModelAnswer> answer{};
  std::string conclusion{};  ///< one sentence
  std::string times{};       ///< "exact 3.1 s, a 3.7 s, b 4.0 s"
  Table runs{}, targets{};   ///< the measures of every run; the targets' log-probabilities
  /// Comparison with the plan's `against`: the first tensor that differs, and details; or why there is no comparison.
  std::string against{}, against_lines{}, against_wrong{};
};

/// Attribution: results with one part of the model made exact at a time.
struct ModelShares {
  std::shared_ptr<const ModelFound> of;
  ModelPart part{};
  std::shared_ptr<const ModelAnswer> answer{};  ///< with its `attribution`
  std::string conclusion{};                     ///< one sentence
  Table shares{};
};

/// Work in progress.
struct ModelProgress {
  bool reads = false;                                    ///< checkpoint and text; `ModelView::reading` is of an earlier plan
  bool runs = false, attributes = false, opens = false;  ///< opens: Q, K and V for Explore
  double share = 0;                                      ///< done, 0 .. 1
  double seconds_left = -1;                              ///< negative: unknown
  std::array<double, 4> expected{-1, -1, -1,
                                 -1};  ///< seconds of a run, and of an attribution by layer, head or step; negative: unknown
  bool stale = false;                  ///< the answer is to another question than the session's
  std::string remark;                  ///< one sentence on what failed
};

struct ModelView {
  std::string checkpoint;                         ///< the plan's, or the one downloaded by app/fetch-model; empty: none
  std::vector<std::string> recent{};              ///< checkpoints, newest first
  std::shared_ptr<const ModelReading> reading{};  ///< the newest; null: none yet
  std::shared_ptr<const ModelFound> found{};      ///< null: none yet
  std::shared_ptr<const ModelShares> shares{};    ///< shares of `found`; null: not asked for
  ModelProgress progress{};
};

/// An action on the model.
struct ModelRequest {
  enum class Act : std::uint8_t { none, run, cancel, attribute, explore } act = Act::none;
  ModelPart part{};         ///< part that attribution makes exact
  int layer = 0, head = 0;  ///< head to open in Explore (its Q, K, V)

  friend bool operator==(const ModelRequest&, const ModelRequest&) = default;
};

}  // namespace attoscope::ui
