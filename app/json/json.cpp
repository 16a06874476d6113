#include "app/json/json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

#include "app/words/numbers.h"
#include "kernels/experiment/table.h"

namespace attoscope::app {
namespace {

using Parsed = nlohmann::json;

/// Checks limits and duplicate keys in a pass that stores nothing but keys. Stops at a syntax error, which the parser then
/// reports.
class Watch : public nlohmann::json_sax<Parsed> {
 public:
  Watch(int max_depth, std::size_t most_values) : max_depth_(static_cast<std::size_t>(max_depth)), most_values_(most_values) {}

  bool null() override { return count(); }
  bool boolean(bool) override { return count(); }
  bool number_integer(number_integer_t) override { return count(); }
  bool number_unsigned(number_unsigned_t) override { return count(); }
  bool number_float(number_float_t, const string_t&) override { return count(); }
  bool string(string_t&) override { return count(); }
  bool binary(binary_t&) override { return count(); }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& key) override {
    if (!keys_.back().insert(key).second) throw std::runtime_error("gives the key " + in_quotes(key) + " twice");
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Parsed::exception&) override { return false; }

 private:
  bool count() {
    if (++values_ > most_values_) throw std::runtime_error("holds more than " + std::to_string(most_values_) + " values");
    return true;
  }
  bool open() {
    if (keys_.size() == max_depth_) throw std::runtime_error("is nested deeper than " + std::to_string(max_depth_));
    keys_.emplace_back();
    return count();
  }
  bool close() {
    keys_.pop_back();
    return true;
  }

  std::size_t max_depth_, most_values_, values_ = 0;
  std::vector<std::set<std::string>> keys_;  ///< one set for each open object
};

constexpr char32_t first_escape = 0x10ff00, last_escape = 0x10ffff;

/// UTF-8 of the character that stands for a byte.
std::string escaped(char byte) {
  const char32_t c = first_escape + static_cast<unsigned char>(byte);
  const auto six_bits = [&](int from) { return static_cast<char>(0x80 | (c >> from & 0x3f)); };
  return {static_cast<char>(0xf0 | c >> 18), six_bits(12), six_bits(6), six_bits(0)};
}

/// The character at `first` if it stands for a byte, else none.
std::optional<char32_t> escape_at(std::string_view text, std::size_t first) {
  const std::optional<Decoded> next = decoded(text, first);
  if (!next || next->character < first_escape || next->character > last_escape) return std::nullopt;
  return next->character;
}

}  // namespace

nlohmann::json parse_json(std::string_view text, int max_depth, std::size_t most_values) {
  Watch watch(max_depth, most_values);
  Parsed::sax_parse(text, &watch);
  try {
    return Parsed::parse(text);  // no callback: its cost grows with the square of the objects
  } catch (const Parsed::parse_error& error) {
    throw std::runtime_error("is not JSON at byte " + std::to_string(error.byte));
  } catch (const Parsed::exception&) {
    throw std::runtime_error("is not JSON: a number is beyond the range of double");
  }
}

std::string quoted_json(const Parsed& value) { return in_quotes(value.dump(-1, ' ', false, Parsed::error_handler_t::replace)); }

void check_schema(const Parsed& json, std::string_view schema) {
  const std::string expected = ", expected '" + std::string(schema) + "'";
  const auto found = json.is_object() ? json.find("schema") : json.end();
  if (found == json.end()) throw std::runtime_error("has no key 'schema'" + expected);
  if (*found == schema) return;
  const std::string shown = found->is_string() ? in_quotes(found->get<std::string>()) : quoted_json(*found);
  throw std::runtime_error("has schema " + shown + expected);
}

Json number_json(double x) {
  if (std::isnan(x)) return nullptr;
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

std::string json_string(std::string_view bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size();) {
    const std::optional<Decoded> next = decoded(bytes, i);
    const std::size_t count = next ? next->bytes : 1;
    const bool plain = next && !escape_at(bytes, i);
    for (std::size_t k = i; k < i + count; ++k) plain ? text += bytes[k] : text += escaped(bytes[k]);
    i += count;
  }
  return text;
}

std::string bytes_of_json(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size();) {
    const std::optional<char32_t> escape = escape_at(text, i);
    escape ? bytes += static_cast<char>(*escape - first_escape) : bytes += text[i];
    i += escape ? 4 : 1;
  }
  return bytes;
}

Json rows_json(const Table& table) {
  const auto value = [](const TableCell& cell) -> Json {
    if (const auto* const words = std::get_if<std::string>(&cell)) return json_string(*words);
    if (const auto* const count = std::get_if<std::int64_t>(&cell)) return *count;
    if (const auto* const number = std::get_if<double>(&cell)) return number_json(*number);
    return nullptr;
  };
  Json rows = Json::array();
  for (const std::vector<TableCell>& cells : table.rows) {
    Json row = Json::object();
    for (std::size_t c = 0; c < cells.size(); ++c)
      if (table.columns[c].shown != ColumnFor::people) row[table.columns[c].key] = value(cells[c]);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace attoscope::app
