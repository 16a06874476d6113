/// Numbers of a problem that may differ from head to head: scale, soft cap, ALiBi's slope, the sink and the mask.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/experiment.h"

namespace attoscope::app {

class CallFiles;

/// Typed texts of options by their keys, as `ExperimentOptions::typed`.
using TypedTexts = std::map<std::string, std::string, std::less<>>;

/// The texts of scale, softcap, alibi and sink that name a number for each head: "0.5,0.25" or a file of numbers.
TypedTexts head_number_texts(const TypedTexts& typed);

/// The numbers of all heads of a call.
class HeadNumbers {
 public:
  HeadNumbers() = default;
  /// Reads the numbers that `typed` names: one for each head of a batch, of a layer, or of all layers. For options that are not
  /// typed, takes the tensors or values called scale, softcap, alibi_slopes and sinks beside Q, K and V, and the mask that
  /// causal and window_size there describe. Throws std::invalid_argument or std::runtime_error with one sentence that names the
  /// option or the tensor, the count and what was expected.
  HeadNumbers(const TypedTexts& typed, const CallFiles& files);

  bool any() const { return !texts_.empty(); }
  /// `problem` with the numbers of this head.
  Problem of_head(Problem problem, int head) const;
  /// `problem` with the defaults in place of these numbers.
  Problem without(Problem problem) const;
  /// The head's number as the option's text; "" if there are no numbers for this key.
  std::string text(std::string_view key, int head) const;
  /// Sentences on the numbers that were found beside Q, K and V, on values there that are not used, and on what was left out.
  const std::vector<std::string>& found() const { return found_; }

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> texts_;  ///< by key, one for each head
  std::vector<std::string> found_;
};

/// The numbers of all heads in the files, if the problem has its own head's numbers; else none.
HeadNumbers numbers_of_head_in(const Problem& problem, const CallFiles& files);

/// A sentence for each number of the problem that is neither `typed` nor its own head's, if the files have other numbers for
/// other heads.
std::vector<std::string> other_numbers(const Problem& problem, const TypedTexts& typed = {});

}  // namespace attoscope::app
