/// JSON as text: parsed with limits, and written.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace attoscope {

/// Keys in the order they were written.
using Json = nlohmann::ordered_json;

/// The JSON that `text` is. Throws std::runtime_error with half a sentence ("is not JSON at byte 12") where it is broken,
/// nested deeper than `max_depth`, or gives a key twice in one object.
nlohmann::json parse_json(std::string_view text, int max_depth);

/// Throws std::runtime_error with half a sentence unless `json` is an object with this schema.
void check_schema(const nlohmann::json& json, std::string_view schema);

/// A number that `JsonPlace::number` reads back as the same bits: NaN is null, infinities are the texts "inf" and "-inf". Of a
/// plain Json(x) both are null.
Json number_json(double x);

/// `value` as text in UTF-8; NaN and infinity become null.
std::string json_text(const Json& value, int indent = 2);

}  // namespace attoscope
