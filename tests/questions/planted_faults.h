/// The mistakes of attention kernels that are reported most, each planted on seeded tensors: what a kernel with it gives, and
/// how it may rightly be called.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernels/judge/judge.h"
#include "tests/questions/planted_slips.h"

namespace attoscope::planted {

/// A call of several heads, one of which is looked at.
struct Call {
  Problem p;                     ///< of that head
  std::vector<Tensors> heads{};  ///< of all, as the files have them
  int head = 1;
  int query_heads = 0, kv_heads = 0;  ///< 0: as many of each
  Format f = bf16;                    ///< D
  Format stored = bf16;               ///< what O is in
  std::uint64_t seed = 1;             ///< of its tensors

  const Tensors& own() const { return heads[static_cast<std::size_t>(head)]; }
  OtherHeads others() const;
};

/// What a kernel gives: O, n x d_v, before it is stored.
struct PlantedFault {
  const char* kind;
  const char* name;   ///< a pattern of its right names, of "kind: text"
  const char* place;  ///< a pattern of where it is: rows, columns or keys; "": everywhere, or not asked for
  std::function<Call(std::uint64_t seed)> call;
  std::function<Values(const Call&)> output;
  bool has_effect = true;  ///< false: it changes nothing that rounding does not
};

std::vector<PlantedFault> planted_faults();

/// The output of the correct kernel that is written as the others are.
Values correct_output(const Call& call);

}  // namespace attoscope::planted
