// The live view `code`: an algorithm as a student writes it.
#include "ui/learn/stepper/pseudo_code.h"
#include "ui/learn/views/views.h"
#include "ui/widgets/widgets.h"

namespace attoscope {

std::string draw_code_view(LessonScene& scene) {
  const Algorithm algorithm = scene.experiment.a.algorithm;
  const std::vector<CodeLine> lines = pseudo_code(algorithm);
  if (lines.empty()) return refusal("algorithm", name(algorithm), "three_pass, two_pass, flash1, flash2 or flash4");
  label(Face::label, scene.colours.secondary, code_title(algorithm));
  draw_pseudo_code(lines, {}, scene.width, scene.colours);
  return "";
}

}  // namespace attoscope
