// Histogram of signed errors in ulps of the main format.
#include <algorithm>
#include <string>

#include "kernels/experiment/result.h"
#include "ui/statistics/panels.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/plot.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

void draw_histogram(const Result& r) {
  const ImVec2 room = ImGui::GetContentRegionAvail();
  const float title = px(26), height = std::min(room.y - title - px(4), px(280));
  if (height < px(48)) return;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Dummy({room.x, title});
  explain(
      "The frequency of each signed error, in ulps of the main format; the outermost bins hold all beyond 8 ulps. A curve that "
      "is not symmetric is a bias.",
      "(x - golden) / ulp(max(|golden|, RMS/100))");
  draw_text({at.x, at.y + px(7)}, Face::label, colours().text, "Signed error in " + name(r.experiment.format) + " ulps");
  draw_text({at.x + room.x, at.y + px(8)}, Face::small, colours().faint, "share, log", 1);
  static constexpr double x_ticks[] = {-8, -4, 0, 4, 8}, y_ticks[] = {1e-6, 1e-4, 1e-2, 1};
  static constexpr const char* y_labels[] = {"1e-6", "1e-4", "1 %", "1"};
  const FigurePanel p = ulps_panel(r);
  if (!begin_plot({"##ulps", *p.x.min, *p.x.max, *p.y.min, *p.y.max, p.y.log, x_ticks, y_ticks, {}, y_labels},
                  {room.x, height}))
    return;
  for (const Series& s : p.series)  // clamped, as a logarithm has no 0
    draw_clamped_steps(s.ink == Ink::a ? "##a" : "##b", s, least_share / 2, 1,
                       stroke(s.ink == Ink::a ? colours().a : colours().b), s.x[1] - s.x[0]);
  end_plot();
}

}  // namespace attoscope
