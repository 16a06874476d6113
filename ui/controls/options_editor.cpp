// Options of a method and of the problem, each behind a button that shows the number of changed ones.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "imgui.h"
#include "kernels/experiment/experiment_fields.h"
#include "kernels/experiment/rules.h"
#include "ui/controls/controls.h"
#include "ui/widgets/option_fields.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

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
    {"pairwise", "Neighbours first, then pairs of pairs: the error grows with log2 of the number of terms."},
    {"lanes", "`lanes` separate chains, then their sum in order: what vector units and tensor cores do."},
}};

/// True if the popup shows the parameter. `edit_sums` shows accumulator and flush, `edit_scales` the scales.
bool is_in_popup(const ExperimentParameter& p) { return is_option(p) && p.key != "flush" && !p.key.starts_with("scaling."); }

/// The option at field `key` of a method; null: not in this popup.
const ExperimentParameter* option_of(std::string_view key) {
  const ExperimentParameter* const p = parameter_at("a." + std::string(key));
  return p != nullptr && is_in_popup(*p) ? p : nullptr;
}

/// Keys and values of a method's options.
class OptionValues {
 public:
  explicit OptionValues(const Method& m) { visit_method(*this, m); }
  /// True if both have the option and it differs.
  bool differs(const OptionValues& other, std::string_view key) const {
    const auto at = std::ranges::find(keys_, key);
    const auto i = at - keys_.begin();
    return at != keys_.end() && values_[static_cast<std::size_t>(i)] != other.values_[static_cast<std::size_t>(i)];
  }

  template <class T>
  void integer(std::string_view key, T x, T, T) {
    add(key, x);
  }
  void real(std::string_view key, double x, const RealRange&) { add(key, x); }
  void flag(std::string_view key, bool x) { add(key, x); }
  template <class E, std::size_t N>
  void choice(std::string_view key, E x, const std::array<std::string_view, N>&) {
    add(key, static_cast<int>(x));
  }
  void policy(std::string_view, const Precision&) {}
  template <class F>
  void object(std::string_view, F) {}

 private:
  void add(std::string_view key, double x) {
    keys_.push_back(key);
    values_.push_back(x);
  }
  std::vector<std::string_view> keys_;
  std::vector<double> values_;
};

/// Draws a control with a tooltip for every option that matters in a method.
class OptionFields {
 public:
  OptionFields(Method& method, const Format& main, const Palette& colours)
      : method_(method), now_(method), usual_(with_usual_options(method, main)), colours_(colours) {
    visit_method(*this, method);
  }
  bool changed() const { return changed_; }

  template <class T>
  void integer(std::string_view key, T& x, T min, T max) {
    field(key, [&](const char* id) { return whole_field(id, x, min, max); });
  }
  void real(std::string_view key, double& x, const RealRange& range) {
    field(key, [&](const char* id) { return real_field(id, x, range, range.zero.empty() ? 1 : 0); });
  }
  void flag(std::string_view key, bool& x) {
    field(key, [&](const char*) {
      return toggle(key == "kahan_l" ? "compensated" : "last to first", colours_, x, px(option_field_width));
    });
  }
  template <class E, std::size_t N>
  void choice(std::string_view key, E& x, const std::array<std::string_view, N>&) {
    const auto choices = key == "order" ? std::span<const Choice>(orders) : std::span<const Choice>(exponentials);
    field(key, [&](const char*) { return segmented(std::string(key).c_str(), colours_, choices, x, px(option_field_width)); });
  }
  void policy(std::string_view, const Precision&) {}
  template <class F>
  void object(std::string_view, F) {}

 private:
  template <class Control>
  void field(std::string_view key, Control control) {
    const ExperimentParameter* const p = option_of(key);
    if (p == nullptr || !matters(*p, method_)) return;
    ImGui::BeginGroup();
    begin_option(std::string(p->label).c_str(), now_.differs(usual_, key), colours_);
    changed_ |= control(("##" + std::string(key)).c_str());
    ImGui::EndGroup();
    explain(p->sentence, p->formula);
  }

  const Method& method_;
  OptionValues now_, usual_;
  const Palette& colours_;
  bool changed_ = false;
};

