#include "kernels/questions/schedules.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "kernels/experiment/accumulators.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/rules.h"

namespace attoscope {
namespace {

constexpr std::array usual_splits{1, 2, 4, 8, 16, 32, 64};
constexpr std::array usual_tiles{32, 64, 128};
/// CUDA cores, used by engines for heads with few queries, and three generations of tensor cores.
constexpr std::array usual_sums{Accumulator::fma, Accumulator::a100, Accumulator::h100, Accumulator::b200};

/// `first` and `others`, each value once and only if accepted.
template <class T, class Others, class Accepts>
std::vector<T> accepted(T first, const Others& others, Accepts accepts) {
  std::vector<T> values;
  if (accepts(first)) values.push_back(first);
  for (const T& x : others)
    if (x != first && accepts(x)) values.push_back(x);
  return values;
}

std::vector<int> tiles_of(const Method& m, int keys, const ScheduleLists& lists) {
  if (!lists.block_k.empty()) return lists.block_k;
  return accepted(m.block_k, usual_tiles, [&](int x) { return x == m.block_k || (has_tiles(m.algorithm) && x <= keys); });
}

/// Splits for a tile size; a given list is used unchanged.
std::vector<int> splits_of(const Method& m, int keys, int block_k, const ScheduleLists& lists) {
  if (!lists.splits.empty()) return lists.splits;
  const int own = m.algorithm == Algorithm::split_kv ? m.splits : 1;
  return accepted(own, usual_splits, [&](int x) {
    const bool is_own = x == own && block_k == m.block_k, fits = x <= tile_count(keys, block_k);
    return is_own || (fits && (x == 1 || has<&AlgorithmInfo::may_split>(m.algorithm)));
  });
}

std::vector<Accumulators> sums_of(const Method& m, const ScheduleLists& lists) {
  if (lists.sums.empty()) return {m.accumulator};
  std::vector<Accumulators> sums;
  for (const Accumulator x : lists.sums) sums.push_back({x, x});
  return sums;
}

/// The usual sums that method a can have.
std::vector<Accumulators> other_sums(const Experiment& e) {
  std::vector<Accumulators> sums;
  for (const Accumulator x : usual_sums)
    if (why_no_accumulator(e, e.a, AttentionProduct::qk, x).empty() &&
        why_no_accumulator(e, e.a, AttentionProduct::pv, x).empty())
      sums.push_back({x, x});
  return sums;
}

void add(std::vector<Schedule>& all, const Schedule& s) {
  if (std::ranges::find(all, s) == all.end()) all.push_back(s);
}

}  // namespace

std::string sums_name(const Schedule& s) {
  const Accumulators& x = s.accumulator;
  return std::string(name(x.qk)) + (x.qk == x.pv ? "" : "/" + std::string(name(x.pv)));
}

Method with_schedule(Method m, const Schedule& s) {
  if (has<&AlgorithmInfo::may_split>(m.algorithm)) m.algorithm = s.splits > 1 ? Algorithm::split_kv : Algorithm::flash2;
  if (s.splits > 1) m.splits = s.splits;
  m.block_k = s.block_k;
  m.reverse_keys = s.reverse_keys;
  m.accumulator = s.accumulator;
  return m;
}

std::string why_no_schedules(const Method& m, const ScheduleLists& lists) {
  const std::string now = "method a is " + std::string(name(m.algorithm));
  if (!is_emulated(m.algorithm)) return now + ", expected an algorithm that is emulated";
  if (!lists.block_k.empty() && !has_tiles(m.algorithm))
    return now + ", which takes all keys at once, expected an algorithm with tiles";
  const bool splits = std::ranges::any_of(lists.splits, [](int x) { return x > 1; });
  return splits && !has<&AlgorithmInfo::may_split>(m.algorithm) ? now + ", which has no splits, expected flash2 or split_kv"
                                                                : "";
}

std::vector<Schedule> schedules(const Experiment& e, const ScheduleLists& lists) {
  const Method& m = e.a;
  if (const std::string why = why_no_schedules(m, lists); !why.empty()) throw std::invalid_argument(why);
  std::vector<bool> orders = lists.reverse_keys;
  if (orders.empty()) orders = {m.reverse_keys, !m.reverse_keys};
  std::vector<Schedule> all;
  for (const Accumulators& sums : sums_of(m, lists))
    for (const bool reverse : orders)
      for (const int block_k : tiles_of(m, key_count(e.problem), lists))
        for (const int splits : splits_of(m, key_count(e.problem), block_k, lists)) add(all, {splits, block_k, reverse, sums});
  if (lists != ScheduleLists{}) return all;
  const Schedule first = all[0];
  for (const Accumulators& sums : other_sums(e)) add(all, {first.splits, first.block_k, first.reverse_keys, sums});
  return all;
}

}  // namespace attoscope
