/// How a training plan's record is looked at: plain values, saved with the session.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace attoscope {

/// A number of two models' weights at a measured step; the first five are those of WeightDeviation, in order.
enum class TrainMeasure : std::uint8_t { max_abs, wasserstein, rel_l2, update_cosine, directionality, loss_difference };
inline constexpr std::array<std::string_view, 6> train_measure_names{"max_abs",       "wasserstein",    "rel_l2",
                                                                     "update_cosine", "directionality", "loss_difference"};

/// A number of each run: of every step, or of a head at the measured steps.
enum class RunMeasure : std::uint8_t { loss, gradient_norm, delta_bias, query_norm, ties, saturated, underflowed };
inline constexpr std::array<std::string_view, 7> run_measure_names{"loss", "gradient_norm", "delta_bias", "query_norm",
                                                                   "ties", "saturated",     "underflowed"};

/// over_steps: max |dW| along the tensor's rows, step by step. matrix: |dW| of the tensor at the newest measured step.
enum class WeightPicture : std::uint8_t { over_steps, matrix };
inline constexpr std::array<std::string_view, 2> weight_picture_names{"over_steps", "matrix"};

struct TrainLook {
  TrainMeasure measure = TrainMeasure::rel_l2;
  RunMeasure of_runs = RunMeasure::loss;
  WeightPicture picture = WeightPicture::over_steps;
  bool relative = false;  ///< measures over those of the reference band of the same step
  bool log_y = true, log_runs = false;
  std::uint64_t hidden = 0, hidden_runs = 0;  ///< bit i: comparison i, run i is not drawn; those from 64 on always are
  int pair = 0;                               ///< whose picture is shown
  int tensor = -1;                            ///< -1: all; else of Parameters::tensors
  bool worst = true;  ///< numbers of heads: of the head where they are largest; else of `layer` and `head`
  int run = 0, layer = 0, head = 0, sequence = 0;  ///< whose Q, K, V a click opens in Explore
  int step = -1;                                   ///< that is picked in the curves; -1: none
  int seeds = 1;  ///< the plan is trained at so many, which count up from its own; curves then have bands

  friend bool operator==(const TrainLook&, const TrainLook&) = default;
};

}  // namespace attoscope
