// A block of numbers that share a scale, bit by bit.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <exception>
#include <utility>

#include "kernels/questions/stored_block.h"
#include "ui/learn/views/view_parts.h"
#include "ui/widgets/rounding_cell.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

namespace {

constexpr std::size_t most_in_block = 32;
constexpr std::string_view usual_storage = "e4m3/block:32/e8m0/ceil";

/// Bits of a number of `f`. If `f` is an element's format, all its codes are numbers.
std::string float_digits(const Format& f, double x) {
  if (x == 0 || !std::isfinite(x)) {
    const BitText bits = bits_of(f, x);
    return bits.sign + bits.exponent + bits.mantissa;
  }
  const int e = std::max(std::ilogb(x), min_exponent(f));
  const double significand = std::ldexp(std::abs(x), -e);  // below 1: subnormal
  const auto exponent = static_cast<std::uint64_t>(significand < 1 ? 0 : e - min_exponent(f) + 1);
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(significand - std::floor(significand), f.mantissa_bits));
  return (std::signbit(x) ? "1" : "0") + binary(exponent, f.exponent_bits) + binary(mantissa, f.mantissa_bits);
}

// --- the question -----------------------------------------------------------------------------------------------------

struct AskedBlock {
  Scaling storage;
  std::vector<float> numbers;  ///< the first is already multiplied by the outlier
  float head_amax = 0;         ///< largest magnitude of the head
};

std::vector<float> numbers_of(const std::vector<std::string>& words, std::string& problem) {
  std::vector<float> numbers;
  for (const double x : reals_of("numbers", words, most_in_block, problem)) {
    numbers.push_back(static_cast<float>(x));
    if (!std::isfinite(numbers.back())) problem = refusal("numbers", words[numbers.size() - 1], "finite numbers of fp32");
  }
  return numbers;
}

AskedBlock asked_block(const LessonScene& scene, std::string& problem) {
  AskedBlock q;
  try {
    q.storage = parse_scaling(value_of(scene, "storage", usual_storage));
    if (!q.storage.is_on()) problem = refusal("storage", "off", scalings_expected);
  } catch (const std::exception& error) {
    problem = error.what();
  }
  q.numbers = numbers_of(list_of(scene, "numbers", "1"), problem);
  if (!problem.empty()) return q;
  q.numbers[0] *= static_cast<float>(whole_of(scene, "outlier", 1, 1, 4096, problem));
  for (const float x : q.numbers) q.head_amax = std::max(q.head_amax, std::abs(x));
  q.head_amax = std::max(q.head_amax, static_cast<float>(real_of(scene, "head", 0, problem)));
  if (!std::isfinite(q.head_amax)) problem = "outlier or head is too large, expected magnitudes up to 3.4e38, as in fp32";
  return q;
}

// --- choices ----------------------------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 6> storages{
    "int8/token",         "e4m3/token", "e4m3/block:32/e8m0/ceil", "e4m3/block:32/e8m0/floor", "e2m1/block:32/e8m0/floor",
    "e2m1/block:16/nvfp4"};
constexpr std::array<Choice, storages.size()> storage_choices{{
    {"int8", "8-bit integers and an fp32 scale for all: as SageAttention stores a row of K."},
    {"FP8", "e4m3 and an fp32 scale for all."},
    {"MXFP8", "e4m3, 32 numbers with one power of two, rounded up as NVIDIA does."},
    {"MXFP8 OCP", "e4m3, 32 numbers with one power of two, rounded down as OCP MX 1.0 says."},
    {"MXFP4", "e2m1, 32 numbers with one power of two, rounded down as OCP MX 1.0 says."},
    {"NVFP4", "e2m1, 16 numbers with one e4m3 scale over one fp32 scale of the head."},
}};

/// Changes a key of the block, or tells why there is no such block: without one, no controls would be drawn.
void change_block(LessonScene& scene, std::string_view key, std::string value) {
  const std::vector<LessonParameter> before = scene.edits.changes;
  change(scene, key, std::move(value));
  scene.state.complaint.clear();
  asked_block(scene, scene.state.complaint);
  if (!scene.state.complaint.empty()) scene.edits.changes = before;
}

