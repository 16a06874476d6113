#include "app/words/field_setter.h"

namespace attoscope::app {

std::vector<std::string> split(std::string_view text, char at) {
  const std::vector<std::string_view> parts = attoscope::split(text, {&at, 1});
  return {parts.begin(), parts.end()};
}

void set_field(const std::string& label, const Settings& settings, std::string_view path, const std::string& value) {
  const std::string steps = "precision.";
  const Setting* s = path.starts_with(steps) ? nullptr : find(settings, path);
  if (s == nullptr) s = find(settings, steps + std::string(path));
  if (s == nullptr) {
    std::vector<std::string> known;
    for_each(settings, "", [&](const std::string& at, const Setting&) {
      known.push_back(at.substr(at.starts_with(steps) ? steps.size() : 0));
    });
    throw std::invalid_argument(label + ": " + in_quotes(path) + " is unknown, expected " + attoscope::listed(known));
  }
  if (!of_option(label, [&] { return set(*s, value); })) refuse(label, value, expected(*s));
}

}  // namespace attoscope::app
