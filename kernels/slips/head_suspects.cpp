// Suspects with Q, K or V of other heads of the same file.
#include <algorithm>
#include <utility>

#include "kernels/slips/slip_suspects.h"

namespace attoscope {
namespace {

using Kind = Slip::Kind;
using SharedTensors = std::shared_ptr<const Tensors>;
constexpr int most_heads = 64;

/// Suspects that use tensors of other heads of the file.
class HeadSuspects {
 public:
  explicit HeadSuspects(SuspectList& list) : list_(list), own_(list.problem().input.index) {}

  void add_others(int head) {
    const std::string other = "head " + std::to_string(head), mine = "head " + std::to_string(own_);
    add(other + " instead of " + mine, head, true, true, true);
    add("K and V of " + other + " with Q of " + mine, head, false, true, true);
    add("Q of " + other + " with K and V of " + mine, head, true, false, false);
    add("K of " + other + " with Q and V of " + mine, head, false, true, false);
    add("V of " + other + " with Q and K of " + mine, head, false, false, true);
  }

  /// Adds interleaved groups: heads of Q that share K and V are adjacent, but a kernel may assume that they are interleaved.
  void add_interleaved_groups() {
    const int heads = list_.heads().query_heads, kv_heads = list_.heads().kv_heads;
    if (kv_heads < 2 || heads <= kv_heads || heads % kv_heads != 0) return;
    const int group = heads / kv_heads, own = own_ % heads, wrong = own % kv_heads, right = own / group;
    if (wrong == right) return;
    add("K and V of kv head " + std::to_string(wrong) + " (head modulo " + std::to_string(kv_heads) + ") instead of " +
            std::to_string(right) + " (head / " + std::to_string(group) + "): interleaved groups",
        own_ - own + wrong * group, false, true, true);
  }

  /// Adds a confusion of the layouts n x heads x d and heads x n x d: in one of the inputs, or in O.
  void add_other_layouts() {
    const int heads = list_.heads().count;
    if (heads < 2) return;
    constexpr const char* forward = " stored as n x heads x d read as heads x n x d";
    constexpr const char* backward = " stored as heads x n x d read as n x heads x d";
    for (const bool is_forward : {true, false}) {
      const auto text = [&](const char* part) { return std::string(part) + (is_forward ? forward : backward); };
      add_layout(text("Q"), is_forward, &Tensors::q);
      add_layout(text("K"), is_forward, &Tensors::k);
      add_layout(text("V"), is_forward, &Tensors::v);
      list_.add(
          {Kind::head, text("O"),
           [is_forward, own = own_, heads, n = list_.shape().n, right = list_.right(), head_of = head_of_]() -> ExpectedRow {
             return [=](int row, double* out) {
               const auto [head, there] = read_at(is_forward, own, row, n, heads);
               const SharedHead made = head_of(head);
               if (made) attend(*made, right, there, out);
               return made != nullptr;
             };
           }});
    }
  }

 private:
  void add(std::string text, int head, bool q, bool k, bool v) {
    list_.add(Kind::head, std::move(text), list_.right(), [head_of = head_of_, head, own = list_.own(), q, k, v] {
      VariantHead mixed = *own();
      if (const SharedHead other = head_of(head)) {
        if (q) mixed.q = other->q;
        if (k) {
          mixed.k_columns = other->k_columns;
          mixed.k_length = other->k_length;
        }
        if (v) mixed.v = other->v;
      }
      return std::make_shared<const VariantHead>(std::move(mixed));
    });
  }

  /// Head and row that are read in place of row `row` of head `own`.
  static std::pair<int, int> read_at(bool is_forward, int own, int row, int n, int heads) {
    const std::int64_t flat =
        is_forward ? static_cast<std::int64_t>(own) * n + row : static_cast<std::int64_t>(row) * heads + own;
    const std::int64_t count = is_forward ? heads : n;
    const auto quotient = static_cast<int>(flat / count), rest = static_cast<int>(flat % count);
    return is_forward ? std::pair{rest, quotient} : std::pair{quotient, rest};
  }

  void add_layout(std::string text, bool is_forward, TensorsPart part) {
    list_.add(Kind::head, std::move(text), list_.right(),
              [=, this_own = own_, heads = list_.heads().count, tensors_of = tensors_of_, inputs = list_.inputs(),
               own = list_.own()] {
                const int rows = part == &Tensors::q ? inputs->n : inputs->n_k,
                          columns = part == &Tensors::v ? inputs->d_v : inputs->d;
                std::vector<double> changed = (*inputs).*part;
                for (int i = 0; i < rows; ++i) {
                  const auto [head, there] = read_at(is_forward, this_own, i, rows, heads);
                  if (const SharedTensors x = tensors_of(head))
                    std::copy_n(((*x).*part).begin() + static_cast<std::ptrdiff_t>(there) * columns, columns,
                                changed.begin() + static_cast<std::ptrdiff_t>(i) * columns);
                }
                return std::make_shared<const VariantHead>(with_part(*own(), part, std::move(changed)));
              });
  }

  SuspectList& list_;
  int own_;
  /// Other heads, read at their first use; null if the shape differs from the inputs'.
  std::function<SharedTensors(int head)> tensors_of_ = once_each<SharedTensors>(
      [read = list_.heads().read, as_seen = list_.as_seen()](int head) { return as_seen(read(head)); });
  std::function<SharedHead(int head)> head_of_ = once_each<SharedHead>([tensors_of = tensors_of_](int head) {
    const SharedTensors t = tensors_of(head);
    return t ? std::make_shared<const VariantHead>(variant_head(t)) : nullptr;
  });
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
  if (heads.count <= most_heads) suspects.add_other_layouts();
}

}  // namespace attoscope
