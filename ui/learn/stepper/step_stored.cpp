// The table of a step's numbers from tensors stored with scales: given numbers, their elements, scales and represented values.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ui/learn/stepper/stepper.h"

namespace attoscope::ui {

namespace {

constexpr float stored_step = 20, operand_width = 64;
constexpr int shown_keys = 4;
static_assert(stored_height == 18 + stored_step * (shown_keys + 1));  // a heading, q and the keys
/// Numbers of a vector that are written out.
constexpr std::size_t most_numbers = 6;

/// "(1, 2, …)" with as many numbers as fit; a single number without brackets.
std::string text_of(const std::vector<double>& x, float width) {
  if (x.size() == 1) return fmt::format("{:.4g}", x.front());
  for (std::size_t count = std::min(x.size(), most_numbers); count > 0; --count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "(" : ", ") + fmt::format("{:.{}g}", x[i], x.size() > 2 ? 3 : 4);
    text += count < x.size() ? ", …)" : ")";
    if (count == 1 || text_width(Face::mono_small, text) <= width) return fitted(Face::mono_small, text, width);
  }
  return "";
}

/// The scales without consecutive repetitions.
std::vector<double> once(std::vector<double> x) {
  x.erase(std::unique(x.begin(), x.end()), x.end());
  return x;
}

/// The line of a vector. `alone`: only its first number counts; a row made of a single score has zeros after it.
StoredLine line_of(std::string called, StoredVector v, bool alone) {
  if (alone)
    for (auto* x : {&v.given, &v.elements, &v.scales}) x->resize(1);
  std::vector<double> stands_for;
  for (std::size_t i = 0; i < v.elements.size(); ++i) stands_for.push_back(v.elements[i] * v.scales[i]);
  return {std::move(called), std::move(v.given), std::move(v.elements), once(std::move(v.scales)), std::move(stands_for)};
}

/// Lines of the step's first keys.
template <class Line>
std::vector<StoredLine> lines_of_keys(Keys keys, Line line) {
  std::vector<StoredLine> lines;
  for (int j = keys.first; j < std::min(keys.end, keys.first + shown_keys); ++j)
    lines.push_back(line(static_cast<std::size_t>(j)));
  return lines;
}

/// Lines of P. The factor of P is a part of its scale.
std::vector<StoredLine> weights(const Steps& row, const RowStep& step) {
  const double one = row.storage.lift * row.storage.P_factor;
  return lines_of_keys(step.keys, [&](std::size_t j) -> StoredLine {
    const double given = step.numbers[j - static_cast<std::size_t>(step.keys.first)].before;
    return {fmt::format("P {}", j + 1),
            {given / one},
            {row.storage.P_elements[j]},
            {row.storage.P_scales[j] / one},
            {row.P[j] / one}};
  });
}

/// Lines of O before the end, its factor, and the output.
std::vector<StoredLine> outputs(const Steps& row, const RowStep& step) {
  const StepStorage& stored = row.storage;
  std::vector<StoredLine> lines;
  for (std::size_t c = 0; c < row.output.size(); ++c) {
    const double factor = (stored.O_factor.empty() ? 1 : stored.O_factor[c]) / stored.P_factor;
    lines.push_back(
        {fmt::format("O {}", c + 1), {}, {row.steps[row.steps.size() - 2].state.O[c]}, {factor}, {step.state.O[c]}});
  }
  return lines;
}

/// The place where the kernel applies the scales of a step, in words and as a formula.
struct Applied {
  std::string what, formula;
};

Applied scores_applied(const Steps& row) {
  const StepStorage& stored = row.storage;
  const bool folded = stored.factor_in_exponent && row.question.exponential == ExponentialKind::exp2;
  std::string text = "q and the keys of the tile as they are stored; q·k is computed from elements. ";
  if (stored.S_factor.empty()) {
    text += "Scales that are not the same for all terms of a product are multiplied into the elements before it.";
  } else if (folded) {
    text +=
        "Both tensors have one scale: the kernel multiplies them into c, the factor of the exponent, and never into S. So S "
        "and m "
        "are sums of elements here.";
  } else if (stored.factor_in_exponent) {
    text += "Both tensors have one scale: the kernel multiplies them into the factor of the scores.";
  } else {
    text += "The kernel multiplies S by both scales right after the product, for each key by its own.";
  }
  if (!stored.S_added.empty()) text += " Q is stored without the mean of its rows; mean·k is added after that.";
  if (row.question.scaling.smooth_K) text += " K is stored without the mean of its keys, which lowers all of S by one number.";
  if (row.question.scaling.hadamard) text += " Q and K are rotated by the same Hadamard matrix before.";
  return {text, stored.S_factor.empty() ? "S_j = Σ (s_q q)(s_k k_j)" : "S_j = s_q s_k (q·k_j)"};
}

Applied weights_applied(const Steps& row) {
  const StepStorage& stored = row.storage;
  const Scaling& P = row.question.scaling.P;
  std::string text = "P as it is stored, after l has summed e. ";
  if (stored.lift != 1) text += fmt::format("e and l already carry the factor {:.6g}: it cancels in O / l. ", stored.lift);
  if (stored.P_factor != 1)
    text += fmt::format("P is multiplied by {:.6g} here and l is not: O is divided by it at the end. ", stored.P_factor);
  if (stored.lift == 1 && stored.P_factor == 1) text += "P has no factor of its own. ";
  if (P.granularity == Granularity::block)
    text += fmt::format("{} keys share a scale, which is multiplied into the element before P·V.", P.block);
  return {text, P.granularity == Granularity::block ? "P = s_p round(e / s_p)" : "P = round(e)"};
}

Applied output_applied(const Steps& row) {
  const bool factored = !row.storage.O_factor.empty();
  return {factored
              ? "V as it is stored. P·V is computed from its elements; O is multiplied by each column's scale once, at the end."
              : "V as it is stored. Its scales are not one for each column: they are multiplied into the elements before "
                "P·V.",
          factored ? "O = s_v (P·V) / l" : "O = P·(s_v V) / l"};
}

Applied applied(const StepperData& s) {
  switch (s.step().kind) {
    case StepKind::start:
    case StepKind::scores:
      return scores_applied(s.row());
    case StepKind::store:
      return weights_applied(s.row());
    case StepKind::output:
      return output_applied(s.row());
    case StepKind::finish:
      return {
          "The end: O is multiplied by V's scales if each column has one, and divided by P's factor if l does not carry it; "
          "the mean that V was stored without is added.",
          "O = s_v (O / l) / factor of P + mean(V)"};
    default:
      return {};
  }
}

bool stores_Q(const Scalings& s) { return s.Q.is_on() || s.hadamard || s.smooth_Q > 0; }
bool stores_K(const Scalings& s) { return s.K.is_on() || s.hadamard || s.smooth_K; }
bool stores_V(const Scalings& s) { return s.V.is_on() || s.smooth_V; }

/// "K int8/rows:64, P e4m3/x448".
std::string storage_text(const Scalings& s) {
  std::string text;
  for (const ScaledTensor t : {ScaledTensor::Q, ScaledTensor::K, ScaledTensor::V, ScaledTensor::P})
    if (s[t].is_on()) text += fmt::format("{}{} {}", text.empty() ? "" : ",  ", scaled_tensor_names[t], scaling_text(s[t]));
  for (const auto& [on, what] : {std::pair{s.hadamard, "rotated"}, std::pair{s.smooth_K, "K smoothed"},
                                 std::pair{s.smooth_Q > 0, "Q smoothed"}, std::pair{s.smooth_V, "V smoothed"}})
    if (on) text += fmt::format("{}{}", text.empty() ? "" : ",  ", what);
  return text;
}

}  // namespace

