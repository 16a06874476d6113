/// A judgement as one page that can be attached to a pull request.
#pragma once

#include <string>

namespace attoscope {

struct CallJudgement;

/// A self-contained HTML document: conclusion, heads, error over tolerance as a map and along rows and columns, rivals, and the
/// command that makes it again.
std::string judgement_html(const CallJudgement& call, const std::string& command);

}  // namespace attoscope
