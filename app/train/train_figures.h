/// What was trained as figures for print, after arXiv 2405.02803, figures 7 and 8.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/figures/figure.h"
#include "kernels/train/record.h"
#include "ui/session/figure_choice.h"

namespace attoscope {

/// Wasserstein-1 and relative L2 of every comparison over steps.
Figure train_weights_figure(const TrainRecord& record);
/// The same over those of another initialisation: how far a method's weights are beside those of another seed. Throws
/// std::invalid_argument in a sentence where the record has no other initialisation.
Figure train_reference_figure(const TrainRecord& record);
/// The second of a plan with references, else the first.
Figure train_figure(const TrainRecord& record);

/// One training of a named figure. Its pair a and b is the point of `line` at a seed; a plan with references has lines of its
/// pairs' names as well.
struct FigureTraining {
  std::string line;
  TrainPlan plan;
};
/// What the named figures train: small models with eight tiles of keys, a under the chosen policy, at every seed. `weights`: a
/// and b, each of them and attention that rounds nothing but its inputs, and that attention with other tiles. `references`, for
/// longer: a and b beside another initialisation and other formats, other tiles, fp16 and fp32 with a loss scale under which
/// nothing overflows, and a and b in fp16.
std::vector<FigureTraining> weights_trainings(const FigureSettings& settings);
std::vector<FigureTraining> reference_trainings(const FigureSettings& settings);

/// What one of them gave.
struct FigureRecord {
  std::string line;
  TrainRecord record;
};
/// Wasserstein-1 and relative L2 of every line over steps, mean, least and greatest over the seeds; the caption says what is
/// seen. In that of references the steps that fp16's loss scale skipped are marked.
Figure weights_over_seeds(const FigureSettings& settings, std::span<const FigureRecord> records);
Figure references_over_seeds(const FigureSettings& settings, std::span<const FigureRecord> records);
/// a rounds where this policy does, in the backward pass as its kernels do.
void use_policy(TrainPlan& plan, const std::string& policy_of_a);

/// "a is bf16 flash2 eager, b is bf16 three_pass base_eager; 2 layers x 64, ...": what was trained, the end of every caption.
std::string training_conditions(const TrainRecord& record);

}  // namespace attoscope
