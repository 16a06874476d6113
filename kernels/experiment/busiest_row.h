/// The row in which the recurrence has most to show.
#pragma once

namespace attoscope {

struct Result;

/// The row of Q in which the running max of a moved most often, of those that the rescale map holds; of several the last one.
/// -1 where nothing is held.
int busiest_row(const Result& result);

}  // namespace attoscope
