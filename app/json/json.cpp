#include "app/json/json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <vector>

#include "app/words/numbers.h"

namespace attoscope {
namespace {

using Parsed = nlohmann::json;

/// Watches a parse for what the grammar allows and nobody means.
class Watch {
 public:
  explicit Watch(int max_depth) : max_depth_(static_cast<std::size_t>(max_depth)) {}

  bool operator()(Parsed::parse_event_t event, const Parsed& parsed) {
    using Event = Parsed::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (keys_.size() == max_depth_) throw std::runtime_error("is nested deeper than " + std::to_string(max_depth_));
      keys_.emplace_back();
    } else if (event == Event::object_end || event == Event::array_end) {
      keys_.pop_back();
    } else if (event == Event::key && !keys_.back().insert(parsed.get<std::string>()).second) {
      throw std::runtime_error("gives the key " + in_quotes(parsed.get<std::string>()) + " twice");
    }
    return true;
  }

 private:
  std::size_t max_depth_;
  std::vector<std::set<std::string>> keys_;  ///< of every open object
};

}  // namespace

nlohmann::json parse_json(std::string_view text, int max_depth) {
  Watch watch(max_depth);
  try {
    return Parsed::parse(text, [&](int, Parsed::parse_event_t event, Parsed& parsed) { return watch(event, parsed); });
  } catch (const Parsed::parse_error& error) {
    throw std::runtime_error("is not JSON at byte " + std::to_string(error.byte));
  } catch (const Parsed::exception&) {
    throw std::runtime_error("is not JSON: a number is beyond the range of double");
  }
}

void check_schema(const Parsed& json, std::string_view schema) {
  const std::string expected = ", expected '" + std::string(schema) + "'";
  const auto found = json.is_object() ? json.find("schema") : json.end();
  if (found == json.end()) throw std::runtime_error("has no key 'schema'" + expected);
  if (*found != schema)
    throw std::runtime_error("has schema " + in_quotes(found->dump(-1, ' ', false, Parsed::error_handler_t::replace)) +
                             expected);
}

Json number_json(double x) {
  if (std::isnan(x)) return nullptr;
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace attoscope
