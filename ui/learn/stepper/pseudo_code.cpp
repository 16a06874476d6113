#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "ui/learn/stepper/stepper.h"
#include "ui/learn/views/views.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

namespace {

constexpr float line_step = 20, padding = 8, line_number_width = 26;
// --- with scales ------------------------------------------------------------------------------------------------------

void replace(std::string& text, std::string_view what, std::string_view by) {
  if (const std::size_t at = text.find(what); at != std::string::npos) text.replace(at, what.size(), by);
}

/// Powers of 2 of multiples of S, as the kernel takes them.
void take_powers_of_2(std::string& text) {
  for (const std::string_view S : {"S_j", "S_t"})
    for (const std::string_view m : {"m~)", "m)"})
      replace(text, fmt::format("exp({} - {}", S, m), fmt::format("2^(c{} - c{}", S, m));
  for (const std::string_view difference : {"(m' - m)", "(m'-m)", "(m~-m)"})
    replace(text, fmt::format("exp{}", difference), fmt::format("2^(c·{})", difference));
}

/// P before it is stored: e, with the factor that l carries too.
void take_factor_of_P(std::string& text, const Steps& row) {
  const double lift = row.storage.lift;
  replace(text, "  P = ", "  e = ");
  replace(text, "Σ P", "Σ e");
  if (lift == 1 || !text.starts_with("  e = ")) return;
  if (row.question.exponential == ExponentialKind::exp2)
    text.insert(text.rfind(')'), fmt::format(" + {:.4g}", row.exponent_shift));
  else
    replace(text, "exp(", fmt::format("{:.4g}·exp(", lift));
}

std::string scores_line(const Steps& row) {
  const StepStorage& stored = row.storage;
  const std::string t = has_tiles(row.question.algorithm) ? "t" : "j";
  std::string text = "  S_" + t + " = ";
  const bool folded = stored.factor_in_exponent && row.question.exponential == ExponentialKind::exp2;
  text += stored.S_factor.empty() || folded ? "q·K_" + t : "s_q·s_k·(q·K_" + t + ")";
  if (!stored.S_added.empty()) text += " + mean(Q)·K_" + t;
  return text;
}

std::string store_line(const Steps& row) {
  const Scaling& P = row.question.scaling.P;
  const std::string element = name(P.element);
  if (P.granularity == Granularity::block) {
    const std::string e = row.storage.P_factor == 1 ? "e" : fmt::format("{:.4g}·e", row.storage.P_factor);
    return fmt::format("  P = s_p·{}({} / s_p)", element, e);
  }
  return row.storage.P_factor == 1 ? fmt::format("  P = {}(e)", element)
                                   : fmt::format("  P = {}({:.4g}·e)", element, row.storage.P_factor);
}

void scale_output(std::string& text, const StepStorage& stored) {
  if (!stored.O_factor.empty()) replace(text, "return O", "return s_v·O");
  if (stored.P_factor != 1) text += fmt::format(" / {:.4g}", stored.P_factor);
  if (!stored.O_offset.empty()) text += " + mean(V)";
}

bool has_step(const Steps& row, StepKind kind) { return std::ranges::find(row.steps, kind, &RowStep::kind) != row.steps.end(); }

}  // namespace

std::vector<CodeLine> pseudo_code(const Steps& row) {
  const bool stores_P = row.question.scaling.P.is_on(), has_scores = has_step(row, StepKind::scores);
  std::vector<CodeLine> lines;
  for (CodeLine& line : pseudo_code(row.question.algorithm)) {
    if (row.question.exponential == ExponentialKind::exp2) take_powers_of_2(line.text);
    if (stores_P) take_factor_of_P(line.text, row);
    if (line.kind == StepKind::finish) scale_output(line.text, row.storage);
    const bool takes_max =
        line.kind == StepKind::tile_max || (line.kind == StepKind::max && row.question.algorithm != Algorithm::flash1);
    if (has_scores && takes_max) lines.push_back({scores_line(row), StepKind::scores});
    const bool sums = line.kind == StepKind::sum;
    lines.push_back(std::move(line));
    if (stores_P && sums) lines.push_back({store_line(row), StepKind::store});
  }
  return lines;
}

Face code_face(const LessonScene& scene) { return scene.room > 0 ? Face::mono_large : Face::mono; }

void draw_step_mark(ImVec2 from, ImVec2 to) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(from, to, faded(colours().a, 0.16f));
  list->AddRectFilled(from, {from.x + px(3), to.y}, colours().a);
}

ImVec2 pseudo_code_size(std::span<const CodeLine> lines, Face face, std::size_t most) {
  float widest = 0;
  for (const CodeLine& line : lines) widest = std::max(widest, text_width(face, line.text));
  const float count = static_cast<float>(std::max(most, lines.size()));
  return {widest + px(line_number_width + 3 * padding), count * px(line_step) + 2 * px(padding)};
}

void draw_pseudo_code(std::span<const CodeLine> lines, std::optional<RunningLine> running, float width, Face face) {
  const std::size_t most = face == Face::mono ? most_code_lines : 0;  // then as high for the shortest code as for the longest
  const ImVec2 at = ImGui::GetCursorScreenPos(), size{width, pseudo_code_size(lines, face, most).y};
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(at, {at.x + size.x, at.y + size.y}, colours().background, px(4));
  list->AddRect(at, {at.x + size.x, at.y + size.y}, colours().line, px(4));
  float y = at.y + px(padding);
  for (std::size_t i = 0; i < lines.size(); ++i, y += px(line_step)) {
    const bool runs = running && lines[i].kind == running->kind, loops = running && lines[i].pass == running->pass;
    if (runs) draw_step_mark({at.x, y}, {at.x + size.x, y + px(line_step)});
    const float text_y = y + (px(line_step) - line_height(face)) / 2;
    draw_text({at.x + px(line_number_width), text_y}, Face::mono_small, colours().faint, std::to_string(i + 1), 1);
    const Colour colour = runs || !running ? colours().text : loops ? colours().text : colours().secondary;
    draw_text({at.x + px(line_number_width + padding), text_y}, face, colour,
              fitted(face, lines[i].text, size.x - px(line_number_width + 2 * padding)));
  }
  ImGui::Dummy(size);
}

std::string draw_code_view(LessonScene& scene) {
  const Algorithm algorithm = scene.experiment.a.algorithm;
  const std::vector<CodeLine> lines = pseudo_code(algorithm);
  if (lines.empty()) return refusal("algorithm", name(algorithm), stepped_text());
  label(Face::label, colours().secondary, info(algorithm).title);
  draw_pseudo_code(lines, {}, scene.width, code_face(scene));
  return "";
}

}  // namespace attoscope::ui
