/// View of a training's record: plain values, saved with the session.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace attoscope {

/// A measure between two models' weights at a measured step; the first five are those of WeightDeviation, in order.
enum class TrainMeasure : std::uint8_t { max_abs, wasserstein, rel_l2, update_cosine, directionality, loss_difference };
inline constexpr std::array<std::string_view, 6> train_measure_names{"max_abs",       "wasserstein",    "rel_l2",
                                                                     "update_cosine", "directionality", "loss_difference"};

/// A measure of each run, at every step, or of a head at the measured steps.
enum class RunMeasure : std::uint8_t { loss, gradient_norm, delta_bias, query_norm, ties, saturated, underflowed };
inline constexpr std::array<std::string_view, 7> run_measure_names{"loss", "gradient_norm", "delta_bias", "query_norm",
                                                                   "ties", "saturated",     "underflowed"};

/// over_steps: max |dW| along the tensor's rows, step by step. matrix: |dW| of the tensor at the newest measured step.
enum class WeightPicture : std::uint8_t { over_steps, matrix };
inline constexpr std::array<std::string_view, 2> weight_picture_names{"over_steps", "matrix"};

inline constexpr int max_train_seeds = 1000;

struct TrainLook {
  TrainMeasure measure = TrainMeasure::rel_l2;
  RunMeasure of_runs = RunMeasure::loss;
  WeightPicture picture = WeightPicture::over_steps;
  bool relative = false;  ///< divided by the reference band's measure at the same step
  bool log_y = true, log_runs = false;
  std::uint64_t hidden = 0, hidden_runs = 0;  ///< bit i hides comparison i, run i; those from 64 on are always shown
  int pair = 0;                               ///< index of the pair in the weight picture
  int tensor = -1;                            ///< -1: all; else an index of Parameters::tensors
  bool worst = true;                          ///< measures of heads: the head with the largest value; else `layer` and `head`
  int run = 0, layer = 0, head = 0, sequence = 0;  ///< source of Q, K, V that a click opens in Explore
  int step = -1;                                   ///< step picked in the curves; -1: none
  int seeds = 1;  ///< number of trainings, with consecutive seeds from the plan's; curves of several have bands

  friend bool operator==(const TrainLook&, const TrainLook&) = default;
};

}  // namespace attoscope
