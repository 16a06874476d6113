// Storage with scales, on the attention that is shipped.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/files/paths.h"
#include "app/papers/paper_figures.h"
#include "app/papers/parts.h"
#include "app/papers/seen.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/scaled_kernels.h"
#include "kernels/questions/kv_cache.h"

namespace attoscope::papers {
namespace {

/// The heads of the file in assets/examples, as its README names them.
constexpr std::array<const char*, 4> heads{"0.0", "7.7", "18.7", "24.7"};
constexpr int longest = 1024, file_d = 64;
/// Layer 7, head 7: large scores, no sink.
constexpr int usual_head = 1;

/// Causal attention of one of those heads, a in bf16 under `hw`.
Experiment shipped_head(const FigureSettings& x, int head) {
  Experiment e = default_experiment();
  e.problem.input.kind = InputKind::tensors;
  e.problem.input.file = assets_directory() + "/examples/smollm2_135m.safetensors";
  e.problem.input.index = head;
  e.problem.n = std::min(x.n, longest);
  e.problem.d = file_d;
  e.problem.mask.kind = Mask::Kind::causal;
  return e;
}

/// What one experiment gives.
struct Parts {
  double storage = 0, arithmetic = 0, both = 0;  ///< RMS over that of golden
};
Parts parts_of(const Experiment& e, const AnswerSweep& answer) {
  const Sweep one{.base = e, .axes = {{"d", {std::to_string(e.problem.d)}}}, .seeds = 1, .measure = {"a.rms"}};
  const std::vector<SweepAnswer> answers = answer(one);
  const auto value = [&](const char* measure) { return rows(one, {measure}, answers).at(0).mean; };
  const double golden = value("golden_rms");
  return {value("a.storage_rms") / golden, value("a.arithmetic_rms") / golden, value("a.rms") / golden};
}

Series marks(const char* label, Ink ink) { return series_of(label, ink, Shape::marks); }
void add(Series& s, double y) {
  s.x.push_back(static_cast<double>(s.y.size()));
  s.y.push_back(y);
}

std::string of_the_file(const FigureSettings& x) {
  return fmt::format("SmolLM2-135M, first {} tokens, causal, d = {}, attoscope " ATTOSCOPE_VERSION ".", std::min(x.n, longest),
                     file_d);
}

/// A panel over the heads; a series for each change of a.
struct Change {
  const char* label;
  std::string_view Q, K, V;
  bool hadamard = false, smooth_K = false;
  bool dashed = false;
  std::size_t ink = 0;
};
FigurePanel over_heads(const FigureSettings& x, const AnswerSweep& answer, std::span<const Change> changes) {
  FigurePanel panel = panel_of(names("layer and head", {heads.begin(), heads.end()}), "RMS error / RMS of output");
  for (const Change& c : changes) {
    Series s = series_of(c.label, series_ink(c.ink), Shape::line_and_marks);
    s.dashed = c.dashed;
    for (int head = 0; head < static_cast<int>(heads.size()); ++head) {
      Experiment e = shipped_head(x, head);
      const auto scaling = [](std::string_view text) { return text.empty() ? Scaling{} : parse_scaling(text); };
      e.a.scaling = {.Q = scaling(c.Q), .K = scaling(c.K), .V = scaling(c.V), .hadamard = c.hadamard, .smooth_K = c.smooth_K};
      add(s, parts_of(e, answer).both);
    }
    panel.series.push_back(std::move(s));
  }
  return panel;
}

}  // namespace

Figure formats_2026(const FigureSettings& x, const AnswerSweep& answer) {
  Figure f = figure_of("formats-2026", 2);
  f.panels_across = 1;
  FigurePanel panel = panel_of(numbers(""), "RMS error / RMS of output");
  Series storage = marks("storage", Ink::two), arithmetic = marks("arithmetic", Ink::three), both = marks("both", Ink::text);
  for (const ScaledKernel& kernel : scaled_kernels()) {
    const Parts p = parts_of(with_kernel(shipped_head(x, usual_head), kernel_preset(kernel.name)), answer);
    panel.x.categories.emplace_back(kernel.name);
    add(storage, p.storage), add(arithmetic, p.arithmetic), add(both, p.both);
  }
  panel.series = {storage, arithmetic, both};
  f.panels.push_back(std::move(panel));
  const auto of = [&](const Series& s, const char* name) { return value_at(f.panels[0], s, name); };
  f.caption = fmt::format(
      "Error of kernels that store Q, K, V or P with scales, on layer 7, head 7, in its parts: what storage alone leads to "
      "(the truth of the stored numbers against that of the given ones), what the arithmetic on them adds, and both. "
      "SageAttention 2 has {:.2g}, FlashAttention-3 in e4m3 {:.2g}, NVFP4 {:.2g}; a cache in e4m3 read back as bf16 has "
      "{:.2g} and in int8 {:.2g}. {}",
      of(both, "sage2"), of(both, "fa3_fp8"), of(both, "nvfp4"), of(both, "kv_fp8"), of(both, "kv_int8"), of_the_file(x));
  return f;
}

Figure kv_cache(const FigureSettings& x, const AnswerSweep& answer) {
  constexpr std::array<Change, 6> changes{
      {{.label = "bf16", .Q = "", .K = "", .V = ""},
       {.label = "e4m3, a head", .Q = "", .K = "e4m3/head/to:main", .V = "e4m3/head/to:main", .ink = 1},
       {.label = "e4m3, a token", .Q = "", .K = "e4m3/token/to:main", .V = "e4m3/token/to:main", .ink = 2},
       {.label = "int8, a token", .Q = "", .K = "int8/token/to:main", .V = "int8/token/to:main", .ink = 3},
       {.label = "int4, 32 numbers", .Q = "", .K = "int4/columns:32/to:main", .V = "int4/columns:32/to:main", .ink = 4},
       {.label = "NVFP4", .Q = "", .K = "e2m1/columns:16/nvfp4/to:main", .V = "e2m1/columns:16/nvfp4/to:main", .ink = 5}}};
  Figure f = figure_of("kv-cache");
  f.panels.push_back(over_heads(x, answer, changes));
  const FigurePanel& p = f.panels[0];
  const auto of = [&](std::size_t series, std::size_t head) { return p.series[series].y[head]; };
  f.caption = fmt::format(
      "K and V kept in fewer bits and read back as bf16, all else as in bf16. With int8 and a scale a token the error is {} to "
      "{} "
      "times that of bf16, with NVFP4 {} to {} times: the head decides as much as the format. {}",
      two_digits(std::min({of(3, 0) / of(0, 0), of(3, 1) / of(0, 1), of(3, 2) / of(0, 2), of(3, 3) / of(0, 3)})),
      two_digits(std::max({of(3, 0) / of(0, 0), of(3, 1) / of(0, 1), of(3, 2) / of(0, 2), of(3, 3) / of(0, 3)})),
      two_digits(std::min({of(5, 0) / of(0, 0), of(5, 1) / of(0, 1), of(5, 2) / of(0, 2), of(5, 3) / of(0, 3)})),
      two_digits(std::max({of(5, 0) / of(0, 0), of(5, 1) / of(0, 1), of(5, 2) / of(0, 2), of(5, 3) / of(0, 3)})),
      of_the_file(x));
  return f;
}

Figure smoothing(const FigureSettings& x, const AnswerSweep& answer) {
  constexpr std::array<Change, 4> means{
      {{.label = "a head", .Q = "", .K = "int8/head", .V = ""},
       {.label = "a head, minus the mean", .Q = "", .K = "int8/head", .V = "", .smooth_K = true, .dashed = true},
       {.label = "a token", .Q = "", .K = "int8/token", .V = "", .ink = 3},
       {.label = "a token, minus the mean", .Q = "", .K = "int8/token", .V = "", .smooth_K = true, .dashed = true, .ink = 3}}};
  constexpr std::array<Change, 2> rotations{
      {{.label = "as they are", .Q = "e4m3/head", .K = "e4m3/head", .V = ""},
       {.label = "rotated", .Q = "e4m3/head", .K = "e4m3/head", .V = "", .hadamard = true, .dashed = true}}};
  Figure f = figure_of("smoothing", 2);
  f.panels = {over_heads(x, answer, means), over_heads(x, answer, rotations)};
  f.panels[0].title = "K in int8";
  f.panels[1].title = "Q and K in e4m3";
  const auto of = [&](std::size_t panel, std::size_t series, std::size_t head) {
    return f.panels[panel].series[series].y[head];
  };
  f.caption = fmt::format(
      "Left: K in int8 with and without its mean over the keys (SageAttention). With a scale a head the error of layer 24, "
      "head "
      "7 becomes {} of what it was without; with a scale a token that of layer 18, head 7, whose first key is a sink, becomes "
      "{} "
      "times as large. Right: Q and K in e4m3 with and without a Hadamard rotation (FlashAttention-3): {}, {}, {} and {} times "
      "the error. {}",
      two_digits(of(0, 1, 3) / of(0, 0, 3)), two_digits(of(0, 3, 2) / of(0, 2, 2)), two_digits(of(1, 1, 0) / of(1, 0, 0)),
      two_digits(of(1, 1, 1) / of(1, 0, 1)), two_digits(of(1, 1, 2) / of(1, 0, 2)), two_digits(of(1, 1, 3) / of(1, 0, 3)),
      of_the_file(x));
  return f;
}

}  // namespace attoscope::papers
