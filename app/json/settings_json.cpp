#include "app/json/settings_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "app/json/json_place.h"
#include "app/words/base64.h"
#include "app/words/numbers.h"

namespace attoscope::app {
namespace {

using Parsed = nlohmann::json;

Json list_json(const ListValue& list) {
  Json entries = Json::array();
  for (std::size_t i = 0; i < list.size(); ++i) entries.push_back(settings_json(list.item(i)));
  return entries;
}

/// Roundings, choices and the like are written as their texts.
Json json_of(const Setting& s) {
  if (const auto* x = std::get_if<int*>(&s.value)) return **x;
  if (const auto* x = std::get_if<unsigned*>(&s.value)) return **x;
  if (const auto* x = std::get_if<std::uint64_t*>(&s.value)) return **x;
  if (const auto* x = std::get_if<double*>(&s.value)) return **x;
  if (const auto* x = std::get_if<bool*>(&s.value)) return **x;
  if (const auto* x = std::get_if<std::optional<double>*>(&s.value)) return **x ? Json(***x) : Json(nullptr);
  if (const auto* x = std::get_if<std::string*>(&s.value)) return json_string(**x);
  if (const auto* x = std::get_if<HexValue>(&s.value)) return hex16(*x->value);
  if (const auto* x = std::get_if<PixelsValue>(&s.value)) return pixel_text(*x->value);
  if (const auto* x = std::get_if<PartValue>(&s.value)) return settings_json(**x);
  if (const auto* x = std::get_if<ListValue>(&s.value)) return list_json(*x);
  return text(s);
}

std::string joined(const std::string& path, std::string_view key) {
  return path.empty() ? shown_key(key) : path + "." + shown_key(key);
}

void add(std::vector<std::string>& remarks, std::string remark) {
  if (remarks.size() < most_remarks)
    remarks.push_back(std::move(remark));
  else if (remarks.size() == most_remarks)
    remarks.emplace_back("There is more that cannot be used.");
}

template <class T>
bool read_whole(const Parsed& value, T& x, T min = std::numeric_limits<T>::min(), T max = std::numeric_limits<T>::max()) {
  const std::optional<T> read = whole_number_of(value, min, max);
  x = read.value_or(x);
  return read.has_value();
}

bool is_real(const Parsed& value, const RealRange& range) { return value.is_number() && contains(range, value.get<double>()); }

bool read_sink(const Parsed& value, std::optional<double>& x, const RealRange& range) {
  if (!value.is_null() && !is_real(value, range)) return false;
  x = value.is_null() ? std::nullopt : std::optional(value.get<double>());
  return true;
}

/// Reads a value that is written as text. Throws or returns false if it cannot be used.
bool read_text(const Parsed& value, const Setting& s) {
  if (!value.is_string()) return false;
  const auto text = value.get<std::string>();
  if (const auto* x = std::get_if<std::string*>(&s.value)) {
    **x = bytes_of_json(text);
    return true;
  }
  if (const auto* x = std::get_if<HexValue>(&s.value)) {
    *x->value = from_hex16(text).value();
    return true;
  }
  if (const auto* x = std::get_if<PixelsValue>(&s.value))
    return *x->value = text.empty() ? std::vector<std::int8_t>{} : parse_pixels(text, x->size), true;
  return set(s, text);
}

/// Sets a setting; false: the value cannot be used.
bool read_value(const Parsed& value, const Setting& s) try {
  if (const auto* x = std::get_if<int*>(&s.value))
    return read_whole(value, **x, static_cast<int>(s.range.min), static_cast<int>(s.range.max));
  if (const auto* x = std::get_if<unsigned*>(&s.value)) return read_whole(value, **x);
  if (const auto* x = std::get_if<std::uint64_t*>(&s.value)) return read_whole(value, **x);
  if (const auto* x = std::get_if<double*>(&s.value)) return is_real(value, s.range) && (**x = value.get<double>(), true);
  if (const auto* x = std::get_if<std::optional<double>*>(&s.value)) return read_sink(value, **x, s.range);
  if (const auto* x = std::get_if<bool*>(&s.value)) return value.is_boolean() && (**x = value.get<bool>(), true);
  return read_text(value, s);
} catch (const std::exception&) {
  return false;
}

/// Reads an array of objects. Skips other values, and objects beyond `list.most`.
void read_list(const Parsed& value, const std::string& path, const ListValue& list, std::vector<std::string>& remarks) {
  list.resize(0);
  for (std::size_t i = 0; i < value.size() && i < list.most; ++i) {
    const std::string of_item = path + "[" + std::to_string(i) + "]";
    if (!value[i].is_object()) {
      add(remarks, of_item + " is " + quoted_json(value[i]) + ", expected an object; it is left out");
      continue;
    }
    list.resize(list.size() + 1);
    read_settings(value[i], of_item, list.item(list.size() - 1), remarks);
  }
  if (value.size() > list.most)
    add(remarks, path + " holds " + std::to_string(value.size()) + " entries, expected at most " + std::to_string(list.most) +
                     "; the others are left out");
}

void read_setting(const Parsed& value, const std::string& path, const Setting& s, std::vector<std::string>& remarks) {
  const auto* const part = std::get_if<PartValue>(&s.value);
  const auto* const list = std::get_if<ListValue>(&s.value);
  if (part != nullptr && value.is_object()) return read_settings(value, path, **part, remarks);
  if (list != nullptr && value.is_array()) return read_list(value, path, *list, remarks);
  if (part == nullptr && list == nullptr && read_value(value, s)) return;
  const bool sink = std::holds_alternative<std::optional<double>*>(s.value);
  add(remarks, path + " is " + quoted_json(value) + ", expected " +
                   (part != nullptr   ? "an object"
                    : list != nullptr ? "a list"
                    : sink            ? text(s.range) + ", or null"
                                      : expected(s)) +
                   "; the default is kept");
}

}  // namespace

Json settings_json(const Settings& settings) {
  Json json = Json::object();
  for (const Setting& s : settings)
    if (s.kept && !std::holds_alternative<PolicyValue>(s.value)) json[std::string(s.key)] = json_of(s);
  return json;
}

void read_settings(const Parsed& object, const std::string& path, const Settings& settings, std::vector<std::string>& remarks,
                   std::initializer_list<std::string_view> also) {
  for (const Setting& s : settings)
    if (const auto found = object.find(std::string(s.key)); found != object.end())
      read_setting(*found, joined(path, s.key), s, remarks);
  for (const auto& [key, value] : object.items())
    if (std::ranges::find(settings, key, &Setting::key) == settings.end() && std::ranges::find(also, key) == also.end())
      add(remarks, joined(path, key) + " is not a known key");
}

}  // namespace attoscope::app
