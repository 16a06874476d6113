/// Results that `compute` keeps for the next experiment, which often differs little.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kernels/backward/partial_backward.h"
#include "kernels/compute.h"
#include "kernels/cpu/simulate.h"
#include "kernels/deviation/deviation.h"
#include "kernels/experiment/result.h"
#include "kernels/gpu/engine.h"

namespace attoscope {

/// Cache key of the golden value.
struct GoldenKey {
  Problem problem{.n = 0};  ///< sizes and scale written out; settings that do not change golden are 0
  Format input;
  bool rounds_input = false, stochastic_input = false, in_double = false;
  const Engine* engine = nullptr;  ///< the engine that computed and holds it; null: the CPU

  friend bool operator==(const GoldenKey&, const GoldenKey&) = default;
};

/// Cache key of e's golden value on `engine` (null: CPU).
GoldenKey golden_key(const Experiment& e, const Engine* engine);

/// The inputs rounded for all methods, and the golden value on them.
struct KnownGolden {
  GoldenKey key;
  std::uint64_t generation = 0;  ///< of `inputs` and `operands`: changes whenever these change, never 0
  std::shared_ptr<const Tensors> inputs;
  std::shared_ptr<const Matrix> output;
  std::vector<double> lse;  ///< log-sum-exps of its rows
  Measured measured;
  std::variant<Operands<float>, Operands<double>> operands;  ///< the inputs in the working type
};

/// Cache key of an emulated method's output on the CPU.
struct OutputKey {
  GoldenKey golden;
  Method method{};
  Format format{};
  std::uint64_t seed = 0;

  friend bool operator==(const OutputKey&, const OutputKey&) = default;
};

/// Cache key of m's output in e.
OutputKey output_key(const Experiment& e, Method m);

/// An output with its measure and its error.
struct KnownOutput {
  OutputKey key;
  Matrix output;
  Measured measured;  ///< of `output`
  Deviation error;    ///< against golden
  std::optional<ErrorParts> parts;
  std::vector<double> lse{};  ///< log-sum-exps of its rows, as stored by the method
};

/// The CPU's last result; outputs of methods that are not emulated are not kept.
struct KnownAnswer {
  std::unique_ptr<KnownOutput> a, b;
  Deviation a_minus_b;
  Rescales rescales;
  RescaleMap rescale_map;
  Trace trace;
};

/// Cache key of dO, dL and the golden gradients.
struct GradientKey {
  GoldenKey golden;
  OutputGradient d_o = OutputGradient::normal;
  KernelOutput d_o_file{}, d_lse_file{};
  std::uint64_t seed = 0;

  friend bool operator==(const GradientKey&, const GradientKey&) = default;
};
GradientKey gradient_key(const Experiment& e);

/// dQ, dK and dV with their measures.
struct MeasuredGradients {
  std::array<Measured, 3> of;  ///< dQ, dK, dV
  std::uint64_t digest = 0;    ///< digest of the three digests, in order
};

/// The golden gradients, and their inputs.
struct KnownGoldenGradients {
  GradientKey key;
  std::shared_ptr<const OutputGradients> incoming;
  std::shared_ptr<const Matrix> d_o;  ///< `incoming`'s dO in the computed rows
  Measured measured_d_o;
  std::shared_ptr<const Gradients> gradients;
  MeasuredGradients measured;
};

/// The gradients of a method, and their errors.
struct KnownGradients {
  GradientKey golden;
  OutputKey output;
  GradMethod method{};
  Gradients gradients;
  MeasuredGradients measured;  ///< of `gradients`
  GradientDeviations error{};
  bool compared = false, ordered = false;  ///< `error` is valid; it includes Wasserstein-1
};

/// Results of the last backward pass.
struct KnownBackward {
  std::optional<KnownGoldenGradients> golden;
  std::unique_ptr<KnownGradients> a, b;
};

/// Partial passes of the last request for parts of a backward pass.
struct KnownPasses {
  Experiment experiment;
  std::string isa;
  std::shared_ptr<const PartialPasses> passes;  ///< null if there was none
};

struct ComputeCache::Held {
  std::shared_ptr<const Tensors> raw;
  Problem raw_of;
  std::optional<KnownGolden> golden;
  KnownAnswer known;
  KnownBackward backward;
  KnownPasses passes;
  std::uint64_t generations = 0;   ///< last generation number used in KnownGolden
  std::vector<int> gpus;           ///< of `engine`
  std::unique_ptr<Engine> engine;  ///< the engine used last
};

/// True if no cached golden value matches e on this device.
bool is_fresh(const Experiment& e, const ComputeCache::Held& held, const Engine* engine);

}  // namespace attoscope
