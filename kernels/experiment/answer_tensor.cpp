#include "kernels/experiment/answer_tensor.h"

#include "kernels/experiment/result.h"

namespace attoscope {
namespace {

/// `answer` without the parts of O alone.
Result without_output(const Result& answer) {
  Result r;
  r.experiment = answer.experiment;
  r.device = answer.device;
  r.remark = answer.remark;
  r.rows = answer.rows;
  r.rows_without_keys = answer.rows_without_keys;
  r.inputs = answer.inputs;
  r.rescales = answer.rescales;
  r.rescale_map = answer.rescale_map;
  r.trace = answer.trace;
  r.holds = answer.holds;
  r.traffic = answer.traffic;
  r.backward = answer.backward;
  r.timing = answer.timing;
  return r;
}

void take_keys_as_rows(Result& r) {
  Problem& p = r.experiment.problem;
  r.rows = r.backward->keys;
  r.rows_without_keys = 0;  // a count of queries
  p.n = key_count(p);
  if (p.rows != 0) p.rows = static_cast<int>(r.rows.size());
}

/// Members of dQ, dK and dV.
struct GradientMembers {
  Matrix Gradients::* matrix;
  Deviation GradientDeviations::* deviation;
};
constexpr std::array<GradientMembers, gradient_tensors.size()> gradient_members{{{&Gradients::dq, &GradientDeviations::dq},
                                                                                 {&Gradients::dk, &GradientDeviations::dk},
                                                                                 {&Gradients::dv, &GradientDeviations::dv}}};

void take_incoming(Result& r) {
  r.golden = r.backward->d_o;
  r.a = r.b = *r.golden;
  r.a_error.cosine = r.b_error.cosine = r.a_minus_b.cosine = 1;
}

void take_gradient(Result& r, AnswerTensor t) {
  const BackwardResult& b = *r.backward;
  const GradientMembers& of = gradient_members[gradient_place(t)];
  r.golden = {b.golden, &((*b.golden).*of.matrix)};
  r.a = b.a.*of.matrix;
  r.b = b.b.*of.matrix;
  r.a_error = b.a_error.*of.deviation;
  r.b_error = b.b_error.*of.deviation;
  r.a_minus_b = b.a_minus_b.*of.deviation;
}

}  // namespace

std::shared_ptr<const Result> seen_as(const std::shared_ptr<const Result>& answer, AnswerTensor tensor) {
  if (tensor == AnswerTensor::O || !answer) return answer;
  if (!answer->backward) return nullptr;
  auto seen = std::make_shared<Result>(without_output(*answer));
  if (has_keys_as_rows(tensor)) take_keys_as_rows(*seen);
  tensor == AnswerTensor::dO ? take_incoming(*seen) : take_gradient(*seen, tensor);
  seen->experiment.problem.d_v = seen->golden->cols;
  const TensorNumbers& numbers = seen->backward->tensors[static_cast<std::size_t>(tensor) - 1];
  seen->golden_rms = numbers.golden_rms;
  seen->golden_nonfinite = numbers.golden_nonfinite;
  seen->digests = numbers.digests;
  if (numbers.is_loaded) seen->experiment.a.algorithm = Algorithm::loaded;
  return seen;
}

}  // namespace attoscope
