#include <algorithm>
#include <array>
#include <utility>

#include "app/figures/gnuplot_text.h"

namespace attoscope::app {
namespace {

/// Characters that LaTeX reads as commands, or that its default fonts lack.
constexpr std::array<std::pair<std::string_view, std::string_view>, 42> signs{{{"\\", "\\textbackslash{}"},
                                                                               {"{", "\\{"},
                                                                               {"}", "\\}"},
                                                                               {"$", "\\$"},
                                                                               {"&", "\\&"},
                                                                               {"#", "\\#"},
                                                                               {"%", "\\%"},
                                                                               {"_", "\\_"},
                                                                               {"^", "\\textasciicircum{}"},
                                                                               {"~", "\\textasciitilde{}"},
                                                                               {"|", "$|$"},
                                                                               {"<", "$<$"},
                                                                               {">", "$>$"},
                                                                               {"\"", "''"},
                                                                               {"−", "$-$"},
                                                                               {"×", "$\\times$"},
                                                                               {"·", "$\\cdot$"},
                                                                               {"±", "$\\pm$"},
                                                                               {"≤", "$\\le$"},
                                                                               {"≥", "$\\ge$"},
                                                                               {"∞", "$\\infty$"},
                                                                               {"‖", "$\\|$"},
                                                                               {"√", "$\\surd$"},
                                                                               {"→", "$\\to$"},
                                                                               {"²", "$^2$"},
                                                                               {"³", "$^3$"},
                                                                               {"α", "$\\alpha$"},
                                                                               {"β", "$\\beta$"},
                                                                               {"γ", "$\\gamma$"},
                                                                               {"δ", "$\\delta$"},
                                                                               {"ε", "$\\epsilon$"},
                                                                               {"λ", "$\\lambda$"},
                                                                               {"µ", "$\\mu$"},
                                                                               {"μ", "$\\mu$"},
                                                                               {"σ", "$\\sigma$"},
                                                                               {"τ", "$\\tau$"},
                                                                               {"Δ", "$\\Delta$"},
                                                                               {"Σ", "$\\Sigma$"},
                                                                               {"–", "--"},
                                                                               {"—", "---"},
                                                                               {"…", "\\ldots{}"},
                                                                               {"’", "'"}}};

}  // namespace

std::string latex_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto* const sign = std::ranges::find_if(signs, [&](const auto& s) { return text.starts_with(s.first); });
    const bool known = sign != signs.end();
    result += known ? sign->second : text.substr(0, 1);
    text.remove_prefix(known ? sign->first.size() : 1);
  }
  return result;
}

Figure in_latex(Figure f) {
  const auto change = [](std::string& text) { text = latex_text(text); };
  for (ui::FigurePanel& p : f.panels) {
    change(p.title);
    for (ui::FigureAxis* const axis : {&p.x, &p.y}) {
      change(axis->label);
      std::ranges::for_each(axis->categories, change);
    }
    for (ui::Series& s : p.series) change(s.label);
    if (p.heat) change(p.heat->label);
  }
  return f;
}

}  // namespace attoscope::app
