/// The mistakes of attention kernels that are reported most, each planted on seeded tensors: the output of a kernel with it,
/// and its right names.
#pragma once

#include <functional>
#include <vector>

#include "kernels/judge/judge.h"
#include "tests/questions/planted_slips.h"

namespace attoscope::planted {

/// A call of several heads, one of which is judged.
struct Call {
  Problem p;                     ///< of that head
  std::vector<Tensors> heads{};  ///< of all, as the files have them
  int head = 1;
  int query_heads = 0, kv_heads = 0;  ///< 0: as many of each
  Format f = bf16;                    ///< D
  Format stored = bf16;               ///< format of O
  std::uint64_t seed = 1;             ///< of its tensors

  const Tensors& own() const { return heads[static_cast<std::size_t>(head)]; }
  OtherHeads others() const;
};

/// A fault in a kernel; `output` is n x d_v, before it is stored.
struct PlantedFault {
  const char* kind;
  const char* name;   ///< a pattern of its right names, of "kind: text"
  const char* place;  ///< a pattern of its place: rows, columns or keys; "": everywhere, or not checked
  std::function<Call(std::uint64_t seed)> call;
  std::function<Values(const Call&)> output;
  bool has_effect = true;  ///< false: it changes nothing beyond rounding
};

std::vector<PlantedFault> planted_faults();

/// The output of the correct kernel, written like the others.
Values correct_output(const Call& call);

}  // namespace attoscope::planted
