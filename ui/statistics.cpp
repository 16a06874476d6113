// The right panel: the answer in a sentence, then the numbers it was made from.
#include <algorithm>
#include <array>
#include <cmath>

#include "ui/numbers.h"
#include "ui/panels.h"
#include "ui/sentences.h"
#include "ui/widgets.h"

namespace attoscope {

namespace {

/// A line of the panel's own layout: text may be drawn anywhere on it.
struct Line {
  ImVec2 at;
  float width;
};
Line next_line(float height) {
  const Line line{ImGui::GetCursorScreenPos(), ImGui::GetContentRegionAvail().x};
  ImGui::Dummy({line.width, height});
  return line;
}

void draw_verdict(const Result* result, const Frame& frame, const Palette& colours) {
  const Line head = next_line(px(28)), second = next_line(px(24));
  if (result == nullptr) {
    draw_text(head.at, Face::headline, colours.text, frame.computing ? "Computing" : "No answer yet");
    draw_text(second.at, Face::label, colours.secondary,
              frame.computing         ? "the first rows are on their way"
              : frame.message.empty() ? ""
                                      : "see the line below");
    return;
  }
  const Verdict v = verdict(*result);
  const Colour tone = v.tone == Verdict::Tone::bad ? colours.bad : colours.text;
  draw_text(head.at, Face::headline, tone, fitted(Face::headline, v.headline, head.width));
  const bool part = static_cast<int>(result->rows.size()) < result->experiment.problem.n;
  const bool stale = is_stale(frame);
  const std::string tail = stale ? "computing" : part ? rows_text(*result) : "";
  const float tail_width = tail.empty() ? 0 : text_width(Face::small, tail) + px(8);
  std::string sentence = v.sentence;
  if (text_width(Face::label, sentence) > second.width - tail_width) sentence = sentence.substr(0, sentence.find(':'));
  draw_text(second.at, Face::label, v.tone == Verdict::Tone::good ? colours.good : colours.secondary,
            fitted(Face::label, sentence, second.width - tail_width));
  if (!tail.empty()) draw_text({second.at.x + second.width, second.at.y + px(1)}, Face::small, colours.faint, tail, 1);
  explain(
      "FlashAttention's own test: the largest error of a may be at most twice that of a plain implementation in the same "
      "format. The headline compares the mean errors. PyTorch's tests allow 5 times.",
      "max |a - golden| <= 2 max |b - golden|");
}

/// a over b, and the line at 2 b.
void draw_pair(const char* what, double a, double b, const Palette& colours) {
  const Line line = next_line(px(27));
  const float left = line.at.x + px(44), width = line.width - px(44), bar = px(10), y = line.at.y + px(2);
  const bool known = std::isfinite(a) && std::isfinite(b);
  const double full = std::max({a, 2.4 * b, 1e-300});
  ImDrawList* list = ImGui::GetWindowDrawList();
  draw_text({line.at.x, y + px(3)}, Face::small, colours.secondary, what);
  const auto draw = [&](double value, float top, Colour c) {
    list->AddRectFilled({left, top}, {left + width, top + bar}, colours.raised, px(2));
    if (known && value > 0)
      list->AddRectFilled({left, top}, {left + std::max(px(2), width * static_cast<float>(value / full)), top + bar}, c, px(2));
  };
  draw(a, y, colours.a);
  draw(b, y + bar + px(2), colours.b);
  explain(std::string(what) + " |error| against golden of a (above) and b (below). The line stands at twice b's.",
          "a = " + scientific(a) + "\nb = " + scientific(b) + "\na / b = " + times(a / b));
  if (!known || b <= 0) return;
  const float x = std::floor(left + width * static_cast<float>(2 * b / full));
  list->AddLine({x, y - px(2)}, {x, y + 2 * bar + px(4)}, colours.text, px(1.5f));
}

/// A row of the table.
struct Row {
  const char* name;
  double Deviation::*value;
  bool has_ratio, is_signed;
  const char* what;
  const char* formula;
};
constexpr std::array<Row, 9> table_rows{{
    {"max", &Deviation::max_abs, true, false, "The largest error.", "max |x - y|"},
    {"mean", &Deviation::mean_abs, true, false, "The mean error.", "mean |x - y|"},
    {"RMS", &Deviation::rms, true, false, "The root mean square error.", "sqrt(mean (x - y)^2)"},
    {"std", &Deviation::std, true, false, "Standard deviation of the error: its spread about the bias.",
     "sqrt(RMS^2 - bias^2)"},
    {"bias", &Deviation::bias, false, true, "Signed mean error: what does not average out.", "mean (x - y)"},
    {"rel. RMS", &Deviation::rel_rms, true, false, "RMS error over the RMS of the reference.", "RMS(x - y) / RMS(y)"},
    {"1−cosine", &Deviation::cosine, true, false, "How far the directions of the two outputs differ.", "1 - x.y / (|x| |y|)"},
    {"W1", &Deviation::wasserstein, true, false,
     "Wasserstein-1 distance of the sorted values. It hides permutations, so never read "
     "it alone.",
     "mean |sort(x) - sort(y)|"},
    {"max ulp", &Deviation::max_ulp, true, false,
     "The largest error in ulps of the main format at |y|; none finer than at 1 % of "
     "the RMS of y.",
     "max |x - y| / ulp(max(|y|, RMS/100))"},
}};

/// Three digits, always; ulps are counts and need no exponent as long as they are few.
std::string number_text(double x, const Row& row) {
  if (row.is_signed) return signed_scientific(x);
  if (row.value != &Deviation::max_ulp || !(x < 9999.5)) return scientific(x);
  return printed("%.*f", x < 99.95 ? 1 : 0, x);
}

double value_of(const Deviation& d, const Row& row) {
  return row.value == &Deviation::cosine ? std::max(0.0, 1 - d.cosine) : d.*row.value;
}

/// Right edges of the columns.
struct Edges {
  float a, b, ratio, difference;
};

void draw_row(const Result& r, const Row& row, const Edges& x, float height, const Palette& colours) {
  const Line line = next_line(height);
  const double a = value_of(r.a_error, row), b = value_of(r.b_error, row), difference = value_of(r.a_minus_b, row);
  if (ImGui::IsItemHovered())
    ImGui::GetWindowDrawList()->AddRectFilled(
        {line.at.x - px(4), line.at.y}, {line.at.x + line.width + px(4), line.at.y + height}, faded(colours.raised, 0.7f));
  const float y = line.at.y + (height - line_height(Face::mono)) / 2;
  const auto number = [&](double v) { return number_text(v, row); };
  draw_text({line.at.x, y}, Face::label, colours.secondary, row.name);
  draw_text({line.at.x + x.a, y}, Face::mono, colours.text, number(a), 1);
  draw_text({line.at.x + x.b, y}, Face::mono, colours.text, number(b), 1);
  draw_text({line.at.x + x.ratio, y}, Face::mono, row.has_ratio ? colours.secondary : colours.faint,
            row.has_ratio ? times(a / b) : "", 1);
  draw_text({line.at.x + x.difference, y}, Face::mono, colours.secondary, number(difference), 1);
  explain(row.what, row.formula);
}

void draw_nonfinite(const Result& r, const Edges& x, float height, const Palette& colours) {
  const Line line = next_line(height);
  const float y = line.at.y + (height - line_height(Face::mono)) / 2;
  draw_text({line.at.x, y}, Face::label, colours.secondary, "NaN, inf");
  const auto count = [&](float edge, std::int64_t value) {
    draw_text({line.at.x + edge, y}, Face::mono, value > 0 ? colours.bad : colours.faint,
              value >= 1000000 ? scientific(static_cast<double>(value)) : std::to_string(value), 1);
  };
  count(x.a, r.a_error.nonfinite);
  count(x.b, r.b_error.nonfinite);
  count(x.difference, r.a_minus_b.nonfinite);
  explain("Elements that are NaN or infinite; every other number of this table leaves them out.",
          "golden: " + std::to_string(r.golden_nonfinite));
}

void draw_table(const Result& r, const Palette& colours) {
  const MethodNames names = method_names(r.experiment);
  const float width = ImGui::GetContentRegionAvail().x;
  const Edges x{width - px(199), width - px(121), width - px(74), width};
  const float room = ImGui::GetContentRegionAvail().y,
              height = std::floor(std::clamp((room - px(120)) / 11.5f, px(17), px(21)));
  const Line head = next_line(height);
  const float y = head.at.y;
  draw_text({head.at.x + x.a, y}, Face::small, colours.a, fitted(Face::small, names.a, px(66)), 1);
  draw_text({head.at.x + x.b, y}, Face::small, colours.b, fitted(Face::small, names.b, px(66)), 1);
  draw_text({head.at.x + x.ratio, y}, Face::small, colours.secondary, "a/b", 1);
  draw_text({head.at.x + x.difference, y}, Face::small, colours.secondary, "a−b", 1);
  explain("Errors of a (" + names.a + ") and b (" + names.b + ") against golden, their ratio, and a measured against b.");
  for (const Row& row : table_rows) draw_row(r, row, x, height, colours);
  draw_nonfinite(r, x, height, colours);
}

/// The histogram, or in its place what each step costs.
void draw_lower(Session& session, const Result& result, const Frame& frame, const Palette& colours, Wishes& wishes) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  if (ImGui::GetContentRegionAvail().y < px(86)) return;
  if (session.view.detail == Detail::why)
    draw_why(session, frame, colours, wishes);
  else
    draw_histogram(result, colours);
  const ImVec2 end = ImGui::GetCursorScreenPos();
  ImGui::SetCursorScreenPos({at.x + width - px(54), at.y + px(6)});
  if (push_button(session.view.detail == Detail::why ? "ulps###why" : "why?###why", colours, false, {px(54), px(21)}))
    session.view.detail = session.view.detail == Detail::why ? Detail::ulps : Detail::why;
  explain("Why a errs: the mean error if one step were exact, for every step that rounds. Or how often each error occurs.");
  ImGui::SetCursorScreenPos(end);
  ImGui::Dummy({0, 0});
}

}  // namespace

void draw_statistics(Session& session, const Frame& frame, UiMemory&, const Palette& colours, Wishes& wishes) {
  const Result* result = frame.result.get();
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, {0, 0});
  ImGui::Dummy({0, px(4)});
  draw_verdict(result, frame, colours);
  if (result != nullptr) {
    draw_pair("mean", result->a_error.mean_abs, result->b_error.mean_abs, colours);
    draw_pair("max", result->a_error.max_abs, result->b_error.max_abs, colours);
    ImGui::Dummy({0, px(2)});
    draw_table(*result, colours);
    draw_lower(session, *result, frame, colours, wishes);
  }
  ImGui::PopStyleVar();
  dim_if_stale(frame, colours);
}

}  // namespace attoscope
