/// Storage of a tensor as elements with scales: a line with the usual choices, and its parts.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/arithmetic/format.h"
#include "kernels/experiment/scaling.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

/// A tensor, and the storage to edit.
struct StorageField {
  std::string_view title;  ///< "Q"
  ScaledTensor like;       ///< tensor of the forward pass whose storage has the same parts
  Scaling& now;
  std::string_view what, formula;  ///< texts of its tooltip
  std::span<const Choice> usual;   ///< texts of `parse_scaling`
  /// One sentence why this storage is impossible; "": it is possible, or the current storage has the same problem.
  std::function<std::string(const Scaling&)> why_not;
  const Format& main;
  std::string& typed;  ///< text of a format, in the popups of roundings
};

/// Usual storage of a tensor of the forward pass.
std::span<const Choice> usual_storage(ScaledTensor tensor);

/// Draws a line for each tensor, and the parts of the open tensor.
void edit_storage(std::span<const StorageField> fields);

/// A rounding, as one cell at the right.
void edit_rounded(const char* name, Rounding& rounding, std::string_view what, const Format& main, std::string& typed);

/// "QK int8 P e4m3": titles and elements of the tensors stored with scales; "": none.
std::string storage_preview(std::span<const StorageField> fields);
/// One line for each tensor.
std::string storage_text(std::span<const StorageField> fields);

}  // namespace attoscope::ui
