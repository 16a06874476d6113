/// Keeps shares of an attribution on disk by their question; a stopped attribution can continue.
#pragma once

#include <string>
#include <vector>

#include "app/sweep/kept_values.h"
#include "kernels/model/model_answer.h"

namespace attoscope::app {

/// The shares of the parts of one question: weights, tokens, method, surroundings, version and arithmetic.
class KeptShares {
 public:
  /// `directory` empty: keeps nothing.
  KeptShares(const std::string& directory, const ModelQuestion& question);
  /// Functions that find and keep shares; this object must outlive them.
  ShareMemory memory();
  /// Number of shares found on disk, and of shares written.
  int known() const { return known_; }
  int kept() const { return kept_; }
  /// Number of the question's parts whose shares are on disk.
  int on_disk() const;
  bool keeps() const { return values_.keeps(); }
  /// One sentence on the first failure to keep; empty: none.
  std::string remark() const { return values_.remark(); }

 private:
  std::string question_of(const ModelShare& part) const;

  KeptValues values_;
  std::string question_;
  std::vector<ModelShare> parts_;
  int known_ = 0, kept_ = 0;
};

}  // namespace attoscope::app
