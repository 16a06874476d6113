#include "ui/picture/heatmap_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "kernels/arithmetic/format.h"
#include "kernels/experiment/result.h"
#include "kernels/questions/gradient_window.h"
#include "ui/widgets/colours.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope::ui {

int matrix_row_at(const CellPicture& picture, double row) {
  return std::clamp(static_cast<int>((row - picture.first_row) * picture.per_row), 0, std::max(0, picture.rows - 1));
}

int matrix_col_at(const CellPicture& picture, double col) {
  return std::clamp(static_cast<int>(col - picture.first_col), 0, std::max(0, picture.cols - 1));
}

RowSpan row_span(const CellPicture& picture, int matrix_row) {
  const double rows = 1 / picture.per_row, first = picture.first_row + matrix_row * rows;
  return {first, std::min<double>(first + rows, picture.n)};
}

CellRect seen(const CellRect& zoom, int rows, int cols) {
  const CellRect whole{0, 0, static_cast<double>(rows), static_cast<double>(cols)};
  if (zoom == CellRect{} || !(zoom.row1 > zoom.row0) || !(zoom.col1 > zoom.col0)) return whole;
  if (zoom.row0 >= rows || zoom.col0 >= cols || zoom.row1 <= 0 || zoom.col1 <= 0) return whole;
  return {std::max(0.0, zoom.row0), std::max(0.0, zoom.col0), std::min<double>(rows, zoom.row1),
          std::min<double>(cols, zoom.col1)};
}

namespace {

void scale_axis(double& low, double& high, double about, double factor, double least, double size) {
  const double length = std::clamp((high - low) * factor, std::min(least, size), size);
  const double t = (about - low) / (high - low);
  low = std::clamp(about - t * length, 0.0, size - length);
  high = low + length;
}

PictureShown shown_of(const View& v) {
  return {v.picture, v.field, v.second_field, v.comparison, v.second_slip, v.rescale_show, v.score_show, v.pair_show, v.tensor};
}

bool is_held(const FollowedRanges& ranges, const View& view) { return ranges.held && ranges.of == shown_of(view); }

/// Colour range while it is not pinned.
double followed_range(const UiState& state, const View& view) {
  return is_held(state.ranges, view) ? state.ranges.first : automatic_range(largest_shown(state, view));
}

constexpr std::int8_t not_finite = -128;

}  // namespace

CellRect zoomed(const CellRect& rect, double row, double col, double row_factor, double col_factor, int rows, int cols) {
  CellRect r = rect;
  scale_axis(r.row0, r.row1, row, row_factor, 4, rows);
  scale_axis(r.col0, r.col1, col, col_factor, 2, cols);
  return r;
}

CellRect panned(const CellRect& rect, double by_rows, double by_cols, int rows, int cols) {
  const double height = rect.row1 - rect.row0, width = rect.col1 - rect.col0;
  const double row = std::clamp(rect.row0 + by_rows, 0.0, rows - height),
               col = std::clamp(rect.col0 + by_cols, 0.0, cols - width);
  return {row, col, row + height, col + width};
}

CellRect stored(const CellRect& rect, int rows, int cols) {
  const double slack = 1e-6;
  const bool whole = rect.row0 <= slack && rect.col0 <= slack && rect.row1 >= rows - slack && rect.col1 >= cols - slack;
  return whole ? CellRect{} : rect;
}

const ShownTensor& shown_answer(SeenTensor& seen, const std::shared_ptr<const Result>& answer, const View& view) {
  const AnswerTensor tensor = answer && answer->backward ? view.tensor : AnswerTensor::O;
  if (seen.answer == answer && seen.tensor == tensor) return seen.shown;
  seen = {answer, tensor, {answer ? seen_as(answer, tensor) : nullptr, name(tensor), has_keys_as_rows(tensor), nullptr}};
  return seen.shown;
}

void choose_tensor(View& view, AnswerTensor tensor) {
  if (has_keys_as_rows(view.tensor) != has_keys_as_rows(tensor)) {
    view.zoom = {};
    view.cell_row = view.cell_col = -1;
  }
  view.tensor = tensor;
}

bool shows_pairs(const View& view, const Experiment& e) {
  return view.picture == PictureKind::scores && view.pair_show != PairShow::none && e.backward.on;
}

