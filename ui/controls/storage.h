/// Storage of one tensor in elements with scales: a line with the usual ones, and its parts.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "kernels/arithmetic/format.h"
#include "kernels/experiment/scaling.h"
#include "ui/widgets/widgets.h"

namespace attoscope::ui {

/// A tensor whose storage is edited.
struct StorageField {
  std::string_view title;  ///< "Q"
  ScaledTensor like;       ///< the tensor of the forward pass whose storage it shares the parts with
  Scaling& now;
  std::string_view what, formula;  ///< of its tooltip
  std::span<const Choice> usual;   ///< texts of `parse_scaling`
  /// One sentence why it cannot be stored so; "": it can, or it is no better now.
  std::function<std::string(const Scaling&)> why_not;
  const Format& main;
  std::string& typed;  ///< text of a format, in the popups of roundings
};

/// Usual storage of a tensor of the forward pass.
std::span<const Choice> usual_storage(ScaledTensor tensor);

/// Draws a line for each tensor, and the parts of the one that is open.
void edit_storage(std::span<const StorageField> fields);

/// A rounding, as one cell at the right.
void edit_rounded(const char* name, Rounding& rounding, std::string_view what, const Format& main, std::string& typed);

/// "QK int8 P e4m3": titles and elements of what is stored; "" if nothing is.
std::string storage_preview(std::span<const StorageField> fields);
/// One line for each tensor.
std::string storage_text(std::span<const StorageField> fields);

}  // namespace attoscope::ui
