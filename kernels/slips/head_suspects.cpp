// Q, K or V of other heads of the same file.
#include <algorithm>

#include "kernels/experiment/result.h"
#include "kernels/slips/suspect_list.h"

namespace attoscope {
namespace {

using Kind = Slip::Kind;
using SharedTensors = std::shared_ptr<const Tensors>;
constexpr int most_heads = 64;

/// Reads other heads' tensors; keeps the one that was read last, for the suspects of one head come after each other.
class LatestHead {
 public:
  explicit LatestHead(const SuspectList& list) : read_(list.heads().read), as_seen_(list.as_seen()), inputs_(list.inputs()) {}

  /// The inputs' own where this head has another shape.
  SharedTensors operator()(int wanted) {
    if (head_ != wanted) tensors_ = as_seen_(read_(wanted));
    head_ = wanted;
    return tensors_ ? tensors_ : inputs_;
  }

 private:
  std::function<SharedTensors(int)> read_;
  SuspectList::AsSeen as_seen_;
  SharedTensors inputs_;
  int head_ = -1;
  SharedTensors tensors_;
};

/// The heads of one file, and which of their tensors a kernel may have taken.
class HeadSuspects {
 public:
  explicit HeadSuspects(SuspectList& list)
      : list_(list), own_(list.problem().input.index), latest_(std::make_shared<LatestHead>(list)) {}

  void add_others(int head) {
    const std::string other = "head " + std::to_string(head), mine = "head " + std::to_string(own_);
    add(other + " instead of " + mine, head, true, true, true);
    add("K and V of " + other + " with Q of " + mine, head, false, true, true);
    add("Q of " + other + " with K and V of " + mine, head, true, false, false);
    add("K of " + other + " with Q and V of " + mine, head, false, true, false);
    add("V of " + other + " with Q and K of " + mine, head, false, false, true);
  }

  /// Heads of Q that share K and V stand side by side; a kernel may take them for interleaved.
  void add_interleaved_groups() {
    const int heads = list_.heads().query_heads, kv_heads = list_.heads().kv_heads;
    if (kv_heads < 2 || heads <= kv_heads || heads % kv_heads != 0) return;
    const int group = heads / kv_heads, own = own_ % heads, wrong = own % kv_heads, right = own / group;
    if (wrong == right) return;
    add("K and V of kv head " + std::to_string(wrong) + " (head modulo " + std::to_string(kv_heads) + ") instead of " +
            std::to_string(right) + " (head / " + std::to_string(group) + "): interleaved groups",
        own_ - own + wrong * group, false, true, true);
  }

  /// n x heads x d read as heads x n x d: only the rows that hold this head can be predicted.
  void add_interleaved_rows() {
    const int heads = list_.heads().count;
    list_.add({Kind::head, "n x heads x d read as heads x n x d",
               [own = own_, heads, n = list_.shape().n, right = list_.right(), head = list_.own()]() -> ExpectedRow {
                 return [own, heads, n, right, made = head()](int row, double* out) {
                   const std::int64_t flat = static_cast<std::int64_t>(own) * n + row;
                   if (heads < 2 || flat % heads != own) return false;
                   attend(*made, right, static_cast<int>(flat / heads), out);
                   return true;
                 };
               }});
  }

 private:
  void add(std::string text, int head, bool q, bool k, bool v) {
    list_.add(Kind::head, std::move(text), list_.right(), [latest = latest_, head, inputs = list_.inputs(), q, k, v] {
      const SharedTensors x = (*latest)(head);
      return std::make_shared<const VariantHead>(
          variant_head(x->shape(), (q ? *x : *inputs).q, (k ? *x : *inputs).k, (v ? *x : *inputs).v));
    });
  }

  SuspectList& list_;
  int own_;
  std::shared_ptr<LatestHead> latest_;
};

}  // namespace

void add_head_suspects(SuspectList& list) {
  const Input& input = list.problem().input;
  const OtherHeads& heads = list.heads();
  if (input.kind != InputKind::tensors || !heads.read || input.index >= heads.count) return;
  HeadSuspects suspects(list);
  suspects.add_interleaved_groups();
  for (int head = 0; head < std::min(heads.count, most_heads); ++head)
    if (head != input.index) suspects.add_others(head);
  suspects.add_interleaved_rows();
}

}  // namespace attoscope
