// Code, and one step in detail: the running line, the formula with its numbers, the state, and the bits lost in rounding.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ui/learn/stepper/stepper.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {
namespace {

constexpr float line_step = 20, padding = 8, line_number_width = 26;

// --- with scales ------------------------------------------------------------------------------------------------------

void replace(std::string& text, std::string_view what, std::string_view by) {
  if (const std::size_t at = text.find(what); at != std::string::npos) text.replace(at, what.size(), by);
}

/// Replaces exp by powers of 2 of multiples of S, as the kernel computes them.
void take_powers_of_2(std::string& text) {
  for (const std::string_view S : {"S_j", "S_t"})
    for (const std::string_view m : {"m~)", "m)"})
      replace(text, fmt::format("exp({} - {}", S, m), fmt::format("2^(c{} - c{}", S, m));
  for (const std::string_view difference : {"(m' - m)", "(m'-m)", "(m~-m)"})
    replace(text, fmt::format("exp{}", difference), fmt::format("2^(c·{})", difference));
}

/// Renames P before it is stored to e, and adds the factor that l carries, too.
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

/// The face of code and of formulas with numbers: larger while a lesson is presented.
Face code_face(const LessonScene& scene) { return scene.room > 0 ? Face::mono_large : Face::mono; }

/// Draws the mark of the step's parts: the running line, the formula with numbers, the changed state.
void draw_step_mark(ImVec2 from, ImVec2 to) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  list->AddRectFilled(from, to, faded(colours().a, 0.16f));
  list->AddRectFilled(from, {from.x + px(3), to.y}, colours().a);
}

/// Least size of the box of code, for at least `most` lines.
ImVec2 pseudo_code_size(std::span<const CodeLine> lines, Face face, std::size_t most = 0) {
  float widest = 0;
  for (const CodeLine& line : lines) widest = std::max(widest, text_width(face, line.text));
  const float count = static_cast<float>(std::max(most, lines.size()));
  return {widest + px(line_number_width + 3 * padding), count * px(line_step) + 2 * px(padding)};
}

/// The line that runs, and the loop that it runs in.
struct RunningLine {
  StepKind kind{};
  int pass = 0;
};

/// Draws the lines in a box, `running` highlighted; takes its room in the layout.
void draw_pseudo_code(std::span<const CodeLine> lines, std::optional<RunningLine> running, float width, Face face) {
  const std::size_t most = face == Face::mono ? most_code_lines : 0;  // the same height for every code unless presented
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
    draw_fitted({at.x + px(line_number_width + padding), text_y}, face, colour, lines[i].text,
                size.x - px(line_number_width + 2 * padding));
  }
  ImGui::Dummy(size);
}

constexpr float state_line = 20, lost_line = 20, mark_margin = 8;
/// Number of roundings that are written out: usually, and while a lesson is presented.
constexpr std::size_t all_roundings = 3, presented_roundings = 1;
constexpr const char* subscripts[] = {"O₁", "O₂", "O₃", "O₄"};

void section(ImVec2 at, std::string_view text) { draw_text(at, Face::section, colours().faint, text); }

// --- formula and state ------------------------------------------------------------------------------------------------

float draw_formula(const StepperData& s, ImVec2 at, float width, Face face) {
  section(at, "WITH THE NUMBERS PUT IN");
  float y = at.y + px(18);
  const std::vector<std::string> lines = step_formula(s.row(), s.index());
  draw_step_mark({at.x - px(mark_margin), y - px(2)}, {at.x + width, y + px(3 * state_line - 2)});
  for (std::size_t i = 0; i < lines.size(); ++i, y += px(state_line)) {
    const bool rescales = s.step().kind == StepKind::alpha && s.step().alpha != 1;
    const Colour colour = i == 0                  ? colours().secondary
                          : rescales              ? colours().moved
                          : i + 1 == lines.size() ? colours().text
                                                  : colours().secondary;
    draw_fitted({at.x, y}, face, colour, lines[i], width);
  }
  return at.y + px(18 + 3 * state_line + 8);
}

