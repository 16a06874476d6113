// Options of a method and of the problem, each behind a button that shows how many are changed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/experiment/rules.h"
#include "kernels/experiment/settings.h"
#include "ui/controls/controls.h"
#include "ui/controls/gradient_target.h"
#include "ui/widgets/option_fields.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

constexpr EnumArray<ExponentialKind, Choice> exponentials{{
    {"natural", "exp(S - m), the difference rounded as the policy says."},
    {"exp2",
     "2^(S c - m c) with c = scale log2 e in one fma over the unscaled S, as in FlashAttention-2. m c is rounded "
     "once, so the exponent at the max is not exactly 0."},
}};
constexpr EnumArray<SumOrder, Choice> orders{{
    {"in order", "One term after the other, in the order of the keys."},
    {"pairwise", "Neighbours first, then pairs of pairs: the error grows with log2 of the number of terms."},
    {"lanes", "`lanes` separate chains, then their sum in order, as in vector units and tensor cores."},
}};

constexpr EnumArray<GradOrder, Choice> grad_orders{{
    {"ascending", "From the first key tile to the last: a deterministic mode of FlashAttention-3."},
    {"descending", "From the last key tile to the first."},
    {"shuffled", "In a random order for each query tile, from the seed: atomic additions can have any order."},
    {"buffers", "Tile t into buffer t mod the number of buffers, then the buffers: FlashAttention-2's deterministic mode."},
}};
constexpr EnumArray<ScaleAt, Choice> scale_places{{
    {"product", "On the finished dQ and dK (FlashAttention)."},
    {"dS", "On dS before its cast (memory-efficient attention)."},
    {"K", "With log2 e on K before the scores are recomputed (the Triton tutorial)."},
}};

/// True if the popup shows this setting of a method. Other editors show the algorithm, tiles, roundings, sums and scales.
bool is_in_popup(const Setting& s, const Method& m) {
  constexpr std::array<std::string_view, 5> elsewhere{"algorithm", "block_q", "block_k", "flush", "policy"};
  return is_typed(s) && std::ranges::find(elsewhere, s.key) == elsewhere.end() && matters(s, m);
}

bool differs(const Setting& s, const Settings& usual) { return text(s) != text(*find(usual, s.key)); }

void edit_options(Method& m, const Format& main) {
  label(Face::section, colours().faint, std::string("OPTIONS OF ").append(name(m.algorithm)));
  Method usual = with_usual_options(m, main);
  const Settings usual_options = settings(usual);
  for (const Setting& s : settings(m))
    if (is_in_popup(s, m))
      edit_setting(s, differs(s, usual_options),
                   {.step = s.key == "tau" ? 1.0 : 0.0,
                    .on = s.key == "kahan_l" ? "compensated" : "last to first",
                    .choices = s.key == "order"         ? std::span<const Choice>(orders)
                               : s.key == "exponential" ? std::span<const Choice>(exponentials)
                                                        : std::span<const Choice>()});
  if (push_button("as it comes###defaults", false, {0, 0}, options_changed(m, main) > 0)) {
    usual = with_usual_options(m, main);
    usual.accumulator = m.accumulator;
    usual.flush = m.flush;
    usual.scaling = m.scaling;
    m = usual;
  }
  explain("Resets every option of this method. Algorithm, tiles, sums, scales and roundings stay.");
}

/// True if the popup shows this setting of a backward pass. Other editors show roundings, sums and scales.
bool is_gradient_option(const std::string& path, const Setting& s, const GradMethod& g) {
  if (s.label.empty() || path.find('.') != std::string::npos) return false;
  if (s.key == "order_seed") return g.order == GradOrder::shuffled;
  return s.key != "buffers" || g.order == GradOrder::buffers;
}

/// The settings that the popup shows.
Settings gradient_options(GradMethod& g) {
  Settings shown;
  for_each(settings(g), "", [&](const std::string& path, const Setting& s) {
    if (!is_gradient_option(path, s, g)) return;
    shown.push_back(s);
    shown.back().label = s.label.substr(0, s.label.find(" of gradients"));  // the popup's title has the rest
  });
  return shown;
}

/// `g` with the options of `usual`; its roundings, sums and scales stay.
GradMethod with_options_of(GradMethod g, GradMethod usual) {
  for (const Setting& s : settings(usual))
    if (!s.label.empty()) set(*find(settings(g), s.key), text(s));
  return g;
}

int gradient_options_changed(const GradTarget& t) {
  GradMethod usual = usual_gradient(t.method(), t.e.problem), now = t.gradient();
  const Settings usual_options = settings(usual), all = gradient_options(now);
  return static_cast<int>(std::ranges::count_if(all, [&](const Setting& s) { return differs(s, usual_options); }));
}

void edit_gradient_popup(const GradTarget& t) {
  label(Face::section, colours().faint, "OPTIONS OF THE BACKWARD PASS");
  GradMethod& g = t.gradient();
  GradMethod usual = usual_gradient(t.method(), t.e.problem);
  const Settings usual_options = settings(usual);
  for (const Setting& s : gradient_options(g)) {
    const auto why_not = [&](std::string_view value) {
      GradMethod tried = g;
      set(*find(settings(tried), s.key), value);
      return t.why_not(tried);
    };
    std::span<const Choice> choices;
    if (s.key == "order") choices = grad_orders;
    if (s.key == "scale_at") choices = scale_places;
    edit_setting(s, differs(s, usual_options), {.on = "last to first", .choices = choices, .why_not = why_not});
  }
  const GradMethod as_usual = with_options_of(g, usual);
  if (push_button("as it comes###defaults", false, {0, 0}, as_usual != g)) g = as_usual;
  explain("Resets every option to the usual backward pass of this forward pass. Sums, scales and roundings stay.");
}

