/// What was trained as figures for print, after arXiv 2405.02803, figures 7 and 8.
#pragma once

#include <string>

#include "app/figures/figure.h"
#include "kernels/train/record.h"
#include "ui/session/figure_choice.h"

namespace attoscope {

/// max |dW| and Wasserstein-1 of every comparison over steps.
Figure train_weights_figure(const TrainRecord& record);
/// The same over those of another initialisation: how much a method matters beside what is known to matter. Throws
/// std::invalid_argument in a sentence where the record has no other initialisation.
Figure train_reference_figure(const TrainRecord& record);
/// The second of a plan with references, else the first.
Figure train_figure(const TrainRecord& record);

/// What the named figures train: small models, a under the chosen policy.
TrainPlan weights_plan(const FigureSettings& settings);
TrainPlan reference_plan(const FigureSettings& settings);
/// a rounds where this policy does, in the backward pass as its kernels do.
void use_policy(TrainPlan& plan, const std::string& policy_of_a);

/// "a is bf16 flash2 eager, b is bf16 three_pass base_eager; 2 layers x 64, ...": what was trained, the end of every caption.
std::string training_conditions(const TrainRecord& record);

}  // namespace attoscope
