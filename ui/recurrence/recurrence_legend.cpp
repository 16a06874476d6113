// Names of the recurrence strip's curves; a click toggles one.
#include <vector>

#include "ui/recurrence/recurrence.h"

namespace attoscope {

void draw_legend(View& view, ImVec2 at, float width, std::initializer_list<LegendEntry> entries) {
  std::vector<LegendName> names;
  for (const LegendEntry& e : entries)
    names.push_back({e.mark, e.id, e.name, e.colour, e.what, e.formula, (view.hidden_curves & bit(e.curve)) != 0});
  const int clicked = draw_legend(at, width, names);
  if (clicked >= 0) view.hidden_curves ^= bit((entries.begin() + clicked)->curve);
}

}  // namespace attoscope
