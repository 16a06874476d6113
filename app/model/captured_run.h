/// A captured run of a model in a file: finds its tensors by name, and aligns its rows with the tokens.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/tensors/readers.h"
#include "kernels/model/run_comparison.h"

namespace attoscope::app {

/// The part of a model that a tensor's name denotes.
struct RunName {
  /// `activation`: silu(gate) up after one projection for both (vLLM); silu(gate) after two projections (Hugging Face), which
  /// is no ModelTensor.
  enum class Part : std::uint8_t { tensor, qkv, gate_up, activation, tokens };
  Part part = Part::tensor;
  ModelTensor tensor = ModelTensor::embedding;  ///< of Part::tensor
  int layer = -1;
  int call = 0;           ///< index of the call of the model
  bool is_state = false;  ///< one of Hugging Face's hidden_states, the last of which is normed
  int piece = 0;          ///< index in an output that is a tuple: (hidden, residual)
};

/// Parses names of `attoscope.capture`, Hugging Face, vLLM, Megatron, Meta and llama.cpp: "model.layers.7.self_attn.o_proj",
/// "layer:9, attn_out". Returns false for other names.
bool read_run_name(const std::string& name, RunName& found);

class CapturedRunFile final : public CapturedRun {
 public:
  /// Finds the tensors, and the rows that belong to `tokens`. Throws std::runtime_error with one sentence: no tensor has a
  /// usual name, shapes that fit no model, or rows that are not of these tokens.
  CapturedRunFile(const std::string& path, const LanguageModel& model, const std::vector<int>& tokens);

  bool has(ModelTensor t, int layer) const override { return all_.contains({t, layer}); }
  std::vector<double> numbers(ModelTensor t, int layer) const override;
  Format stored(ModelTensor t, int layer) const override;

  /// Sentences on what was dropped, summed or left out.
  const std::vector<std::string>& notes() const { return notes_; }
  /// The narrowest format that holds the numbers of most of its tensors; none: it has only log-probabilities or logits.
  std::optional<Format> usual() const;
  int first_row() const { return first_row_; }

 private:
  /// Columns of a tensor, with a residual that is added to it.
  struct Piece {
    const NamedTensor* tensor = nullptr;
    const NamedTensor* residual = nullptr;
    int first_col = 0;
    int cols = 0;  ///< of the whole tensor in the file
  };
  using Place = std::pair<ModelTensor, int>;

  bool gate_and_up_are_one() const;
  void add(const NamedTensor& t, const RunName& name);
  void pair_residuals();
  void choose_call();
  void align();
  int columns(ModelTensor t) const;
  std::uint64_t rows_in_file(const Piece& p) const;
  std::vector<double> whole(const Piece& p, ModelTensor t) const;
  std::vector<double> rows_of(const Piece& p, ModelTensor t, std::uint64_t first, std::uint64_t stride) const;
  void leave_out_other_shapes();

  std::string path_;
  const LanguageModel& model_;
  const std::vector<int>& tokens_;
  TensorSet set_;
  std::map<Place, Piece> all_;
  std::map<Place, const NamedTensor*> residuals_;
  const NamedTensor* ids_ = nullptr;
  std::vector<std::string> notes_;
  std::uint64_t rows_ = 0, first_ = 0, stride_ = 1;  ///< rows in the file; row of the first token; rows from token to token
  int first_row_ = 0;                                ///< index of the first token in its sequence
};

}  // namespace attoscope::app