void type_numbers(LessonScene& scene) {
  const auto typed = typed_value(scene, "numbers", "1", scene.width,
                                 "The numbers that share a scale, with commas between them: 1 to 32. Enter sets them.",
                                 "x -> scale * round(x / scale)");
  if (!typed) return;
  change_block(scene, "numbers", *typed);
}

void choose_outlier(LessonScene& scene) {
  std::string problem;
  int outlier = whole_of(scene, "outlier", 1, 1, 4096, problem);
  const WithWidth width(std::min(scene.width, px(420)));
  if (slider({"outlier", 1, 256, 1, 4096, true}, outlier)) change_block(scene, "outlier", std::to_string(outlier));
  explain("The factor of the first number, applied before anything is stored.", "x_1 -> outlier * x_1");
}

// --- drawing ----------------------------------------------------------------------------------------------------------

/// Draws the boxes of one number at a place; returns their width.
float draw_boxes(ImVec2 at, const Format& f, const std::string& digits, bool has_sign) {
  const int bits = static_cast<int>(digits.size());
  const ImVec2 size{px(15) * static_cast<float>(bits), px(18)};
  draw_bit_boxes(f, {.columns = bits, .digits = digits, .has_sign = has_sign}, at, size);
  return size.x;
}

/// "2^-3 = 0.125" for a power of two, else the number in full.
std::string scale_text(double x) {
  int exponent = 0;
  return std::frexp(x, &exponent) == 0.5 ? fmt::format("2^{} = {}", exponent - 1, compact(x)) : in_full(x);
}

/// Draws the scale: its bits, its value, and the head's scale that it multiplies.
void draw_scale(const LessonScene& scene, const AskedBlock& q, const StoredBlock& block) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float height = px(22), text_y = at.y + (px(18) - line_height(Face::mono)) / 2;
  ImGui::InvisibleButton("scale", {scene.width, height});
  draw_text({at.x, text_y}, Face::mono, colours().text, "scale");
  float x = at.x + px(64);
  const auto code = static_cast<double>(block.scale_code);
  if (q.storage.scale == ScaleFormat::fp32_scale)
    x += draw_text({x, text_y}, Face::mono, colours().faint, "fp32");
  else if (q.storage.scale == ScaleFormat::e8m0_scale)
    x += draw_boxes({x, at.y}, {.exponent_bits = 8, .mantissa_bits = 0}, scale_digits(q.storage.scale, code), false);
  else
    x += draw_boxes({x, at.y}, e4m3, scale_digits(q.storage.scale, code), true);
  std::string text = " " + scale_text(code);
  if (q.storage.scale == ScaleFormat::nvfp4_scale)
    text += fmt::format(" × {} of the head = {}", compact(static_cast<double>(block.head_scale)),
                        compact(static_cast<double>(block.scale)));
  draw_fitted({x + px(8), text_y}, Face::mono, colours().good, text, at.x + scene.width - x - px(8));
  explain("The scale that all these numbers share, as it is stored: every element is multiplied by it.",
          scaling_text(q.storage));
}

/// Draws one number: as given, its element's bits, the element, the represented value, the error.
void draw_element(ImVec2 at, float width, double x, double element, double value, const Element& e) {
  const float text_y = at.y + (px(18) - line_height(Face::mono)) / 2;
  draw_text({at.x + px(72), text_y}, Face::mono, colours().text, compact(x), 1);
  const Format f = e.kind == Element::Kind::integer ? Format{.exponent_bits = 0, .mantissa_bits = e.bits - 1} : e.format;
  const float left = at.x + px(84), boxes = draw_boxes({left, at.y}, f, element_digits(e, element), true);
  float right = left + boxes + px(56);
  draw_text({right, text_y}, Face::mono, colours().secondary, compact(element), 1);
  right += px(86);
  draw_text({right, text_y}, Face::mono, colours().text, compact(value), 1);
  const bool lost = value == 0 && x != 0, saturates = std::abs(element) == largest(e) && std::abs(x) > std::abs(value);
  const std::string error = lost ? "lost" : saturates ? "largest" : value == x ? "exact" : signed_scientific(value - x, 1);
  if (right + px(8) + text_width(Face::mono, error) < at.x + width)
    draw_text({at.x + width, text_y}, Face::mono, lost || saturates ? colours().bad : colours().faint, error, 1);
}

