/// The backward pass, compiled once for each instruction set with that set's flags. A GPU's lanes have no such code yet.
#ifndef ATTOSCOPE_SIMT

#include "kernels/backward/gradient_keys.h"
#include "kernels/backward/gradient_rows.h"
#include "kernels/backward/precise_lanes.h"

namespace attoscope {
namespace ATTOSCOPE_ISA {
namespace {

template <class Rows, class T>
void rows_of_block(const GradientRule<T>& rule, const RowsTask<T>& task, const StopSign& stop, void* scratch) {
  Arena arena(scratch);
  Rows(rule, task, stop, arena).run();
}

template <class Rows, class T>
void queries_of_block(const GradientRule<T>& rule, const RowsTask<T>& task, const StopSign& stop, void* scratch) {
  Arena arena(scratch);
  Rows(rule, task, stop, arena).queries();
}

template <class Rows, class T>
std::size_t scratch_of(const GradientRule<T>& rule) {
  const StopSign never;
  const RowsTask<T> task;
  Arena arena(nullptr);
  const Rows rows(rule, task, never, arena);
  return arena.used();
}

template <class KeysOfTask, class T>
void sums_of_keys(const GradientRule<T>& rule, const KeysTask<T>& task, const StopSign& stop) {
  stop.check();
  KeysOfTask(rule, task).add();
}

template <class KeysOfTask, class T>
void finish_keys(const GradientRule<T>& rule, const KeysTask<T>& task, double* d_k, double* d_v) {
  KeysOfTask(rule, task).finish(d_k, d_v);
}

template <class T, class Rows, class KeysOfTask>
GradientLanes<T> gradient_lanes(int rows, int parts) {
  return {rows,
          parts,
          scratch_of<Rows, T>,
          rows_of_block<Rows, T>,
          queries_of_block<Rows, T>,
          sums_of_keys<KeysOfTask, T>,
          finish_keys<KeysOfTask, T>};
}

}  // namespace

GradientCode gradient_code() {
  return {gradient_lanes<float, GradientRows<float>, GradientKeys<float>>(Lanes<float>::rows, 1),
          gradient_lanes<double, GradientRows<double>, GradientKeys<double>>(Lanes<double>::rows, 1),
          gradient_lanes<double, PreciseRows, PreciseKeys>(Lanes<double>::width, 2)};
}

}  // namespace ATTOSCOPE_ISA
}  // namespace attoscope

#endif
