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

double part_of_delta(const PlantedRow& r, int first, int end) {
  double sum = 0;
  for (int c = first; c < end; ++c) sum += r.o[c] * r.d_o[c];
  return sum - r.d_lse;
}

/// Counts the chosen pairs of a query and a key `count` times, all others once.
std::function<double(int, int)> times(double count, bool (*is_chosen)(int, int)) {
  return [=](int i, int j) { return is_chosen(i, j) ? count : 1; };
}
bool keys_64(int, int j) { return j >= 64 && j < 128; }
bool last_keys(int, int j) { return j >= 128; }
bool queries_32(int i, int) { return i >= 96 && i < 128; }
bool diagonal_tile(int i, int j) { return i / 32 == j / 32; }

void overwrite(std::shared_ptr<const Values>& x, int first, int end, int columns, double value) {
  Values y = *x;
  std::fill(y.begin() + first * columns, y.begin() + end * columns, value);
  x = std::make_shared<const Values>(std::move(y));
}

GradientMistake sees_under(std::function<Mask(const Mask&)> other) {
  return {.sees = [other = std::move(other)](const GradientCall& call, int i, int j) {
    Problem p = call.p;
    p.mask = other(p.mask);
    const Keys keys = visible_keys(p, i);
    return j >= keys.first && j < keys.end;
  }};
}

std::vector<PlantedGradient> delta_slips() {
  const auto slip = [](const char* kind, const char* name, std::function<double(const PlantedRow&)> delta,
                       const CallSizes& sizes = {}) -> PlantedGradient {
    return {kind, name, "dq dk", always({.delta = std::move(delta)}), sizes};
  };
  const auto before = [](const PlantedRow& r) {
    const int back = r.row > 0 ? r.d_v : 0;
    double sum = 0;
    for (int c = 0; c < r.d_v; ++c) sum += r.o[c - back] * r.d_o[c - back];
    return sum;
  };
  const CallSizes with_dl{.of_dl = true};
  return {slip("no delta", "delta: .*(no delta|delta is missing)", [](const PlantedRow&) { return 0; }),
          slip("delta of the first half", "delta: .*first half|delta: .*16 columns",
               [](const PlantedRow& r) { return part_of_delta(r, 0, r.d_v / 2); }),
          slip("delta of the second half", "delta: .*(second|last) half|delta: .*16 columns",
               [](const PlantedRow& r) { return part_of_delta(r, r.d_v / 2, r.d_v); }),
          slip("delta of O before its division", "delta: .*before .*divi", [](const PlantedRow& r) { return r.delta * r.l; }),
          slip("delta of O with itself", "delta: .*rowsum.O.O.",
               [](const PlantedRow& r) { return std::inner_product(r.o, r.o + r.d_v, r.o, -r.d_lse); }),
          slip("delta added", "delta: .*(sign|added)", [](const PlantedRow& r) { return -r.delta; }),
          slip("delta twice", "delta: .*twice", [](const PlantedRow& r) { return 2 * r.delta; }),
          slip("delta of the query before", "delta: .*before", before),
          slip(
              "dL dropped", "(dlse|delta): .*(dL|log-sum-exp)", [](const PlantedRow& r) { return r.delta + r.d_lse; }, with_dl),
          slip(
              "dL with the other sign", "(dlse|delta): .*(dL|log-sum-exp).*sign|(dlse|delta): .*sign.*dL",
              [](const PlantedRow& r) { return r.delta + 2 * r.d_lse; }, with_dl)};
}

std::vector<PlantedGradient> lse_slips() {
  const auto slip = [](const char* kind, const char* name, std::function<double(const PlantedRow&)> lse) -> PlantedGradient {
    return {kind, name, "dq dk dv", always({.lse = std::move(lse)})};
  };
  return {
      slip("L in base 2 read as natural", "lse: .*(base 2|log2)",
           [](const PlantedRow& r) { return r.lse * std::numbers::log2e; }),
      slip("natural L read as base 2", "lse: .*(base 2|log2)", [](const PlantedRow& r) { return r.lse * std::numbers::ln2; }),
      slip("L without the max", "lse: .*max", [](const PlantedRow& r) { return std::log(r.l); }),
      slip("L is the max alone", "lse: .*max", [](const PlantedRow& r) { return r.m; }),
      {"L without the sink", "(sink|lse): .*sink", "dq dk dv dsink", always({.sinks = false}), {}, [](Problem& p) {
         p.sink = 2;
       }}};
}

