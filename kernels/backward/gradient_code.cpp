/// The backward pass, compiled once for each instruction set with that set's flags. A GPU's lanes have no such code yet.
#ifndef ATTOSCOPE_SIMT

#include <algorithm>
#include <utility>

#include "kernels/backward/gradient_lanes.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {
namespace {

template <class T>
void rows_of_block(const GradientRule<T>& rule, const RowsTask<T>& task, const StopSign& stop, void* scratch) {
  Arena arena(scratch);
  GradientRows<T>(rule, task, stop, arena).run();
}

template <class T>
std::size_t scratch_of(const GradientRule<T>& rule) {
  const StopSign never;
  const RowsTask<T> task;
  Arena arena(nullptr);
  const GradientRows<T> rows(rule, task, never, arena);
  return arena.used();
}

template <class T>
void sums_of_keys(const GradientRule<T>& rule, const KeysTask<T>& task, const StopSign& stop) {
  stop.check();
  GradientKeys<T>(rule, task).add();
}

template <class T>
void finish_keys(const GradientRule<T>& rule, const KeysTask<T>& task, double* d_k, double* d_v) {
  GradientKeys<T>(rule, task).finish(d_k, d_v);
}

template <class T>
GradientLanes<T> gradient_lanes() {
  return {Lanes<T>::rows, scratch_of<T>, rows_of_block<T>, sums_of_keys<T>, finish_keys<T>};
}

}  // namespace

GradientCode gradient_code() { return {gradient_lanes<float>(), gradient_lanes<double>()}; }

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope

#endif
