// Mistakes in keys: pages, padding, tiles, splits, masks.
#include <algorithm>
#include <cmath>

#include "tests/questions/planted_loop.h"

namespace attoscope::planted {
namespace {

/// Copies rows of other's K, V or both, from row `from` on, to rows [first, end).
void copy_keys(Tensors& t, int first, int end, const Tensors& other, int from, bool k, bool v) {
  for (int j = first; j < end; ++j) {
    for (int c = 0; k && c < t.d; ++c) t.k[at(j * t.d + c)] = other.k[at((from + j - first) * t.d + c)];
    for (int c = 0; v && c < t.d_v; ++c) t.v[at(j * t.d_v + c)] = other.v[at((from + j - first) * t.d_v + c)];
  }
}
/// Appends rows first .. first + count - 1 of other's K and V.
void append_keys(Tensors& t, const Tensors& other, int first, int count) {
  t.k.insert(t.k.end(), other.k.begin() + first * t.d, other.k.begin() + (first + count) * t.d);
  t.v.insert(t.v.end(), other.v.begin() + first * t.d_v, other.v.begin() + (first + count) * t.d_v);
  t.n_k += count;
}

}  // namespace

std::vector<PlantedFault> faults_of_keys() {
  const auto counted = [](const std::function<double(int j)>& count) {
    return loop([count](Loop& x, const Call&) { x.in_O = x.in_l = [count](int, int j, double e) { return count(j) * e; }; });
  };
  const auto run = [](int first, int end, double count) { return [=](int j) { return j >= first && j < end ? count : 1.0; }; };
  const auto replaced = [](int first, int end, int from, bool k, bool v) {
    return loop([=](Loop& x, const Call& call) { copy_keys(x.t, first, end, call.own(), from, k, v); });
  };
  const auto foreign = [](int first, int end) {
    return loop(
        [=](Loop& x, const Call& call) { copy_keys(x.t, first, end, drawn(call.p.n, call.own().d, 77), 0, true, true); });
  };
  const auto sees = [](const std::function<bool(const Loop&, int, int)>& f) {
    return loop([f](Loop& x, const Call&) { x.sees = [&x, f](int i, int j) { return f(x, i, j); }; });
  };
  const auto by_one_warp = [](const std::function<Values(const Call&)>& wrong) {  // rows 16 to 31 of each tile of rows
    return written([wrong](Values& o, const Call& call) {
      const Values y = wrong(call);
      for (int i = 0; i < call.p.n; ++i)
        if (i % 64 / 16 == 1) std::copy_n(y.begin() + i * 64, 64, o.begin() + i * 64);
    });
  };
  const auto foreign_behind = [](const std::function<Tensors(const Call&)>& of, int first, int count) {
    return loop([=](Loop& x, const Call& call) {
      append_keys(x.t, of(call), first, count);
      x.sees = [](int, int) { return true; };
    });
  };
  return {
      {"zero keys behind the last", "behind the last one counted in l|too large by 16", "", call_of(one_head),
       loop([](Loop& x, const Call&) { x.sum = [](int, double l, double m) { return l + 16 * std::exp(-m); }; })},
      {"padding keys of 56 zeros", "too large by 56|56", "", call_of({.n = 200}),
       loop([](Loop& x, const Call&) { x.sum = [](int, double l, double m) { return l + 56 * std::exp(-m); }; })},
      {"zero padding attended", "padding", "", call_of(masked_by({Mask::Kind::padding, 40})),
       sees([](const Loop& x, int i, int j) { return j <= x.stands_at(i); })},
      {"loop to seq_len_q", "head 2|behind the last", "", call_of({.n_k = 200, .heads = 4}),
       foreign_behind([](const Call& call) { return call.heads[2]; }, 0, 40)},
      {"stale page past the end", "not the call's", "", call_of(one_head),
       foreign_behind([](const Call&) { return drawn(240, 64, 78); }, 0, 16)},
      {"page of another sequence, causal", "keys 160 to 175", "160", call_of(masked_by(causal)), foreign(160, 176)},
      {"page of another sequence", "keys 80 to 95", "80 to 95", call_of(one_head), foreign(80, 96)},
      {"16-bit block ids", "keys 128 to 239 .*0 to 111|keys 0 to 111 .*128 to 239", "128 to 239", call_of(one_head),
       replaced(128, 240, 0, true, true)},
      {"neighbouring page", "keys 96 to 111.*112 to 127", "96 to 111", call_of(one_head), replaced(96, 112, 112, true, true)},
      {"neighbouring page, causal", "keys 96 to 111.*112 to 127", "", call_of(masked_by(causal)),
       replaced(96, 112, 112, true, true)},
      {"garbage key", "not the call's", "", call_of(one_head),
       foreign_behind([](const Call&) { return drawn(240, 64, 79); }, 5, 1)},
      {"documents mixed", "head 0|not the call's", "", call_of({.n = 120, .heads = 2}),
       foreign_behind([](const Call& call) { return call.heads[0]; }, 112, 8)},
      {"tile lost", "keys 128 to 191 count 0", "128 to 191", call_of(one_head), counted(run(128, 192, 0))},
      {"tile twice", "keys 128 to 191 count 2 times", "128 to 191", call_of(one_head), counted(run(128, 192, 2))},
      {"tile twice in O", "keys 128 to 191 count 2 times in O", "128 to 191", call_of(one_head),
       loop([](Loop& x, const Call&) { x.in_O = [](int, int j, double e) { return j >= 128 && j < 192 ? 2 * e : e; }; })},
      {"every 8th key dropped", "every 8th key", "", call_of(one_head), counted([](int j) { return j % 8 == 7 ? 0.0 : 1.0; })},
      {"first key dropped", "key 0 counts 0", "key 0", call_of(masked_by(causal)),
       counted([](int j) { return j == 0 ? 0.0 : 1.0; })},
      {"split dropped", "keys 180 to 239 count 0", "180 to 239", call_of(one_head), counted(run(180, 240, 0))},
      {"splits overlap by 18 keys", "keys 111 to 128 count 2", "111 to 128", call_of(one_head), counted(run(111, 129, 2))},
      {"local causal masks of splits", "(local|split).*(mask|split)", "", call_of(masked_by(causal)),
       sees([](const Loop&, int i, int j) { return j % 120 <= i; })},
      {"window cut at tiles", "window .*tiles? of 32", "", call_of(masked_by(window(48))),
       sees([](const Loop&, int i, int j) { return j <= i && j >= std::max(0, i - 47) / 32 * 32; })},
      {"window of 2 w", "window .*(80|twice)", "", call_of(masked_by(window(40))),
       sees([](const Loop&, int i, int j) { return j <= i && j > i - 80; })},
      {"missing window in decode", "without its window|missing mask", "", call_of({.n = 1, .mask = window(64), .n_k = 240}),
       sees([](const Loop&, int, int) { return true; })},
      {"offset rounded to pages", "mask .*12|12 keys", "", call_of({.n = 100, .mask = causal, .n_k = 240}),
       sees([](const Loop&, int i, int j) { return j <= i + 128; })},
      {"mask off by one in one tile of rows", "shows the next.*rows 64 to 127", "64 to 127", call_of(masked_by(causal)),
       sees([](const Loop&, int i, int j) { return j <= i + (i / 64 == 1 ? 1 : 0); })},
      {"diagonal hidden in the last tile of rows", "(hides the diagonal|one key less).*rows (192|255)", "",
       call_of({.n = 300, .mask = causal}), sees([](const Loop&, int i, int j) { return j < i + (i >= 192 ? 0 : 1); })},
      {"causal mask missing in the last tile of rows", "missing causal mask.*rows 192 to 2", "192 to 2",
       call_of(masked_by(causal)), sees([](const Loop&, int i, int j) { return j <= i || i >= 192; })},
      {"race of K by one warp", "K of keys 128 to 191 .*64 to 127", "row", call_of(one_head),
       by_one_warp(replaced(128, 192, 64, true, false))},
      {"race of V by one warp", "V of keys 128 to 191 .*64 to 127", "row", call_of(one_head),
       by_one_warp(replaced(128, 192, 64, false, true))},
      {"race of P by one warp", "P of .*(64 to 127|tile before)", "row", call_of(one_head),
       by_one_warp(loop([](Loop& x, const Call&) {
         x.in_O = [&x](int i, int j, double e) {
           return j < 128 || j >= 192 ? e : e * std::exp(x.right_S(i, j - 64) - x.right_S(i, j));
         };
       }))},
      {"scale missing in the last loop", "(scale|scores) .*keys 192 to 239|keys 192 to 239.* (scale|scores)", "192 to 239",
       call_of(one_head),
       loop([](Loop& x, const Call&) { x.S = [&x](int i, int j) { return x.right_S(i, j) * (j >= 192 ? 8 : 1); }; })},
      {"tail of V from the tile before", "rows of V taken from the tile before|V of keys 192 to 239", "", call_of(one_head),
       replaced(192, 240, 128, false, true)},
      {"rows that see no key got the mean of V", "no key .*mean|mean .*no key", "0 to 39",
       call_of({.mask = causal, .n_k = 200}), written([](Values& o, const Call& call) {
         const Tensors& t = call.own();
         for (int i = 0; i < 40; ++i)
           for (int c = 0; c < t.d_v; ++c) {
             double mean = 0;
             for (int j = 0; j < t.n_k; ++j) mean += t.v[at(j * t.d_v + c)] / t.n_k;
             o[at(i * t.d_v + c)] = mean;
           }
       })},
  };
}

}  // namespace attoscope::planted