/// A number of the state before and after the step, as stored and exactly.
struct StateLine {
  std::string name;
  double before, after, exact;
  Colour colour;
};

std::vector<StateLine> state_lines(const StepperData& s) {
  const RowStep &now = s.step(), &before = s.before();
  std::vector<StateLine> lines{
      {"m", before.state.m, now.state.m, now.exact.m,
       now.state.m != before.state.m && std::isfinite(before.state.m) ? colours().moved : colours().text},
      {"l", before.state.l, now.state.l, now.exact.l, colours().text}};
  for (std::size_t c = 0; c < now.state.O.size(); ++c)
    lines.push_back({subscripts[c], before.state.O[c], now.state.O[c], now.exact.O[c], colours().text});
  return lines;
}

float draw_state(const StepperData& s, ImVec2 at, float width) {
  const float number = text_width(Face::mono_small, "-0.000000e-0"), right = at.x + width;
  const float error = right, exact = error - text_width(Face::mono_small, "+0.0e-00") - px(16), after = exact - number - px(8);
  const float before = after - number - px(8);
  const bool tight = before - number < at.x + px(24);
  const auto column = [&](float x, float y, Face face, Colour colour, std::string_view text) {
    draw_text({x, y}, face, colour, text, 1);
  };
  if (!tight) column(before, at.y, Face::section, colours().faint, "BEFORE");
  column(after, at.y, Face::section, colours().faint, "AFTER");
  column(exact, at.y, Face::section, colours().golden, "EXACT");
  column(error, at.y, Face::section, colours().faint, "ERROR");
  section(at, "STATE");
  float y = at.y + px(18);
  for (const StateLine& line : state_lines(s)) {
    ImGui::GetWindowDrawList()->AddLine({at.x, y - px(3)}, {right, y - px(3)}, colours().line);
    const bool changed = !(line.before == line.after);
    if (changed) draw_step_mark({at.x - px(mark_margin), y - px(3)}, {right, y + px(state_line - 3)});
    draw_text({at.x, y}, Face::mono, changed ? colours().a : colours().secondary, line.name);
    if (!tight) column(before, y, Face::mono_small, colours().secondary, state_number(line.before));
    column(after, y, Face::mono_small, changed ? line.colour : colours().secondary, state_number(line.after));
    column(exact, y, Face::mono_small, colours().golden, state_number(line.exact));
    const double off = line.after == line.exact ? 0 : line.after - line.exact;
    const std::string text = off == 0 ? "0" : signed_scientific(off, 2);
    column(error, y, Face::mono_small, text == "0" ? colours().faint : colours().bad, text);
    y += px(state_line);
  }
  return y;
}

// --- lost bits --------------------------------------------------------------------------------------------------------

/// The roundings of the step with the largest relative errors, in order of execution.
std::vector<const RoundedNumber*> worst_roundings(const RowStep& step, std::size_t shown_roundings) {
  std::vector<const RoundedNumber*> lost;
  for (const RoundedNumber& made : step.numbers)
    if (made.rounds && made.before != made.after) lost.push_back(&made);
  const auto share = [](const RoundedNumber* m) { return std::abs((m->after - m->before) / m->before); };
  if (lost.size() <= shown_roundings) return lost;
  std::vector<const RoundedNumber*> worst = lost;
  std::ranges::stable_sort(worst, [&](const RoundedNumber* x, const RoundedNumber* y) { return share(x) > share(y); });
  worst.resize(shown_roundings);
  std::erase_if(lost, [&](const RoundedNumber* m) { return std::ranges::find(worst, m) == worst.end(); });
  return lost;
}

/// The significand of x as binary digits, and the number of digits that a format keeps.
struct Significand {
  std::string digits;  ///< after the point
  int kept = 0, exponent = 0;
};
Significand significand(double x, const Format& format) {
  Significand s{bits_of(fp64, x).mantissa, 0, std::ilogb(x)};
  s.kept = std::clamp(s.exponent - std::ilogb(ulp(format, x)), -1, static_cast<int>(s.digits.size()));
  const std::size_t last = s.digits.find_last_not_of('0');
  s.digits.resize(std::max(last == std::string::npos ? 0 : last + 1, static_cast<std::size_t>(std::max(0, s.kept))));
  return s;
}

