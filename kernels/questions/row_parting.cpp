#include "kernels/questions/row_parting.h"

#include <map>
#include <utility>

namespace attoscope {
namespace {

/// The first quantity that differs between the states after two tiles; "" if none. `same_tile`: both tiles have the same keys,
/// so S and P are compared, too.
template <class T>
std::string_view differing(const RowTile<T>& a, const RowTile<T>& b, bool same_tile) {
  if (same_tile && !same_numbers(a.S, b.S)) return "S";
  if (!same_bits_of(a.m, b.m)) return "m";
  if (same_tile && !same_numbers(a.P, b.P)) return "P";
  if (!same_bits_of(a.l, b.l)) return "l";
  return same_numbers(a.O, b.O) ? "" : "O";
}

template <class T>
bool same_keys(const RowTile<T>& a, const RowTile<T>& b) {
  return a.tile == b.tile && a.first_key == b.first_key && a.S.size() == b.S.size() && a.restarts == b.restarts;
}

/// Keys of each state, in the problem's order.
template <class T>
std::vector<Keys> keys_of_states(const RowRun<T>& row) {
  std::vector<Keys> seen;
  int first = 0;
  for (const RowTile<T>& tile : row.tiles) {
    if (tile.restarts) first = tile.first_key;
    const int end = tile.first_key + static_cast<int>(tile.S.size());
    seen.push_back(row.reversed ? Keys{row.keys - end, row.keys - first} : Keys{first, end});
  }
  return seen;
}

}  // namespace

template <class T>
bool same_tiles(const RowRun<T>& x, const RowRun<T>& y) {
  return x.reversed == y.reversed && std::ranges::equal(x.tiles, y.tiles, same_keys<T>);
}

template <class T>
RowParting row_parting(const RowRun<T>& row, const RowRun<T>& other) {
  const std::vector<Keys> seen = keys_of_states(row), others = keys_of_states(other);
  std::map<std::pair<int, int>, const RowTile<T>*> states;
  for (std::size_t i = 0; i < seen.size(); ++i) states[{seen[i].first, seen[i].end}] = &row.tiles[i];
  RowParting found;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const auto state = states.find({others[i].first, others[i].end});
    if (state == states.end()) continue;
    ++found.common;
    const RowTile<T>&a = *state->second, &b = other.tiles[i];
    const std::string_view quantity = differing(a, b, row.reversed == other.reversed && same_keys(a, b));
    if (quantity.empty()) continue;
    found.parting = {.tile = b.tile,
                     .tiles = static_cast<int>(others.size()),
                     .first_key = b.first_key,
                     .keys = static_cast<int>(b.S.size()),
                     .quantity = quantity};
    found.seen = others[i];
    return found;
  }
  return found;
}

template bool same_tiles(const RowRun<float>&, const RowRun<float>&);
template bool same_tiles(const RowRun<double>&, const RowRun<double>&);
template RowParting row_parting(const RowRun<float>&, const RowRun<float>&);
template RowParting row_parting(const RowRun<double>&, const RowRun<double>&);

}  // namespace attoscope
