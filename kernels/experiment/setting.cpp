#include "kernels/experiment/setting.h"

#include <algorithm>
#include <stdexcept>

#include "kernels/experiment/presets.h"
#include "kernels/experiment/text.h"

namespace attoscope {
namespace {

/// A visitor made of one function for each kind of value.
template <class... F>
struct Cases : F... {
  using F::operator()...;
};
template <class... F>
Cases(F...) -> Cases<F...>;

template <std::integral T>
bool set_whole(T& x, std::string_view text, T min, T max) {
  const auto typed = to_number<T>(text);
  if (!typed || *typed < min || *typed > max) return false;
  x = *typed;
  return true;
}

bool set_real(double& x, std::string_view text, const RealRange& range) {
  const auto typed = to_number<double>(text);
  if (!typed || !contains(range, *typed)) return false;
  x = *typed;
  return true;
}

bool set_sink(std::optional<double>& x, std::string_view text, const RealRange& range) {
  if (text == "none") {
    x.reset();
    return true;
  }
  double typed = 0;
  if (!set_real(typed, text, range)) return false;
  x = typed;
  return true;
}

bool set_flag(bool& x, std::string_view text) {
  if (text != "true" && text != "false") return false;
  x = text == "true";
  return true;
}

bool set_name(const NamedValue& x, std::string_view text) {
  const auto found = std::ranges::find(x.names, text);
  if (found == x.names.end()) return false;
  *x.value = static_cast<std::uint8_t>(found - x.names.begin());
  return true;
}

[[noreturn]] void refuse(const std::string& path, const std::string& value, const std::string& expected) {
  throw std::invalid_argument(path + " is " + value + ", expected " + expected);
}

void check_format(const Format& f, const std::string& path) {
  const auto check_bits = [&](const char* key, int bits, int min, int max) {
    if (bits < min || bits > max) refuse(path + key, std::to_string(bits), whole_range_text(min, max));
  };
  check_bits(".exponent_bits", f.exponent_bits, min_exponent_bits, max_exponent_bits);
  check_bits(".mantissa_bits", f.mantissa_bits, 0, max_mantissa_bits);
  if (f.top_code_nan && f.overflow == Overflow::infinity)
    refuse(path + ".overflow", "infinity", "saturate or nan, since the format has no infinity");
}

void check_scaling(const Scaling& s, const std::string& path) {
  const std::string text = scaling_text(s);
  try {
    if (parse_scaling(text) == s) return;
  } catch (const std::invalid_argument&) {
    // expected: below
  }
  refuse(path, text + " with the rule " + std::string(scale_rule_names[s.rule]), std::string(scalings_expected));
}

std::string joined_path(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

/// Checks a setting of the part at `path`.
void check_value(const Setting& s, const std::string& path) {
  const auto own_path = [&] { return joined_path(path, s.key); };  // only where it is read: every computation checks
  const auto in_range = [&](double x) {
    if (!contains(s.range, x)) refuse(own_path(), text(s), expected(s));
  };
  std::visit(Cases{[&](int* x) { in_range(*x); }, [&](double* x) { in_range(*x); },
                   [&](std::optional<double>* x) {
                     if (*x && !contains(s.range, **x)) refuse(own_path(), text(s), text(s.range));
                   },
                   [&](const NamedValue& x) {
                     if (*x.value >= x.names.size()) refuse(own_path(), std::to_string(*x.value), expected(s));
                   },
                   [&](Format* x) { check_format(*x, own_path()); },
                   [&](Rounding* x) {
                     if (x->kind == Rounding::Kind::format) check_format(x->format, own_path());
                   },
                   [&](Scaling* x) {
                     if (x->is_on()) check_scaling(*x, own_path());
                   },
                   [](const auto&) {}},
             s.value);
}

}  // namespace

bool contains(const RealRange& r, double x) {
  if (x == 0 && !r.zero.empty()) return true;
  return x >= r.min && x <= r.max && !(r.above_min && x == r.min);
}

std::string text(const RealRange& r) {
  const bool bounded = r.max != RealRange{}.max;
  std::string s = bounded ? "a number" : "a finite number";
  if (r.above_min) {
    s += " above " + shortest(r.min) + (bounded ? " and at most " + shortest(r.max) : "");
  } else if (bounded) {
    s += " from " + shortest(r.min) + " to " + shortest(r.max);
  }
  return r.zero.empty() ? s : s + ", or 0 for " + std::string(r.zero);
}

bool is_typed(const Setting& s) {
  return std::visit(Cases{[](std::monostate) { return false; }, [](const HexValue&) { return false; },
                          [](const PixelsValue&) { return false; }, [](const PartValue&) { return false; },
                          [](const ListValue&) { return false; }, [](const auto&) { return true; }},
                    s.value);
}

std::string text(const Setting& s) {
  return std::visit(Cases{[](bool* x) { return std::string(*x ? "true" : "false"); },
                          [](std::optional<double>* x) { return *x ? shortest(**x) : std::string("none"); },
                          [](std::string* x) { return *x; }, [](const NamedValue& x) { return std::string(x.names[*x.value]); },
                          [](const HexValue& x) { return shortest(*x.value, 16); }, [](Format* x) { return name(*x); },
                          [](Rounding* x) { return rounding_text(*x); }, [](Scaling* x) { return scaling_text(*x); },
                          [](const PolicyValue& x) { return x.name(); },
                          []<class T>(const T& x) {
                            if constexpr (std::is_pointer_v<T>) return shortest(*x);
                            return std::string();
                          }},
                    s.value);
}

std::string expected(const Setting& s) {
  return std::visit(
      Cases{[&](int*) { return whole_range_text(static_cast<int>(s.range.min), static_cast<int>(s.range.max)); },
            []<std::unsigned_integral T>(T*) { return whole_range_text(T{0}, std::numeric_limits<T>::max()); },
            [&](double*) { return text(s.range); }, [&](std::optional<double>*) { return text(s.range) + ", or none"; },
            [](bool*) { return std::string("true or false"); }, [](std::string*) { return std::string("a text"); },
            [](const NamedValue& x) { return listed(x.names); },
            [](const HexValue&) { return std::string("16 hexadecimal digits"); },
            [](const PixelsValue& x) { return "the text of " + std::to_string(x.size) + " pixels"; },
            [](Format*) { return std::string("a format such as bf16 or e5m7"); },
            [](Rounding*) { return std::string(roundings_expected); }, [](Scaling*) { return std::string(scalings_expected); },
            [](const PolicyValue& x) { return std::string(x.expected); }, [](const auto&) { return std::string(); }},
      s.value);
}

bool set(const Setting& s, std::string_view text) {
  return std::visit(
      Cases{[&](int* x) { return set_whole(*x, text, static_cast<int>(s.range.min), static_cast<int>(s.range.max)); },
            [&]<std::unsigned_integral T>(T* x) { return set_whole(*x, text, T{0}, std::numeric_limits<T>::max()); },
            [&](double* x) { return set_real(*x, text, s.range); },
            [&](std::optional<double>* x) { return set_sink(*x, text, s.range); }, [&](bool* x) { return set_flag(*x, text); },
            [&](std::string* x) { return *x = text, true; }, [&](const NamedValue& x) { return set_name(x, text); },
            [&](Format* x) { return *x = parse_format(text), true; },
            [&](Rounding* x) { return *x = parse_rounding(text), true; },
            [&](Scaling* x) { return *x = parse_scaling(text), true; },
            [&](const PolicyValue& x) { return x.take(std::string(text)), true; }, [](const auto&) { return false; }},
      s.value);
}

const Setting* find(const Settings& settings, std::string_view path) {
  for (const Setting& s : settings) {
    const auto* const part = std::get_if<PartValue>(&s.value);
    if (part == nullptr && s.key == path) return &s;
    if (part != nullptr && path.starts_with(s.key) && path.substr(s.key.size()).starts_with('.'))
      return find(**part, path.substr(s.key.size() + 1));
  }
  return nullptr;
}

void for_each(const Settings& settings, const std::string& prefix,
              const std::function<void(const std::string&, const Setting&)>& visit) {
  for (const Setting& s : settings) {
    const std::string path = prefix + std::string(s.key);
    if (const auto* const part = std::get_if<PartValue>(&s.value))
      for_each(**part, path + ".", visit);
    else
      visit(path, s);
  }
}

void check(const Settings& settings, const std::string& path) {
  for (const Setting& s : settings)
    if (const auto* const part = std::get_if<PartValue>(&s.value))
      check(**part, s.key == "precision" ? path : joined_path(path, s.key));  // "a.O", as in --set
    else
      check_value(s, path);
}

}  // namespace attoscope
