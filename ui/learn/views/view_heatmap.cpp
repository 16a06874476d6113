// A field of the output as a picture, with the controls that the lesson gives.
#include <algorithm>
#include <array>

#include "kernels/experiment/answer_tensor.h"
#include "ui/learn/views/view_parts.h"
#include "ui/picture/heatmap_view.h"
#include "ui/picture/picture_frame.h"
#include "ui/picture/pictures.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

/// The fields that a reader may switch between.
constexpr std::array<Field, 7> offered{Field::golden,  Field::a,      Field::b,        Field::a_error,
                                       Field::b_error, Field::a_ulps, Field::a_minus_b};

void switch_field(LessonScene& scene, Field shown) {
  static constexpr std::array<std::string_view, offered.size()> labels{"golden",     "a",         "b",    "a − golden",
                                                                       "b − golden", "a in ulps", "a − b"};
  std::array<Choice, offered.size()> choices;
  std::array<std::string_view, offered.size()> names;
  for (std::size_t i = 0; i < offered.size(); ++i) {
    choices[i] = {labels[i], text(offered[i]).what};
    names[i] = text(offered[i]).name;
  }
  choose(scene, "field", choices, names, text(shown).name, std::min(scene.width, px(620)));
}

/// Switch between O and the tensors of the backward pass.
void switch_tensor(LessonScene& scene, std::string_view shown) {
  static constexpr EnumArray<AnswerTensor, Choice> choices{{{"O", "the output"},
                                                            {"dO", "the gradient of O, an input"},
                                                            {"dQ", "the gradient of Q: a row for each query"},
                                                            {"dK", "the gradient of K: a row for each key"},
                                                            {"dV", "the gradient of V: a row for each key"}}};
  choose(scene, "tensor", choices, answer_tensor_names, shown, std::min(scene.width, px(320)));
}

/// A tensor of an answer, and its picture.
struct TensorPicture {
  SeenTensor seen;
  HeatState heat;
};

/// Draws a mark and a read-out for the cell under the mouse.
void read_cell(const HeatState& heat, const Places& p, const CellRect& rect) {
  const auto at = hovered(p, rect);
  if (!at) return;
  const Cell cell{matrix_row_at(heat, at->row), matrix_col_at(heat, at->col)};
  const RowSpan rows = row_span(heat, cell.row);
  draw_cell_mark(p, rect, rows, cell.col, cell.col + 1);
  draw_read_out(heat, cell, p, {to_x(p, rect, cell.col + 0.5), to_y(p, rect, (rows.first + rows.end) / 2)});
}

void draw_picture(const LessonScene& scene, TensorPicture& picture, float height) {
  HeatState& heat = picture.heat;
  const ImVec2 from = ImGui::GetCursorScreenPos(), to{from.x + scene.width, from.y + height};
  const Places p = places(from, to, {.side = 48, .below = 0, .bars = 1});
  const CellRect rect = seen({}, heat.n, heat.cols);
  View view;
  view.theme = colours().theme;
  const Colouring how = colouring(text(heat.field).is_signed, automatic_range(static_cast<double>(heat.largest)), view);
  refresh_pixels(heat, p, rect);
  if (scene.input.paint) scene.input.paint(ImGui::GetWindowDrawList(), p.min, p.max, heat.image, how);
  draw_outline(p);
  draw_row_axis(p, rect);
  draw_col_axis(p, rect);
  draw_row_worst(p, rect, heat, static_cast<double>(heat.largest), field_colour(heat.field));
  draw_colour_bar(p.bars[0], how, heat);
  draw_caption(p, picture.seen.shown.keys_down ? "key down, head dimension across" : "query row down, head dimension across",
               sampling_text(heat, p, rect));
  dim_if_earlier(scene, *picture.seen.answer, p.min, p.max);
  ImGui::SetCursorScreenPos(p.min);
  ImGui::InvisibleButton("picture", {p.width(), p.height()});
  read_cell(heat, p, rect);
  take_room({from.x, to.y}, {0, 0});
}

}  // namespace

std::string draw_heatmap_view(LessonScene& scene) {
  std::array<std::string_view, field_count> names;
  std::ranges::transform(field_texts, names.begin(), &FieldText::name);
  const std::string wanted = value_of(scene, "field", "a_error");
  const std::string tensor = value_of(scene, "tensor", "O");
  std::string problem = unknown_word("field", {wanted}, names);
  if (problem.empty()) problem = unknown_word("tensor", {tensor}, answer_tensor_names);
  const float usual = px(static_cast<float>(whole_of(scene, "height", 320, 160, 1000, problem)));
  const float height = flexible_height(scene, usual, px(160));
  if (!problem.empty()) return problem;
  problem = draw_lesson_controls(scene);
  if (!problem.empty()) return problem;
  const auto field = static_cast<Field>(std::ranges::find(names, wanted) - names.begin());
  const auto answer = answered(scene, {scene.width, height + px(96)});
  if (!answer) return "";
  if (tensor != "O" && !answer->backward)
    return "tensor is " + tensor + ", which needs a backward pass, expected 'do: normal' too";
  auto& picture = own_state<TensorPicture>(scene);
  View view;
  view.tensor = static_cast<AnswerTensor>(std::ranges::find(answer_tensor_names, tensor) - answer_tensor_names.begin());
  const ShownTensor& shown = shown_answer(picture.seen, answer, view);
  refresh_values(picture.heat, shown, field);
  const std::shared_ptr<const Result>& result = shown.result;
  if (!is_on_page(scene)) switch_field(scene, field);
  if (!is_on_page(scene) && result->backward) switch_tensor(scene, tensor);
  const Verdict v = verdict(*result);
  const std::string numbers =
      "mean |error|  a " + scientific(result->a_error.mean_abs) + "  b " + scientific(result->b_error.mean_abs);
  scene.state.summary = v.headline + ": " + numbers;
  draw_verdict(v, scene.width);
  label(Face::mono, colours().secondary, numbers);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_picture(scene, picture, height);
  offer_figure(scene, Plot::heat_map, "heat map", at, {at.x + scene.width, at.y + height}, [&] {
    Session s;
    s.experiment = scene.experiment;
    s.view.field = field;
    s.view.tensor = view.tensor;
    return s;
  });
  return "";
}

}  // namespace attoscope::ui