std::string made_name(const RoundedNumber& made) {
  std::string text(name(made.step));
  if (made.key >= 0) text += fmt::format(" {}", made.key + 1);
  if (made.column >= 0) text += fmt::format(" {}", subscripts[made.column]);
  return text;
}

/// A rounding as it is drawn; for a P that is stored with scales, its element's.
struct DrawnRounding {
  RoundedNumber made;
  Format format;
};
DrawnRounding drawn_rounding(RoundedNumber made, const Steps& row) {
  const StepQuestion& q = row.question;
  const bool is_element = made.step == Step::P && q.scaling.P.is_on();
  if (!is_element) return {made, format_of(q.precision[made.step], q.format)};
  made.before = row.storage.P_quotients[static_cast<std::size_t>(made.key)];
  made.after = row.storage.P_elements[static_cast<std::size_t>(made.key)];
  return {made, q.scaling.P.element.format};
}

/// "1.0010|0101" with the lost bits in coral, then the number that is kept.
void draw_rounding(const DrawnRounding& rounding, ImVec2 at, float width) {
  const auto& [made, format] = rounding;
  draw_text(at, Face::mono_small, colours().secondary, made_name(made));
  float x = at.x + px(88) + text_width(Face::mono_small, "-0.000000e-0");
  draw_text({x, at.y}, Face::mono_small, colours().text, state_number(made.before), 1);
  const float end = at.x + width - text_width(Face::mono_small, "→ -0.000000e-0");
  x += px(16);
  if (std::isfinite(made.before)) {
    const Significand s = significand(made.before, format);
    const auto kept = static_cast<std::size_t>(std::max(0, s.kept));
    x += draw_text({x, at.y}, Face::mono_small, s.kept < 0 ? colours().bad : colours().text, made.before < 0 ? "-1." : " 1.");
    x += draw_text({x, at.y}, Face::mono_small, colours().text, s.digits.substr(0, kept));
    const std::string lost =
        fitted(Face::mono_small, std::string_view(s.digits).substr(kept), std::max(px(8), end - x - px(56)));
    const float from = x;
    x += draw_text({x, at.y}, Face::mono_small, colours().bad, lost);
    ImGui::GetWindowDrawList()->AddLine({from, at.y + line_height(Face::mono_small) * 0.58f},
                                        {x, at.y + line_height(Face::mono_small) * 0.58f}, faded(colours().bad, 0.7f), px(1));
    draw_text({x, at.y}, Face::mono_small, colours().faint, fmt::format(" · 2^{}", s.exponent));
  }
  draw_text({at.x + width, at.y}, Face::mono_small, colours().text, "→ " + state_number(made.after), 1);
}

float draw_lost(const StepperData& s, ImVec2 at, float width, std::size_t shown_roundings) {
  const RowStep& step = s.step();
  const auto rounds = std::ranges::count_if(step.numbers, [](const RoundedNumber& m) { return m.rounds; });
  const auto lost = std::ranges::count_if(step.numbers, [](const RoundedNumber& m) { return m.rounds && m.before != m.after; });
  section(at, "BITS LOST IN THIS STEP");
  const bool same = s.row().same_bits;
  draw_text({at.x + width, at.y}, Face::small, same ? colours().good : colours().bad,
            same ? "the kernel's own run has these bits" : "the kernel's own run has other bits", 1);
  float y = at.y + px(18);
  const std::string summary = rounds == 0 ? "Nothing is rounded in this step."
                              : lost == 0 ? counted(rounds, "rounding") + " that changed nothing."
                                          : "";
  if (!summary.empty()) draw_text({at.x, y}, Face::label, colours().secondary, summary);
  for (const RoundedNumber* made : worst_roundings(step, shown_roundings)) {
    draw_rounding(drawn_rounding(*made, s.row()), {at.x, y}, width);
    y += px(lost_line);
  }
  if (lost > static_cast<std::ptrdiff_t>(shown_roundings))
    draw_text({at.x + text_width(Face::section, "BITS LOST IN THIS STEP") + px(16), at.y}, Face::small, colours().faint,
              shown_roundings == 1 ? fmt::format("the largest of {}", lost)
                                   : fmt::format("the {} largest of {}", shown_roundings, lost));
  return at.y + px(18 + lost_line * static_cast<float>(shown_roundings));
}

}  // namespace

