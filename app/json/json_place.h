/// Strict reading of JSON: errors name the path of a value that is missing, unknown or out of range.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "app/json/json.h"
#include "app/words/numbers.h"
#include "kernels/experiment/setting.h"
#include "kernels/experiment/text.h"

namespace attoscope::app {

/// The whole number of a value; none if it is something else, or out of range.
template <class T>
std::optional<T> whole_number_of(const nlohmann::json& value, T min, T max) {
  const bool fits = value.is_number_unsigned() ? std::in_range<T>(value.get<std::uint64_t>())
                                               : value.is_number_integer() && std::in_range<T>(value.get<std::int64_t>());
  return fits && value.get<T>() >= min && value.get<T>() <= max ? std::optional(value.get<T>()) : std::nullopt;
}

/// A value of a document with its path. Throws std::runtime_error with one sentence on unexpected values.
class JsonPlace {
 public:
  JsonPlace(const nlohmann::json& json, std::string path) : json_(json), path_(std::move(path)) {}

  [[noreturn]] void refuse(const std::string& expected) const {
    const std::string shown = json_.is_structured() ? in_quotes(json_.type_name()) : quoted_json(json_);
    throw std::runtime_error((path_.empty() ? "the document" : path_) + " is " + shown + ", expected " + expected);
  }
  const nlohmann::json& json() const { return json_; }
  const std::string& path() const { return path_; }
  JsonPlace at(std::string_view key) const {
    if (!json_.is_object()) refuse("an object");
    const auto found = json_.find(std::string(key));
    const std::string path = (path_.empty() ? "" : path_ + ".") + shown_key(key);
    if (found == json_.end()) throw std::runtime_error(path + " is missing");
    return {*found, path};
  }
  JsonPlace at(std::size_t index) const { return {json_[index], path_ + "[" + std::to_string(index) + "]"}; }
  /// Length of a list.
  std::size_t size() const {
    if (!json_.is_array()) refuse("a list");
    return json_.size();
  }
  void expect_size(std::size_t count) const {
    if (size() != count)
      throw std::runtime_error(path_ + " holds " + counted(static_cast<std::int64_t>(size()), "entry", "entries") +
                               ", expected " + std::to_string(count));
  }
  void expect_keys(std::initializer_list<std::string_view> keys, std::initializer_list<std::string_view> more = {}) const {
    if (!json_.is_object()) refuse("an object");
    for (const auto& [key, value] : json_.items())
      if (std::ranges::find(keys, key) == keys.end() && std::ranges::find(more, key) == more.end())
        throw std::runtime_error((path_.empty() ? "" : path_ + ".") + shown_key(key) + " is not a known key");
  }
  /// A number that `number_json` wrote, or "nan", which earlier versions wrote.
  double number() const {
    if (json_.is_number()) return json_.get<double>();
    if (json_.is_null() || json_ == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (json_ == "inf") return std::numeric_limits<double>::infinity();
    if (json_ == "-inf") return -std::numeric_limits<double>::infinity();
    refuse("a number, null, inf or -inf");
  }
  std::string text() const {
    if (!json_.is_string()) refuse("a text");
    return json_.get<std::string>();
  }
  void expect_text(std::string_view expected) const {
    if (text() != expected) refuse(in_quotes(expected));
  }
  template <class T>
  T whole(T min, T max) const {
    const std::optional<T> x = whole_number_of(json_, min, max);
    if (!x) refuse(whole_range_text(min, max));
    return *x;
  }

 private:
  const nlohmann::json& json_;
  std::string path_;
};

}  // namespace attoscope::app
