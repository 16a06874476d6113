/// The right panel: the answer in numbers, and why.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "imgui.h"
#include "ui/widgets/theme.h"

namespace attoscope {

struct Experiment;
struct MethodsApart;
struct PanelInput;
struct Requests;
struct Result;
struct ScatterState;
struct TrafficState;
struct UiState;

/// The right panel.
void draw_statistics(Session& session, const PanelInput& input, UiState& state, const Palette& colours, Requests& requests);

/// The panel's headline in one line, for where the panel is hidden behind another. True if it was clicked.
bool draw_headline(const PanelInput& input, const Palette& colours);

/// What each step of a costs, as bars; asks for it where it is not known. A click on a bar makes the step exact.
void draw_why(Session& session, const PanelInput& input, const Palette& colours, Requests& requests);

/// Bytes between HBM and the chip of the three algorithms, what lies on chip, and a roofline; fills the rest of the panel.
void draw_traffic(Session& session, const PanelInput& input, TrafficState& state, const Palette& colours);

/// True if what was found for the question `known` holds for `asked` too: they differ in the traced row alone.
bool answers(const Experiment& known, const Experiment& asked);

/// Whether the bits are the same however they were computed, in two words; a click shows the runs.
void draw_bits_badge(View& view, const PanelInput& input, const Experiment& asked, ImVec2 at, float room,
                     const Palette& colours);

/// How many numbers of O differ between a and b, by how much, and in which tile a row parts: short lines.
std::vector<std::string> apart_lines(const MethodsApart& apart, const Experiment& experiment);

/// The runs that must give the same bits, a against b, and a button that asks for them; or a under other schedules.
void draw_same_bits(Session& session, const PanelInput& input, const Palette& colours, Requests& requests);

/// a under other ways to cut the keys: which give the traced row the same bits. Asks for them where they are not known; a click
/// on one makes it b.
void draw_schedules(Session& session, const PanelInput& input, const Palette& colours, Requests& requests);

/// Brings the points up to date, looking at no more than so many elements at once; true while there are more to look at: the
/// points of the earlier answer stay until then. The first answer's points are found at once.
bool refresh_scatter(ScatterState& state, const std::shared_ptr<const Result>& result,
                     std::size_t elements = std::numeric_limits<std::size_t>::max());

/// |error| of a and b over |golden|, both logarithmic, filling the rest of the panel.
void draw_scatter(ScatterState& state, const std::shared_ptr<const Result>& result, const Palette& colours, Requests& requests);

/// Signed-ulp histogram of a and b, filling the rest of the panel.
void draw_histogram(const Result& result, const Palette& colours);

}  // namespace attoscope
