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
/// The value of a key as such a number; where it is none, `problem` says so in a sentence and `otherwise` stands.
double real_of(const LessonScene& scene, std::string_view key, double otherwise, std::string& problem);

/// The numbers of a list, one to `most`; `problem` says which word is none, or how many there are.
std::vector<double> reals_of(std::string_view key, const std::vector<std::string>& words, std::size_t most,
                             std::string& problem);

/// The formats that `formats`, or else `format`, lists: 1 to 6 of them; where one is none, `problem` says so.
std::vector<Format> formats_of(const LessonScene& scene, std::string_view otherwise, std::string& problem);

/// The words of a list that are not among the known ones: a sentence; empty: all are.
std::string unknown_word(std::string_view key, const std::vector<std::string>& words, std::span<const std::string_view> known);

/// A row of buttons for a key of the view; button i stands for values[i], and that of `value` is pressed.
void choose(LessonScene& scene, const char* key, std::span<const Choice> choices, std::span<const std::string_view> values,
            std::string_view value, float width);
/// A field for a key of the view, `otherwise` where nobody has set it. Returns the text when Enter is pressed, and then forgets
/// the last complaint.
std::optional<std::string> typed_value(LessonScene& scene, const std::string& key, std::string_view otherwise, float width,
                                       std::string_view what, std::string_view formula);

/// A button with the speed of what plays: a click takes the next one. Stays in the line.
void draw_speed(LessonScene& scene);
inline constexpr float speed_width = 44;

/// A view's sentence about itself, in one line, or two if the view is narrow: the height is the same for every text.
void draw_view_summary(LessonScene& scene, std::string_view text, Colour colour = colours().secondary);

/// The verdict: its headline in the largest face that fits `width`, its sentence below.
void draw_verdict(const Verdict& verdict, float width);

/// A push button on a card, in the colour of a panel: the card is as raised as buttons usually are.
bool card_button(const char* label, bool on = false, ImVec2 size = {0, 0});
/// A card as wide as the scene, with what `draw` draws within `width`.
void draw_card(const LessonScene& scene, const std::function<void(float width)>& draw);

/// The answer to the scene's experiment; until there is one, a sentence over `size`, and null.
std::shared_ptr<const Result> answered(LessonScene& scene, ImVec2 size);
/// A sentence in an empty frame.
void draw_instead(ImVec2 size, std::string_view sentence);
/// Dims [from, to] while what is shown there answers an earlier question.
void dim_if_earlier(const LessonScene& scene, const Result& shown, ImVec2 from, ImVec2 to);

/// The bits of an element, or of a scale's code, from the left: a float's sign, exponent and significand, an integer in two's
/// complement, e8m0's exponent alone.
std::string element_digits(const Element& element, double x);
std::string scale_digits(ScaleFormat format, double x);

/// A `bits` view with the key `storage`: choices, the numbers, the scale's bits, each element's bits, what they stand for and
/// how far that is off.
std::string draw_block_bits(LessonScene& scene);

/// The recurrence of the traced row in a lesson: the strip's plots, and the step of the scrubbed tile.
struct RowPlots {
  StripState strip;
  Playback playback;
};

/// Fills `size`. The scrubbed tile and the hidden curves are the scene's `tile` and `hidden`; returns a sentence where these
/// are impossible. Where there is no recurrence, a sentence in its place says why.
std::string draw_row_plots(LessonScene& scene, RowPlots& state, const std::shared_ptr<const Result>& result,
                           std::span<const StripPlot> plots, ImVec2 size);

/// A measure of a sweep: curves over numbers, or a bar for each name.
std::string draw_sweep_plot(LessonScene& scene, float height);
/// Its question; `problem` says which key is impossible.
LessonQuestion sweep_question(const LessonScene& scene, std::string& problem);
/// The losses of the plan `spike`, step by step.
std::string draw_losses_plot(LessonScene& scene, float height);
/// The traffic of the three algorithms over N or M.
std::string draw_bytes_plot(LessonScene& scene, float height);
/// Blocks of queries times tiles of keys between HBM and the chip, moved by a slider.
std::string draw_loop_plot(LessonScene& scene, float height);
/// The rounding of each x to a format, and its error.
std::string draw_staircase(LessonScene& scene, float height);
/// exp(x), and where formats overflow and underflow.
std::string draw_exp_plot(LessonScene& scene, float height);
/// The first weights of two models that differ in their seed, as two heaps whose sorted values are joined; N is how many.
std::string draw_heaps_plot(LessonScene& scene, float height);

/// A save button on the picture in [from, to]: as a figure it is this plot of a session of its own.
void offer_figure(LessonScene& scene, Plot plot, const std::string& name, ImVec2 from, ImVec2 to,
                  std::function<Session()> session);
/// The same of a plot that only lessons have.
void offer_own_figure(LessonScene& scene, ImVec2 from, ImVec2 to);

/// The panels of plots that only lessons have; `problem` says which key is impossible.
std::vector<FigurePanel> bytes_panels(const LessonScene& scene, std::string& problem);
std::vector<FigurePanel> loop_panels(const LessonScene& scene, std::string& problem);
std::vector<FigurePanel> sweep_panels(const LessonScene& scene, std::string& problem);
std::vector<FigurePanel> staircase_panels(const LessonScene& scene, std::string& problem);
std::vector<FigurePanel> exp_panels(const LessonScene& scene, std::string& problem);
std::vector<FigurePanel> heaps_panels(const LessonScene& scene, std::string& problem);

/// The line above a plot: its title, and at the right what it counts, or "over x", what it is over.
void draw_plot_header(const LessonScene& scene, std::string_view title, std::string_view unit);

}  // namespace attoscope::ui