std::vector<PlantedGradient> scale_slips() {
  const double scale = 1 / std::sqrt(32.0);
  return {{"no scale in dQ", "scale: .*dQ.*", "dq", always({.dq_factor = 1 / scale})},
          {"no scale in dK", "scale: .*dK.*", "dk", always({.dk_factor = 1 / scale})},
          {"no scale in both", "scale: .*dQ and dK.*", "dq dk", always({.dq_factor = 1 / scale, .dk_factor = 1 / scale})},
          {"scale twice in dQ", "scale: .*twice.*dQ|scale: .*dQ.*twice", "dq", always({.dq_factor = scale})},
          {"scale twice in dK", "scale: .*twice.*dK|scale: .*dK.*twice", "dk", always({.dk_factor = scale})},
          {"scale twice in both", "scale: .*twice", "dq dk", always({.dq_factor = scale, .dk_factor = scale})},
          {"dQ with the other sign", "number: .*sign", "dq", always({.dq_factor = -1})},
          {"dQ without ln 2", "scale: .*(ln 2|log2)", "dq", always({.dq_factor = std::numbers::log2e})},
          {"dK times ln 2", "scale: .*(ln 2|log2)", "dk", always({.dk_factor = std::numbers::ln2})}};
}

std::vector<PlantedGradient> mask_slips() {
  const auto slip = [](const char* kind, const char* name, GradientMistake mistake, Needs needs = Needs::a_mask,
                       const CallSizes& sizes = {}) -> PlantedGradient {
    return {kind, name, "dq dk dv", always(std::move(mistake)), sizes, {}, needs};
  };
  const auto shifted = [](int by) -> GradientMistake {
    return {.sees = [by](const GradientCall& call, int i, int j) {
      const Keys keys = visible_keys(call.p, i);
      return j >= keys.first && j < std::min(keys.end + by, call.heads[0].n_k);
    }};
  };
  const auto other_side = [](Mask m) {
    m.top_left = !m.top_left;
    return m;
  };
  const GradientMistake too_causal = sees_under([](const Mask&) { return causal; });
  const auto windowed = [](Problem& p) { p.mask = window(40); };
  return {slip("mask ignored", "mask: .*(ignored|missing|without|no )", sees_under([](const Mask&) { return Mask{}; })),
          slip("one key more", "mask: .*one key more", shifted(1)),
          slip("one key fewer", "mask: .*one key (fewer|less)", shifted(-1)),
          slip("aligned on the other side", "mask: .*(top-left|first key|other side|aligned)", sees_under(other_side),
               Needs::a_mask, {.shape = {100, 150, 32, 32}}),
          slip("a mask where none is wanted", "mask: .*causal", too_causal, Needs::no_mask),
          {"window of one key fewer",
           "mask: .*narrower",
           "dq dk dv",
           always(sees_under([](const Mask& m) { return window(m.window - 1); })),
           {},
           windowed},
          {"window ignored", "mask: .*window", "dq dk dv", always(too_causal), {}, windowed}};
}

std::vector<PlantedGradient> score_slips() {
  const auto capped = [](Problem& p) { p.softcap = 2; };
  const auto biased = [](Problem& p) { p.alibi = 0.05; };
  return {{"soft cap without its derivative", "softcap: .*derivative", "dq dk", always({.cap_derivative = false}), {}, capped},
          {"soft cap ignored", "softcap: ", "dq dk dv", always({.caps = false}), {}, capped},
          {"bias ignored", "(bias|alibi): ", "dq dk dv", always({.biases = false}), {}, biased},
          {"dP of the first d columns",
           "columns: .*(d_v|columns)",
           "dq dk",
           always({.dp_columns = 32}),
           {.shape = {150, 150, 32, 48}}},
          {"TF32 products",
           "format: .*(TF32|tf32)",
           "dq dk dv",
           always({.tf32_products = true}),
           {.size = 1},
           {},
           Needs::fp32_numbers}};
}

std::vector<PlantedGradient> tile_slips() {
  return {{"keys lost in dQ", "tile: .*keys 64 to 127.*(missing|lost|never).*dQ|tile: .*dQ.*keys 64 to 127", "dq",
           always({.in_dq = times(0, keys_64)})},
          {"keys twice in dQ", "tile: .*keys 64 to 127.*twice", "dq", always({.in_dq = times(2, keys_64)})},
          {"last keys lost in dQ", "tile: .*keys 128 to 149", "dq", always({.in_dq = times(0, last_keys)})},
          {"queries lost in dK and dV", "tile: .*queries 96 to 127", "dk dv",
           always({.in_dk = times(0, queries_32), .in_dv = times(0, queries_32)})},
          {"queries twice in dK and dV", "tile: .*queries 96 to 127.*twice", "dk dv",
           always({.in_dk = times(2, queries_32), .in_dv = times(2, queries_32)})},
          {"queries lost in dK", "tile: .*queries 96 to 127.*", "dk", always({.in_dk = times(0, queries_32)})},
          {"queries lost in dV", "tile: .*queries 96 to 127.*", "dv", always({.in_dv = times(0, queries_32)})},
          {"diagonal tile lost in dQ", "tile: .*diagonal", "dq", always({.in_dq = times(0, diagonal_tile)})},
          {"diagonal tile twice in dK and dV", "tile: .*diagonal.*twice|tile: .*twice.*diagonal", "dk dv",
           always({.in_dk = times(2, diagonal_tile), .in_dv = times(2, diagonal_tile)})}};
}

