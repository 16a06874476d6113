/// Heads that stand apart from the other heads of their file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ui/frame/heads_answer.h"

namespace attoscope::ui {

/// Sets `unusual` of every row: the largest of its errors, its largest score and its largest |V|, each over the largest one of
/// all heads but the first twentieth, at least one. NaN if there is no other head.
void mark_unusual(std::vector<HeadRow>& rows);

/// A head that stands apart, and the number by which it does.
struct HeadOutlier {
  int head = 0;
  const HeadMeasure* measure = nullptr;
  double value = 0, next = 0;  ///< of the head, and the largest of the heads that do not stand apart by it
};
/// A head stands apart from this many times the others' largest number on.
inline constexpr double least_outlier = 3;

/// Heads of marked rows that stand apart: the most unusual one by each number, then the others, the most unusual first. The
/// number is the largest score or |V| if these do: they are a cause, and errors follow; else the most unusual error.
std::vector<HeadOutlier> head_outliers(const std::vector<HeadRow>& rows);

/// "layer 17, head 4: largest score 154, the next has 26"
std::string outlier_words(const HeadOutlier& outlier, std::string_view name, const MethodNames& names = {"a", "b", "b"});

}  // namespace attoscope::ui