std::vector<CodeLine> pseudo_code(const Steps& row) {
  const bool stores_P = row.question.scaling.P.is_on(),
             has_scores = std::ranges::find(row.steps, StepKind::scores, &RowStep::kind) != row.steps.end();
  std::vector<CodeLine> lines;
  for (CodeLine& line : pseudo_code(row.question.algorithm)) {
    if (row.question.exponential == ExponentialKind::exp2) take_powers_of_2(line.text);
    if (stores_P) take_factor_of_P(line.text, row);
    if (line.kind == StepKind::finish) {
      if (!row.storage.O_factor.empty()) replace(line.text, "return O", "return s_v·O");
      if (row.storage.P_factor != 1) line.text += fmt::format(" / {:.4g}", row.storage.P_factor);
      if (!row.storage.O_offset.empty()) line.text += " + mean(V)";
    }
    const bool takes_max =
        line.kind == StepKind::tile_max || (line.kind == StepKind::max && row.question.algorithm != Algorithm::flash1);
    if (has_scores && takes_max) lines.push_back({scores_line(row), StepKind::scores});
    const bool sums = line.kind == StepKind::sum;
    lines.push_back(std::move(line));
    if (stores_P && sums) lines.push_back({store_line(row), StepKind::store});
  }
  return lines;
}

std::string draw_code_view(LessonScene& scene) {
  const Algorithm algorithm = scene.experiment.a.algorithm;
  const std::vector<CodeLine> lines = pseudo_code(algorithm);
  if (lines.empty()) return refusal("algorithm", name(algorithm), stepped_text());
  label(Face::label, colours().secondary, info(algorithm).title);
  draw_pseudo_code(lines, {}, scene.width, code_face(scene));
  return "";
}

void draw_step_detail(LessonScene& scene, const StepperData& stepped) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const std::vector<CodeLine> lines = pseudo_code(stepped.row());
  const Face face = code_face(scene);
  const bool presented = face == Face::mono_large;
  const std::size_t roundings = presented ? presented_roundings : all_roundings;
  const ImVec2 code = pseudo_code_size(lines, face, presented ? 0 : most_code_lines);
  const bool beside = scene.width >= code.x + px(24 + 300);
  const float code_width = beside ? std::max(code.x, std::floor(scene.width * 0.42f)) : scene.width;
  section(at, "CODE");
  ImGui::SetCursorScreenPos({at.x, at.y + px(18)});
  draw_pseudo_code(lines, RunningLine{stepped.step().kind, stepped.step().pass}, code_width, face);
  explain(
      "The line that runs is highlighted. S_t are the scores of tile t, V_t its rows of V; here V_j = (1, j/N): O₁ is the "
      "sum of the weights, O₂ the mean position that they attend to.");
  const ImVec2 right = beside ? ImVec2{at.x + code_width + px(24), at.y} : ImVec2{at.x, at.y + px(18) + code.y + px(12)};
  const float right_width = beside ? scene.width - code_width - px(24) : scene.width;
  float y = draw_formula(stepped, right, right_width, face);
  y = draw_state(stepped, {right.x, y}, right_width);
  y = std::max(y, at.y + px(18) + code.y) + px(12);
  const float end = y + px(stored_height + 4);  // the room is the same in steps without a table
  const bool scaled = stepped.row().question.scaling.any();
  if (scaled && !stored_lines(stepped).empty()) y = draw_stored(stepped, {at.x, y}, scene.width) + px(4);
  y = draw_lost(stepped, {at.x, y}, scene.width, roundings);
  if (scaled) y = std::max(y, end + px(18 + lost_line * static_cast<float>(roundings)));
  take_room(at, {scene.width, y - at.y});
}

}  // namespace attoscope::ui
