/// The most reported mistakes of attention kernels, each planted on seeded tensors: the output of the faulty kernel
/// and the right names of its mistake.
#pragma once

#include <functional>
#include <vector>

#include "kernels/judge/judge.h"
#include "tests/questions/planted_slips.h"

namespace attoscope::planted {

/// A call of several heads, one of which is judged.
struct Call {
  Problem p;                     ///< of the judged head
  std::vector<Tensors> heads{};  ///< of all heads, as in the files
  int head = 1;
  int query_heads = 0, kv_heads = 0;  ///< 0: as many of each
  Format f = bf16;                    ///< D
  Format stored = bf16;               ///< format of O
  std::uint64_t seed = 1;             ///< of the tensors

  const Tensors& own() const { return heads[static_cast<std::size_t>(head)]; }
  OtherHeads others() const;
};

/// A fault in a kernel; `output` is n x d_v, before it is stored.
struct PlantedFault {
  const char* kind;
  const char* name;   ///< regular expression of its right names, "kind: text"
  const char* place;  ///< regular expression of its rows, columns or keys; "": everywhere, or not checked
  std::function<Call(std::uint64_t seed)> call;
  std::function<Values(const Call&)> output;
  bool has_effect = true;  ///< false: it changes nothing beyond rounding
};

std::vector<PlantedFault> planted_faults();

/// Output of the correct kernel, by the loop in which faults are planted.
Values correct_output(const Call& call);

}  // namespace attoscope::planted
