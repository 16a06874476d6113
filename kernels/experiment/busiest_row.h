/// The row with the most moves of its running max.
#pragma once

namespace attoscope {

struct Result;

/// The row of Q in which the running max of a moved most often, among the rows of the rescale map; of several the last one. -1
/// if the map is empty.
int busiest_row(const Result& result);

}  // namespace attoscope
