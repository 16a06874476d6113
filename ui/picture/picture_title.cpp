// A title over the picture: the quantity, the method and its format, the input.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/experiment/letters.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/text.h"
#include "ui/frame/loaded_output.h"
#include "ui/picture/pictures.h"
#include "ui/widgets/widgets.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

namespace {

/// "flash2 in bf16"; a loaded output has no format of ours.
std::string method_in_format(const Experiment& e, bool of_b) {
  const MethodNames names = method_names(e);
  const Method& m = of_b ? e.b : e.a;
  const std::string method = of_b ? names.b : names.a;
  return m.algorithm == Algorithm::loaded ? method : method + " in " + name(e.format);
}

/// "error of dQ of flash2 in bf16"; `of`: "" for the output, else "dQ of ".
std::string field_in_words(Field field, const Experiment& e, const std::string& of) {
  using enum Field;
  const auto method = [&](bool of_b) { return of + method_in_format(e, of_b); };
  struct Errors {
    Field of_a, of_b;
    const char* words;
  };
  for (const Errors& x : {Errors{a, b, of.empty() ? "output of " : ""},
                          {a_error, b_error, "error of "},
                          {a_abs, b_abs, "size of the error of "},
                          {a_ulps, b_ulps, "error in ulps of "},
                          {a_relative, b_relative, "relative error of "},
                          {a_storage, b_storage, "error by storage alone of "},
                          {a_arithmetic, b_arithmetic, "error by arithmetic alone of "}})
    if (field == x.of_a || field == x.of_b) return x.words + method(field == x.of_b);
  if (field == golden) return of.empty() ? "exact output, golden" : "exact " + of.substr(0, of.find(' ')) + ", golden";
  if (field == tolerance) return "error over tolerance of your kernel";
  return fmt::format("{}{} minus {}", of, method_names(e).a, method_in_format(e, true));
}

/// The quantity of a picture of all heads, and its method: the table of the KV cache is of flash2, whatever a and b are.
std::string quantity_of_heads(const PictureSubject& s) {
  const Experiment& e = s.experiment;
  const std::string a = method_in_format(e, false);
  if (s.heads == HeadsShow::kv_cache) return "relative RMS error of flash2 in bf16, K and V in fewer bits";
  if (s.heads == HeadsShow::verdict) return field_in_words(Field::tolerance, e, "");
  if (s.heads == HeadsShow::grid) return fmt::format("{} beside {}", method_names(e).a, method_in_format(e, true));
  return s.view.heads_range == HeadsRange::relative ? "error of " + a + " over the RMS of the output"
                                                    : "size of the error of " + a;
}

/// The quantity on show and its method.
std::string quantity(const PictureSubject& s, Field field) {
  const Experiment& e = s.experiment;
  const std::string a = method_in_format(e, false);
  constexpr EnumArray<RescaleShow> rescales{"moves of the running max of ", "how far the running max moves in ",
                                            "P beyond its format in ", "P that becomes 0 in "};
  if (s.view.picture == PictureKind::rescales) return std::string(rescales[s.view.rescale_show]) + a;
  if (s.view.picture == PictureKind::heads) return quantity_of_heads(s);
  constexpr EnumArray<ScoreShow> scores{"scores S of ", "weights P of ", "error of P of "};
  if (s.view.picture == PictureKind::scores && !shows_pairs(s.view, e)) return std::string(scores[s.view.score_show]) + a;
  const Experiment& shown = s.shown.result ? s.shown.result->experiment : e;  // a may be a kernel's gradient
  return field_in_words(field, shown, s.shown.is_output() ? "" : fmt::format("{} of ", s.shown.name));
}

/// "layer 7, head 7 of smollm2_135m", "drawn inputs, normal".
std::string input_in_words(const View& view, const Input& input, const TensorFileInfo& info) {
  if (input.kind != InputKind::tensors) return fmt::format("drawn inputs, {}", name(input.kind));
  const std::string file = shown_stem(input.file);
  if (view.picture == PictureKind::heads) return "every head of " + file;
  const auto head = static_cast<std::size_t>(input.index);
  const bool named = info.file == input.file && info.heads > 1 && head < info.head_names.size();
  return (named ? info.head_names[head] : std::string("one head")) + " of " + file;
}

/// "128 tokens", "5 queries, 9 keys"; of heads that differ in length, if all of their tokens are on show, "17 to 55 tokens".
std::string length_in_words(const PictureSubject& s) {
  const Problem& p = s.experiment.problem;
  AttentionShape least = shape_of(p), most = least;
  const LayerEntry* const own = layer_of(s.info, p.input.index);
  const bool of_file = s.view.picture == PictureKind::heads && s.info.file == p.input.file && own != nullptr;
  if (of_file && p.n >= own->shape.n)
    for (const LayerEntry& layer : s.info.layers) {
      least.n = std::min(least.n, layer.shape.n);
      least.n_k = std::min(least.n_k, layer.shape.n_k);
      most.n = std::max(most.n, layer.shape.n);
      most.n_k = std::max(most.n_k, layer.shape.n_k);
    }
  const auto span = [](int from, int to, std::string_view one, std::string_view more = {}) {
    return (from == to ? "" : std::to_string(from) + " to ") + counted(to, one, more);
  };
  if (least.n == least.n_k && most.n == most.n_k) return span(least.n, most.n, "token");
  return span(least.n, most.n, "query", "queries") + ", " + span(least.n_k, most.n_k, "key");
}

}  // namespace

std::string picture_title(const PictureSubject& s, Field field, const std::optional<Field>& second) {
  const bool two = second && (s.view.picture == PictureKind::output || shows_pairs(s.view, s.experiment));
  std::string text = fmt::format("{}{}: {}, {}", quantity(s, field), two ? ", beside " + quantity(s, *second) : "",
                                 input_in_words(s.view, s.experiment.problem.input, s.info), length_in_words(s));
  const bool is_symbol = is_capital(text[1]);  // dQ
  if (!is_symbol) text[0] = capital_letter(text[0]);
  return text;
}

std::string picture_title(const Frame& frame) {
  const View& view = frame.session.view;
  const std::shared_ptr<const Result>& answer = frame.input.answer.result;
  const bool two = view.comparison != Comparison::none && !compares_with_slip(view, frame.input);
  return picture_title({view, answer ? answer->experiment : frame.session.experiment, frame.state.heat,
                        frame.input.choices.tensors, shown_heads(frame.session, frame.input)},
                       view.field, two ? std::optional(view.second_field) : std::nullopt);
}

void draw_picture_title(const Frame& frame) {
  const std::string title = picture_title(frame);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x, height = line_height(Face::label) + px(4);
  take_room(at, {width, height});
  explain(title);
  draw_fitted({at.x, at.y}, Face::label, colours().text, title, width);
  ImGui::SetCursorScreenPos({at.x, at.y + height});
}

}  // namespace attoscope::ui
