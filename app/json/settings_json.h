/// Settings as JSON: written, and read with remarks on unusable values.
#pragma once

#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "app/json/json.h"
#include "kernels/experiment/setting.h"

namespace attoscope::app {

/// An object with the settings by their keys.
Json settings_json(const Settings& settings);

/// Limit of listed remarks; if there are more, one last remark says so.
inline constexpr std::size_t most_remarks = 100;

/// Reads settings from the object at `path`, which may have the keys `also` too. Remarks name the path of each unusable value
/// and of each unknown key; a setting without a usable value stays unchanged.
void read_settings(const nlohmann::json& object, const std::string& path, const Settings& settings,
                   std::vector<std::string>& remarks, std::initializer_list<std::string_view> also = {});

/// A remark as the reason for a refusal: without its end, such as "; the default is kept".
inline std::string without_consequence(const std::string& remark) { return remark.substr(0, remark.rfind("; ")); }

}  // namespace attoscope::app