void edit_sink(Problem& p, const Setting& about) {
  bool on = p.sink.has_value();
  begin_option(std::string(about.label).c_str(), on);
  const bool toggled = toggle("sink", on, px(72));
  explain(about.sentence, about.formula);
  if (toggled) p.sink = on ? std::optional<double>(0.0) : std::nullopt;
  if (!p.sink) return;
  ImGui::SameLine();
  real_field("##sink value", *p.sink, about.range, 0, option_field_width - 72 - 8);
  explain("The sink's logit, in units of S.");
}

/// A typed whole number; 0: unset, it follows another setting.
void edit_count(const Setting& about, int& value) {
  begin_option(std::string(about.label).c_str(), value != 0);
  const WithField f(Face::mono);
  ImGui::SetNextItemWidth(px(option_field_width));
  int typed = value;
  const bool entered =
      ImGui::InputInt(("##" + std::string(about.key)).c_str(), &typed, 0, 0, ImGuiInputTextFlags_EnterReturnsTrue);
  explain(about.sentence, about.formula);
  if (entered) value = std::clamp(typed, 0, static_cast<int>(about.range.max));
}

/// The masks without a button in the panel. Their width is edited in the panel.
void edit_other_masks(Mask& mask) {
  constexpr std::array<Choice, 3> others{
      {{"prefix", "Causal, and every query also sees the first keys; their number is the width beside the masks."},
       {"chunk", "Causal within chunks of that many keys, counted from key 0."},
       {"pad right", "Causal, without the last keys: a sequence padded on the right."}}};
  constexpr int first = static_cast<int>(Mask::Kind::prefix);
  int chosen = static_cast<int>(mask.kind) - first;
  if (segmented("other masks", others, chosen, px(240))) mask.kind = static_cast<Mask::Kind>(first + chosen);
}

void edit_scores(Problem& p) {
  const Settings all = settings(p);
  label(Face::section, colours().faint, "OPTIONS OF THE SCORES");
  edit_sink(p, *find(all, "sink"));
  edit_setting(*find(all, "softcap"), p.softcap != 0);
  edit_setting(*find(all, "alibi"), p.alibi != 0);
  label(Face::section, colours().faint, "KEYS AND VALUES");
  edit_count(*find(all, "n_k"), p.n_k);
  const bool of_file = p.input.kind == InputKind::tensors;  // the file sets d_v
  if_possible(!of_file, [&] { edit_count(*find(all, "d_v"), p.d_v); });
  label(Face::section, colours().faint, "OTHER MASKS");
  edit_other_masks(p.mask);
  if (p.mask.kind == Mask::Kind::window) edit_count(*find(all, "mask.right"), p.mask.right);
  edit_setting(*find(all, "empty_rows"), p.empty_rows != EmptyRule::zeros);
  if_possible(p.mask.kind != Mask::Kind::none || p.alibi != 0,
              [&] { edit_setting(*find(all, "mask.top_left"), p.mask.top_left, {.on = "top-left"}); });
}

/// A button that opens a popup of the same name.
void popup_button(const std::string& text, const char* popup, ImVec2 size, const char* what,
                  const std::function<void()>& edit) {
  if (push_button(text.c_str(), false, size)) ImGui::OpenPopup(popup);
  explain(what);
  in_popup(popup, edit);
}

}  // namespace

int options_changed(const Method& m, const Format& main) {
  const Method of_default = with_usual_options(m, main);
  const Settings now = settings_to_read(m), usual = settings_to_read(of_default);
  return static_cast<int>(std::ranges::count_if(now, [&](const Setting& s) { return is_in_popup(s, m) && differs(s, usual); }));
}

void edit_method_options(Method& m, const Format& main, float width, float height) {
  const int count = options_changed(m, main);
  popup_button(count > 0 ? fmt::format("options {}###options", count) : std::string("options###options"), "options of a method",
               {width, height},
               "More options of this algorithm: how it computes exp, the order of sums, and others. The number counts those "
               "that differ from the default.",
               [&] { edit_options(m, main); });
}

void edit_gradient_options(const GradTarget& t, float width, float height) {
  const int count = gradient_options_changed(t);
  popup_button(count > 0 ? fmt::format("options {}###options", count) : std::string("options###options"),
               "options of a backward pass", {width, height},
               "Tiles of the backward pass, the order of the sums of dQ, the inputs of delta, and others. The number counts "
               "those that differ from the usual backward pass of this forward pass.",
               [&] { edit_gradient_popup(t); });
}

int options_changed(const Problem& p) {
  const bool has_right = p.mask.kind == Mask::Kind::window && p.mask.right != 0;
  return p.sink.has_value() + (p.softcap != 0) + (p.alibi != 0) + (p.n_k != 0) + (p.d_v != 0) + has_right +
         (p.empty_rows != EmptyRule::zeros) + p.mask.top_left;
}

void edit_problem_options(Problem& p, float width) {
  const int count = options_changed(p);
  popup_button(
      count > 0 ? fmt::format("+{}###more", count) : std::string("+###more"), "options of the scores", {width, 0},
      "Other changes of the scores: a sink, soft-capping, ALiBi; the number of keys if it is not N, and of columns of "
      "V if it is not d; a window's keys on the right, and NaN for rows without keys. The number counts those that are on.",
      [&] { edit_scores(p); });
}

}  // namespace attoscope::ui
