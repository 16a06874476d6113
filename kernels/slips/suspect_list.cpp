#include "kernels/slips/suspect_list.h"

#include "kernels/experiment/result.h"
#include "kernels/slips/slips.h"

namespace attoscope {

SuspectList::SuspectList(const Result& result, const OtherHeads& heads)
    : e_(result.experiment), inputs_(result.inputs), heads_(heads), right_(right_softmax(e_.problem)) {
  own_ = made_once([inputs = inputs_] { return variant_head(inputs); });
}

void SuspectList::add(Slip::Kind kind, std::string text, SoftmaxVariant variant, MakeHead head,
                      std::optional<Problem> problem) {
  suspects_.push_back({kind, std::move(text),
                       [variant = std::move(variant), head = std::move(head)]() -> ExpectedRow {
                         return [variant, made = head()](int row, double* out) {
                           attend(*made, variant, row, out);
                           return true;
                         };
                       },
                       std::move(problem)});
}
void SuspectList::add(Slip::Kind kind, std::string text, SoftmaxVariant variant, std::optional<Problem> problem) {
  add(kind, std::move(text), std::move(variant), own_, std::move(problem));
}

SuspectList::AsSeen SuspectList::as_seen() const {
  return [shape = inputs_->shape(), rounding = e_.a.precision[Step::input],
          format = e_.format](const std::shared_ptr<const Tensors>& raw) -> std::shared_ptr<const Tensors> {
    if (!raw || raw->n < shape.n || raw->n_k < shape.n_k || raw->d != shape.d || raw->d_v != shape.d_v) return nullptr;
    std::shared_ptr<const Tensors> taken = raw;
    if (raw->n > shape.n || raw->n_k > shape.n_k) {
      const auto size = [](int rows, int columns) {
        return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
      };
      Tensors t = *raw;
      t.n = shape.n, t.n_k = shape.n_k;
      t.q.resize(size(t.n, t.d)), t.k.resize(size(t.n_k, t.d)), t.v.resize(size(t.n_k, t.d_v));
      taken = std::make_shared<const Tensors>(std::move(t));
    }
    return rounding.kind == Rounding::Kind::exact ? taken : seen_in(format_of(rounding, format), taken);
  };
}

void SuspectList::add_values(Slip::Kind kind, std::string text, std::function<int(int)> value_row) {
  SoftmaxVariant v = right_;
  v.value_row = std::move(value_row);
  add(kind, std::move(text), std::move(v));
}

}  // namespace attoscope