std::vector<PlantedGradient> group_slips() {
  const CallSizes four{.heads = 4}, three{.shape = AttentionShape::square(100, 32), .heads = 3};
  const auto exchanged = [](JudgedGradients& g) { std::swap(g.dq.values[0], g.dq.values[1]); };
  const auto groups = [](bool dk, bool dv) {
    return [=](const GradientCall& call) {
      auto other = std::make_shared<GradientCall>(gradient_call({.heads = 4}, call.p.mask, call.f, 8));
      other->p = call.p;
      return GradientMistake{.beside = std::move(other), .exchanges_dk = dk, .exchanges_dv = dv};
    };
  };
  return {
      {"only the last head of a group", "group: .*head 3", "dk dv", always({.only_head = 3}), four},
      {"only the first head of a group", "group: .*head 0", "dk dv", always({.only_head = 0}), four},
      {"a group summed twice", "group: .*twice", "dk dv", always({.sums_twice = true}), three},
      {"a group averaged", "group: .*(average|mean)", "dk dv", always({.averages = true}), four},
      {"dK of the first head alone", "group: dK is that of head 0", "dk", always({.only_head = 0, .in_group_dv = false}), four},
      {"dK summed twice", "group: .*twice in dK$", "dk", always({.sums_twice = true, .in_group_dv = false}), three},
      {"dV averaged", "group: .*averaged, not summed, in dV$", "dv", always({.averages = true, .in_group_dk = false}), four},
      {"dQ of heads exchanged", "group: .*head", "dq", always({.writes = exchanged}), four},
      {"dK and dV of groups exchanged", "group: heads 0 and 1 of dK and dV are exchanged$", "dk dv", groups(true, true), four},
      {"dV of groups exchanged", "group: heads 0 and 1 of dV are exchanged$", "dv", groups(false, true), four}};
}

std::vector<PlantedGradient> written_slips() {
  const auto slip = [](const char* kind, const char* name, const char* wrong, std::function<void(JudgedGradients&)> writes,
                       std::function<void(Problem&)> problem = {}) -> PlantedGradient {
    return {kind, name, wrong, always({.writes = std::move(writes)}), {}, std::move(problem)};
  };
  const auto with_sink = [](Problem& p) { p.sink = 1; };
  const auto negative = [](JudgedGradients& g) {
    for (double& x : *g.dsink) x = -x;
  };
  return {slip("dK and dV exchanged", "exchange: .*dK and dV", "dk dv",
               [](JudgedGradients& g) { std::swap(g.dk.values, g.dv.values); }),
          slip("rows of dQ unwritten", "place: .*128 to 149.*dQ|place: .*dQ.*128 to 149", "dq",
               [](JudgedGradients& g) { overwrite(g.dq.values[0], 128, 150, 32, 0); }),
          slip("rows of dK unwritten", "place: .*64 to 79.*dK|place: .*dK.*64 to 79", "dk",
               [](JudgedGradients& g) { overwrite(g.dk.values[0], 64, 80, 32, 0); }),
          slip("rows of dV NaN", "place: .*dV", "dv",
               [](JudgedGradients& g) { overwrite(g.dv.values[0], 32, 64, 32, std::nan("")); }),
          slip(
              "dSink dropped", "sink: .*(dSink|sink)", "dsink", [](JudgedGradients& g) { std::ranges::fill(*g.dsink, 0.0); },
              with_sink),
          slip("dSink with the other sign", "sink: .*sign", "dsink", negative, with_sink)};
}

/// Kernels that use head 0's number in all heads of a group, although the heads' numbers differ.
std::vector<PlantedGradient> number_slips() {
  const auto slip = [](const char* kind, const char* name, const char* wrong,
                       std::function<GradientMistake(const GradientCall&)> mistake) -> PlantedGradient {
    return {kind, name, wrong, std::move(mistake), {.heads = 3}, {}, Needs::nothing, true};
  };
  const auto sink_in_L = [](const GradientCall& call) -> GradientMistake {
    return {.lse = [sink = *call.own[0].sink, own = call.own](const PlantedRow& r) {
      return std::log(std::exp(r.lse) + std::exp(sink) - std::exp(*own[at(r.head)].sink));
    }};
  };
  const auto front = [](JudgedGradients& g) { std::fill(g.dsink->begin(), g.dsink->end(), g.dsink->front()); };
  const auto reversed = [](JudgedGradients& g) { std::ranges::reverse(*g.dsink); };
  const auto summed = [](JudgedGradients& g) {
    std::fill(g.dsink->begin(), g.dsink->end(), std::accumulate(g.dsink->begin(), g.dsink->end(), 0.0));
  };
  const char* const all = "dq dk dv dsink";
  return {
      slip("scale of head 0", "scale: .*scale of head 0 of the group", all, always({.of_head_0 = &Problem::scale})),
      slip("soft cap of head 0", "softcap: .*soft cap of head 0 of the group", all, always({.of_head_0 = &Problem::softcap})),
      slip("slope of head 0", "bias: .*slope of head 0 of the group", all, always({.of_head_0 = &Problem::alibi})),
      slip("sink of head 0 in L", "sink: .*sink of its head 0", "dq dk dv dsink", sink_in_L),
      slip("dSink of head 0", "group: .*dSink of all heads", "dsink", always({.writes = front})),
      slip("dSink in the other order", "group: .*dSink.*reverse", "dsink", always({.writes = reversed})),
      slip("dSink summed", "group: .*dSink.*sum over the heads", "dsink", always({.writes = summed}))};
}

