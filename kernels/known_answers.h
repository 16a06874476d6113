/// What `compute` keeps from one experiment to the next, which may change little. For compute.cpp alone.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/compute.h"
#include "kernels/cpu/simulate.h"
#include "kernels/deviation/deviation.h"
#include "kernels/experiment/result.h"
#include "kernels/gpu/device_choice.h"
#include "kernels/gpu/engine.h"

namespace attoscope {

/// What the golden value depends on beyond the raw inputs.
struct GoldenKey {
  Problem problem{.n = 0};
  Format input;
  bool rounds_input = false, stochastic_input = false, in_double = false;
  const Engine* engine = nullptr;  ///< that holds it too

  friend bool operator==(const GoldenKey& x, const GoldenKey& y);
};

/// That of the experiment, computed by an engine, or where there is none by the CPU.
GoldenKey golden_key(const Experiment& e, const Engine* engine);

/// The inputs as rounded for all methods, and the golden value on them.
struct Truth {
  GoldenKey key;
  std::uint64_t generation = 0;  ///< of `inputs` and `operands`, never 0: others have another, wherever they lie
  std::shared_ptr<const Tensors> inputs;
  std::shared_ptr<const Matrix> golden;
  Measured measured;
  std::variant<Operands<float>, Operands<double>> operands;  ///< the inputs in the working type
};

/// What an emulated method's output on the CPU depends on.
struct OutputKey {
  GoldenKey golden;
  Method method{};
  Format format{};
  std::uint64_t seed = 0;

  friend bool operator==(const OutputKey&, const OutputKey&) = default;
};

/// That of a method of the experiment.
OutputKey output_key(const Experiment& e, Method m);

/// An output with what was found of it alone.
struct KnownOutput {
  OutputKey key;
  Matrix output;
  Measured measured;  ///< of `output`
  Deviation error;    ///< against golden
  std::optional<ErrorParts> parts;
};

/// What the CPU computed last; of a method that is not emulated nothing is kept.
struct KnownAnswer {
  std::unique_ptr<KnownOutput> a, b;
  Deviation a_minus_b;
  Rescales rescales;
  RescaleMap rescale_map;
  Trace trace;
};

struct ComputeCache::Held {
  std::shared_ptr<const Tensors> raw;
  Problem raw_of;
  std::optional<Truth> truth;
  KnownAnswer known;
  std::uint64_t generations = 0;   ///< of inputs rounded for everybody, so far
  std::vector<int> gpus;           ///< of `engine`
  std::unique_ptr<Engine> engine;  ///< of GPUs that answered last
  bool engine_ran = false;         ///< its first run loads code and takes memory, and tells nothing about the next
  bool on_gpu = true;              ///< the engine answered last
  MeasuredTimes times;
};

/// Whether the golden value has to be computed: there is none of this experiment, or it lies elsewhere.
bool is_fresh(const Experiment& e, const ComputeCache::Held& held, const Engine* engine);

}  // namespace attoscope
