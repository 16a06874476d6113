#include "kernels/arithmetic/element.h"

#include <stdexcept>

#include "kernels/arithmetic/quoted.h"

namespace attoscope {
namespace {

[[noreturn]] void refuse(std::string_view text) {
  throw std::invalid_argument(
      "element " + in_quotes(text) +
      " is unknown: expected int2 to int8, e2m1, e2m3, e3m2, e4m3, e5m2, fp16 or another format with up to 5 exponent bits");
}

}  // namespace

std::string name(const Element& e) {
  for (const NamedElement& known : named_elements)
    if (known.element == e) return std::string(known.name);
  if (e.kind == Element::Kind::none) return "none";
  return e.kind == Element::Kind::integer ? "int" + std::to_string(e.bits) : name(e.format);
}

Element parse_element(std::string_view text) {
  for (const NamedElement& known : named_elements)
    if (known.name == text) return known.element;
  if (text.size() == 4 && text.starts_with("int")) {
    const int bits = text[3] - '0';
    if (bits < min_element_bits || bits > max_element_bits) refuse(text);
    return {Element::Kind::integer, {}, bits};
  }
  try {
    Format f = parse_format(text);
    if (!f.top_code_nan) f.overflow = Overflow::infinity;  // elements always saturate; the field is not used
    if (f.exponent_bits > max_element_exponent_bits || f.mantissa_bits < 1 || f.mantissa_bits > 10) refuse(text);
    return {Element::Kind::format, f, 8};
  } catch (const std::invalid_argument&) {
    refuse(text);
  }
}

}  // namespace attoscope