namespace {

/// Result whose output is the values of a window.
std::shared_ptr<const Result> answer_of(const GradientWindow& window, PairTensor pair) {
  const ScoreQuestion& q = window.question;
  const PairValues& values = window[pair];
  auto result = std::make_shared<Result>();
  result->experiment = q.experiment;
  for (int i = 0; i < q.rows; ++i) result->rows.push_back(q.first_row + i);
  result->golden = std::make_shared<const Matrix>(Matrix{q.rows, q.keys, values.golden});
  result->a = {q.rows, q.keys, values.a};
  result->b = {q.rows, q.keys, values.b};
  double squares = 0, count = 0;
  for (const double x : values.golden)
    if (std::isfinite(x)) {
      squares += x * x;
      ++count;
    }
  result->golden_rms = count > 0 ? std::sqrt(squares / count) : 0;
  return result;
}

}  // namespace

const ShownTensor& shown_pairs(SeenPairs& seen, const std::shared_ptr<const GradientWindow>& window, PairShow pair) {
  if (seen.shown.window == window && seen.pair == pair) return seen.shown;
  static_assert(pair_show_names.size() == pair_tensor_names.size() + 1, "PairShow is none, and each PairTensor");
  const auto of = static_cast<PairTensor>(static_cast<int>(pair) - 1);
  seen = {pair, {window ? answer_of(*window, of) : nullptr, pair_tensor_names[of], false, window}};
  return seen.shown;
}

std::string of_tensor(const ShownTensor& shown, const std::string& title) {
  return shown.is_output() ? title : std::string(shown.name) + " of " + title;
}

std::string about_tensor(const ShownTensor& shown, const std::string& text, std::string_view between) {
  return shown.is_output() ? text : fmt::format("{}{}{}", shown.name, between, text);
}

std::string field_words(const ShownTensor& shown, Field field) {
  if (shown.is_output() || (field != Field::golden && field != Field::a && field != Field::b))
    return std::string(text(field).what);
  if (field == Field::golden) return fmt::format("{} in higher precision on the same rounded inputs", shown.name);
  return fmt::format("{} of method {}", shown.name, field == Field::a ? "a" : "b");
}

std::string cell_words(const ShownTensor& shown, int row, int col) {
  return about_tensor(shown,
                      fmt::format("{} {}, {} {}", shown.keys_down ? "key" : "row", row, shown.window ? "key" : "dim", col));
}

namespace {

/// Places a window on the axes of rows and keys. Sets the values of keys that their row does not see to 0; the image hides them
/// later.
void place_window(HeatState& state, const GradientWindow& window) {
  const ScoreQuestion& q = window.question;
  const Problem& p = q.experiment.problem;
  state.across = key_count(p);
  state.first_row = q.first_row;
  state.first_col = q.first_key;
  state.per_row = 1;
  clear_unseen(state.values, q);
}

}  // namespace

bool refresh_values(HeatState& state, const ShownTensor& shown, Field field) {
  if (state.result == shown.result && state.field == field) return false;
  const std::shared_ptr<const Result>& result = shown.result;
  static_cast<ShownTensor&>(state) = shown;
  state.field = state.source_field = field;
  state.on_device = result && !is_extra(field) ? result->on_device : nullptr;  // GPUs hold no extra fields
  state.values = result ? field_values(*result, field) : std::vector<float>{};
  state.rows = result ? result->a.rows : 0;
  state.cols = state.across = result ? result->a.cols : 0;
  state.n = result ? result->experiment.problem.n : 0;
  state.per_row = state.n > 0 ? static_cast<double>(state.rows) / state.n : 1;
  state.first_row = state.first_col = 0;
  if (shown.window) place_window(state, *shown.window);
  measure(state);
  return true;
}

void measure(CellPicture& picture) {
  constexpr float most = std::numeric_limits<float>::max(), infinity = std::numeric_limits<float>::infinity();
  picture.row_worst.clear();
  picture.largest = 0;
  picture.has_nan = picture.has_infinity = picture.has_minus_infinity = false;
  const auto cols = static_cast<std::size_t>(picture.cols);
  for (std::size_t r = 0; r < static_cast<std::size_t>(picture.rows); ++r) {
    const std::span<const float> row = std::span(picture.values).subspan(r * cols, cols);
    std::uint32_t largest_bits = 0;
    for (const float v : row) largest_bits = std::max(largest_bits, bit_as<std::uint32_t>(std::abs(v)));
    const float worst = bit_as<float>(largest_bits);
    if (worst <= most) {
      picture.row_worst.push_back(worst);
      picture.largest = std::max(picture.largest, worst);
      continue;
    }
    picture.row_worst.push_back(infinity);
    for (const float v : row) {
      picture.has_nan |= std::isnan(v);
      picture.has_infinity |= v > most;
      picture.has_minus_infinity |= v < -most;
      if (std::abs(v) <= most) picture.largest = std::max(picture.largest, std::abs(v));
    }
  }
  picture.image.width = 0;
}

