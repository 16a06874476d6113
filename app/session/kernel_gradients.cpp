#include "app/session/kernel_gradients.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "app/tensors/kernel_output.h"
#include "kernels/deviation/deviation.h"
#include "kernels/experiment/answer_tensor.h"

namespace attoscope::app {
namespace {

/// One of the three gradients: its members in all structs.
struct GradientPlace {
  AnswerTensor tensor;
  std::string ui::KernelGradients::* file;
  Matrix Gradients::* matrix;
  Deviation GradientDeviations::* deviation;
};
constexpr std::array<GradientPlace, 3> places{{
    {AnswerTensor::dQ, &ui::KernelGradients::dq, &Gradients::dq, &GradientDeviations::dq},
    {AnswerTensor::dK, &ui::KernelGradients::dk, &Gradients::dk, &GradientDeviations::dk},
    {AnswerTensor::dV, &ui::KernelGradients::dv, &Gradients::dv, &GradientDeviations::dv},
}};

/// The rows `rows` of a file's gradient.
Matrix rows_of(const KernelOutput& file, const std::vector<int>& rows) {
  Matrix m{static_cast<int>(rows.size()), file.d, {}};
  for (const int row : rows) {
    const auto first = file.values->begin() + static_cast<std::ptrdiff_t>(row) * file.d;
    m.values.insert(m.values.end(), first, first + file.d);
  }
  return m;
}

void put(Result& r, const GradientPlace& place, const KernelOutput& file) {
  BackwardResult& b = *r.backward;
  Matrix& a = b.a.*place.matrix;
  a = rows_of(file, has_keys_as_rows(place.tensor) ? b.keys : r.rows);
  const Measured x = measured(a);
  const Format& d = r.experiment.format;
  b.a_error.*place.deviation = deviation(x, measured((*b.golden).*place.matrix), d);
  b.a_minus_b.*place.deviation = deviation(x, measured(b.b.*place.matrix), d);
  TensorNumbers& numbers = b.tensors[static_cast<std::size_t>(place.tensor) - 1];
  numbers.digests.a = x.digest;
  numbers.is_loaded = true;
}

}  // namespace

ReadGradients read_kernel_gradients(const std::shared_ptr<const Result>& answer, const ui::KernelGradients& files,
                                    const ReadWatch& watch) {
  ReadGradients read{{}, answer};
  if (!answer->backward || !files.any()) return read;
  auto shown = std::make_shared<Result>(*answer);
  BackwardResult& b = *shown->backward;
  std::uint64_t terms = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (const std::string& spec = files.*places[i].file; !spec.empty()) {
      read.files[i] = read_kernel_gradient(spec, shown->experiment.problem, places[i].tensor, watch);
      if (read.files[i].values) put(*shown, places[i], read.files[i]);
    }
    terms += digest_term_of<std::uint64_t>(b.tensors[i + 1].digests.a, i);
  }
  b.a_digest = digest(1, static_cast<int>(places.size()), terms);
  read.answer = std::move(shown);
  return read;
}

}  // namespace attoscope::app
