/// Shares of an attribution on disk, by their question, so that one that was stopped goes on.
#pragma once

#include <string>

#include "app/sweep/kept_values.h"
#include "kernels/model/model_answer.h"

namespace attoscope::app {

/// The shares of one question's parts: of the same weights, tokens, method, surroundings, version and arithmetic.
class KeptShares {
 public:
  /// `directory` empty: keeps nothing.
  KeptShares(const std::string& directory, const ModelQuestion& question);
  /// Finds and keeps; it is to end before this does.
  ShareMemory memory();
  /// Shares that were found, and kept.
  int known() const { return known_; }
  int kept() const { return kept_; }
  bool keeps() const { return values_.keeps(); }
  /// One sentence on the first failure to keep; empty: none.
  std::string remark() const { return values_.remark(); }

 private:
  std::string question_of(const ModelShare& part) const;

  KeptValues values_;
  std::string question_;
  int known_ = 0, kept_ = 0;
};

}  // namespace attoscope::app