/// Padded keys, as K = 0: P = exp(0 - L), dS = -P*delta. Rows of dQ become `written_as` if is_over(P, |dS|).
std::function<GradientMistake(const GradientCall&)> padded_keys(std::function<bool(double p, double ds)> is_over,
                                                                double written_as) {
  return [=](const GradientCall& call) {
    return GradientMistake{.writes = [=](JudgedGradients& g) {
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
    }};
  };
}

std::vector<PlantedGradient> padding_slips() {
  const CallSizes low{.shape = {120, 150, 32, 32}, .low = 57}, lower{.shape = {120, 150, 32, 32}, .low = 8};
  const CallSizes pytorch_196678{.shape = {32, 704, 64, 64}, .low = 120};  // the scores, with fewer queries
  const CallSizes one_query{.shape = {1, 128, 64, 64}, .low = 120};
  const auto over_fp32 = [](double p, double) { return p > std::numeric_limits<float>::max(); };
  const auto ds_over_fp16 = [](double, double ds) { return ds > 65504; };
  const auto p_over_fp16 = [](double p, double) { return p > 65504; };
  const char* const pattern = "overflow: .*-88.*16 to 31 of every 32.*padded key";
  const char* const in_fp16 = "overflow: .*fp16.*padded key";
  const double nan = std::nan("");
  const auto all_nan = [nan](JudgedGradients& g) {
    for (auto* const x : {&g.dk, &g.dv}) overwrite(x->values[0], 0, 128, 64, nan);
  };
  const auto in_L = [](const char* name, int padded) -> PlantedGradient {
    const auto lse = [padded](const PlantedRow& r) { return std::log(std::exp(r.lse) + padded); };
    return {"padded keys in L", name, "dq dk dv", always({.lse = lse}), {}, {}, Needs::no_mask};
  };
  return {
      {"padded keys", pattern, "dq", padded_keys(over_fp32, nan), low, {}, Needs::no_mask},
      {"padded keys, NaN written as 0", pattern, "dq", padded_keys(over_fp32, 0), low, {}, Needs::no_mask},
      {"padded keys, dS over fp16", in_fp16, "dq", padded_keys(ds_over_fp16, nan), lower, {}, Needs::fp16_numbers},
      {"padded keys, P over fp16", in_fp16, "dq", padded_keys(p_over_fp16, nan), lower, {}, Needs::fp16_numbers},
      {"padded keys of pytorch#196678",
       "overflow: .*-88.*padded key",
       "dq",
       padded_keys(over_fp32, nan),
       pytorch_196678,
       {},
       Needs::no_mask},
      {"padded queries of cudnn-frontend#1072",
       "overflow: .*-88.*padded query",
       "dk dv",
       always({.writes = all_nan}),
       one_query,
       {},
       Needs::no_mask},
      in_L("padding: .*keys 150 to 159", 10),
      in_L("padding: .*keys 150 to 191", 42),
      in_L("padding: .*keys 150 to 255", 106),
  };
}

std::vector<PlantedGradient> factor_slips() {
  return {{"dV halved", "number: dV is halved$", "dv", always({.dv_factor = 0.5})},
          {"dK halved", "number: dK is halved$", "dk", always({.dk_factor = 0.5})},
          {"1/d in the backward pass", "scale: the backward pass's scale is 1/d$", "dq dk dv", always({.scale = 1 / 32.0})}};
}

}  // namespace

std::vector<PlantedGradient> planted_gradients() {
  std::vector<PlantedGradient> all;
  for (const auto slips : {delta_slips, lse_slips, scale_slips, mask_slips, score_slips, tile_slips, group_slips, number_slips,
                           written_slips, padding_slips, factor_slips})
    for (PlantedGradient& slip : slips()) all.push_back(std::move(slip));
  return all;
}

}  // namespace attoscope::planted
