// A title over the picture: the quantity, the method and its format, the input.
#include <fmt/format.h>

#include <optional>
#include <string>

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

/// The quantity on show and its method.
std::string quantity(const PictureSubject& s, Field field) {
  const Experiment& e = s.experiment;
  const std::string a = method_in_format(e, false);
  constexpr EnumArray<RescaleShow> rescales{"moves of the running max of ", "how far the running max moves in ",
                                            "P beyond its format in ", "P that becomes 0 in "};
  if (s.view.picture == PictureKind::rescales) return std::string(rescales[s.view.rescale_show]) + a;
  if (s.view.picture == PictureKind::heads) return fmt::format("{} beside {}", method_names(e).a, method_in_format(e, true));
  constexpr EnumArray<ScoreShow> scores{"scores S of ", "weights P of ", "error of P of "};
  if (s.view.picture == PictureKind::scores && !shows_pairs(s.view, e)) return std::string(scores[s.view.score_show]) + a;
  return field_in_words(field, e, s.shown.is_output() ? "" : fmt::format("{} of ", s.shown.name));
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

}  // namespace

std::string picture_title(const PictureSubject& s, Field field, const std::optional<Field>& second) {
  const bool two = second && (s.view.picture == PictureKind::output || shows_pairs(s.view, s.experiment));
  const Problem& p = s.experiment.problem;
  const std::string length =
      key_count(p) == p.n ? counted(p.n, "token") : counted(p.n, "query", "queries") + ", " + counted(key_count(p), "key");
  std::string text = fmt::format("{}{}: {}, {}", quantity(s, field), two ? ", beside " + quantity(s, *second) : "",
                                 input_in_words(s.view, p.input, s.info), length);
  text[0] = capital_letter(text[0]);
  return text;
}

std::string picture_title(const Frame& frame) {
  const View& view = frame.session.view;
  const std::shared_ptr<const Result>& answer = frame.input.answer.result;
  const bool two = view.comparison != Comparison::none && !compares_with_slip(view, frame.input);
  return picture_title(
      {view, answer ? answer->experiment : frame.session.experiment, frame.state.heat, frame.input.choices.tensors}, view.field,
      two ? std::optional(view.second_field) : std::nullopt);
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
