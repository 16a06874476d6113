/// What is saved: the question, how its answer is looked at, and the pinned questions. Plain values.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/experiment.h"
#include "kernels/fields.h"
#include "kernels/presets.h"

namespace attoscope {

enum class ValueScale : std::uint8_t { linear, log };  ///< log: signed, asinh

enum class Theme : std::uint8_t { dark, light, high_contrast };
inline constexpr std::array<std::string_view, 3> theme_names{"dark", "light", "high_contrast"};
constexpr bool is_light(Theme t) { return t == Theme::light; }
constexpr Theme next(Theme t) { return static_cast<Theme>((static_cast<int>(t) + 1) % static_cast<int>(theme_names.size())); }

/// output: a field of the N x d matrices. rescales: m of a by rows x tiles. scores: S or P of some rows and keys.
enum class PictureKind : std::uint8_t { output, rescales, scores };
inline constexpr std::array<std::string_view, 3> picture_names{"output", "rescales", "scores"};

/// How a second field is held against the first: beside it, beyond a divider, or in turns.
enum class Comparison : std::uint8_t { none, side_by_side, swipe, flicker };
inline constexpr std::array<std::string_view, 4> comparison_names{"none", "side_by_side", "swipe", "flicker"};

/// What the rescale map shows of a row and a tile: whether m moved, by how much, P that saturated, e whose P is 0.
enum class RescaleShow : std::uint8_t { moved, amount, saturated, underflowed };
inline constexpr std::array<std::string_view, 4> rescale_names{"moved", "amount", "saturated", "underflowed"};

enum class ScoreShow : std::uint8_t { S, P, P_error };  ///< P_error: P of a minus the true weight
inline constexpr std::array<std::string_view, 3> score_names{"S", "P", "P_error"};

/// What stands at the lower right.
enum class Detail : std::uint8_t { ulps, scatter, why, same_bits, traffic };
inline constexpr std::array<std::string_view, 5> detail_names{"ulps", "scatter", "why", "same_bits", "traffic"};

/// Changes only the picture.
struct View {
  Field field = Field::a_error;
  ValueScale scale = ValueScale::log;
  bool range_pinned = false;
  double range = 0.01;       ///< the largest |value| of the colour bar while pinned
  bool show_tiles = false;   ///< tile grid over the heat map
  CellRect zoom{};           ///< part that is shown, in rows of Q; all zero: everything
  int cell_row = -1, cell_col = -1;  ///< pinned cell, row of Q; -1: none
  int scrubbed_tile = -1;    ///< tile under the scrubber of the recurrence strip; -1: the last
  bool square_tiles = true;  ///< block_q follows block_k
  Theme theme = Theme::dark;
  double ui_scale = 1;
  PictureKind picture = PictureKind::output;
  Comparison comparison = Comparison::none;
  Field second_field = Field::b_error;  ///< what `comparison` holds against `field`
  double swipe = 0.5;                   ///< share of the picture left of the divider
  RescaleShow rescale_show = RescaleShow::moved;
  ScoreShow score_show = ScoreShow::P;
  bool profiles = false;                ///< row and column through the cell under the mouse, as curves
  Detail detail = Detail::ulps;
  unsigned hidden_curves = 0;           ///< bit c: curve c of the recurrence strip is hidden
  int on_chip_elements = 24576;         ///< M of the FA-1 helper and the traffic panel, in elements

  friend bool operator==(const View&, const View&) = default;
};

/// An experiment that was kept, with what it gave when it was kept.
struct Pin {
  std::string name;
  Experiment experiment;
  double a_mean = 0, b_mean = 0, a_max = 0, b_max = 0;  ///< errors against golden
  std::uint64_t digest = 0;                             ///< of a
  std::vector<std::int8_t> thumbnail;  ///< a - golden, pin_width x pin_height from the top: share of the range, -127 .. 127

  friend bool operator==(const Pin&, const Pin&) = default;
};
inline constexpr int pin_width = 40, pin_height = 24, max_pins = 1000;

struct Session {
  Experiment experiment = default_experiment();
  View view{};
  std::string device = "auto";  ///< auto, cpu, cuda, cuda:K or a list of these GPUs
  std::vector<Pin> pins;        ///< in the order in which they were kept

  friend bool operator==(const Session&, const Session&) = default;
};

}  // namespace attoscope
