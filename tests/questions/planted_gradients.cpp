// Backward kernels with one mistake each, and its right names.
#include "tests/questions/planted_gradients.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

namespace attoscope::planted {
namespace {

using Needs = PlantedGradient::Needs;

std::function<GradientMistake(const GradientCall&)> always(GradientMistake m) {
  return [m = std::move(m)](const GradientCall&) { return m; };
}

GradientMistake of_delta(std::function<double(const PlantedRow&)> delta) {
  GradientMistake m;
  m.delta = std::move(delta);
  return m;
}
GradientMistake of_lse(std::function<double(const PlantedRow&)> lse) {
  GradientMistake m;
  m.lse = std::move(lse);
  return m;
}

double part_of_delta(const PlantedRow& r, int first, int end) {
  double sum = 0;
  for (int c = first; c < end; ++c) sum += r.o[c] * r.d_o[c];
  return sum - r.d_lse;
}

/// A run of keys or queries, `times` as often.
GradientMistake counted(std::function<bool(int, int)> chosen, double times, bool dq, bool dk, bool dv) {
  const auto count = [chosen = std::move(chosen), times](int i, int j) { return chosen(i, j) ? times : 1; };
  GradientMistake m;
  if (dq) m.in_dq = count;
  if (dk) m.in_dk = count;
  if (dv) m.in_dv = count;
  return m;
}
bool keys_64(int, int j) { return j >= 64 && j < 128; }
bool last_keys(int, int j) { return j >= 128; }
bool queries_32(int i, int) { return i >= 96 && i < 128; }
bool diagonal_tile(int i, int j) { return i / 32 == j / 32; }

GradientMistake scaled_by(double dq, double dk, double dv = 1) {
  GradientMistake m;
  m.dq_factor = dq, m.dk_factor = dk, m.dv_factor = dv;
  return m;
}

GradientMistake written(std::function<void(JudgedGradients&)> writes) {
  GradientMistake m;
  m.writes = std::move(writes);
  return m;
}
void overwrite(std::shared_ptr<const Values>& x, int first, int end, int columns, double value) {
  Values y = *x;
  std::fill(y.begin() + first * columns, y.begin() + end * columns, value);
  x = std::make_shared<const Values>(std::move(y));
}

std::function<bool(const GradientCall&, int, int)> sees_under(std::function<Mask(const Mask&)> other) {
  return [other = std::move(other)](const GradientCall& call, int i, int j) {
    Problem p = call.p;
    p.mask = other(p.mask);
    const Keys keys = visible_keys(p, i);
    return j >= keys.first && j < keys.end;
  };
}

void add_delta_slips(std::vector<PlantedGradient>& all) {
  const CallSizes with_dl{.of_dl = true};
  all.push_back({"no delta", "delta: .*(no delta|delta is missing)", "dq dk", {}, {}, always(of_delta([](const PlantedRow&) {
                   return 0;
                 }))});
  all.push_back({"delta of the first half",
                 "delta: .*first half|delta: .*16 columns",
                 "dq dk",
                 {},
                 {},
                 always(of_delta([](const PlantedRow& r) { return part_of_delta(r, 0, r.d_v / 2); }))});
  all.push_back({"delta of the second half",
                 "delta: .*(second|last) half|delta: .*16 columns",
                 "dq dk",
                 {},
                 {},
                 always(of_delta([](const PlantedRow& r) { return part_of_delta(r, r.d_v / 2, r.d_v); }))});
  all.push_back(
      {"delta of O before its division", "delta: .*before .*divi", "dq dk", {}, {}, always(of_delta([](const PlantedRow& r) {
         return r.delta * r.l;
       }))});
  all.push_back({"delta added", "delta: .*(sign|added)", "dq dk", {}, {}, always(of_delta([](const PlantedRow& r) {
                   return -r.delta;
                 }))});
  all.push_back(
      {"delta twice", "delta: .*twice", "dq dk", {}, {}, always(of_delta([](const PlantedRow& r) { return 2 * r.delta; }))});
  all.push_back({"delta of the query before", "delta: .*before", "dq dk", {}, {}, always(of_delta([](const PlantedRow& r) {
                   const int back = r.row > 0 ? r.d_v : 0;
                   double sum = 0;
                   for (int c = 0; c < r.d_v; ++c) sum += r.o[c - back] * r.d_o[c - back];
                   return sum;
                 }))});
  all.push_back(
      {"dL dropped", "(dlse|delta): .*(dL|log-sum-exp)", "dq dk", with_dl, {}, always(of_delta([](const PlantedRow& r) {
         return r.delta + r.d_lse;
       }))});
  all.push_back({"dL with the other sign",
                 "(dlse|delta): .*(dL|log-sum-exp).*sign|(dlse|delta): .*sign.*dL",
                 "dq dk",
                 with_dl,
                 {},
                 always(of_delta([](const PlantedRow& r) { return r.delta + 2 * r.d_lse; }))});
}

void add_lse_slips(std::vector<PlantedGradient>& all) {
  all.push_back(
      {"L in base 2 read as natural", "lse: .*(base 2|log2)", "dq dk dv", {}, {}, always(of_lse([](const PlantedRow& r) {
         return r.lse * std::numbers::log2e;
       }))});
  all.push_back({"natural L read as base 2", "lse: .*(base 2|log2)", "dq dk dv", {}, {}, always(of_lse([](const PlantedRow& r) {
                   return r.lse * std::numbers::ln2;
                 }))});
  all.push_back({"L without the max", "lse: .*max", "dq dk dv", {}, {}, always(of_lse([](const PlantedRow& r) {
                   return std::log(r.l);
                 }))});
  all.push_back(
      {"L is the max alone", "lse: .*max", "dq dk dv", {}, {}, always(of_lse([](const PlantedRow& r) { return r.m; }))});
  GradientMistake no_sink;
  no_sink.sinks = false;
  all.push_back(
      {"L without the sink", "(sink|lse): .*sink", "dq dk dv dsink", {}, [](Problem& p) { p.sink = 2; }, always(no_sink)});
}

void add_scale_slips(std::vector<PlantedGradient>& all) {
  const double scale = 1 / std::sqrt(32.0);
  all.push_back({"no scale in dQ", "scale: .*dQ.*", "dq", {}, {}, always(scaled_by(1 / scale, 1))});
  all.push_back({"no scale in dK", "scale: .*dK.*", "dk", {}, {}, always(scaled_by(1, 1 / scale))});
  all.push_back({"no scale in both", "scale: .*dQ and dK.*", "dq dk", {}, {}, always(scaled_by(1 / scale, 1 / scale))});
  all.push_back({"scale twice in dQ", "scale: .*twice.*dQ|scale: .*dQ.*twice", "dq", {}, {}, always(scaled_by(scale, 1))});
  all.push_back({"scale twice in dK", "scale: .*twice.*dK|scale: .*dK.*twice", "dk", {}, {}, always(scaled_by(1, scale))});
  all.push_back({"scale twice in both", "scale: .*twice", "dq dk", {}, {}, always(scaled_by(scale, scale))});
  all.push_back({"dQ with the other sign", "number: .*sign", "dq", {}, {}, always(scaled_by(-1, 1))});
  all.push_back({"dQ without ln 2", "scale: .*(ln 2|log2)", "dq", {}, {}, always(scaled_by(std::numbers::log2e, 1))});
  all.push_back({"dK times ln 2", "scale: .*(ln 2|log2)", "dk", {}, {}, always(scaled_by(1, std::numbers::ln2))});
}

void add_mask_slips(std::vector<PlantedGradient>& all) {
  GradientMistake none, more, fewer, other_side;
  none.sees = sees_under([](const Mask&) { return Mask{}; });
  const auto shifted = [](int by) {
    return [by](const GradientCall& call, int i, int j) {
      const Keys keys = visible_keys(call.p, i);
      return j >= keys.first && j < std::min(keys.end + by, call.heads[0].n_k);
    };
  };
  more.sees = shifted(1), fewer.sees = shifted(-1);
  other_side.sees = sees_under([](Mask m) {
    m.top_left = !m.top_left;
    return m;
  });
  all.push_back({"mask ignored", "mask: .*(ignored|missing|without|no )", "dq dk dv", {}, {}, always(none), Needs::a_mask});
  all.push_back({"one key more", "mask: .*one key more", "dq dk dv", {}, {}, always(more), Needs::a_mask});
  all.push_back({"one key fewer", "mask: .*one key (fewer|less)", "dq dk dv", {}, {}, always(fewer), Needs::a_mask});
  const CallSizes wide{.shape = {100, 150, 32, 32}};
  all.push_back({"aligned on the other side",
                 "mask: .*(top-left|first key|other side|aligned)",
                 "dq dk dv",
                 wide,
                 {},
                 always(other_side),
                 Needs::a_mask});
  GradientMistake too_causal, narrow;
  too_causal.sees = sees_under([](const Mask&) { return causal; });
  all.push_back({"a mask where none is wanted", "mask: .*causal", "dq dk dv", {}, {}, always(too_causal), Needs::no_mask});
  narrow.sees = sees_under([](const Mask& m) { return window(m.window - 1); });
  all.push_back(
      {"window of one key fewer", "mask: .*narrower", "dq dk dv", {}, [](Problem& p) { p.mask = window(40); }, always(narrow)});
  GradientMistake no_window;
  no_window.sees = sees_under([](const Mask&) { return causal; });
  all.push_back(
      {"window ignored", "mask: .*window", "dq dk dv", {}, [](Problem& p) { p.mask = window(40); }, always(no_window)});
}

void add_score_slips(std::vector<PlantedGradient>& all) {
  const auto capped = [](Problem& p) { p.softcap = 2; };
  const auto biased = [](Problem& p) { p.alibi = 0.05; };
  GradientMistake no_derivative, no_cap, no_bias;
  no_derivative.cap_derivative = no_cap.caps = no_bias.biases = false;
  all.push_back({"soft cap without its derivative", "softcap: .*derivative", "dq dk", {}, capped, always(no_derivative)});
  all.push_back({"soft cap ignored", "softcap: ", "dq dk dv", {}, capped, always(no_cap)});
  all.push_back({"bias ignored", "(bias|alibi): ", "dq dk dv", {}, biased, always(no_bias)});
  GradientMistake columns;
  columns.dp_columns = 32;
  all.push_back(
      {"dP of the first d columns", "columns: .*(d_v|columns)", "dq dk", {.shape = {150, 150, 32, 48}}, {}, always(columns)});
  GradientMistake short_products;
  short_products.tf32_products = true;
  all.push_back(
      {"TF32 products", "format: .*(TF32|tf32)", "dq dk dv", {.size = 1}, {}, always(short_products), Needs::fp32_numbers});
}

void add_tile_slips(std::vector<PlantedGradient>& all) {
  all.push_back({"keys lost in dQ",
                 "tile: .*keys 64 to 127.*(missing|lost|never).*dQ|tile: .*dQ.*keys 64 to 127",
                 "dq",
                 {},
                 {},
                 always(counted(keys_64, 0, true, false, false))});
  all.push_back(
      {"keys twice in dQ", "tile: .*keys 64 to 127.*twice", "dq", {}, {}, always(counted(keys_64, 2, true, false, false))});
  all.push_back(
      {"last keys lost in dQ", "tile: .*keys 128 to 149", "dq", {}, {}, always(counted(last_keys, 0, true, false, false))});
  all.push_back({"queries lost in dK and dV",
                 "tile: .*queries 96 to 127",
                 "dk dv",
                 {},
                 {},
                 always(counted(queries_32, 0, false, true, true))});
  all.push_back({"queries twice in dK and dV",
                 "tile: .*queries 96 to 127.*twice",
                 "dk dv",
                 {},
                 {},
                 always(counted(queries_32, 2, false, true, true))});
  all.push_back(
      {"queries lost in dK", "tile: .*queries 96 to 127.*", "dk", {}, {}, always(counted(queries_32, 0, false, true, false))});
  all.push_back(
      {"queries lost in dV", "tile: .*queries 96 to 127.*", "dv", {}, {}, always(counted(queries_32, 0, false, false, true))});
  all.push_back(
      {"diagonal tile lost in dQ", "tile: .*diagonal", "dq", {}, {}, always(counted(diagonal_tile, 0, true, false, false))});
  all.push_back({"diagonal tile twice in dK and dV",
                 "tile: .*diagonal.*twice|tile: .*twice.*diagonal",
                 "dk dv",
                 {},
                 {},
                 always(counted(diagonal_tile, 2, false, true, true))});
}

void add_group_slips(std::vector<PlantedGradient>& all) {
  const CallSizes four{.heads = 4}, three{.shape = AttentionShape::square(100, 32), .heads = 3};
  GradientMistake last, first, twice, averages;
  last.only_head = 3, first.only_head = 0, twice.sums_twice = averages.averages = true;
  all.push_back({"only the last head of a group", "group: .*head 3", "dk dv", four, {}, always(last)});
  all.push_back({"only the first head of a group", "group: .*head 0", "dk dv", four, {}, always(first)});
  all.push_back({"a group summed twice", "group: .*twice", "dk dv", three, {}, always(twice)});
  all.push_back({"a group averaged", "group: .*(average|mean)", "dk dv", four, {}, always(averages)});
  all.push_back({"dQ of heads exchanged", "group: .*head", "dq", four, {}, always(written([](JudgedGradients& g) {
                   std::swap(g.dq.values[0], g.dq.values[1]);
                 }))});
}

void add_written_slips(std::vector<PlantedGradient>& all) {
  all.push_back({"dK and dV exchanged", "exchange: .*dK and dV", "dk dv", {}, {}, always(written([](JudgedGradients& g) {
                   std::swap(g.dk.values, g.dv.values);
                 }))});
  all.push_back({"rows of dQ unwritten",
                 "place: .*128 to 149.*dQ|place: .*dQ.*128 to 149",
                 "dq",
                 {},
                 {},
                 always(written([](JudgedGradients& g) { overwrite(g.dq.values[0], 128, 150, 32, 0); }))});
  all.push_back({"rows of dK unwritten",
                 "place: .*64 to 79.*dK|place: .*dK.*64 to 79",
                 "dk",
                 {},
                 {},
                 always(written([](JudgedGradients& g) { overwrite(g.dk.values[0], 64, 80, 32, 0); }))});
  all.push_back({"rows of dV NaN", "place: .*dV", "dv", {}, {}, always(written([](JudgedGradients& g) {
                   overwrite(g.dv.values[0], 32, 64, 32, std::nan(""));
                 }))});
  all.push_back({"dSink dropped",
                 "sink: .*(dSink|sink)",
                 "dsink",
                 {},
                 [](Problem& p) { p.sink = 1; },
                 always(written([](JudgedGradients& g) { std::fill(g.dsink->begin(), g.dsink->end(), 0.0); }))});
  all.push_back({"dSink with the other sign",
                 "sink: .*sign",
                 "dsink",
                 {},
                 [](Problem& p) { p.sink = 1; },
                 always(written([](JudgedGradients& g) {
                   for (double& x : *g.dsink) x = -x;
                 }))});
}

/// Kernels that take one head's number in all heads of a group, whose numbers differ.
void add_number_slips(std::vector<PlantedGradient>& all) {
  const CallSizes three{.heads = 3};
  const auto add = [&](const char* kind, const char* name, const char* wrong,
                       std::function<GradientMistake(const GradientCall&)> mistake) {
    all.push_back({kind, name, wrong, three, {}, std::move(mistake), Needs::nothing, true});
  };
  GradientMistake scale, softcap, alibi;
  scale.of_head_0 = &Problem::scale, softcap.of_head_0 = &Problem::softcap, alibi.of_head_0 = &Problem::alibi;
  add("scale of head 0", "scale: .*scale of head 0 of the group", "dq dk dv dsink", always(scale));
  add("soft cap of head 0", "softcap: .*soft cap of head 0 of the group", "dq dk dv dsink", always(softcap));
  add("slope of head 0", "bias: .*slope of head 0 of the group", "dq dk dv dsink", always(alibi));
  add("sink of head 0 in L", "sink: .*sink of its head 0", "dq dk dv dsink", [](const GradientCall& call) {
    return of_lse([sink = *call.own[0].sink, own = call.own](const PlantedRow& r) {
      return std::log(std::exp(r.lse) + std::exp(sink) - std::exp(*own[at(r.head)].sink));
    });
  });
  add("dSink of head 0", "group: .*dSink of all heads", "dsink",
      always(written([](JudgedGradients& g) { std::fill(g.dsink->begin(), g.dsink->end(), g.dsink->front()); })));
  add("dSink in the other order", "group: .*dSink.*reverse", "dsink",
      always(written([](JudgedGradients& g) { std::reverse(g.dsink->begin(), g.dsink->end()); })));
  add("dSink summed", "group: .*dSink.*sum over the heads", "dsink", always(written([](JudgedGradients& g) {
        std::fill(g.dsink->begin(), g.dsink->end(), std::accumulate(g.dsink->begin(), g.dsink->end(), 0.0));
      })));
}

/// Padded keys, which K = 0 stands for: P = exp(0 - L), dS = -P*delta. `is_over` tells whose product with 0 is NaN.
std::function<GradientMistake(const GradientCall&)> padded_keys(std::function<bool(double p, double ds)> is_over,
                                                                double written_as) {
  return [=](const GradientCall& call) {
    return written([=](JudgedGradients& g) {
      const Tensors& t = call.heads[0];
      const Seen x{t, call.p};
      for (int i = 0; i < t.n; ++i) {
        double m = -infinity, l = 0, delta = 0;
        for (int j = 0; j < t.n_k; ++j) m = std::max(m, x.score(i, j));
        for (int j = 0; j < t.n_k; ++j) l += std::exp(x.score(i, j) - m);
        for (int c = 0; c < t.d_v; ++c) delta += (*g.o[0])[at(i * t.d_v + c)] * call.d_o[0][at(i * t.d_v + c)];
        const double p = std::exp(-m) / l;
        if (is_over(p, std::abs(p * delta))) overwrite(g.dq.values[0], i, i + 1, t.d, written_as);
      }
    });
  };
}

void add_padding_slips(std::vector<PlantedGradient>& all) {
  const CallSizes low{.shape = {120, 150, 32, 32}, .low = 57}, lower{.shape = {120, 150, 32, 32}, .low = 8};
  const auto over_fp32 = [](double p, double) { return p > std::numeric_limits<float>::max(); };
  const char *const pattern = "overflow: .*-88.*16 to 31 of every 32.*padded key", *const in_fp16 =
                                                                                       "overflow: .*fp16.*padded key";
  all.push_back({"padded keys", pattern, "dq", low, {}, padded_keys(over_fp32, std::nan("")), Needs::no_mask});
  all.push_back({"padded keys, NaN written as 0", pattern, "dq", low, {}, padded_keys(over_fp32, 0), Needs::no_mask});
  const auto ds_over_fp16 = [](double, double ds) { return ds > 65504; };
  const auto p_over_fp16 = [](double p, double) { return p > 65504; };
  all.push_back(
      {"padded keys, dS over fp16", in_fp16, "dq", lower, {}, padded_keys(ds_over_fp16, std::nan("")), Needs::fp16_numbers});
  all.push_back(
      {"padded keys, P over fp16", in_fp16, "dq", lower, {}, padded_keys(p_over_fp16, std::nan("")), Needs::fp16_numbers});
  const CallSizes pytorch_196678{.shape = {32, 704, 64, 64}, .low = 120};  // its scores, of fewer queries
  all.push_back({"padded keys of pytorch#196678",
                 "overflow: .*-88.*padded key",
                 "dq",
                 pytorch_196678,
                 {},
                 padded_keys(over_fp32, std::nan("")),
                 Needs::no_mask});
  const CallSizes one_query{.shape = {1, 128, 64, 64}, .low = 120};
  all.push_back({"padded queries of cudnn-frontend#1072",
                 "overflow: .*-88.*padded query",
                 "dk dv",
                 one_query,
                 {},
                 always(written([](JudgedGradients& g) {
                   overwrite(g.dk.values[0], 0, 128, 64, std::nan("")), overwrite(g.dv.values[0], 0, 128, 64, std::nan(""));
                 })),
                 Needs::no_mask});
  for (const int padded : {10, 42, 106})
    all.push_back({"padded keys in L",
                   padded == 10   ? "padding: .*keys 150 to 159"
                   : padded == 42 ? "padding: .*keys 150 to 191"
                                  : "padding: .*keys 150 to 255",
                   "dq dk dv",
                   {},
                   {},
                   always(of_lse([padded](const PlantedRow& r) { return std::log(std::exp(r.lse) + padded); })),
                   Needs::no_mask});
}

}  // namespace

std::vector<PlantedGradient> planted_gradients() {
  std::vector<PlantedGradient> all;
  for (const auto add : {add_delta_slips, add_lse_slips, add_scale_slips, add_mask_slips, add_score_slips, add_tile_slips,
                         add_group_slips, add_number_slips, add_written_slips, add_padding_slips})
    add(all);
  return all;
}

}  // namespace attoscope::planted
