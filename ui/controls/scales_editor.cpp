// Storage formats, scales and transforms of the tensors of both passes in a method.
#include <fmt/format.h>

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/settings.h"
#include "kernels/experiment/text.h"
#include "ui/controls/controls.h"
#include "ui/controls/gradient_target.h"
#include "ui/controls/matrix.h"
#include "ui/controls/storage.h"
#include "ui/widgets/option_fields.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

/// The method to edit, and its experiment.
struct Target {
  const Experiment& e;
  Method& m;
  std::string& typed;  ///< text of a format, in the popups of roundings
};

/// One sentence why `chosen` is impossible, "K is ..."; "": possible, or no worse than now.
std::string reason_against(const Target& t, const Method& chosen) {
  const std::string why = why_not_scaled(chosen, t.e.problem);
  return why.empty() || why == why_not_scaled(t.m, t.e.problem) ? "" : why + ".";
}

/// The tensors of the forward pass.
std::vector<StorageField> fields_of(const Target& t) {
  std::vector<StorageField> fields;
  for (const ScaledTensor tensor : {ScaledTensor::Q, ScaledTensor::K, ScaledTensor::V, ScaledTensor::P}) {
    const std::string_view title = scaled_tensor_names[tensor];
    const Parameter& about = parameter("scaling." + std::string(title));
    const auto why_not = [&t, tensor](const Scaling& s) {
      Method chosen = t.m;
      chosen.scaling[tensor] = s;
      return reason_against(t, chosen);
    };
    fields.push_back({title, tensor, t.m.scaling[tensor], about.sentence, about.formula, usual_storage(tensor), why_not,
                      t.e.format, t.typed});
  }
  return fields;
}

// --- transforms -------------------------------------------------------------------------------------------------------

void edit_transform(const Target& t, const Parameter& p, bool Scalings::* flag, const char* text) {
  bool on = t.m.scaling.*flag;
  begin_option(text, on);
  Method chosen = t.m;
  chosen.scaling.*flag = !on;
  const std::string reason = reason_against(t, chosen);
  const std::string name(p.label);
  const bool pressed = if_possible(reason.empty(), [&] { return toggle(name.c_str(), on, px(option_field_width)); });
  explain(reason.empty() ? std::string(p.sentence) : fmt::format("{} Not here: {}", p.sentence, reason), p.formula);
  if (pressed) t.m = std::move(chosen);
}

void edit_smooth_Q(const Target& t) {
  const Parameter& p = parameter("scaling.smooth_Q");
  begin_option("smooth Q over", t.m.scaling.smooth_Q > 0);
  Method chosen = t.m;
  whole_field("##smooth Q", chosen.scaling.smooth_Q, 0, max_tile);
  explain(std::string(p.sentence), p.formula);
  if (reason_against(t, chosen).empty()) t.m = std::move(chosen);
}

void edit_transforms(const Target& t) {
  label(Face::section, colours().faint, "BEFORE THEY ARE STORED");
  edit_transform(t, parameter("scaling.hadamard"), &Scalings::hadamard, "hadamard");
  edit_transform(t, parameter("scaling.smooth_K"), &Scalings::smooth_K, "smooth K");
  edit_smooth_Q(t);
  edit_transform(t, parameter("scaling.smooth_V"), &Scalings::smooth_V, "smooth V");
  Method chosen = t.m;
  edit_rounded("rounded to", chosen.scaling.smoothed, parameter("scaling.smoothed").sentence, t.e.format, t.typed);
  if (reason_against(t, chosen).empty()) t.m = std::move(chosen);
}

void edit_popup(const Target& t) {
  label(Face::section, colours().faint, std::string("SCALES OF ").append(name(t.m.algorithm)));
  edit_storage(fields_of(t));
  edit_transforms(t);
  if (push_button("no scales", false, {0, 0}, t.m.scaling.any())) t.m.scaling = {};
  explain("Stores nothing with scales and transforms nothing, the default of the method.");
}

