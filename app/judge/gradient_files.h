/// dO, dQ, dK, dV, dSink, L and dL of one call, from files.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/judge/row_numbers.h"
#include "app/tensors/call_files.h"
#include "app/tensors/kernel_output.h"
#include "kernels/judge/gradient_judge.h"

namespace attoscope::app {

/// The opened tensors, whose shapes fit the call's. A group is the heads of Q whose dK and dV are summed.
class GradientFiles {
 public:
  /// `call` must outlive this. Throws std::runtime_error in a sentence that names the option or the file, the tensor, its shape
  /// and what was expected.
  GradientFiles(const GradientSpecs& sources, const CallFiles& call);

  /// Number of groups of all sequences.
  int groups() const { return groups_; }
  int heads_of_group() const { return heads_; }
  /// Indices of a packed call's sequences.
  std::vector<int> sequences() const;
  /// True if dK and dV have as many heads as Q, more than K and V: they are not summed.
  bool has_heads_of_q() const { return has_heads_of_q_; }
  /// The first head of Q of a group; the others follow.
  int first_head(int group) const { return group * heads_; }
  /// The gradients of a group, without dSink. `problem_of` gives a head's mask, scores and sink, as long as the result is
  /// used; `claim` D and the format of O.
  JudgedGradients group(int group, const std::function<Problem(int head)>& problem_of, const KernelClaim& claim) const;
  /// dSink of a group's heads, summed over batches and sequences; empty: it was not given.
  std::vector<double> dsink_of(int group) const;
  /// Number of groups of one batch or sequence; group g and group g plus this number have the same dSink.
  int groups_of_sequence() const { return call_.layers().front().q.heads / heads_; }

 private:
  using Parts = std::vector<CallFiles::Output>;  ///< of each layer; empty: not given
  void open_kv(const GradientSpecs& sources);
  Parts open(const std::string& spec, const char* option, int part, int heads, int d, const std::string& like) const;
  void open_sink(const std::string& spec);
  int head_of_k(int group) const;
  std::vector<double> read(const Parts& parts, int group, int index) const;
  GivenGradient given(const Parts& parts, int group, int first, int count, const Format& d) const;

  const CallFiles& call_;
  Parts d_o_, dq_, dk_, dv_;
  std::optional<RowNumbers> lse_, d_lse_;
  std::vector<double> dsink_;  ///< of each head of Q in a batch
  int groups_ = 0, heads_ = 1;
  bool has_heads_of_q_ = false;
};

}  // namespace attoscope::app
