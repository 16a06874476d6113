/// The slips nearest to a loaded output.
#pragma once

#include <string>
#include <vector>

#include "ui/frame/head_verdict.h"
#include "ui/widgets/theme.h"

namespace attoscope {

struct PanelInput;

/// A slip, and the share of the RMS error that it leaves; NaN: its output is not known.
struct Suspect {
  const Slip* slip = nullptr;
  double left = 1;
  bool named = false;  ///< named in the verdict
};

/// Suspects of the worst head: the named one first, then by ascending share.
std::vector<Suspect> suspects_of(const CallJudgement& call);

/// The suspects with their shares, filling the rest of the panel; a click swipes the output against one. For a rounded output a
/// sentence.
void draw_suspects(Session& session, const PanelInput& input);

/// The suspects as CSV.
std::string suspects_csv(const CallJudgement& call);

}  // namespace attoscope
