#include "ui/toolkit/formula_check.h"

#include <exception>

#include "core/formula.h"
#include "core/parser.h"

namespace attoscope::ui {

std::string formula_error(const std::string& latex) {
  try {
    microtex::Formula formula;
    microtex::Parser(false, latex, &formula).parse();
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace attoscope::ui
