#ifdef ATTOSCOPE_HAVE_X86_64_V3
#include <cpuid.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/experiment/setting.h"
#include "kernels/lanes/job.h"

namespace attoscope {

namespace sse2 {
InstructionSet lane_code();
}
namespace avx2 {
InstructionSet lane_code();
}
namespace avx512 {
InstructionSet lane_code();
}
/// A GPU's lane code, run by the CPU.
namespace simt {
InstructionSet lane_code();
}

namespace {

#ifdef ATTOSCOPE_HAVE_X86_64_V3
struct Leaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
};
/// Result of cpuid; zeros beyond the processor's last leaf. __builtin_cpu_supports returns false in programs linked by zig.
Leaf leaf(unsigned number) {
  Leaf x;
  __get_cpuid_count(number, 0, &x.a, &x.b, &x.c, &x.d);
  return x;
}

bool has_all(unsigned bits, unsigned wanted) { return (bits & wanted) == wanted; }

/// True if the operating system saves these registers between threads; bits of XCR0 (Intel SDM, volume 1, section 13.3).
bool saves(unsigned registers) {
  if (!has_all(leaf(1).c, bit_OSXSAVE)) return false;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return has_all(low, registers);
}
constexpr unsigned vectors_256 = 0x6, vectors_512 = 0xe6;
#endif

/// Instruction sets that this machine runs, best first. cpuid takes microseconds, longer on a virtual machine.
std::vector<InstructionSet> found() {
  std::vector<InstructionSet> sets;
#ifdef ATTOSCOPE_HAVE_X86_64_V3
  const bool avx2 = saves(vectors_256) && has_all(leaf(1).c, bit_AVX | bit_FMA | bit_F16C) && has_all(leaf(7).b, bit_AVX2);
  const bool avx512 =
      saves(vectors_512) && has_all(leaf(7).b, bit_AVX512F | bit_AVX512VL | bit_AVX512DQ | bit_AVX512BW | bit_AVX512CD);
  if (avx2 && avx512) sets.push_back(avx512::lane_code());
  if (avx2) sets.push_back(avx2::lane_code());
  [[maybe_unused]] const bool simt = avx2;  // its object file is compiled for AVX2
#else
  [[maybe_unused]] const bool simt = true;
#endif
  sets.push_back(sse2::lane_code());
#ifdef ATTOSCOPE_HAVE_SIMT
  if (simt) sets.push_back(simt::lane_code());  // slow: used only on request
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
  for (const InstructionSet& set : sets)
    if (set.name == wanted) return set;
  throw std::invalid_argument((name.empty() ? "ATTOSCOPE_ISA is '" : "the instruction set is '") + std::string(wanted) +
                              "': this machine runs " + listed(names_in(sets), ", "));
}

bool has_instruction_set(std::string_view name) {
  return std::ranges::any_of(available(), [&](const InstructionSet& set) { return set.name == name; });
}

}  // namespace attoscope
