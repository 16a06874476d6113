// A dot product as a tensor core adds it up: a block's terms under their largest exponent, the bits cut off, the sum carried
// on.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>

#include "kernels/arithmetic/tensor_core_sum.h"
#include "ui/learn/views/view_parts.h"
#include "ui/widgets/sum_rows.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

constexpr std::array<std::string_view, 5> format_names{"fp16", "bf16", "tf32", "e4m3", "e5m2"};
constexpr std::size_t most_terms = 64;

/// The requested sum, read from the view's keys.
struct AskedSum {
  TensorCore gpu = TensorCore::h100;
  Format format = fp16;
  SumType sums = SumType::f32;
  std::vector<float> a, b;  ///< rounded, of equal length
  float c = 0;
  int block = 1;
};

/// The numbers of a list, rounded to f; sets `problem` if a word is no number.
std::vector<float> numbers_of(std::string_view key, const std::vector<std::string>& words, const Format& f,
                              std::string& problem) {
  std::vector<float> numbers;
  for (const double x : reals_of(key, words, most_terms, problem)) numbers.push_back(static_cast<float>(round(f, x)));
  return numbers;
}

AskedSum asked_sum(const LessonScene& scene, std::string& problem) {
  AskedSum q;
  try {
    q.gpu = parse_tensor_core(value_of(scene, "gpu", "h100"));
    q.format = parse_format(value_of(scene, "format", "fp16"));
    q.sums = parse_sum_type(value_of(scene, "result", "f32"));
  } catch (const std::exception& error) {
    problem = error.what();
  }
  q.a = numbers_of("a", list_of(scene, "a", "1"), q.format, problem);
  q.b = numbers_of("b", list_of(scene, "b", "1"), q.format, problem);
  q.a.resize(std::max(q.a.size(), q.b.size()));
  q.b.resize(q.a.size());
  q.c = static_cast<float>(round(q.sums == SumType::f16 ? fp16 : fp32, real_of(scene, "c", 0, problem)));
  q.block = whole_of(scene, "block", 1, 1, static_cast<int>(most_terms), problem);
  return q;
}

// --- choices ------------------------------------------------------------------------------------------------------------

void choose_gpu(LessonScene& scene, const AskedSum& q) {
  std::array<Choice, tensor_core_texts.size()> choices{};
  std::array<std::string_view, choices.size()> names{};
  for (std::size_t i = 0; i < choices.size(); ++i)
    choices[i] = {names[i] = tensor_core_texts[i].name, tensor_core_texts[i].what};
  choose(scene, "gpu", choices, names, name(q.gpu), scene.width);
}

void choose_types(LessonScene& scene, const AskedSum& q) {
  std::array<Choice, format_names.size()> choices{};
  for (std::size_t i = 0; i < choices.size(); ++i) choices[i] = {format_names[i], "The format of a and b."};
  const float sums = px(128), gap = px(16);
  choose(scene, "format", choices, format_names, name(q.format), scene.width - sums - gap);
  ImGui::SameLine(0, gap);
  constexpr std::array<std::string_view, 2> types{"f32", "f16"};
  constexpr std::array<Choice, 2> type_choices{{{"f32", "Sums and c in fp32."}, {"f16", "Sums and c in fp16."}}};
  choose(scene, "result", type_choices, types, types[static_cast<std::size_t>(q.sums)], sums);
}

/// A field for a list of numbers, or for one.
void type_numbers(LessonScene& scene, const std::string& key, std::string_view otherwise, float width) {
  const bool one = key == "c";
  const float name = px(20);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  draw_in_line(at, px(control_height), Face::mono, colours().secondary, key);
  ImGui::SetCursorScreenPos({at.x + name, at.y});
  const auto typed =
      typed_value(scene, key, otherwise, width - name,
                  one ? "The start value of the sum; Enter sets it."
                      : "Factors, with commas between them; the shorter list is filled with zeros. Enter sets them.",
                  "a . b + c");
  if (!typed) return;
  const std::vector<std::string> words = listed_words(*typed);
  reals_of(key, words, most_terms, scene.state.complaint);
  if (scene.state.complaint.empty() && one && words.size() > 1) scene.state.complaint = refusal(key, *typed, "one number");
  if (scene.state.complaint.empty()) change(scene, key, *typed);
}

