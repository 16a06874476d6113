/// Tables of a file's heads: as text, CSV and JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/json/json.h"
#include "app/tensors/call_files.h"
#include "kernels/experiment/table.h"
#include "ui/frame/heads_answer.h"

namespace attoscope {
struct Experiment;
}  // namespace attoscope

namespace attoscope::app {

/// The measure with that key. Throws std::invalid_argument that lists the known ones.
const ui::HeadMeasure& head_measure(std::string_view key);

/// A text table of the first `most` heads (0: all), in the given order, and their total number.
std::string heads_report(const std::vector<ui::HeadRow>& rows, const CallFiles& files, const ui::HeadMeasure& by,
                         std::size_t most);

/// Lines below a table of heads: the scales that are used, and the tensors that are left out.
std::string notes_on_files(const CallFiles& files);

/// A row for each head: head, name, layer, n, d and every measure.
Table heads_table(const std::vector<ui::HeadRow>& rows, const CallFiles& files);

/// `attoscope.heads/1`: the same, and the experiment whose input names the file.
Json heads_json(const std::vector<ui::HeadRow>& rows, const CallFiles& files, const Experiment& base);

}  // namespace attoscope::app
