#include "app/words/field_setter.h"

namespace attoscope::app {

std::vector<std::string> split(std::string_view text, char at) {
  const std::vector<std::string_view> parts = attoscope::split(text, {&at, 1});
  return {parts.begin(), parts.end()};
}

void set_field(const std::string& label, const Settings& settings, std::string_view path, const std::string& value) {
  constexpr std::string_view steps = "precision.";
  std::vector<std::string> known;
  bool found = false;
  for_each(settings, "", [&](std::string at, const Setting& s) {
    if (at.starts_with(steps)) at.erase(0, steps.size());
    if (at == path && !of_option(label, [&] { return set(s, value); })) refuse(label, value, expected(s));
    found |= at == path;
    known.push_back(std::move(at));
  });
  if (!found) throw std::invalid_argument(label + ": " + in_quotes(path) + " is unknown, expected " + attoscope::listed(known));
}

}  // namespace attoscope::app
