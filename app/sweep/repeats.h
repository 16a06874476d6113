/// Repetitions of the combinations of a sweep: seeds, or heads, layers or windows of tokens of a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/session/session.h"
#include "kernels/experiment/experiment.h"

namespace attoscope::app {

struct Repeats {
  ui::SweepOver kind = ui::SweepOver::seed;
  int tokens = 0;  ///< of a window

  friend bool operator==(const Repeats&, const Repeats&) = default;
};
/// A head that repetitions use, with the digests of its tensors and of a kernel's output, without their numbers.
struct UsedHead {
  Input input;
  KernelOutput loaded{};

  friend bool operator==(const UsedHead&, const UsedHead&) = default;
};
inline constexpr std::string_view repeats_texts = "seed, head, layer or window:K (windows of K tokens)";

/// "seed", "head", "layer" or "window:64". Throws std::invalid_argument with one sentence.
Repeats parse_repeats(std::string_view text);
std::string text(const Repeats& repeats);
/// "1 seed", "9 heads", "4 windows of 64 tokens"
std::string count_text(const Repeats& repeats, int count);

/// Number of repetitions in the input's file: all heads of all layers; or its layers (the head has the same index in each); or
/// whole windows of all heads. Throws std::invalid_argument, or as CallFiles, with one sentence. Not for seeds.
int repetitions(const Repeats& repeats, const Experiment& base);
/// The heads that repetitions use, read, ascending; none for seeds. Throws as `repetitions`.
std::vector<UsedHead> used_heads(const Repeats& repeats, const Experiment& base);
/// Throws std::invalid_argument, in a sentence that begins with `label`, if dO or dL are files, which are read for one head.
void check_gradients(const std::string& label, const Experiment& e);
/// Gives an experiment on another head than `before` this head's numbers, all of its tokens if `whole`, and the same head of a
/// loaded output, which is not read yet. Throws as CallFiles.
void follow_head(Experiment& e, const Problem& before, bool whole);
/// Makes the experiment its repetition `i`, tensors included. Throws as `repetitions`.
void repeat(Experiment& e, const Repeats& repeats, int i);

}  // namespace attoscope::app
