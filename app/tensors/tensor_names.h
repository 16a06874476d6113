/// Which tensors belong together, told by their names: q, query, layers.7.self_attn.q_proj.out, 0_q.
#pragma once

#include <string>
#include <vector>

namespace attoscope {

/// A tensor's name, and whether its numbers can be read.
struct TensorName {
  std::string name;
  bool readable = true;
};

/// Q, K, V and perhaps the output of one call, as places in the list of names; -1: none.
struct NamedCall {
  std::string shared;  ///< what the names have in common: "layers.7.self_attn.*_proj.out"
  int q = -1, k = -1, v = -1, o = -1;
};

struct CallNames {
  std::vector<NamedCall> calls;         ///< layer 2 before layer 10; the plain q, k, v alone where they are there
  std::vector<int> outputs;             ///< what is called as outputs are, in the same order
  std::vector<std::string> incomplete;  ///< "'0_q' and '0_k' have no v": where a part is missing
};

/// What the names say.
CallNames calls_in(const std::vector<TensorName>& names);

/// "layer 7" of "layers.7.self_attn.*_proj.out"; "" where the names share nothing.
std::string layer_name(const std::string& shared);

/// Numbers in texts by their values: "layer 2" before "layer 10".
bool natural_less(const std::string& x, const std::string& y);

}  // namespace attoscope
