// Options of a method and of the problem, each behind a button that says how many differ from the default.
#include <algorithm>
#include <array>
#include <functional>

#include "imgui.h"
#include "kernels/experiment_fields.h"
#include "ui/numbers.h"
#include "ui/option_fields.h"
#include "ui/panels.h"
#include "ui/widgets.h"

namespace attoscope {

namespace {

constexpr std::array<Choice, 2> exponentials{{
    {"natural", "exp(S - m), the difference rounded as the policy says."},
    {"exp2",
     "2^(S c - m c) with c = scale log2 e folded into one fma over the unscaled S: FlashAttention-2's way. m c is rounded "
     "once, so the exponent at the max is not exactly 0."},
}};
constexpr std::array<Choice, 3> orders{{
    {"in order", "One term after the other, in the order of the keys."},
    {"pairwise", "Neighbours first, then pairs of pairs: the error grows with log2 of the count."},
    {"lanes", "As many chains as `lanes` says, then their sum in order: what vector units and tensor cores do."},
}};

template <class Enum>
bool chosen(const char* id, const Palette& colours, std::span<const Choice> choices, Enum& value) {
  int index = static_cast<int>(value);
  if (!segmented(id, colours, choices, index, px(option_field_width))) return false;
  value = static_cast<Enum>(index);
  return true;
}

/// One option of a method: which algorithms have it, whether it differs, its control with its explanation.
struct Option {
  const char* name;
  bool (*applies)(const Method&);
  bool (*differs)(const Method&, const Method& standard);
  bool (*edit)(Method&, const Palette&);
  const char *what, *formula;
};

constexpr bool always(const Method&) { return true; }

constexpr std::array<Option, 10> options{{
    {"splits", [](const Method& m) { return m.algorithm == Algorithm::split_kv; },
     [](const Method& m, const Method& d) { return m.splits != d.splits; },
     [](Method& m, const Palette&) { return whole_field("##splits", m.splits, 1, max_splits); },
     "How many runs of equally many tiles are worked on apart, as Flash-Decoding does, and merged by their log-sum-exp.",
     "m = max_i lse_i, w_i = exp(lse_i - m)\nO = sum_i w_i O_i / sum_i w_i"},
    {"stale max tau", [](const Method& m) { return m.algorithm == Algorithm::flash4; },
     [](const Method& m, const Method& d) { return m.tau != d.tau; },
     [](Method& m, const Palette&) { return real_field("##tau", m.tau, {.min = 0, .max = max_tau}, 1); },
     "FlashAttention-4 keeps the old max, and rescales nothing, while the new one exceeds it by at most tau powers of two; P "
     "then "
     "grows up to 2^tau. It uses 8 with 16-bit formats and 0 with 8-bit ones.",
     "keep m while (m_new - m) log2 e <= tau"},
    {"tie beta", always, [](const Method& m, const Method& d) { return m.tie_beta != d.tie_beta; },
     [](Method& m, const Palette&) {
       return real_field("##tie_beta", m.tie_beta, {.min = 1, .max = max_tie_beta, .above_min = true, .zero = "off"}, 0);
     },
     "Moves a tied max away from its ties, so that P is not 1 for several keys at once (arXiv 2510.04212). Above 1, or 0 for "
     "off; "
     "the paper takes 2 to 8.",
     "max tied: m = beta m if m > 0, 0 if m < 0"},
    {"exponential", always, [](const Method& m, const Method& d) { return m.exponential != d.exponential; },
     [](Method& m, const Palette& c) { return chosen("exponential", c, exponentials, m.exponential); },
     "How e is found from S and the max.", "natural: exp(S - m)\nexp2:    2^(S c - m c), c = scale log2 e"},
    {"exp2 degree", [](const Method& m) { return m.exponential == ExponentialKind::exp2; },
     [](const Method& m, const Method& d) { return m.exp2_degree != d.exp2_degree; },
     [](Method& m, const Palette&) { return whole_field("##exp2_degree", m.exp2_degree, 0, max_exp2_degree); },
     "2^x by a polynomial on the fraction of x, as FlashAttention-4 does beside the exp unit; it uses 3. 0: full precision.",
     "2^x = 2^floor(x) p(x - floor(x))"},
    {"P exponent", always, [](const Method& m, const Method& d) { return m.p_exponent != d.p_exponent; },
     [](Method& m, const Palette&) { return whole_field("##p_exponent", m.p_exponent, -max_p_exponent, max_p_exponent); },
     "e and l carry a power of two that cancels at the end, so that an 8-bit P underflows later. FlashAttention-3 uses 8.",
     "e = 2^p exp(S - m)"},
    {"Kahan l", always, [](const Method& m, const Method& d) { return m.kahan_l != d.kahan_l; },
     [](Method& m, const Palette& c) { return toggle("compensated", c, m.kahan_l, px(option_field_width)); },
     "The row sum carries its rounding error along (Kahan 1965), within a tile and from tile to tile.",
     "y = e - c; t = l + y; c = (t - l) - y; l = t"},
    {"order of sums", always, [](const Method& m, const Method& d) { return m.order != d.order; },
     [](Method& m, const Palette& c) { return chosen("order", c, orders, m.order); },
     "The order in which q.k, the row sum and P.V add their terms. It matters where sums are rounded, and in the last bits of "
     "the working type.",
     "lanes: sum_i (x_i + x_(i+lanes) + ...)"},
    {"lanes", [](const Method& m) { return m.order == SumOrder::interleaved; },
     [](const Method& m, const Method& d) { return m.sum_lanes != d.sum_lanes; },
     [](Method& m, const Palette&) { return whole_field("##sum_lanes", m.sum_lanes, 1, max_sum_lanes); },
     "Chains of the interleaved order.", "lane i adds the terms i, i + lanes, i + 2 lanes, ..."},
    {"keys", always, [](const Method& m, const Method& d) { return m.reverse_keys != d.reverse_keys; },
     [](Method& m, const Palette& c) { return toggle("last to first", c, m.reverse_keys, px(option_field_width)); },
     "Takes the keys, and so the tiles, from the last to the first. Where the keys rise, the max then moves no more.",
     "key j becomes key N - 1 - j"},
}};

bool edit_options(Method& m, const Palette& colours) {
  bool changed = false;
  label(Face::section, colours.faint, std::string("OPTIONS OF ").append(name(m.algorithm)));
  for (const Option& option : options) {
    if (!option.applies(m)) continue;
    ImGui::BeginGroup();
    begin_option(option.name, option.differs(m, Method{}), colours);
    changed |= option.edit(m, colours);
    ImGui::EndGroup();
    explain(option.what, option.formula);
  }
  ImGui::BeginDisabled(options_changed(m) == 0);
  if (push_button("as it comes###defaults", colours)) {
    m = Method{.algorithm = m.algorithm, .block_q = m.block_q, .block_k = m.block_k, .precision = m.precision};
    changed = true;
  }
  ImGui::EndDisabled();
  explain("Every option of this method as it is by default. Algorithm, tiles and roundings stay.");
  return changed;
}

bool edit_sink(Problem& p, const Palette& colours) {
  begin_option("sink", p.sink.has_value(), colours);
  bool on = p.sink.has_value();
  bool changed = toggle("sink", colours, on, px(72));
  if (changed) p.sink = on ? std::optional<double>(0.0) : std::nullopt;
  explain("One extra logit in every denominator: attention that may look nowhere. It takes part in no P.V.",
          "l = sum_j exp(S_j - m) + exp(sink - m)");
  if (!p.sink) return changed;
  ImGui::SameLine();
  const WithField f(Face::mono);
  ImGui::SetNextItemWidth(px(option_field_width - 72 - 8));
  double value = *p.sink;
  if (ImGui::InputDouble("##sink value", &value, 0, 0, "%.6g") && contains(RealRange{}, value) && value != *p.sink) {
    p.sink = value;
    changed = true;
  }
  explain("The sink's logit, in units of S.");
  return changed;
}

bool edit_bias(Problem& p, const Palette& colours) {
  label(Face::section, colours.faint, "OPTIONS OF THE SCORES");
  bool changed = edit_sink(p, colours);
  begin_option("soft cap", p.softcap != 0, colours);
  changed |= real_field("##softcap", p.softcap, {.min = 0, .above_min = true, .zero = "off"}, 0);
  explain("Bounds the scores, as Gemma 2 does with 50. 0: off.", "S = cap tanh(scale q.k / cap)");
  begin_option("ALiBi slope", p.alibi != 0, colours);
  changed |= real_field("##alibi", p.alibi, {.min = -max_alibi, .max = max_alibi}, 0);
  explain("Scores lose what grows with the distance of query and key. 0: off.", "S -= slope |i - j|");
  return changed;
}

/// A button that opens a popup of the same name.
bool popup_button(const std::string& text, const char* popup, const Palette& colours, ImVec2 size, const char* what,
                  const std::function<bool()>& edit) {
  if (push_button(text.c_str(), colours, false, size)) ImGui::OpenPopup(popup);
  explain(what);
  ImGui::PushStyleColor(ImGuiCol_PopupBg, colours.panel);
  const bool open = ImGui::BeginPopup(popup), changed = open && edit();
  if (open) ImGui::EndPopup();
  ImGui::PopStyleColor();
  return changed;
}

}  // namespace

int options_changed(const Method& m) {
  return static_cast<int>(
      std::ranges::count_if(options, [&](const Option& o) { return o.applies(m) && o.differs(m, Method{}); }));
}

bool edit_method_options(Method& m, const Palette& colours, float width, float height) {
  const int count = options_changed(m);
  return popup_button(
      count > 0 ? printed("options %d###options", count) : std::string("options###options"), "options of a method", colours,
      {width, height},
      "What this algorithm offers beyond where it rounds: how it finds exp, in which order it adds, and more. The "
      "number says how many differ from the default.",
      [&] { return edit_options(m, colours); });
}

bool edit_problem_options(Problem& p, const Palette& colours, float width) {
  const int count = p.sink.has_value() + (p.softcap != 0) + (p.alibi != 0);
  return popup_button(count > 0 ? printed("+%d###more", count) : std::string("+###more"), "options of the scores", colours,
                      {width, 0},
                      "What else is done to the scores: a sink, soft-capping, ALiBi. The number says how many are on.",
                      [&] { return edit_bias(p, colours); });
}

}  // namespace attoscope
