#include "ui/controls/matrix.h"

#include <algorithm>
#include <cmath>

#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

/// Moves the cursor to a column of the row that begins at `at`.
void go_to(const MatrixPlace& place, std::size_t column, ImVec2 at) { ImGui::SetCursorScreenPos({place.left[column], at.y}); }

}  // namespace

MatrixPlace matrix_place(float least_names) {
  const float left = ImGui::GetCursorScreenPos().x, room = ImGui::GetContentRegionAvail().x, gap = px(6);
  const float names = std::clamp(room - 2 * px(96) - gap, least_names, px(92));  // width of "base_eager"
  const float width = std::floor(std::clamp((room - names - gap) / 2, px(60), px(140)));
  const float first = left + room - 2 * width - gap;
  return {{first, left + room - width}, width, first - left - gap};
}

float matrix_row_height(int rows) {
  const float bottom = ImGui::GetWindowPos().y + ImGui::GetWindowSize().y - px(6);
  const float rest = bottom - ImGui::GetCursorScreenPos().y - ImGui::GetScrollY();
  const float even = std::floor(rest / static_cast<float>(rows));
  return even < px(16) ? px(17) : std::min(even, px(control_height));
}

void matrix_header(const MatrixPlace& place, const char* title, const DrawColumn& draw) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const WithField f(Face::mono_small, matrix_header_height);
  ImGui::PushStyleVarX(ImGuiStyleVar_FramePadding, px(5));
  draw_in_line(at, px(matrix_header_height), Face::label, colours().secondary, title);
  for (const std::size_t column : {0, 1}) {
    go_to(place, column, at);
    draw(column);
  }
  ImGui::PopStyleVar();
  ImGui::SetCursorScreenPos({at.x, at.y + px(control_height)});
}

void column_combo(const char* id, const std::string& preview, const ColumnCombo& look, const std::function<void()>& choose,
                  const std::function<void()>& explain_closed) {
  // The disabled state ends after the popup: Dear ImGui requires begin and end in one window.
  ImGui::BeginDisabled(!look.possible);
  if (look.tall) ImGui::SetNextWindowSizeConstraints({0, 0}, {px(2000), 0.9f * ImGui::GetIO().DisplaySize.y});
  const float room = look.width - ImGui::GetFrameHeight() - px(5);
  const bool open = begin_combo(id, fitted(Face::mono_small, preview, room), look.width, look.colour);
  if (open) {
    choose();
    ImGui::EndCombo();
  }
  ImGui::EndDisabled();
  if (!open) explain_closed();
}

void matrix_row(const MatrixPlace& place, const MatrixRow& row, float height, const DrawColumn& draw) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton(("about " + std::string(row.name)).c_str(), {place.names, height});
  draw_in_line(at, height - px(2), Face::mono, colours().text, row.name);
  explain(row.what, row.formula);
  for (const std::size_t column : {0, 1}) {
    go_to(place, column, at);
    draw(column);
  }
  ImGui::SetCursorScreenPos({at.x, at.y + height});
}

void draw_no_cell(const MatrixPlace& place, std::size_t column, float height, std::string_view text) {
  const float y = ImGui::GetCursorScreenPos().y + (height - px(2) - line_height(Face::small)) / 2;
  draw_text({place.left[column] + place.width / 2, y}, Face::small, colours().faint, text, 0.5f);
}

}  // namespace attoscope::ui
