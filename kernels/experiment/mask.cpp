#include "kernels/experiment/mask.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

namespace attoscope {

MaskTensor mask_of_terms(int n, int n_k, std::vector<double> terms) {
  MaskTensor mask{n, n_k, {}, std::move(terms)};
  const MaskView all{nullptr, mask.terms.data(), n_k};
  bool is_plain = true;
  for (int row = 0; row < n; ++row) {
    Keys keys{0, n_k};
    while (keys.first < keys.end && all.drops(row, keys.first)) ++keys.first;
    while (keys.first < keys.end && all.drops(row, keys.end - 1)) --keys.end;
    const auto first = mask.terms.begin() + static_cast<std::ptrdiff_t>(row) * n_k;
    is_plain = is_plain && std::all_of(first + keys.first, first + keys.end, [](double x) { return x == 0; });
    mask.rows.push_back(keys);
  }
  if (is_plain) mask.terms = {};
  return mask;
}

double term_size(const MaskView& mask, int row, Keys keys) {
  constexpr double far = 1e4, all = 1e30;
  if (mask.terms == nullptr || keys.empty()) return 0;
  double top = -std::numeric_limits<double>::infinity(), size = 0;
  for (int key = keys.first; key < keys.end; ++key) top = std::max(top, mask.term(row, key));
  for (int key = keys.first; std::fabs(top) < all && key < keys.end; ++key)
    if (mask.term(row, key) > top - far) size = std::max(size, std::fabs(mask.term(row, key)));
  return size;
}

std::optional<Mask> rule_of(const MaskTensor& mask) {
  if (!mask.terms.empty() || mask.n == 0) return {};
  const Keys last = mask.rows.back();
  const int count = last.end - last.first, hidden = mask.n_k - last.end;
  for (const bool top_left : {false, true})
    for (const Mask& rule :
         {Mask{}, Mask{Mask::Kind::causal}, Mask{Mask::Kind::window, count}, Mask{Mask::Kind::padding, last.first},
          Mask{Mask::Kind::right_padding, hidden}, Mask{Mask::Kind::prefix, mask.rows.front().end}}) {
      if (rule.has_width() && rule.window < 1) continue;
      const int at = top_left ? 0 : mask.n_k - mask.n;
      int row = 0;
      const auto is_same = [&](const Keys& x) {
        const Keys y = visible_keys(rule, at + row++, mask.n_k);
        return (x.empty() && y.empty()) || (x.first == y.first && x.end == y.end);
      };
      if (!std::ranges::all_of(mask.rows, is_same)) continue;
      Mask found = rule;
      found.top_left = top_left && rule.kind != Mask::Kind::none;
      return found;
    }
  return {};
}

}  // namespace attoscope
