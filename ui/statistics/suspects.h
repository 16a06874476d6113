/// The slips that come nearest to a loaded output.
#pragma once

#include <string>
#include <vector>

#include "ui/frame/head_verdict.h"
#include "ui/widgets/theme.h"

namespace attoscope {

struct PanelInput;

/// A slip, and the part of the error's root mean square that it leaves; NaN: its output is not known.
struct Suspect {
  const Slip* slip = nullptr;
  double left = 1;
  bool named = false;  ///< by the verdict
};

/// The suspects of the worst head, the named one first, then those that leave least.
std::vector<Suspect> suspects_of(const CallJudgement& call);

/// These with what each leaves, filling the rest of the panel; a click swipes the output against one. Of a rounded output why
/// there are none.
void draw_suspects(Session& session, const PanelInput& input, const Palette& colours);

/// The same as CSV.
std::string suspects_csv(const CallJudgement& call);

}  // namespace attoscope
