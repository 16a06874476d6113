/// Fields to JSON: a visitor that writes.
#pragma once

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "app/json/json.h"
#include "app/words/numbers.h"
#include "app/words/pixel_text.h"
#include "kernels/deviation/fields.h"
#include "kernels/experiment/experiment_fields.h"

namespace attoscope {

/// Writes fields into an object.
class FieldWriter {
 public:
  explicit FieldWriter(Json& json) : json_(json) {}
  template <class T>
  void integer(std::string_view key, const T& x, T, T) {
    put(key, x);
  }
  void real(std::string_view key, double x, const RealRange&) { put(key, x); }
  void optional_real(std::string_view key, const std::optional<double>& x, const RealRange&) {
    put(key, x ? Json(*x) : Json(nullptr));
  }
  void flag(std::string_view key, bool x) { put(key, x); }
  void text(std::string_view key, const std::string& x) { put(key, json_string(x)); }
  void hex(std::string_view key, std::uint64_t x) { put(key, hex16(x)); }
  template <class E, std::size_t N>
  void choice(std::string_view key, E x, const std::array<std::string_view, N>& names) {
    put(key, names[static_cast<std::size_t>(x)]);
  }
  void field(std::string_view key, Field x) { put(key, attoscope::text(x).name); }
  void format(std::string_view key, const Format& x) { put(key, name(x)); }
  void rounding(std::string_view key, const Rounding& x) { put(key, rounding_text(x)); }
  void scaling(std::string_view key, const Scaling& x) { put(key, scaling_text(x)); }
  void policy(std::string_view, const Precision&) {}  // its steps are written one by one
  template <class F>
  void object(std::string_view key, F visit) {
    Json inner = Json::object();
    FieldWriter writer(inner);
    visit(writer);
    put(key, std::move(inner));
  }
  template <class T, class F>
  void list(std::string_view key, const std::vector<T>& items, std::size_t, F visit) {
    Json entries = Json::array();
    for (const T& item : items) {
      Json inner = Json::object();
      FieldWriter writer(inner);
      visit(writer, item);
      entries.push_back(std::move(inner));
    }
    put(key, std::move(entries));
  }
  void thumbnail(std::string_view key, const std::vector<std::int8_t>& pixels, int) { put(key, pixel_text(pixels)); }

 private:
  void put(std::string_view key, Json value) { json_[std::string(key)] = std::move(value); }
  Json& json_;
};

}  // namespace attoscope
