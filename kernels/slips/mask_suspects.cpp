// Masks that show other keys, or hide them with a finite score.
#include <algorithm>

#include "kernels/slips/suspect_list.h"

namespace attoscope {
namespace {

using Kind = Slip::Kind;
using M = Mask::Kind;

void add_keys(SuspectList& list, std::string text, std::function<Keys(int)> keys) {
  SoftmaxVariant v = list.right();
  v.keys = std::move(keys);
  list.add(Kind::mask, std::move(text), v);
}

void add_mask(SuspectList& list, std::string text, M kind, int window, bool top_left) {
  Problem p = list.problem();
  p.mask = {kind, window, top_left};
  SoftmaxVariant v = list.right();
  v.keys = [p](int row) { return visible_keys(p, row); };
  list.add(Kind::mask, std::move(text), v, p);
}
void add_mask(SuspectList& list, std::string text, M kind, int window) {
  add_mask(list, std::move(text), kind, window, list.problem().mask.top_left);
}

/// Another kind of mask, or one of another width.
void add_kinds(SuspectList& list) {
  const auto [kind, w, top_left] = list.problem().mask;
  if (kind == M::none) {
    add_mask(list, "a causal mask where none is wanted", M::causal, w);
    if (list.shape().n != list.shape().n_k)
      add_mask(list, "a causal mask aligned top-left (query 0 at key 0), where none is wanted", M::causal, w, true);
  } else {
    add_mask(list, kind == M::causal ? "a missing causal mask" : "a missing mask", M::none, w);
    if (kind == M::window) add_mask(list, "a causal mask without its window", M::causal, w);
    if (kind == M::padding) add_mask(list, "a causal mask that shows the padding", M::causal, w);
  }
  if (!list.problem().mask.has_width()) return;
  const std::string it = kind == M::window ? "a window" : "a padding";
  add_mask(list, it + " that is one key too wide", kind, w + 1);
  if (w > 1) add_mask(list, it + " that is one key too narrow", kind, w - 1);
}

/// Adds the mask with the first query at the first key if the right one has the last at the last, or the other way round.
void add_alignment(SuspectList& list) {
  const auto [kind, w, top_left] = list.problem().mask;
  if (kind == M::none || list.shape().n == list.shape().n_k) return;
  const std::string top = "top-left (query 0 at key 0)", bottom = "bottom-right (the last query at the last key)";
  add_mask(list, "a mask aligned " + (top_left ? bottom : top) + " instead of " + (top_left ? top : bottom), kind, w,
           !top_left);
}

/// Adds keys that begin or end elsewhere than in the causal mask.
void add_shifted(SuspectList& list) {
  const Mask mask = list.problem().mask;
  const bool none = mask.kind == M::none;
  const int n_k = list.shape().n_k, offset = diagonal(list.problem()), w = mask.window;
  const auto at = [offset](int row) { return row + offset; };
  const auto end = [n_k](int key) { return std::clamp(key, 0, n_k); };
  const auto first = [mask, at, n_k, none](int row) { return none ? 0 : visible_keys(mask, at(row), n_k).first; };
  if (mask.kind == M::window)
    add_keys(list, "a window that looks ahead as far as back",
             [at, end, w](int i) { return Keys{end(at(i) + 1 - w), end(at(i) + w)}; });
  add_keys(list,
           none ? "a causal mask that hides the diagonal, where none is wanted"
                : "a causal mask shifted by one key: it hides the diagonal (key < row)",
           [first, at, end](int i) { return Keys{std::min(first(i), end(at(i))), end(at(i))}; });
  add_keys(list,
           none ? "a causal mask shifted by one key, where none is wanted"
                : "a causal mask shifted by one key: it shows the next (key <= row + 1)",
           [first, at, end](int i) { return Keys{std::min(first(i), end(at(i) + 2)), end(at(i) + 2)}; });
  add_keys(list, "a causal mask upside down (key >= row)", [at, end, n_k](int i) { return Keys{end(at(i)), n_k}; });
}

void add_hidden_score(SuspectList& list, std::string text, double value, bool adds) {
  SoftmaxVariant v = list.right();
  v.hidden_score = value;
  v.adds_hidden = adds;
  list.add(Kind::mask, std::move(text), v);
}

/// Adds hidden keys with a finite score, which counts if a row sees no key, or none with a score far above it.
void add_finite_scores(SuspectList& list) {
  if (list.problem().mask.kind == M::none) return;
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

}  // namespace

void add_mask_suspects(SuspectList& list) {
  add_kinds(list);
  add_alignment(list);
  add_shifted(list);
  add_finite_scores(list);
}

}  // namespace attoscope
