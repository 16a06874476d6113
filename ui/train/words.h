/// Sentences and tables about a training record; all numbers are taken from it.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/train/plan/parameters.h"
#include "ui/frame/train_answer.h"
#include "ui/session/session.h"
#include "ui/train/series.h"

namespace attoscope::ui {

/// The answer in one sentence, and what it means.
struct TrainWords {
  std::string headline, sentence;
  bool bad = false;  ///< something failed
};
TrainWords train_words(const TrainView& train);

/// A text with the names of the plan's methods in place of the words a and b: "flash2 − three-pass" of "a - b", "flash2 in
/// fp16"; methods with one name are told apart by formats or the backward pass.
std::string named(const TrainPlan& plan, std::string_view text);

/// A sentence about a run that stopped with its method's name: "The run of flash2 diverged at step 3" of "Run a diverged at
/// step 3".
std::string with_run_named(const TrainPlan& plan, std::string_view sentence);

/// A suspect's measure as a share of that of a - b at a step; NaN: not known.
struct RankedSuspect {
  std::size_t pair = 0;
  double share = 0;
  bool lives = true;  ///< its run did not stop
};
/// The suspects of a bisection by the deviation that is left without them, the least first.
std::vector<RankedSuspect> ranked_suspects(const TrainRecord& record, TrainMeasure measure, int tensor, int step);

/// "held-out loss flash2 0.672, three-pass 0.675; skipped steps flash2 0, three-pass 3": of every run; "" where there is
/// neither yet.
std::string runs_text(const TrainRecord& record);

/// The cells of the table of seeds: the skipped steps of a and b, their losses on held-out text.
std::array<std::string, 4> seed_cells(const TrainRecord& record);

/// "seed 2 of 3, step   240 of 400,  18.3 steps/s", or "45 s a step".
std::string progress_words(const TrainProgress& progress);
/// One sentence on what a kind of training compares.
std::string_view kind_words(TrainKind kind);

/// A number of a handy size as it is, "1.904"; others with an exponent, "3.05e-4".
std::string value_text(double x, int digits);

/// "0 W_Q" of "layer 0 W_Q": a tensor's short name.
std::string short_name(const ParameterTensor& tensor);

/// The numbers of the plots, the picture and the tables.
std::string deviation_csv(const TrainRecord& record);
std::string runs_csv(const TrainRecord& record);
/// The last numbers of each run of each seed.
std::string seeds_csv(const TrainDrawing& drawing);
std::string tensors_csv(const TrainRecord& record, int pair, int step);
/// The heads of every run at a step; at all measured steps.
std::string heads_csv(const TrainRecord& record, int step);
std::string health_csv(const TrainRecord& record);

}  // namespace attoscope::ui
