/// JSON to fields: a visitor that reads, with remarks on unusable values.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "app/json/json.h"
#include "app/words/numbers.h"
#include "app/words/pixel_text.h"
#include "kernels/deviation/fields.h"
#include "kernels/experiment/experiment_fields.h"
#include "kernels/experiment/presets.h"

namespace attoscope {

/// Number of remarks that are listed; a last one says that there are more.
inline constexpr std::size_t most_remarks = 100;

/// Reads fields from an object. Remarks name the path of each unusable value; its field stays unchanged.
class FieldReader {
 public:
  FieldReader(const nlohmann::json& json, std::string path, std::vector<std::string>& remarks)
      : json_(json), path_(std::move(path)), remarks_(remarks) {}

  template <class T>
  void integer(std::string_view key, T& x, T min, T max) {
    const nlohmann::json* const value = find(key);
    if (value == nullptr) return;
    if (const auto read = whole<T>(*value); read && *read >= min && *read <= max) {
      x = *read;
    } else {
      remark(key, *value, whole_range_text(min, max));
    }
  }

  void real(std::string_view key, double& x, const RealRange& range) { real_or(key, x, range, ""); }

  void optional_real(std::string_view key, std::optional<double>& x, const RealRange& range) {
    const nlohmann::json* const value = find(key);
    if (value == nullptr) return;
    if (value->is_null()) return x.reset();
    double read = 0;
    if (real_or(key, read, range, ", or null")) x = read;
  }

  void flag(std::string_view key, bool& x) {
    const nlohmann::json* const value = find(key);
    if (value == nullptr) return;
    if (value->is_boolean()) {
      x = value->get<bool>();
    } else {
      remark(key, *value, "true or false");
    }
  }

  void text(std::string_view key, std::string& x) {
    parse(key, "a text", [&](const std::string& read) { x = bytes_of_json(read); });
  }

  void hex(std::string_view key, std::uint64_t& x) {
    parse(key, "16 hexadecimal digits", [&](const std::string& read) { x = from_hex16(read).value(); });
  }

  template <class E, std::size_t N>
  void choice(std::string_view key, E& x, const std::array<std::string_view, N>& names) {
    parse(key, listed(names), [&](const std::string& read) {
      const auto found = std::find(names.begin(), names.end(), read);
      if (found == names.end()) throw std::invalid_argument("no such name");
      x = static_cast<E>(found - names.begin());
    });
  }

  void field(std::string_view key, Field& x) {
    std::array<std::string_view, field_count> names;
    for (int i = 0; i < field_count; ++i) names[static_cast<std::size_t>(i)] = attoscope::text(static_cast<Field>(i)).name;
    choice(key, x, names);
  }

  void format(std::string_view key, Format& x) {
    parse(key, "a format such as bf16 or e5m7", [&](const std::string& read) { x = parse_format(read); });
  }

  void rounding(std::string_view key, Rounding& x) {
    parse(key, std::string(roundings_expected), [&](const std::string& read) { x = parse_rounding(read); });
  }

  void scaling(std::string_view key, Scaling& x) {
    parse(key, std::string(scalings_expected), [&](const std::string& read) { x = parse_scaling(read); });
  }

  void policy(std::string_view key, Precision& x) {
    parse(key, "a policy that `attoscope presets` lists",
          [&](const std::string& read) { x = attoscope::policy(read).precision; });
  }

  template <class F>
  void object(std::string_view key, F visit) {
    const nlohmann::json* const value = find(key);
    if (value == nullptr) return;
    if (!value->is_object()) return remark(key, *value, "an object");
    FieldReader reader(*value, path_of(key), remarks_);
    visit(reader);
    reader.remark_unknown();
  }

  /// An array of objects: calls visit(reader, item) for each. Other values, and those beyond `most`, are left out.
  template <class T, class F>
  void list(std::string_view key, std::vector<T>& items, std::size_t most, F visit) {
    const nlohmann::json* const value = find(key);
    if (value == nullptr) return;
    if (!value->is_array()) return remark(key, *value, "a list");
    items.clear();
    for (std::size_t i = 0; i < value->size() && i < most; ++i) {
      const nlohmann::json& entry = (*value)[i];
      const std::string path = path_of(key) + "[" + std::to_string(i) + "]";
      if (!entry.is_object()) {
        add(path + " is " + shown(entry) + ", expected an object; it is left out");
        continue;
      }
      FieldReader reader(entry, path, remarks_);
      visit(reader, items.emplace_back());
      reader.remark_unknown();
    }
    if (value->size() > most)
      add(path_of(key) + " holds " + std::to_string(value->size()) + " entries, expected at most " + std::to_string(most) +
          "; the others are left out");
  }

  /// `size` pixels as text, or none.
  void thumbnail(std::string_view key, std::vector<std::int8_t>& pixels, int size) {
    parse(key, "the text of " + std::to_string(size) + " pixels",
          [&](const std::string& read) { pixels = read.empty() ? std::vector<std::int8_t>{} : parse_pixels(read, size); });
  }

  /// Remarks on unknown keys; call it last.
  void remark_unknown() {
    for (const auto& [key, value] : json_.items()) {
      if (!known_.contains(key)) add(path_of(key) + " is not a known key");
    }
  }

  void know(std::string_view key) { known_.emplace(key); }

 private:
  const nlohmann::json* find(std::string_view key) {
    know(key);
    const auto found = json_.find(std::string(key));
    return found == json_.end() ? nullptr : &*found;
  }

  template <class T>
  static std::optional<T> whole(const nlohmann::json& value) {
    if (value.is_number_unsigned()) {
      const auto x = value.get<std::uint64_t>();
      return std::in_range<T>(x) ? std::optional<T>(static_cast<T>(x)) : std::nullopt;
    }
    if (!value.is_number_integer()) return std::nullopt;
    const auto x = value.get<std::int64_t>();
    return std::in_range<T>(x) ? std::optional<T>(static_cast<T>(x)) : std::nullopt;
  }

  /// Reads x; true on success. `also` names what else is accepted.
  bool real_or(std::string_view key, double& x, const RealRange& range, const char* also) {
    const nlohmann::json* const value = find(key);
    if (value == nullptr) return false;
    if (!value->is_number() || !contains(range, value->get<double>())) {
      remark(key, *value, attoscope::text(range) + also);
      return false;
    }
    x = value->get<double>();
    return true;
  }

  /// Passes a text to `take`, which throws if it is unusable.
  template <class F>
  void parse(std::string_view key, const std::string& expected, F take) {
    const nlohmann::json* const value = find(key);
    if (value == nullptr) return;
    try {
      if (!value->is_string()) throw std::invalid_argument("no text");
      take(value->get<std::string>());
    } catch (const std::exception&) {
      remark(key, *value, expected);
    }
  }

  std::string path_of(std::string_view key) const { return path_.empty() ? shown_key(key) : path_ + "." + shown_key(key); }

  void remark(std::string_view key, const nlohmann::json& value, const std::string& expected) {
    add(path_of(key) + " is " + shown(value) + ", expected " + expected + "; the default is kept");
  }

  void add(std::string remark) {
    if (remarks_.size() < most_remarks)
      remarks_.push_back(std::move(remark));
    else if (remarks_.size() == most_remarks)
      remarks_.emplace_back("There is more that cannot be used.");
  }

  static std::string shown(const nlohmann::json& value) {
    return in_quotes(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }

  const nlohmann::json& json_;
  std::string path_;
  std::vector<std::string>& remarks_;
  std::set<std::string, std::less<>> known_;
};

}  // namespace attoscope
