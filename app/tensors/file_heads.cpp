#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "app/tensors/call_files.h"
#include "app/tensors/kernel_output.h"
#include "kernels/experiment/rules.h"

namespace attoscope::app {

Experiment on_head(Experiment e, const CallFiles& files, int head, bool whole) {
  Problem& p = e.problem;
  p.input = files.input(head);
  const Tensors& t = *p.input.tensors;
  p = whole ? with_shape(p, t.shape()) : fitted(p, t.shape());
  p.traced_row = std::min(p.traced_row, p.n - 1);
  if (has_loaded(e)) {
    e.loaded = with_head(e.loaded, head);
    load_kernel_output(e.loaded, p.n, value_columns(p));
  }
  return e;
}

Experiment on_tokens(Experiment e, int first, int count) {
  const Tensors& all = *e.problem.input.tensors;
  if (all.mask) throw std::invalid_argument(e.problem.input.file + ": has a mask tensor, expected none where windows are cut");
  const auto rows = [&](const std::vector<double>& x, int columns) {
    return std::vector<double>(x.begin() + std::ptrdiff_t{first} * columns,
                               x.begin() + std::ptrdiff_t{first + count} * columns);
  };
  Tensors t = Tensors::shaped({count, count, all.d, all.d_v});
  t.q = rows(all.q, all.d), t.k = rows(all.k, all.d), t.v = rows(all.v, all.d_v);
  t.all_heads = all.all_heads;
  e.problem = with_shape(e.problem, t.shape());
  e.problem.traced_row = std::min(e.problem.traced_row, count - 1);
  take_tensors(e.problem.input, std::move(t));
  return e;
}

}  // namespace attoscope::app