std::vector<StoredLine> stored_lines(const StepperData& s) {
  const Steps& row = s.row();
  const RowStep& step = s.step();
  const StepStorage& stored = row.storage;
  const Scalings& with = row.question.scaling;
  const bool alone = row.question.rows.d == 0 && !with.hadamard;
  std::vector<StoredLine> lines;
  switch (step.kind) {
    case StepKind::start:
      if (stores_Q(with)) lines.push_back(line_of("q", stored.q, alone));
      return lines;
    case StepKind::scores:
      if (stores_Q(with)) lines.push_back(line_of("q", stored.q, alone));
      if (stores_K(with))
        for (StoredLine& line :
             lines_of_keys(step.keys, [&](std::size_t j) { return line_of(fmt::format("k {}", j + 1), stored.k[j], alone); }))
          lines.push_back(std::move(line));
      return lines;
    case StepKind::store:
      return weights(row, step);
    case StepKind::output:
      if (!stores_V(row.question.scaling)) return {};
      return lines_of_keys(step.keys, [&](std::size_t j) { return line_of(fmt::format("v {}", j + 1), stored.v[j], false); });
    case StepKind::finish:
      if (stored.O_factor.empty() && stored.O_offset.empty() && stored.P_factor == 1) return {};
      return outputs(row, step);
    default:
      return {};
  }
}

float draw_stored(const StepperData& s, ImVec2 at, float width) {
  const float column = (width - px(operand_width)) / 4, height = px(stored_height);
  const auto column_x = [&](int i) { return at.x + px(operand_width) + column * static_cast<float>(i); };
  const bool ends = s.step().kind == StepKind::finish;
  const std::vector<StoredLine> lines = stored_lines(s);
  draw_text(at, Face::section, colours().faint, "STORED");
  const std::array<const char*, 4> heads = ends ? std::array<const char*, 4>{"", "BEFORE", "FACTOR", "OUTPUT"}
                                                : std::array<const char*, 4>{"GIVEN", "AS STORED", "SCALE", "STANDS FOR"};
  for (int i = 0; i < 4; ++i)
    draw_text({column_x(i), at.y}, Face::section, colours().faint, heads[static_cast<std::size_t>(i)]);
  float y = at.y + px(18);
  for (const StoredLine& line : lines) {
    ImGui::GetWindowDrawList()->AddLine({at.x, y - px(3)}, {at.x + width, y - px(3)}, colours().line);
    draw_text({at.x, y}, Face::mono, colours().secondary, line.name);
    const auto cell = [&](int i, Colour colour, const std::vector<double>& x) {
      if (!x.empty()) draw_text({column_x(i), y}, Face::mono_small, colour, text_of(x, column - px(12)));
    };
    cell(0, colours().secondary, line.given);
    cell(1, colours().a, line.elements);
    cell(2, colours().moved, line.scales);
    cell(3, colours().text, line.stands_for);
    y += px(stored_step);
  }
  ImGui::SetCursorScreenPos(at);
  ImGui::InvisibleButton("###stored", {width, height - px(4)});
  const Applied where = applied(s);
  explain(where.what + " Here: " + storage_text(s.row().question.scaling) + ".", where.formula);
  return at.y + height;
}

}  // namespace attoscope::ui