bool edit_options(Method& m, const Format& main, const Palette& colours) {
  label(Face::section, colours.faint, std::string("OPTIONS OF ").append(name(m.algorithm)));
  bool changed = OptionFields(m, main, colours).changed();
  ImGui::BeginDisabled(options_changed(m, main) == 0);
  if (push_button("as it comes###defaults", colours)) {
    const Method before = m;
    m = with_usual_options(m, main);
    m.accumulator = before.accumulator;
    m.flush = before.flush;
    m.scaling = before.scaling;
    changed = true;
  }
  ImGui::EndDisabled();
  explain("Resets every option of this method. Algorithm, tiles, sums, scales and roundings stay.");
  return changed;
}

/// Name and tooltip of an option of the scores; `edit` draws its control.
template <class Edit>
bool score_option(const ExperimentParameter& p, bool differs, const Palette& colours, Edit edit) {
  begin_option(std::string(p.label).c_str(), differs, colours);
  const bool changed = edit();
  explain(p.sentence, p.formula);
  return changed;
}

bool edit_sink(Problem& p, const Palette& colours) {
  bool on = p.sink.has_value();
  const bool toggled = score_option(parameter("sink"), on, colours, [&] { return toggle("sink", colours, on, px(72)); });
  bool changed = toggled;
  if (toggled) p.sink = on ? std::optional<double>(0.0) : std::nullopt;
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

/// A typed whole number; 0: unset, the number follows another one.
bool edit_count(const ExperimentParameter& about, int& value, const Palette& colours) {
  return score_option(about, value != 0, colours, [&] {
    const WithField f(Face::mono);
    ImGui::SetNextItemWidth(px(option_field_width));
    int typed = value;
    const bool entered =
        ImGui::InputInt(("##" + std::string(about.key)).c_str(), &typed, 0, 0, ImGuiInputTextFlags_EnterReturnsTrue);
    typed = std::clamp(typed, 0, static_cast<int>(about.range.max));
    return entered && std::exchange(value, typed) != typed;
  });
}

/// n_k and d_v, and the alignment of masks where n_k is not N.
bool edit_rectangle(Problem& p, const Palette& colours) {
  label(Face::section, colours.faint, "KEYS AND VALUES");
  bool changed = edit_count(parameter("n_k"), p.n_k, colours);
  ImGui::BeginDisabled(p.input.kind == InputKind::tensors);  // the file sets it
  changed |= edit_count(parameter("d_v"), p.d_v, colours);
  ImGui::EndDisabled();
  ImGui::BeginDisabled(p.mask.kind == Mask::Kind::none && p.alibi == 0);
  changed |= score_option(parameter("top_left"), p.mask.top_left, colours,
                          [&] { return toggle("top-left", colours, p.mask.top_left, px(84)); });
  ImGui::EndDisabled();
  return changed;
}

bool edit_bias(Problem& p, const Palette& colours) {
  label(Face::section, colours.faint, "OPTIONS OF THE SCORES");
  bool changed = edit_sink(p, colours);
  for (const auto& [about, value] : {std::pair{&parameter("softcap"), &p.softcap}, std::pair{&parameter("alibi"), &p.alibi}})
    changed |= score_option(*about, *value != 0, colours, [&, about = about, value = value] {
      return real_field(("##" + std::string(about->key)).c_str(), *value, about->range, 0);
    });
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

int options_changed(const Method& m, const Format& main) {
  const OptionValues now(m), usual(with_usual_options(m, main));
  return static_cast<int>(std::ranges::count_if(experiment_parameters, [&](const ExperimentParameter& p) {
    return is_in_popup(p) && matters(p, m) && now.differs(usual, field_of(p));
  }));
}

bool edit_method_options(Method& m, const Format& main, const Palette& colours, float width, float height) {
  const int count = options_changed(m, main);
  return popup_button(count > 0 ? fmt::format("options {}###options", count) : std::string("options###options"),
                      "options of a method", colours, {width, height},
                      "Further options of this algorithm: how it computes exp, in which order it adds, and more. The number is "
                      "how many differ from the default.",
                      [&] { return edit_options(m, main, colours); });
}

bool edit_problem_options(Problem& p, const Palette& colours, float width) {
  const int count = p.sink.has_value() + (p.softcap != 0) + (p.alibi != 0) + (p.n_k != 0) + (p.d_v != 0) + p.mask.top_left;
  return popup_button(
      count > 0 ? fmt::format("+{}###more", count) : std::string("+###more"), "options of the scores", colours, {width, 0},
      "Other changes of the scores: a sink, soft-capping, ALiBi; how many keys there are, and columns of V, where they are "
      "counted apart. The number is how many are on.",
      [&] {
        const bool bias = edit_bias(p, colours);
        return edit_rectangle(p, colours) || bias;
      });
}

}  // namespace attoscope
