// Storage of one tensor in elements with scales.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/experiment/method.h"
#include "ui/controls/storage.h"
#include "ui/widgets/option_fields.h"
#include "ui/widgets/rounding_cell.h"

namespace attoscope::ui {

namespace {

// --- usual choices ----------------------------------------------------------------------------------------------------

constexpr Choice stored_off{"off", "Not scaled: only the method's own rounding."};
constexpr std::array<Choice, 13> usual_QK{{
    stored_off,
    {"int8/token", "8-bit integers, one scale for each row."},
    {"int8/thread:32", "8-bit integers, one scale for the rows held by one thread of an int8 mma (SageAttention 2)."},
    {"int8/head", "8-bit integers, one scale for everything: one outlier makes all steps coarse."},
    {"e4m3/head", "8-bit floats, one scale for everything, as in most FP8 kernels."},
    {"e4m3/rows:128", "8-bit floats, one scale for each tile of 128 rows (FlashAttention-3's block quantisation)."},
    {"e4m3/channel", "8-bit floats, one scale for each column: a channel of large values has its own."},
    {"e4m3/block:32/e8m0/ceil", "MXFP8 as NVIDIA rounds it: 32 numbers along d share a power of two that is never too small."},
    {"e4m3/block:32/e8m0/floor", "MXFP8 by the text of OCP MX 1.0: the power of two is rounded down, so the largest saturate."},
    {"e2m1/block:16/nvfp4", "NVFP4: 4-bit floats, 16 numbers along d share an e4m3 scale over one scale of the head."},
    {"e2m1/block:32/e8m0/floor", "MXFP4 by the text of OCP MX 1.0: 4-bit floats, 32 numbers along d share a power of two."},
    {"int8/token/to:main", "A cache in int8: read back as D before the product."},
    {"int4/columns:32/to:main", "A cache in int4, a scale for 32 columns of a row: read back as D before the product."},
}};
constexpr std::array<Choice, 11> usual_V{{
    stored_off,
    {"e4m3/head", "8-bit floats, one scale for everything: it multiplies O at the end."},
    {"e4m3/channel", "8-bit floats, one scale for each column: it multiplies O at the end (SageAttention 2)."},
    {"e4m3/rows:128", "8-bit floats, one scale for each tile of 128 keys, applied to the operand."},
    {"e4m3/block:32/e8m0/ceil", "MXFP8 as NVIDIA rounds it: 32 keys of a column share a power of two that is never too small."},
    {"e4m3/block:32/e8m0/floor", "MXFP8 by the text of OCP MX 1.0: the power of two is rounded down, so the largest saturate."},
    {"e2m1/block:16/nvfp4", "NVFP4: 4-bit floats, 16 keys of a column share an e4m3 scale over one scale of the head."},
    {"e2m1/block:32/e8m0/floor", "MXFP4 by the text of OCP MX 1.0: 4-bit floats, 32 keys of a column share a power of two."},
    {"int8/channel", "8-bit integers, one scale for each column."},
    {"int8/token/to:main", "A cache in int8: read back as D before the product."},
    {"int4/columns:32/to:main", "A cache in int4, a scale for 32 columns of a row: read back as D before the product."},
}};
constexpr std::array<Choice, 8> usual_P{{
    stored_off,
    {"e4m3/x1", "P up to 1 as it is: weights below 2^-10 become 0."},
    {"e4m3/x16", "P times 16 (cuDNN)."},
    {"e4m3/x256/shift", "P times 256 through the exponent; l has the factor too (FlashAttention-3)."},
    {"e4m3/x448", "P times 448, the largest number of e4m3; O is divided by it (FlashInfer)."},
    {"e4m3/block:32/e8m0/ceil", "MXFP8: 32 keys of a row share a power of two."},
    {"e2m1/block:16/e4m3/x2688/shift", "NVFP4: P times 2688 = 448 · 6, then 16 keys of a row share an e4m3 scale."},
    {"e2m1/block:16/e4m3/x2688/unrounded/shift", "As above, but divided by the unrounded scale (SageAttention 3): a bias."},
}};

// --- possible choices -------------------------------------------------------------------------------------------------

constexpr int usual_block(Granularity g, ScaledTensor t) {
  if (g == Granularity::rows) return 128;
  return g == Granularity::thread && t == ScaledTensor::K ? 64 : 32;
}

/// `s` with its other parts made consistent after one of them changed.
Scaling tidied(Scaling s, ScaledTensor t) {
  const bool of_P = t == ScaledTensor::P;
  s.block = !has_block(s.granularity) ? 0 : s.block > 0 ? s.block : usual_block(s.granularity, t);
  if (of_P && s.granularity == Granularity::head) s.rule = ScaleRule::fixed;
  if (s.rule == ScaleRule::fixed && s.granularity != Granularity::head) s.rule = ScaleRule::amax;
  if (s.rule == ScaleRule::amax && s.scale == ScaleFormat::e8m0_scale) s.rule = ScaleRule::ceil;
  if (s.rule != ScaleRule::fixed && !(of_P && s.granularity == Granularity::block)) s.factor = 1;
  if (s.element.kind != Element::Kind::integer) s.tie = Tie::even;
  if (s.rule == ScaleRule::fixed || s.rule == ScaleRule::floor) s.most = 0;
  return s;
}

/// A list entry; greyed, with the reason as tooltip, if impossible. True if it changed the storage.
bool offer(const StorageField& f, std::string_view text, std::string_view what, const Scaling& chosen, bool is_set) {
  const std::string reason = f.why_not(chosen);
  const bool pressed = if_possible(reason.empty(), [&] { return ImGui::Selectable(std::string(text).c_str(), is_set); });
  explain(reason.empty() ? std::string(what) : fmt::format("{} Not here: {}", what, reason));
  const bool changed = pressed && chosen != f.now;
  if (changed) f.now = chosen;
  return changed;
}

/// Menu of a tensor's usual storage, and a button that opens its parts. True if the button was pressed.
bool storage_line(const StorageField& f, bool is_open) {
  const std::string text = scaling_text(f.now), id(f.title);
  const float more = px(58), width = px(option_field_width) - more - px(6);
  begin_option(id.c_str(), f.now.is_on());
  {
    const WithField field(Face::mono);
    if (begin_combo(("##" + id).c_str(), fitted(Face::mono, text, width - px(30)), width)) {
      const Scaling now = f.now;
      for (const Choice& c : f.usual) {
        const Scaling s = parse_scaling(c.label);
        offer(f, c.label, c.what, s, s == now);
      }
      ImGui::EndCombo();
    } else {
      explain(fmt::format("{} Now {}.", f.what, text), f.formula);
    }
  }
  ImGui::SameLine(0, px(6));
  const bool toggles =
      push_button(("parts###parts of " + id).c_str(), is_open && f.now.is_on(), {more, px(control_height)}, f.now.is_on());
  explain(fmt::format("Element, granularity, scale and rounding of {}, one by one.", id));
  return toggles;
}

// --- parts of one tensor's storage ------------------------------------------------------------------------------------

/// A list of choices; set(s, i) applies choice i.
template <class Set>
void choose_part(const StorageField& p, const char* title, std::string_view what, std::span<const Choice> choices,
                 std::size_t chosen, bool differs, Set set) {
  begin_option(title, differs);
  const WithField f(Face::mono);
  const std::string now = chosen < choices.size() ? std::string(choices[chosen].label) : name(p.now.element);
  if (!begin_combo((std::string("##") + title).c_str(), now, px(option_field_width))) {
    return explain(what, chosen < choices.size() ? choices[chosen].what : std::string_view());
  }
  bool changed = false;
  for (std::size_t i = 0; i < choices.size() && !changed; ++i) {
    Scaling s = p.now;
    set(s, i);
    changed = offer(p, choices[i].label, choices[i].what, tidied(s, p.like), i == chosen);
  }
  ImGui::EndCombo();
}

constexpr std::array<Choice, named_elements.size()> elements{{
    {"int8", "Integers -127 .. 127, evenly spaced."},
    {"int4", "Integers -7 .. 7, evenly spaced."},
    {"e4m3", "8 bits, 3 of them of the significand; largest 448."},
    {"e5m2", "8 bits, 2 of them of the significand; largest 57344."},
    {"e3m2", "6 bits of OCP MX; largest 28."},
    {"e2m3", "6 bits of OCP MX; largest 7.5."},
    {"e2m1", "4 bits of OCP MX and NVFP4: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives."},
}};

void choose_element(const StorageField& p) {
  const auto at = std::ranges::find(named_elements, p.now.element, &NamedElement::element);
  choose_part(p, "element", "The format of one number without its scale.", elements,
              static_cast<std::size_t>(at - named_elements.begin()), false,
              [](Scaling& s, std::size_t i) { s.element = named_elements[i].element; });
}

constexpr EnumArray<Granularity, Choice> granularities{{
    {"head", "One scale for the whole head."},
    {"rows", "One scale for a number of rows."},
    {"token", "One scale for each row."},
    {"thread", "One scale for the rows held by one thread of an int8 mma."},
    {"channel", "One scale for each column."},
    {"columns", "One scale for a number of columns of a row."},
    {"block", "One scale for a block along the contraction: along d for Q and K, along the keys for V and P."},
    {"tensor", "One scale for all heads of the file's layer, as in kernels with one scale a tensor; for one head: head."},
}};

/// Number of rows, columns or elements that share a scale.
void edit_block(const StorageField& p) {
  if (!has_block(p.now.granularity)) return;
  begin_option("of", false);
  int block = p.now.block;
  bool changed = false;
  if (p.like == ScaledTensor::P) {
    static constexpr std::array<Choice, 3> blocks{{{"16", "16 keys."}, {"32", "32 keys."}, {"64", "64 keys."}}};
    int chosen = block == 16 ? 0 : block == 32 ? 1 : block == 64 ? 2 : -1;
    changed = segmented("of", blocks, chosen, px(option_field_width));
    if (changed) block = 16 << chosen;
  } else {
    changed = whole_field("##of", block, 1, max_tile);
    explain("The number of rows, columns or numbers that share a scale.");
  }
  if (!changed) return;
  Scaling s = p.now;
  s.block = block;
  p.now = tidied(s, p.like);
}

void choose_granularity(const StorageField& p) {
  choose_part(p, "granularity", "The numbers that share a scale.", granularities, static_cast<std::size_t>(p.now.granularity),
              false, [](Scaling& s, std::size_t i) {
                if (static_cast<std::size_t>(s.granularity) == i) return;
                s.granularity = static_cast<Granularity>(i);
                s.block = 0;
              });
  edit_block(p);
}

constexpr EnumArray<ScaleFormat, Choice> scale_formats{{
    {"fp32", "32 bits: nearly exact."},
    {"e8m0", "8 bits, a power of two: MX."},
    {"e4m3", "8 bits, 3 of them of the significand."},
    {"nvfp4", "e4m3 over one fp32 scale of the head, which brings the scales into e4m3's range: NVFP4."},
}};
constexpr EnumArray<ScaleRule, Choice> rules{{
    {"amax", "Largest magnitude / largest element: the largest magnitude becomes the largest element."},
    {"floor", "The power of two below: the largest saturate (OCP MX 1.0)."},
    {"ceil", "The power of two above: nothing saturates (NVIDIA)."},
    {"fixed", "1 / factor, independent of the numbers; only for granularity head."},
}};
constexpr EnumArray<Quotient, Choice> quotients{{
    {"divided", "x / s with the stored scale s."},
    {"reciprocal", "x * (1 / s): two roundings."},
    {"ratio", "x * (largest element / largest magnitude): two roundings, without the rounding of the stored scale."},
    {"unrounded", "x / s with the scale s before it is rounded to its format: a bias (SageAttention 3)."},
}};

void choose_scale(const StorageField& p) {
  const Scaling& s = p.now;
  choose_part(p, "scale", "The format of a scale.", scale_formats, static_cast<std::size_t>(s.scale), false,
              [](Scaling& x, std::size_t i) {
                x.scale = static_cast<ScaleFormat>(i);
                if (x.rule == ScaleRule::ceil && i != 1) x.rule = ScaleRule::amax;
              });
  if (!(p.like == ScaledTensor::P && s.granularity == Granularity::head))
    choose_part(p, "rule", "The rule for a scale.", rules, static_cast<std::size_t>(s.rule), false,
                [](Scaling& x, std::size_t i) { x.rule = static_cast<ScaleRule>(i); });
  if (s.rule != ScaleRule::fixed)
    choose_part(p, "quotient", "The quotient that is rounded to an element.", quotients, static_cast<std::size_t>(s.quotient),
                s.quotient != Quotient::divided, [](Scaling& x, std::size_t i) { x.quotient = static_cast<Quotient>(i); });
}

/// A number of the scale, limited to the range of its text form.
void edit_number(const StorageField& p, const char* name, double Scaling::* number, double off, std::string_view what) {
  Scaling s = p.now;
  begin_option(name, s.*number != off);
  const RealRange range{.min = off > 0 ? 1e-30 : 0, .max = 1e30};
  const bool changed = real_field((std::string("##") + name).c_str(), s.*number, range, 0);
  explain(what);
  if (changed && (s.*number == off || s.*number >= 1e-30)) p.now = tidied(s, p.like);
}

void edit_numbers(const StorageField& p) {
  const Scaling& s = p.now;
  const bool of_P = p.like == ScaledTensor::P;
  if (s.rule == ScaleRule::fixed || (of_P && s.granularity == Granularity::block))
    edit_number(p, "factor", &Scaling::factor, 1, "The numbers are multiplied by the factor before rounding.");
  if (!of_P && (s.rule == ScaleRule::amax || s.rule == ScaleRule::ceil))
    edit_number(p, "scaled to", &Scaling::most, 0,
                "The number that the largest magnitude becomes; 0: the largest element. SageAttention 2++ has 2.25 for V.");
  if (!of_P && s.rule == ScaleRule::amax)
    edit_number(p, "plus", &Scaling::added, 0, "Added to every scale, against division by 0 (SageAttention).");
}

/// A flag of the storage.
void edit_flag(const StorageField& p, const char* name, const char* label, bool on, std::string_view what,
               void (*set)(Scaling&, bool)) {
  begin_option(name, on);
  const bool pressed = toggle(label, on, px(option_field_width));
  Scaling s = p.now;
  set(s, on);
  const Scaling chosen = tidied(s, p.like);
  const std::string reason = p.why_not(chosen);
  explain(reason.empty() || pressed ? std::string(what) : fmt::format("{} Not here: {}", what, reason));
  if (pressed && reason.empty()) p.now = chosen;
}

void edit_rounding_parts(const StorageField& p) {
  const Scaling& s = p.now;
  if (s.element.kind == Element::Kind::integer)
    edit_flag(p, "ties", "away from zero", s.tie == Tie::away,
              "x.5 becomes the integer further from 0, as in kernels that add 0.5, instead of the even one.",
              [](Scaling& x, bool on) { x.tie = on ? Tie::away : Tie::even; });
  if (p.like == ScaledTensor::P)
    return edit_flag(p, "in the exponent", "shift", s.shifts,
                     "The factor is added to the exponent: e and l have it too, and O needs no division by it.",
                     [](Scaling& x, bool on) { x.shifts = on; });
  edit_flag(p, "read back", "in the operand", s.in_operand,
            "Elements are multiplied by their scales before the product, as in a KV cache, instead of after it.",
            [](Scaling& x, bool on) { x.in_operand = on, x.operand = on ? to_main : exact; });
  if (!s.in_operand) return;
  Scaling after = s;
  edit_rounded("read back as", after.operand, "The rounding of element times scale before the product.", p.main, p.typed);
  if (after != s) p.now = tidied(after, p.like);
}

void edit_parts(const StorageField& p) {
  label(Face::section, colours().faint, fmt::format("{} STORED AS {}", p.title, scaling_text(p.now)));
  choose_element(p);
  choose_granularity(p);
  choose_scale(p);
  edit_numbers(p);
  edit_rounding_parts(p);
}

}  // namespace

std::span<const Choice> usual_storage(ScaledTensor t) {
  if (t == ScaledTensor::P) return usual_P;
  return t == ScaledTensor::V ? std::span<const Choice>(usual_V) : usual_QK;
}

void edit_storage(std::span<const StorageField> fields) {
  int* const open_parts = ImGui::GetStateStorage()->GetIntRef(ImGui::GetID("parts"), -1);
  if (ImGui::IsWindowAppearing()) *open_parts = -1;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const int number = static_cast<int>(i);
    if (storage_line(fields[i], *open_parts == number)) *open_parts = *open_parts == number ? -1 : number;
  }
  if (*open_parts < 0) return;
  const StorageField& open = fields[static_cast<std::size_t>(*open_parts)];
  if (open.now.is_on()) edit_parts(open);
}

void edit_rounded(const char* name, Rounding& r, std::string_view what, const Format& main, std::string& typed) {
  begin_option(name, !(r == exact));
  RoundingCell cell{name, colours().accent, ImGui::GetCursorScreenPos().x, px(option_field_width), px(control_height)};
  cell.what = std::string(what) + " ";
  edit_rounding(r, cell, main, typed);
}

std::string storage_preview(std::span<const StorageField> fields) {
  std::string text, last;
  for (const StorageField& f : fields) {
    if (!f.now.is_on()) continue;
    const std::string element = name(f.now.element);
    if (element == last)
      text.insert(text.size() - last.size() - 1, f.title);
    else
      text += fmt::format("{}{} {}", text.empty() ? "" : " ", f.title, element);
    last = element;
  }
  return text;
}

std::string storage_text(std::span<const StorageField> fields) {
  std::string text;
  for (const StorageField& f : fields) text += fmt::format("{} {}\n", f.title, scaling_text(f.now));
  return text;
}

}  // namespace attoscope::ui
