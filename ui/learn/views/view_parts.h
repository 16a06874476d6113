/// Parts that the views of lessons share.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "imgui.h"
#include "kernels/arithmetic/format.h"
#include "ui/learn/views/views.h"

namespace attoscope {

/// A number as lessons and readers write it: "0.1", "-1/3", "2^-14", "exp(11)", "inf", "nan".
std::optional<double> real_of(std::string_view text);
inline constexpr std::string_view real_expected = "a number such as 0.1, 1/3, 2^-14 or exp(11)";
/// The value of a key as such a number; where it is none, `problem` says so in a sentence and `otherwise` stands.
double real_of(const LessonScene& scene, std::string_view key, double otherwise, std::string& problem);

/// The numbers of a list, one to `most`; `problem` says which word is none, or how many there are.
std::vector<double> reals_of(std::string_view key, const std::vector<std::string>& words, std::size_t most,
                             std::string& problem);
/// The words between the commas of what was typed, without blanks.
std::vector<std::string> typed_list(std::string typed);

/// The formats that `formats`, or else `format`, lists: 1 to 6 of them; where one is none, `problem` says so.
std::vector<Format> formats_of(const LessonScene& scene, std::string_view otherwise, std::string& problem);

/// The words of a list that are not among the known ones: a sentence; empty: all are.
std::string unknown_word(std::string_view key, const std::vector<std::string>& words, std::span<const std::string_view> known);

/// The reader's other experiment: every field in which it differs from the scene's.
void change_to(LessonScene& scene, const Experiment& edited);

/// A view's sentence about itself, in one line, or two if the view is narrow: the height is the same for every text.
void draw_said(LessonScene& scene, Colour colour, std::string_view text);

/// The colours of controls on a card, which is as raised as they usually are.
Palette on_card(const Palette& colours);
/// A card as wide as the scene, with what `draw` draws within `width`.
void draw_card(const LessonScene& scene, const std::function<void(float width)>& draw);

/// The answer to the scene's experiment; until there is one, a sentence over `size`, and null.
std::shared_ptr<const Result> answered(LessonScene& scene, ImVec2 size);
/// A sentence in an empty frame.
void draw_instead(const LessonScene& scene, ImVec2 size, std::string_view sentence);
/// Dims [from, to] while what is shown there answers an earlier question.
void dim_if_earlier(const LessonScene& scene, const Result& shown, ImVec2 from, ImVec2 to);

}  // namespace attoscope