/// Text of the closed field: "off", "QK int8 P e4m3", "K int4 +1" (one transform).
std::string preview_of(const Target& t) {
  const Scalings& s = t.m.scaling;
  std::string text = storage_preview(fields_of(t));
  const int transforms = s.hadamard + s.smooth_K + (s.smooth_Q > 0) + s.smooth_V;
  if (transforms > 0) text += fmt::format("{}+{}", text.empty() ? "" : " ", transforms);
  return text.empty() ? "off" : text;
}

/// One line for each tensor and each transform.
std::string scalings_text(const Target& t) {
  const Scalings& s = t.m.scaling;
  std::string text = storage_text(fields_of(t));
  if (s.hadamard) text += "Q and K rotated\n";
  if (s.smooth_K) text += "K minus its mean\n";
  if (s.smooth_Q > 0) text += fmt::format("Q minus the mean of {}\n", counted(s.smooth_Q, "row"));
  if (s.smooth_V) text += "V minus its mean\n";
  return text;
}

// --- tensors of the backward pass -------------------------------------------------------------------------------------

constexpr std::array<Choice, 5> usual_P_of_dV{{
    {"off", "Not scaled: only the method's own rounding."},
    {"e4m3/head/x256", "P times 256; the product is divided by 256 (cuDNN)."},
    {"e4m3/head", "8-bit floats, one scale for a tile."},
    {"int8/head", "8-bit integers, one scale for a tile (SageBwd)."},
    {"e4m3/block:32/e8m0/ceil", "MXFP8 as NVIDIA rounds it: 32 queries of a key share a power of two that is never too small."},
}};

/// The tensors of a backward pass, from its settings.
std::vector<StorageField> gradient_fields(const GradTarget& t, std::string& typed) {
  std::vector<StorageField> fields;
  for_each(settings(t.gradient()), "", [&](const std::string& path, const Setting& s) {
    auto* const* const now = std::get_if<Scaling*>(&s.value);
    if (now == nullptr) return;
    const ScaledTensor like = s.key == "P" || s.key == "dS_of_dK" ? ScaledTensor::V : ScaledTensor::Q;
    const std::span<const Choice> usual = s.key == "P" ? std::span<const Choice>(usual_P_of_dV) : usual_storage(like);
    const auto why_not = [&t, path](const Scaling& chosen) {
      GradMethod tried = t.gradient();
      const Settings all = settings(tried);
      *std::get<Scaling*>(find(all, path)->value) = chosen;
      return t.why_not(tried);
    };
    fields.push_back({s.key, like, **now, s.sentence, s.formula, usual, why_not, t.e.format, typed});
  });
  return fields;
}

}  // namespace

void edit_scales(const Experiment& e, Method& m, Colour colour, float width, std::string& typed) {
  const bool emulated = is_emulated(m.algorithm);
  const Target t{e, m, typed};
  const std::string reason = why_not_scaled(m, e.problem);
  const Colour shown = !reason.empty() ? colours().bad : m.scaling.any() ? colour : colours().faint;
  column_combo(
      "##scales", emulated ? preview_of(t) : "its own", {shown, width, emulated, true}, [&] { edit_popup(t); },
      [&] {
        if (!emulated) return explain("This method is not emulated: its storage is fixed.");
        explain(reason.empty() ? "The formats and scales in which Q, K, V and P are stored, and the transforms applied before."
                               : reason + ".",
                scalings_text(t));
      });
}

void edit_gradient_scales(const GradTarget& t, Colour colour, float width, std::string& typed) {
  GradScalings& s = t.gradient().scaling;
  const std::vector<StorageField> fields = gradient_fields(t, typed);
  const std::string preview = storage_preview(fields);
  const auto edit = [&] {
    label(Face::section, colours().faint, "SCALES OF THE BACKWARD PASS");
    edit_storage(fields);
    if (push_button("no scales", false, {0, 0}, s != GradScalings{})) s = {};
    explain("Stores nothing of the backward pass with scales.");
  };
  const ColumnCombo look{preview.empty() ? colours().faint : colour, width, true, true};
  column_combo("##scales", preview.empty() ? "off" : preview, look, edit, [&] {
    explain("The formats and scales in which dO, P and dS are stored; Q, K and V are stored as in the forward pass.",
            storage_text(fields));
  });
}

}  // namespace attoscope::ui