bool refresh_image(CellPicture& picture, const CellRect& rect, int width, int height) {
  if (picture.image.width == width && picture.image.height == height && picture.rect == rect) return false;
  picture.rect = rect;
  picture.image.width = width;
  picture.image.height = height;
  const CellRect cells{(rect.row0 - picture.first_row) * picture.per_row, rect.col0 - picture.first_col,
                       (rect.row1 - picture.first_row) * picture.per_row, rect.col1 - picture.first_col};
  picture.image.source = {&picture.values, picture.rows, picture.cols, cells, picture.source_field, picture.on_device};
  picture.image.pixels.clear();
  if (!picture.on_device)
    picture.image.pixels = sampled(picture.values, picture.rows, picture.cols, cells, width, height, PixelImage::nothing);
  static std::atomic<std::uint64_t> versions{0};  // pictures of several threads, and at one address after the other
  picture.image.version = ++versions;
  return true;
}

namespace {

/// True if one of the rows sees one of the keys, for a mask tensor with gaps.
bool sees_any(const Problem& p, const MaskView& mask, Keys rows, Keys keys) {
  for (int row = rows.first; row < rows.end; ++row) {
    const Keys seen = visible_keys(p.mask, row + diagonal(p), key_count(p));
    const int end = std::min({keys.end, seen.end, mask.rows[row].end});
    for (int key = std::max({keys.first, seen.first, mask.rows[row].first}); key < end; ++key)
      if (!mask.drops(row, key)) return true;
  }
  return false;
}

/// The rows [first, end) of Q under a row of pixels.
Keys rows_under(const CellPicture& picture, const Problem& p, int y) {
  const double down = (picture.rect.row1 - picture.rect.row0) / picture.image.height, row0 = picture.rect.row0;
  const double first = row_span(picture, matrix_row_at(picture, row0 + y * down + 1e-9)).first,
               end = row_span(picture, matrix_row_at(picture, row0 + (y + 1) * down - 1e-9)).end;
  const auto within = [&](int row) { return std::clamp(row, 0, p.n - 1); };
  return {within(static_cast<int>(first)), within(static_cast<int>(std::ceil(end)) - 1) + 1};
}

}  // namespace

void hide_unseen(CellPicture& picture, const Problem& p, int keys_per_col, bool reversed) {
  picture.has_masked = false;
  if (sees_all(p)) return;
  const CellRect& rect = picture.rect;
  PixelImage& image = picture.image;
  const MaskView mask = mask_view(p);
  const int n = key_count(p);
  const double right = (rect.col1 - rect.col0) / image.width;
  std::vector<Keys> keys_under;  // keys of each column of pixels
  for (int x = 0; x < image.width; ++x) {
    const Keys cols{static_cast<int>(std::floor(rect.col0 + x * right + 1e-9)) * keys_per_col,
                    static_cast<int>(std::ceil(rect.col0 + (x + 1) * right - 1e-9)) * keys_per_col};
    keys_under.push_back(reversed ? Keys{n - cols.end, n - cols.first} : cols);
  }
  for (int y = 0; y < image.height; ++y) {
    const Keys rows = rows_under(picture, p, y), seen = keys_of_rows(p, rows.first, rows.end - 1);
    float* pixel = image.pixels.data() + static_cast<std::ptrdiff_t>(y) * image.width;
    for (const Keys& keys : keys_under) {
      const bool is_outside = keys.end <= seen.first || keys.first >= seen.end || seen.empty();
      if (is_outside || (mask.terms != nullptr && !sees_any(p, mask, rows, keys))) {
        *pixel = PixelImage::masked;
        picture.has_masked = true;
      }
      ++pixel;
    }
  }
}

int matrix_row(const Result& result, int row) {
  const auto at = std::lower_bound(result.rows.begin(), result.rows.end(), row);
  return at != result.rows.end() && *at == row ? static_cast<int>(at - result.rows.begin()) : -1;
}

PictureSettings picture_settings(View& view) {
  if (view.picture == PictureKind::output || view.picture == PictureKind::heads)
    return {view.zoom, view.range_pinned, view.range};
  Look& look = view.picture == PictureKind::rescales ? view.rescale_look : view.score_look;
  return {look.zoom, look.range_pinned, look.range};
}

double automatic_range(double largest) {
  if (!(largest > 0)) return 1;
  const double unit = std::pow(10.0, std::floor(std::log10(largest)) - 1);
  const double range = std::ceil(largest / unit * (1 - 1e-12)) * unit;
  return range > 0 && std::isfinite(range) ? range : 1;
}

