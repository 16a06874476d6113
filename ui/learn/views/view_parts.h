/// Parts that the views of lessons share.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/arithmetic/format.h"
#include "kernels/experiment/scaling.h"
#include "ui/learn/views/views.h"
#include "ui/recurrence/recurrence.h"
#include "ui/widgets/widgets.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {

/// A number as lessons and readers write it: a formula without names, such as "0.1", "-1/3" or "exp(11)"; a power of two such
/// as "2^-14"; "inf", "nan".
std::optional<double> real_of(std::string_view text);
inline constexpr std::string_view real_expected = "a number such as 0.1, 1/3, 2^-14 or exp(11)";
/// Parses the value of a key as a number; if it is none, returns `otherwise` and sets `problem` to a sentence.
double real_of(const LessonScene& scene, std::string_view key, double otherwise, std::string& problem);

/// Parses a list of 1 to `most` numbers; sets `problem` if a word is no number or the count is wrong.
std::vector<double> reals_of(std::string_view key, const std::vector<std::string>& words, std::size_t most,
                             std::string& problem);

/// Parses the 1 to 6 formats of the key `formats`, or else `format`; sets `problem` on an error.
std::vector<Format> formats_of(const LessonScene& scene, std::string_view otherwise, std::string& problem);

/// Error sentence for the first word that is not known; empty: all are.
std::string unknown_word(std::string_view key, const std::vector<std::string>& words, std::span<const std::string_view> known);

/// Draws a row of buttons for a key of the view; button i sets values[i], and the button of `value` is pressed.
void choose(LessonScene& scene, const char* key, std::span<const Choice> choices, std::span<const std::string_view> values,
            std::string_view value, float width);
/// Draws a field for a key of the view, with `otherwise` if the key is not set. Returns the text when Enter is pressed, and
/// then clears the last complaint.
std::optional<std::string> typed_value(LessonScene& scene, const std::string& key, std::string_view otherwise, float width,
                                       std::string_view what, std::string_view formula);

/// Draws a button with the playing speed: a click takes the next one. The next item stays on the line.
void draw_speed(LessonScene& scene);
inline constexpr float speed_width = 44;

/// Draws a view's summary in one line, or two if the view is narrow: the height is the same for every text.
void draw_view_summary(LessonScene& scene, std::string_view text, Colour colour = colours().secondary);

/// Draws the verdict: its headline in the largest face that fits `width`, its sentence below.
void draw_verdict(const Verdict& verdict, float width);

/// A push button on a card, in the colour of a panel: the card has the usual colour of buttons.
bool card_button(const char* label, bool on = false, ImVec2 size = {0, 0});
/// Draws a card as wide as the scene; `draw` draws its content within `width`.
void draw_card(const LessonScene& scene, const std::function<void(float width)>& draw);

/// Returns the answer to the scene's experiment; until there is one, draws a sentence over `size` and returns null.
std::shared_ptr<const Result> answered(LessonScene& scene, ImVec2 size);
/// Draws a sentence in an empty frame.
void draw_instead(ImVec2 size, std::string_view sentence);
/// Dims [from, to] while `shown` answers an earlier question.
void dim_if_earlier(const LessonScene& scene, const Result& shown, ImVec2 from, ImVec2 to);

/// The bits of an element, or of a scale's code, from the left: a float's sign, exponent and significand, an integer in two's
/// complement, e8m0's exponent alone.
std::string element_digits(const Element& element, double x);
std::string scale_digits(ScaleFormat format, double x);

/// Draws a `bits` view with the key `storage`: choices, the numbers, the scale's bits, each element's bits, the represented
/// values and their errors.
std::string draw_block_bits(LessonScene& scene);

/// The recurrence of the traced row in a lesson: the strip's plots, and the step of the scrubbed tile.
struct RowPlots {
  StripState strip;
  Playback playback;
};

/// Draws the plots into `size`. The scrubbed tile and the hidden curves are the scene's `tile` and `hidden`; returns a sentence
/// if these are invalid. Without a recurrence, draws a sentence with the reason.
std::string draw_row_plots(LessonScene& scene, RowPlots& state, const std::shared_ptr<const Result>& result,
                           std::span<const Plot> plots, ImVec2 size);

/// The question of a sweep plot; sets `problem` if a key is invalid.
LessonQuestion sweep_question(const LessonScene& scene, std::string& problem);

/// Draws a save button on the picture in [from, to]; its figure is `plot` of the session that `session` returns.
void offer_figure(LessonScene& scene, Plot plot, const std::string& name, ImVec2 from, ImVec2 to,
                  std::function<Session()> session);
/// Draws a save button for a plot that only lessons have.
void offer_own_figure(LessonScene& scene, ImVec2 from, ImVec2 to);

/// Draws the line above a plot: its title, and at the right its unit, or its axis as "over x".
void draw_plot_header(const LessonScene& scene, std::string_view title, std::string_view unit);

}  // namespace attoscope::ui
