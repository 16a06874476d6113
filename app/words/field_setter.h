/// Text to one field: the visitor behind `--set a.tau=4` and the options of `run`.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/words/numbers.h"
#include "kernels/experiment/experiment_fields.h"
#include "kernels/experiment/presets.h"

namespace attoscope {

/// Throws "LABEL is 'VALUE', expected EXPECTED".
[[noreturn]] inline void refuse(const std::string& label, std::string_view value, const std::string& expected) {
  throw std::invalid_argument(label + " is " + in_quotes(value) + ", expected " + expected);
}

/// Parses a whole number. Throws std::invalid_argument with one sentence.
template <std::integral T>
T whole_number(const std::string& label, std::string_view text, T min, T max) {
  const auto value = to_number<T>(text);
  if (!value || *value < min || *value > max) refuse(label, text, whole_range_text(min, max));
  return *value;
}

/// Sets the field called `key` to `value`, and no other. Throws std::invalid_argument with one sentence that begins with
/// `label`.
class FieldSetter {
 public:
  FieldSetter(std::string label, std::string_view key, std::string_view value)
      : label_(std::move(label)), key_(key), value_(value) {}

  bool found() const { return found_; }
  /// Keys visited.
  const std::vector<std::string_view>& keys() const { return keys_; }

  template <class T>
  void integer(std::string_view key, T& x, T min, T max) {
    if (is(key)) x = whole_number(label_, value_, min, max);
  }
  void real(std::string_view key, double& x, const RealRange& range) {
    if (!is(key)) return;
    const auto value = to_number<double>(value_);
    if (!value || !contains(range, *value)) refuse(label_, value_, attoscope::text(range));
    x = *value;
  }
  void optional_real(std::string_view key, std::optional<double>& x, const RealRange& range) {
    if (!is(key)) return;
    if (value_ == "none") return x.reset();
    const auto value = to_number<double>(value_);
    if (!value || !contains(range, *value)) refuse(label_, value_, attoscope::text(range) + ", or none");
    x = *value;
  }
  void flag(std::string_view key, bool& x) {
    if (!is(key)) return;
    if (value_ != "true" && value_ != "false") refuse(label_, value_, "true or false");
    x = value_ == "true";
  }
  template <class E, std::size_t N>
  void choice(std::string_view key, E& x, const std::array<std::string_view, N>& names) {
    if (!is(key)) return;
    const auto found = std::find(names.begin(), names.end(), value_);
    if (found == names.end()) refuse(label_, value_, listed(names));
    x = static_cast<E>(found - names.begin());
  }
  void rounding(std::string_view key, Rounding& x) {
    if (is(key)) labelled([&] { x = parse_rounding(value_); });
  }
  void scaling(std::string_view key, Scaling& x) {
    if (is(key)) labelled([&] { x = parse_scaling(value_); });
  }
  void policy(std::string_view key, Precision& x) {
    if (is(key)) labelled([&] { x = attoscope::policy(value_).precision; });
  }
  void text(std::string_view, const std::string&) {}
  void hex(std::string_view, std::uint64_t) {}
  /// Visits nested objects: the steps of a method, accumulators as "accumulator.qk", storage as "scaling.K"; skips others.
  template <class F>
  void object(std::string_view key, F visit) {
    if (key == "precision") visit(*this);
    if (key != "accumulator" && key != "scaling") return;
    const std::string prefix = std::string(key) + ".";
    FieldSetter inner(label_, key_.starts_with(prefix) ? key_.substr(prefix.size()) : "", value_);
    visit(inner);
    found_ |= inner.found_;
    for (const std::string_view field : nested_keys)
      if (field.starts_with(prefix)) keys_.push_back(field);
  }

 private:
  /// Keys of nested objects in a method.
  static constexpr std::array<std::string_view, 11> nested_keys{
      "accumulator.qk",   "accumulator.pv",   "scaling.Q",        "scaling.K",        "scaling.V",       "scaling.P",
      "scaling.hadamard", "scaling.smooth_K", "scaling.smooth_Q", "scaling.smooth_V", "scaling.smoothed"};

  bool is(std::string_view key) {
    keys_.push_back(key);
    found_ |= key == key_;
    return key == key_;
  }
  template <class F>
  void labelled(F read) {
    try {
      read();
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(label_ + ": " + error.what());
    }
  }
  std::string label_;
  std::string_view key_, value_;
  bool found_ = false;
  std::vector<std::string_view> keys_;
};

/// Calls `read`; prefixes its exceptions with the option.
template <class F>
auto of_option(const char* option, F read) {
  try {
    return read();
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(std::string(option) + ": " + error.what());
  }
}

/// Sets the field `key` of the method or problem that `visit` shows; `label` begins every message.
template <class Visit>
void set_field(const std::string& label, const std::string& key, const std::string& value, Visit visit) {
  FieldSetter setter(label, key, value);
  visit(setter);
  if (!setter.found())
    throw std::invalid_argument(label + ": " + in_quotes(key) + " is unknown, expected " + listed(setter.keys()));
}

}  // namespace attoscope
