/// Search through all heads of the input's file.
#pragma once

#include <memory>

#include "app/threads/side_question.h"
#include "ui/frame/heads_answer.h"

namespace attoscope {

class KeptHeads;

/// HeadRow: heads under a and b; KvRow: with K and V in fewer bits; JudgedHead: verdicts on a loaded output. The work that
/// finds those that its known answer lacks, with a thread for each head, and publishes each. `kept` may be null.
template <class Row>
typename SideQuestion<HeadsOfFile, FoundHeads<Row>>::Work found_heads(std::shared_ptr<KeptHeads> kept);

}  // namespace attoscope
