// Masks that show other keys, or hide keys with a finite score.
#include <algorithm>
#include <string>

#include "kernels/slips/slip_suspects.h"

namespace attoscope {
namespace {

using Kind = Slip::Kind;
using M = Mask::Kind;

void add_keys(SuspectList& list, std::string text, std::function<Keys(int)> keys) {
  list.add_with(Kind::mask, std::move(text), [&](SoftmaxVariant& v) { v.keys = std::move(keys); });
}

void add_mask(SuspectList& list, std::string text, const Mask& mask) {
  Problem p = list.problem();
  p.mask = mask;
  SoftmaxVariant v = list.right();  // ALiBi counts from the query's position in the right mask
  v.keys = [p](int row) { return visible_keys(p, row); };
  list.add(Kind::mask, std::move(text), v, p);
}

/// A mask's name in a sentence, and the text of a causal mask instead of it.
struct WideMask {
  M kind;
  const char *it, *causal;
};
constexpr WideMask wide_masks[] = {{M::window, "a window", "a causal mask without its window"},
                                   {M::padding, "a padding", "a causal mask that shows the padding"},
                                   {M::prefix, "a prefix", "a causal mask without its prefix"},
                                   {M::chunk, "a chunk", "a causal mask without its chunks"},
                                   {M::right_padding, "a padding", "a causal mask that shows the padding"}};

/// Adds chunks of half and of twice as many keys.
void add_other_chunks(SuspectList& list) {
  const Mask right = list.problem().mask;
  for (const int width : {right.window / 2, 2 * right.window}) {
    Mask other = right;
    other.window = width;
    if (width > 0)
      add_mask(list, "chunks of " + std::to_string(width) + " keys instead of " + std::to_string(right.window), other);
  }
}

/// Adds masks of another kind or another width.
void add_kinds(SuspectList& list) {
  const Mask right = list.problem().mask;
  Mask other = right;
  other.kind = M::causal;
  if (right.kind == M::none) {
    add_mask(list, "a causal mask where none is wanted", other);
    other.top_left = true;
    if (list.shape().n != list.shape().n_k)
      add_mask(list, "a causal mask aligned top-left (query 0 at key 0), where none is wanted", other);
    return;
  }
  other.kind = M::none;
  add_mask(list, right.kind == M::causal ? "a missing causal mask" : "a missing mask", other);
  for (const WideMask& wide : wide_masks) {
    if (right.kind != wide.kind) continue;
    other.kind = M::causal;
    add_mask(list, wide.causal, other);
    other = right;
    for (const auto& [by, text] : {std::pair{1, " that is one key too wide"}, {-1, " that is one key too narrow"}}) {
      other.window = right.window + by;
      if (other.window > 0) add_mask(list, std::string(wide.it) + text, other);
    }
  }
  if (right.kind == M::chunk) add_other_chunks(list);
  if (right.kind != M::window || right.right == 0) return;
  other = right;
  other.right = 0;
  add_mask(list, "a window that hides the keys behind the query", other);
  other.right = right.right - 1;
  if (other.right > 0) add_mask(list, "a window that is one key too short behind the query", other);
  other.right = right.right + 1;
  add_mask(list, "a window that is one key too long behind the query", other);
  other.window = right.right + 1;
  other.right = right.window - 1;
  if (other.right != right.right) add_mask(list, "a window with its two sides exchanged", other);
}

/// Adds the mask with the other alignment: first query at the first key, or last query at the last key.
void add_alignment(SuspectList& list) {
  Mask mask = list.problem().mask;
  if (mask.kind == M::none || list.shape().n == list.shape().n_k) return;
  const std::string top = "top-left (query 0 at key 0)", bottom = "bottom-right (the last query at the last key)";
  const std::string text = "a mask aligned " + (mask.top_left ? bottom : top) + " instead of " + (mask.top_left ? top : bottom);
  mask.top_left = !mask.top_left;
  add_mask(list, text, mask);
}

/// Adds masks whose keys begin or end elsewhere than in the causal mask, which ends at each row's diagonal.
void add_shifted(SuspectList& list) {
  const Mask mask = list.problem().mask;
  const bool none = mask.kind == M::none;
  if (mask.kind == M::prefix || mask.kind == M::right_padding || (mask.kind == M::window && mask.right > 0)) return;
  const int n_k = list.shape().n_k, offset = diagonal(list.problem()), w = mask.window;
  const auto at = [offset](int row) { return row + offset; };
  const auto end = [n_k](int key) { return std::clamp(key, 0, n_k); };
  const auto first = [mask, at, n_k, none](int row) { return none ? 0 : visible_keys(mask, at(row), n_k).first; };
  if (mask.kind == M::window)
    add_keys(list, "a window that looks ahead as far as back",
             [at, end, w](int i) { return Keys{end(at(i) + 1 - w), end(at(i) + w)}; });
  add_keys(list,
           !none                 ? "a causal mask shifted by one key: it hides the diagonal (key < row)"
           : list.shape().n == 1 ? "the last key left out"
                                 : "a causal mask that hides the diagonal, where none is wanted",
           [first, at, end](int i) { return Keys{std::min(first(i), end(at(i))), end(at(i))}; });
  add_keys(list,
           none ? "a causal mask shifted by one key, where none is wanted"
                : "a causal mask shifted by one key: it shows the next (key <= row + 1)",
           [first, at, end](int i) { return Keys{std::min(first(i), end(at(i) + 2)), end(at(i) + 2)}; });
  add_keys(list, "a causal mask upside down (key >= row)", [at, end, n_k](int i) { return Keys{end(at(i)), n_k}; });
}

void add_hidden_score(SuspectList& list, std::string text, double value, bool adds) {
  list.add_with(Kind::mask, std::move(text), [&](SoftmaxVariant& v) { v.hidden_score = value, v.adds_hidden = adds; });
}

/// Adds masks that give hidden keys a finite score; they show if a row sees no key, or no key with a score far above it.
void add_finite_scores(SuspectList& list) {
  if (sees_all(list.problem())) return;
  bool has_empty = false;
  for (int i = 0; i < list.shape().n; ++i) has_empty = has_empty || list.right().keys(i).empty();
  for (const bool adds : {false, true})
    for (const auto& [value, text] : {std::pair{-1e4, "-1e4"}, std::pair{-5e4, "-5e4"}})
      add_hidden_score(list,
                       std::string("a finite mask value such as ") + text +
                           (adds        ? " added to hidden scores instead of -inf"
                            : has_empty ? " as the score of hidden keys instead of -inf: rows that see no key get the mean of V"
                                        : " as the score of hidden keys instead of -inf"),
                       value, adds);
  add_hidden_score(list, "a 0/1 mask added to the scores, which hides nothing", -1, true);
  if (const double cap = list.problem().softcap; cap != 0)
    add_hidden_score(list, "a soft cap after the mask: hidden keys have the score -cap", -cap, false);
}

/// Adds an ignored mask tensor, and the mask tensors of other heads.
void add_tensors(SuspectList& list) {
  const std::shared_ptr<const MaskTensor> own = list.right().mask;
  if (!own) return;
  const Problem& p = list.problem();
  const auto with = [&](std::string text, std::shared_ptr<const MaskTensor> mask) {
    list.add_with(Kind::mask, std::move(text), [&](SoftmaxVariant& v) {
      v.mask = mask;
      v.keys = [rule = p.mask, at = diagonal(p), n_k = list.shape().n_k, mask](int row) {
        const Keys keys = visible_keys(rule, row + at, n_k);
        return mask ? mask->view().within(row, keys) : keys;
      };
    });
  };
  with("the mask tensor ignored", nullptr);
  const int heads = list.heads().read ? list.heads().count : 0;
  std::vector<std::shared_ptr<const MaskTensor>> known{own};
  for (int head = 0; head < std::min(heads, 64); ++head) {
    std::shared_ptr<const MaskTensor> mask = list.heads().read(head)->mask;
    if (!mask || std::ranges::find(known, mask) != known.end()) continue;
    known.push_back(mask);
    with("the mask tensor of head " + std::to_string(head) + " instead of head " + std::to_string(p.input.index), mask);
  }
}

}  // namespace

void add_mask_suspects(SuspectList& list) {
  add_tensors(list);
  add_kinds(list);
  add_alignment(list);
  add_shifted(list);
  add_finite_scores(list);
}

}  // namespace attoscope
