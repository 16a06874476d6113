#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "app/explore/lesson_pages.h"
#include "app/plots/own_numbers.h"
#include "app/sweep/axis.h"
#include "app/sweep/sweep.h"
#include "kernels/deviation/fields.h"
#include "kernels/experiment/setting.h"
#include "ui/frame/exercise.h"

namespace attoscope::app {
namespace {

std::string value_of(const ui::LessonView& view, std::string_view key, std::string_view otherwise) {
  const std::string_view value = written(view, key);
  return std::string(value.empty() ? otherwise : value);
}

std::string field_title(const std::string& name) {
  const auto found = std::ranges::find(field_texts, name, &FieldText::name);
  return std::string(found == field_texts.end() ? std::string_view(name) : found->title);
}

std::string measure_title(const std::string& measure) {
  const OwnNumbers* const own = own_numbers(measure);
  return own != nullptr ? own->title(measure) : title_of(parse_measure(measure));
}

std::string sweep_caption(const ui::LessonView& view) {
  std::vector<std::string> axes;
  for (const std::string_view key : {"vary", "vary2"})
    if (const std::string_view text = written(view, key); !text.empty())
      axes.emplace_back(axis_key(parse_axis(text).key).title);
  return fmt::format("The plot shows {} over {}.", measure_title(value_of(view, "measure", "a.mean_abs")),
                     listed(axes, " and "));
}

std::string plot_caption(const ui::LessonView& view) {
  const std::string kind = value_of(view, "kind", "");
  if (kind == "sweep") return sweep_caption(view);
  if (kind == "bytes")
    return fmt::format("The plot shows bytes between HBM and the chip over {}.", value_of(view, "over", "n"));
  if (kind == "staircase")
    return fmt::format("The plots show numbers as {} stores them, and the rounding error.", name(view.experiment.format));
  struct Kind {
    std::string_view name;
    const char* sentence;
  };
  static constexpr std::array<Kind, 7> kinds{
      {{"trace", "The plots follow one row tile by tile: its running max, its row sum and its error."},
       {"error", "The plot follows the error of one row tile by tile."},
       {"rescales", "The plot counts how often the running max of a row moves."},
       {"loop", "The pictures show the double loop: the blocks and tiles that lie in HBM and on the chip."},
       {"losses", "The plot shows the losses of two models over training steps."},
       {"exp", "The plot shows exp(x) and the limits of the formats."},
       {"heaps", "The picture shows the weights of two models that start from different seeds, sorted and joined."}}};
  const auto* const found = std::ranges::find(kinds, kind, &Kind::name);
  return found == kinds.end() ? "The plot shows the row." : found->sentence;
}

std::string bits_caption(const ui::LessonView& view) {
  if (const std::string storage = value_of(view, "storage", ""); !storage.empty())
    return fmt::format("The picture shows the bits of a block that is stored as {}.", storage);
  return fmt::format("The picture shows the bits of {} in {}.", value_of(view, "value", "0.1"),
                     listed(ui::listed_words(value_of(view, "formats", value_of(view, "format", "fp16"))), " and "));
}

std::string heatmap_caption(const ui::LessonView& view) {
  const std::string tensor = value_of(view, "tensor", "O");
  return fmt::format("The heat map shows {}{}, a row for each {}.", field_title(value_of(view, "field", "a_error")),
                     tensor == "O" ? "" : " of " + tensor, tensor == "dK" || tensor == "dV" ? "key" : "query");
}

/// Sentence on a view of this kind.
std::string kind_caption(const ui::LessonView& view) {
  switch (view.kind) {
    case ui::LessonViewKind::recurrence:
      return fmt::format("Step by step, {} take{} in the scores {}.",
                         listed(ui::listed_words(value_of(view, "algorithms", "flash2")), " and "),
                         value_of(view, "algorithms", "").find(',') == std::string::npos ? "s" : "",
                         value_of(view, "scores", "random:16:1"));
    case ui::LessonViewKind::code:
      return fmt::format("The picture shows {} as pseudo-code.", name(view.experiment.a.algorithm));
    case ui::LessonViewKind::bits:
      return bits_caption(view);
    case ui::LessonViewKind::heatmap:
      return heatmap_caption(view);
    case ui::LessonViewKind::plot:
      return plot_caption(view);
    case ui::LessonViewKind::sum:
      return fmt::format("The picture shows a dot product of {} numbers as tensor cores of {} add it up.",
                         value_of(view, "format", "fp16"), value_of(view, "gpu", "h100"));
    default:
      return std::string(info(view.kind).caption);
  }
}

/// "Here n is 1024 and policy is eager."; empty without settings.
std::string setting_sentence(const ui::LessonView& view) {
  std::vector<std::string> parts;
  for (const ui::LessonParameter& p : view.parameters)
    if (!is_own_key(view.kind, p.key)) parts.push_back(p.key + " is " + p.value);
  return parts.empty() ? "" : " Here " + listed(parts, " and ") + ".";
}

}  // namespace

std::string caption_of(const ui::LessonView& view) { return kind_caption(view) + setting_sentence(view); }

std::string description_of(const ui::LessonView& view, const std::string& summary) {
  return summary.empty() ? caption_of(view) : kind_caption(view) + " It reads: " + ui::as_sentence(summary);
}

}  // namespace attoscope::app
