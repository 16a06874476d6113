#include "kernels/train/head/head_cpu.h"

#include <algorithm>
#include <type_traits>

#include "kernels/cpu/aligned_buffer.h"
#include "kernels/parallel/parallel.h"
#include "kernels/train/head/head_code.h"

namespace attoscope {
namespace {

template <class T>
HeadLanes<T> lanes_of(std::string_view isa) {
  const HeadCode code = head_code(isa);
  if constexpr (std::is_same_v<T, float>) {
    return code.single;
  } else {
    return code.twice;
  }
}

/// work(place, scratch) for every head of every sequence.
template <class T, class Work>
void each_head(const HeadBatch<T>& heads, const HeadLanes<T>& lanes, Work work) {
  std::size_t bytes = 0;
  for (int head = 0; head < heads.heads; ++head) bytes = std::max(bytes, lanes.scratch(heads.rules[head]));
  PerThread<AlignedBuffer> scratch;
  parallel_for(0, heads.sequences * heads.heads, [&](int place) { work(place, scratch.local().at_least(bytes)); });
}

}  // namespace

HeadCode head_code(std::string_view isa) {
  const std::string_view name = instruction_set(isa).name;
#ifdef ATTOSCOPE_HAVE_X86_64_V3
  if (name == "avx512") return avx512::head_code();
  if (name == "avx2") return avx2::head_code();
#endif
#ifdef ATTOSCOPE_HAVE_SIMT
  if (name == "simt") return simt::head_code();
#endif
  return sse2::head_code();
}

template <class T>
void run_heads(const HeadBatch<T>& heads, std::string_view isa) {
  const HeadLanes<T> lanes = lanes_of<T>(isa);
  each_head(heads, lanes, [&](int place, void* scratch) { lanes.forward(heads, place, scratch); });
}

template <class T>
void run_head_gradients(const HeadGradient<T>& heads, std::string_view isa) {
  const HeadLanes<T> lanes = lanes_of<T>(isa);
  each_head(heads.forward, lanes, [&](int place, void* scratch) { lanes.backward(heads, place, scratch); });
}

template void run_heads(const HeadBatch<float>&, std::string_view);
template void run_heads(const HeadBatch<double>&, std::string_view);
template void run_head_gradients(const HeadGradient<float>&, std::string_view);
template void run_head_gradients(const HeadGradient<double>&, std::string_view);

}  // namespace attoscope