bool same_unit(Field x, Field y) {
  using enum Field;
  const auto unit = [](Field f) {
    if (f == tolerance) return 4;
    return f <= b ? 0 : f == a_ulps || f == b_ulps ? 1 : f == a_relative || f == b_relative ? 2 : 3;
  };
  return unit(x) == unit(y);
}

double largest_shown(const UiState& state, const View& view) {
  const bool scores = view.picture == PictureKind::scores && !state.heat.window;
  float largest = view.picture == PictureKind::rescales ? state.rescale_map.largest
                  : scores                              ? state.scores.largest
                                                        : state.heat.largest;
  const bool fields = view.picture == PictureKind::output || (view.picture == PictureKind::scores && state.heat.window);
  if (fields && view.comparison != Comparison::none && same_unit(view.field, view.second_field))
    largest = std::max(largest, state.second.largest);
  return static_cast<double>(largest);
}

double colour_range(const UiState& state, const View& view) {
  View copy = view;
  const PictureSettings look = picture_settings(copy);
  if (look.range_pinned) return look.range > 0 && std::isfinite(look.range) ? look.range : 1;
  return followed_range(state, view);
}

double second_colour_range(const UiState& state, const View& view) {
  if (same_unit(view.field, view.second_field)) return colour_range(state, view);
  return is_held(state.ranges, view) ? state.ranges.second : automatic_range(static_cast<double>(state.second.largest));
}

void note_ranges(UiState& state, const View& view) {
  const double first = followed_range(state, view), second = second_colour_range(state, view);
  state.ranges.of = shown_of(view);
  state.ranges.first = first;
  state.ranges.second = second;
}

void toggle_pinned_range(const UiState& state, View& view) {
  const PictureSettings look = picture_settings(view);
  if (!look.range_pinned) look.range = colour_range(state, view);
  look.range_pinned = !look.range_pinned;
}

void fit_range(UiState& state, View& view) {
  state.ranges.of.reset();
  const PictureSettings look = picture_settings(view);
  if (look.range_pinned) look.range = automatic_range(largest_shown(state, view));
}

Colouring colouring(bool diverging, double range, const View& view) {
  const auto end = static_cast<float>(std::clamp(range, 1e-37, 3e38));
  return {.diverging = diverging, .log = view.scale == ValueScale::log, .range = end, .knee = end / 300, .theme = view.theme};
}

std::vector<std::int8_t> thumbnail_of(const Result& result) {
  const std::vector<float> values = field_values(result, Field::a_error);
  float largest = 0;
  for (const float v : values)
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  const int rows = result.golden->rows, cols = result.golden->cols;
  const CellRect all{0, 0, static_cast<double>(rows), static_cast<double>(cols)};
  const Colouring rule{.range = largest, .knee = largest * 1e-3f};
  std::vector<std::int8_t> pixels;
  for (const float v : sampled(values, rows, cols, all, pin_width, pin_height, PixelImage::nothing))
    pixels.push_back(std::isfinite(v) ? static_cast<std::int8_t>(std::lround(254 * bar_position(v, rule) - 127)) : not_finite);
  return pixels;
}

ThumbnailShades thumbnail_shades() {
  ThumbnailShades all;
  const Colouring rule{.diverging = true, .log = false, .range = 1, .knee = 1, .theme = colours().theme};
  all[0] = colour(std::nanf(""), rule);
  for (int i = 1; i < 256; ++i) all[static_cast<std::size_t>(i)] = colour(static_cast<float>(i - 128) / 127, rule);
  return all;
}

void draw_thumbnail(ImVec2 at, float length, std::span<const std::int8_t> pixels, const ThumbnailShades& shades) {
  ImDrawList* list = ImGui::GetWindowDrawList();
  const float side = px(length);
  if (pixels.size() != pin_width * pin_height) {
    list->AddRectFilled(at, {at.x + pin_width * side, at.y + pin_height * side}, colours().raised);
    return;
  }
  for (int y = 0; y < pin_height; ++y)
    for (int x = 0; x < pin_width; ++x) {
      const ImVec2 from{at.x + static_cast<float>(x) * side, at.y + static_cast<float>(y) * side};
      const std::size_t i = static_cast<std::size_t>(y * pin_width + x);
      list->AddRectFilled(from, {from.x + side, from.y + side}, shades[static_cast<std::size_t>(pixels[i] + 128)]);
    }
}

}  // namespace attoscope::ui
