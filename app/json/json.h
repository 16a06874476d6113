/// JSON text: parsed with limits, and written.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace attoscope {
struct Table;
}  // namespace attoscope

namespace attoscope::app {

/// Keys in the order they were written.
using Json = nlohmann::ordered_json;

/// Limit of values (numbers, texts, lists, objects) in a document, which bounds its reading to a second.
inline constexpr std::size_t most_json_values = 1'000'000;

/// Parses JSON. Throws std::runtime_error with half a sentence ("is not JSON at byte 12") if it is invalid, nested deeper than
/// `max_depth`, has more than `most_values`, or repeats a key in an object.
nlohmann::json parse_json(std::string_view text, int max_depth, std::size_t most_values = most_json_values);

/// A value in quotes, as messages show it.
std::string quoted_json(const nlohmann::json& value);

/// Throws std::runtime_error with half a sentence unless `json` is an object with this schema.
void check_schema(const nlohmann::json& json, std::string_view schema);

/// A number that `JsonPlace::number` reads back with the same bits: NaN is null, infinities are "inf" and "-inf". A plain
/// Json(x) turns both into null.
Json number_json(double x);

/// Converts any bytes, such as a path's, to text of a document, and back. Bytes that are not UTF-8 become characters
/// U+10FF00 + byte; so do the bytes of these characters themselves.
std::string json_string(std::string_view bytes);
std::string bytes_of_json(std::string_view text);

/// A list with an object for each row of the table: values by key, without columns for people alone.
Json rows_json(const Table& table);

/// `value` as text in UTF-8; NaN and infinity become null.
std::string json_text(const Json& value, int indent = 2);

}  // namespace attoscope::app
