// Slips of loops over tiles of keys, and of merged runs of keys.
#include <algorithm>
#include <numbers>

#include "kernels/experiment/text.h"
#include "kernels/slips/slip_suspects.h"

namespace attoscope {
namespace {

using Kind = Slip::Kind;

/// Mistakes of a loop over tiles of keys, for one tile size at a time.
class TileSuspects {
 public:
  explicit TileSuspects(SuspectList& list) : list_(list), n_k_(list.shape().n_k) {}

  void add(int tile) {
    tile_ = tile;
    of_ = " (tiles of " + std::to_string(tile) + " keys)";
    add_stale("O never rescaled by alpha", true, false);
    add_stale("l never rescaled by alpha", false, true);
    add_stale("neither O nor l rescaled by alpha", true, true);
    add_stale_max();
    add_mask();
    if (n_k_ % tile == 0) return;
    add_tail();
    add_tail_values();
  }

 private:
  void add_stale(const char* text, bool o, bool l) {
    list_.add_with(Kind::rescale, text + of_, [&](auto& v) { v.stale_tile = tile_, v.stale_O = o, v.stale_l = l; });
  }

  void add_stale_max(const char* text, StaleMax kind) {
    list_.add_with(Kind::rescale, text + of_, [&](auto& v) { v.stale_tile = tile_, v.stale_max = kind; });
  }
  void add_stale_max() {
    if (list_.problem().sink) return;
    add_stale_max("a stale max: P is exp(S - m) with the m before its tile", StaleMax::old);
    add_stale_max("a stale max: alpha is always taken from the m of the first tile", StaleMax::first);
    add_stale_max("a stale max: alpha is that of the tile before", StaleMax::late);
    add_stale_max("a max that is never stored: alpha is 0, so that only the last tile counts", StaleMax::lost);
  }

  void add_end(const char* text, std::function<int(int)> end) {
    list_.add_with(Kind::mask, text + of_, [&](SoftmaxVariant& v) {
      v.keys = [right = v.keys, end](int i) { return Keys{std::min(right(i).first, end(i)), end(i)}; };
    });
  }
  /// Adds mistakes in the tile of the last visible key.
  void add_mask() {
    if (list_.problem().mask.kind == Mask::Kind::none) return;
    const auto keys = [offset = diagonal(list_.problem()), n_k = n_k_](int i) { return std::clamp(i + offset, -1, n_k - 1); };
    add_end("the diagonal tile left unmasked",
            [keys, tile = tile_, n_k = n_k_](int i) { return keys(i) < 0 ? 0 : std::min(n_k, (keys(i) / tile + 1) * tile); });
    add_end("the diagonal tile skipped", [keys, tile = tile_](int i) { return std::max(0, keys(i)) / tile * tile; });
  }

  /// Adds mistakes in the last, partial tile of keys.
  void add_tail() {
    const int rest = n_k_ % tile_, last = n_k_ - rest;
    list_.add_with(Kind::tail, "the last, partial tile of keys left out" + of_, [&](SoftmaxVariant& v) {
      v.keys = [right = v.keys, last](int i) { return Keys{right(i).first, std::min(right(i).end, last)}; };
    });
    if (rest > 1)  // for one key: see the last row of K and V
      list_.add_with(Kind::tail, "the keys of the last, partial tile counted twice" + of_,
                     [&](auto& v) { v.repeated_from = last; });
    if (list_.problem().mask.kind != Mask::Kind::none) return;
    const int more = tile_ - rest;
    list_.add_with(Kind::tail, "the " + counted(more, "key") + " behind the last one counted in l" + of_,
                   [&](auto& v) { v.extra_keys = more; });
  }

  void add_in_tail(const std::string& text, std::function<int(int)> from) {
    list_.add_values(Kind::tail, text + " in the last, partial tile of keys" + of_,
                     [last = n_k_ - n_k_ % tile_, from](int j) { return j < last ? j : from(j); });
  }
  /// Adds wrong rows of V in the last, partial tile of keys.
  void add_tail_values() {
    const int n = n_k_, tile = tile_, rest = n % tile, last = n - rest;
    add_in_tail("rows of V taken from the tile before", [tile](int j) { return j - tile; });
    add_in_tail("rows of V shifted, since the tile was read up to the last row,",
                [tile, rest](int j) { return j - (tile - rest); });
    if (last == tail_of_values_) return;  // a smaller tile size added the same rows
    tail_of_values_ = last;
    add_in_tail("rows of V zeroed", [](int) { return -1; });
    if (rest < 2) return;
    add_in_tail("the first row of V repeated", [last](int) { return last; });
    add_in_tail("the last row of V repeated", [n](int) { return n - 1; });
    add_in_tail("rows of V shifted by one (P[j] V[j + 1])", [n](int j) { return j + 1 < n ? j + 1 : -1; });
    add_in_tail("rows of V shifted by one (P[j] V[j - 1])", [](int j) { return j - 1; });
    add_in_tail("rows of V rotated by one (P[j] V[j + 1])", [n, last](int j) { return j + 1 < n ? j + 1 : last; });
    add_in_tail("rows of V rotated by one (P[j] V[j - 1])", [n, last](int j) { return j > last ? j - 1 : n - 1; });
    add_in_tail("the row of V before the tile repeated", [last](int) { return last - 1; });
  }

  SuspectList& list_;
  int n_k_ = 0, tile_ = 0;
  std::string of_;           ///< " (tiles of 64 keys)"
  int tail_of_values_ = -1;  ///< first key of the last tile for which wrong rows of V were added
};

/// Adds runs of keys whose outputs are merged with wrong weights.
void add_runs(SuspectList& list) {
  for (int runs = 2; runs <= 64 && runs < list.shape().n_k; runs *= 2) {
    const auto add = [&](const char* text, double power) {
      list.add_with(Kind::rescale, std::to_string(runs) + text, [&](auto& v) { v.runs = {runs, power}; });
    };
    add(" splits averaged instead of merged by their log-sum-exp", 0);
    if (list.problem().sink) continue;
    add(" splits merged with a base-2 log-sum-exp taken for one of base e", std::numbers::log2e);
    add(" splits merged with a base-e log-sum-exp taken for one of base 2", std::numbers::ln2);
  }
}

}  // namespace

void add_tile_suspects(SuspectList& list) {
  TileSuspects tiles(list);
  for (const int tile : likely_tiles(list.experiment(), list.shape().n_k)) tiles.add(tile);
  add_runs(list);
}

}  // namespace attoscope