void draw_elements(const LessonScene& scene, const AskedBlock& q, const StoredBlock& block) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const auto count = static_cast<int>(q.numbers.size());
  const int columns = count > 8 && scene.width > px(700) ? 2 : 1, rows = (count + columns - 1) / columns;
  const float gap = px(28), width = (scene.width - gap * static_cast<float>(columns - 1)) / static_cast<float>(columns),
              height = px(22);
  ImGui::InvisibleButton("elements", {scene.width, height * static_cast<float>(rows)});
  for (int i = 0; i < count; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const ImVec2 place{at.x + static_cast<float>(i / rows) * (width + gap), at.y + static_cast<float>(i % rows) * height};
    draw_element(place, width, static_cast<double>(q.numbers[k]), static_cast<double>(block.elements[k]),
                 static_cast<double>(block.value(k)), q.storage.element);
  }
  explain("Each number as given, the bits of its element, the element, element times scale, and the error.",
          "x -> scale * round(x / scale)");
}

std::string sentence(const AskedBlock& q, const StoredBlock& block) {
  double error = 0;
  int zeros = 0, saturated = 0;
  for (std::size_t i = 0; i < q.numbers.size(); ++i) {
    const auto x = static_cast<double>(q.numbers[i]), value = static_cast<double>(block.value(i));
    error += std::abs(value - x) / static_cast<double>(q.numbers.size());
    zeros += value == 0 && x != 0;
    saturated +=
        std::abs(static_cast<double>(block.elements[i])) == largest(q.storage.element) && std::abs(x) > std::abs(value);
  }
  const int scale_bits = q.storage.scale == ScaleFormat::fp32_scale ? 32 : 8;
  std::string text = fmt::format("{} of {} bits and one scale of {}: mean |error| {}", counted(q.numbers.size(), "element"),
                                 bits_of_element(q.storage.element), scale_bits, scientific(error));
  if (zeros > 0) text += fmt::format(", {} became 0", zeros);
  if (saturated > 0) text += fmt::format(", {} saturated", saturated);
  return text + ".";
}

}  // namespace

std::string element_digits(const Element& e, double x) {
  if (e.kind != Element::Kind::integer) return float_digits(e.format, x);
  const auto mask = (std::uint64_t{1} << e.bits) - 1;
  return binary(static_cast<std::uint64_t>(static_cast<std::int64_t>(std::isfinite(x) ? x : 0)) & mask, e.bits);
}

std::string scale_digits(ScaleFormat format, double x) {
  if (format == ScaleFormat::e8m0_scale) return binary(static_cast<std::uint64_t>(std::ilogb(x) + 127), 8);
  if (format == ScaleFormat::fp32_scale) return binary(std::bit_cast<std::uint32_t>(static_cast<float>(x)), 32);
  return float_digits(e4m3, x);
}

std::string draw_block_bits(LessonScene& scene) {
  std::string problem;
  const AskedBlock q = asked_block(scene, problem);
  if (!problem.empty()) return problem;
  const StoredBlock block = stored_block(q.numbers, q.storage, q.head_amax);
  const WithSpacing spacing({px(8), px(8)});
  if (!is_on_page(scene)) {
    const auto* const now = std::ranges::find_if(storages, [&](std::string_view s) { return parse_scaling(s) == q.storage; });
    choose(scene, "storage", storage_choices, storages, now == storages.end() ? "" : *now, scene.width);
    type_numbers(scene);
    choose_outlier(scene);
  }
  if (!scene.state.complaint.empty()) label(Face::label, colours().bad, scene.state.complaint);
  draw_view_summary(scene, sentence(q, block));
  draw_scale(scene, q, block);
  draw_elements(scene, q, block);
  return "";
}

}  // namespace attoscope::ui