/// Buttons for the shown block, if there are several.
void choose_block(LessonScene& scene, int shown, int count) {
  if (count < 2) return;
  for (const bool next : {false, true}) {
    if (next) ImGui::SameLine(0, px(8));
    if (push_button(next ? "next block###next block" : "block before###block before", false, {px(104), 0}))
      change(scene, "block", std::to_string(std::clamp(shown + (next ? 1 : -1), 1, count)));
    explain(next ? "The block that starts from this one's result." : "The block whose result is c here.");
  }
}

// --- the block ----------------------------------------------------------------------------------------------------------

std::string sentence(const AskedSum& q, const TensorCoreBlock& block, const SumTable& table, double exact, int count) {
  const std::string place = fmt::format("{}, block {} of {}: ", name(q.gpu), q.block, count);
  const std::string result = fmt::format("the result is {}", block.result);
  if (!std::isfinite(block.result)) return place + result + ".";
  if (block.count == 0) return place + "all products are 0, " + result + ".";
  const std::string cut = table.lost == 0
                              ? "nothing is cut off"
                              : fmt::format("bits below 2^{} are cut off, {} in all", block.unit, compact(table.lost));
  return place + cut + "; " + result +
         (exact == block.result ? ", the exact sum." : fmt::format(", off by {}.", compact(block.result - exact)));
}

/// a . b + c of all blocks up to this one, in double: exact but for its last bits. For the first half of a block, the sum of
/// this half alone.
double exact_up_to(const AskedSum& q, const TensorCoreRule& rule, const TensorCoreBlock& block, std::size_t end) {
  double sum = 0;
  if (rule.carry == CarryPlace::after_the_halves && !block.added) {
    for (const TensorCoreTerm& t : block.terms()) sum += value(t);
    return sum;
  }
  for (std::size_t i = 0; i < std::min(end, q.a.size()); ++i) sum += static_cast<double>(q.a[i]) * static_cast<double>(q.b[i]);
  return q.c + sum;
}

void draw_sum(LessonScene& scene, AskedSum q) {
  const TensorCoreRule rule = tensor_core_rule(q.gpu, q.format, q.sums);
  const std::vector<TensorCoreBlock> blocks = tensor_core_blocks(rule, q.a, q.b, q.c);
  const int count = static_cast<int>(blocks.size());
  q.block = std::min(q.block, count);
  const TensorCoreBlock& block = blocks[static_cast<std::size_t>(q.block - 1)];
  const int first = (q.block - 1) / parts_of_a_block(rule) * rule.block;
  const SumTable table = sum_table(rule, block, {.first = first}, sum_columns(scene.width));
  const double exact = exact_up_to(q, rule, block, static_cast<std::size_t>(first + rule.block));
  draw_view_summary(scene, sentence(q, block, table, exact, count));
  draw_sum_table(block, table, scene.width);
  if (!is_on_page(scene)) choose_block(scene, q.block, count);
  const std::string halves =
      rule.carry == CarryPlace::after_the_halves ? " in halves, products 0 and 1 of every four first" : "";
  const std::string rule_text = fmt::format("blocks of {}{}, {} bits below the largest exponent, rounded {}; {}", rule.block,
                                            halves, rule.aligned_bits, text(rule.rounding), text(rule.evidence));
  wrapped(Face::label, colours().faint, rule_text, scene.width);
}

}  // namespace

std::string draw_sum_view(LessonScene& scene) {
  std::string problem;
  const AskedSum q = asked_sum(scene, problem);
  if (!problem.empty()) return problem;
  const WithSpacing spacing({px(8), px(8)});
  if (!is_on_page(scene)) {
    choose_gpu(scene, q);
    choose_types(scene, q);
    type_numbers(scene, "a", "1", scene.width);
    type_numbers(scene, "b", "1", scene.width);
    type_numbers(scene, "c", "0", px(240));
  }
  if (!scene.state.complaint.empty()) label(Face::label, colours().bad, scene.state.complaint);
  if (const std::string why = why_no_tensor_core(q.gpu, q.format, q.sums); !why.empty())
    draw_view_summary(scene, why + ".", colours().bad);
  else
    draw_sum(scene, q);
  return "";
}

}  // namespace attoscope::ui
