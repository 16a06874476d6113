#include "kernels/cpu/instruction_sets.h"

#ifdef ATTOSCOPE_HAVE_X86_64_V3
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace attoscope {
namespace {

#ifdef ATTOSCOPE_HAVE_X86_64_V3
/// True if the processor says that it converts fp16; not every compiler's __builtin_cpu_supports knows it.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

/// Instruction sets that this machine runs, best first. Asking the processor takes microseconds, on a virtual machine many.
std::vector<InstructionSet> found() {
  std::vector<InstructionSet> sets;
#ifdef ATTOSCOPE_HAVE_X86_64_V3
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  if (avx2 && avx512) sets.push_back(avx512::lane_code());
  if (avx2) sets.push_back(avx2::lane_code());
  [[maybe_unused]] const bool simt = avx2;  // its object is compiled for AVX2
#else
  [[maybe_unused]] const bool simt = true;
#endif
  sets.push_back(sse2::lane_code());
#ifdef ATTOSCOPE_HAVE_SIMT
  if (simt) sets.push_back(simt::lane_code());  // slow: only on request
#endif
  return sets;
}

const std::vector<InstructionSet>& available() {
  static const std::vector<InstructionSet> sets = found();
  return sets;
}

}  // namespace

InstructionSet instruction_set(std::string_view name) {
  const std::vector<InstructionSet>& sets = available();
  const char* variable = std::getenv("ATTOSCOPE_ISA");
  const std::string_view wanted = !name.empty() ? name : variable ? variable : "";
  if (wanted.empty()) return sets.front();
  std::string names;
  for (const InstructionSet& set : sets) {
    if (set.name == wanted) return set;
    names += (names.empty() ? "" : ", ") + std::string(set.name);
  }
  throw std::invalid_argument((name.empty() ? "ATTOSCOPE_ISA is '" : "the instruction set is '") + std::string(wanted) +
                              "': this machine runs " + names);
}

bool has_instruction_set(std::string_view name) {
  return std::ranges::any_of(available(), [&](const InstructionSet& set) { return set.name == name; });
}

}  // namespace attoscope
