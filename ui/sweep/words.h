/// A sweep in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ui/frame/sweep_answer.h"
#include "ui/session/session.h"
#include "ui/sweep/series.h"

namespace attoscope::ui {

/// Headline and sentence of a sweep's result.
struct SweepWords {
  std::string headline, sentence;
};
SweepWords sweep_words(const SweepView& sweep, const SweepPlan& plan, const SweepExtremes& extremes);

/// "   12 of 21 points, 3.4 s left".
std::string progress_text(const SweepProgress& progress);

/// "block_k 64, format bf16".
std::string place_text(const SweepTable& table, const SweepPlace& place);

/// The experiment in one line, without the plan's parameters: "flash2 hw against three_pass base_eager, bf16, N 1024, ..."
std::string fixed_text(const Experiment& experiment, const SweepPlan& plan);

/// Notation of values: "16,32,64", "16:64:16", "16:64:x2".
enum class ValueForm { list, linear, doubling };
ValueForm form_of(std::string_view values);

/// The same first and last value in another notation; a list holds all of `values`. For a range the values must be numbers.
std::string in_form(ValueForm form, const std::vector<std::string>& values);

/// A list without one of its values.
std::string without(const std::vector<std::string>& values, std::size_t removed);

}  // namespace attoscope::ui
