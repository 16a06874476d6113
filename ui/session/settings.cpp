#include "ui/session/settings.h"

#include <stdexcept>

#include "kernels/arithmetic/format.h"
#include "kernels/arithmetic/quoted.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/settings.h"

namespace attoscope::ui {

namespace {

/// Values to offer: all values of a choice, or common ones.
std::vector<std::string> choices_of(const Setting& s) {
  if (std::holds_alternative<bool*>(s.value)) return {"true", "false"};
  if (const auto* const x = std::get_if<NamedValue>(&s.value)) return {x->names.begin(), x->names.end()};
  if (std::holds_alternative<Rounding*>(s.value)) return {"exact", "main"};
  if (std::holds_alternative<Scaling*>(s.value)) return {"off"};
  std::vector<std::string> names;
  if (std::holds_alternative<Format*>(s.value))
    for (const NamedFormat& f : named_formats) names.emplace_back(f.name);
  return names;
}

/// The settings that a user sets by text in the palette.
Settings typed_settings(Session& session) {
  Settings all = settings(session.experiment);
  for (Setting& s : settings(session))
    if (s.key == "view" || s.key == "train" || s.key == "train_look" || s.key == "model") all.push_back(std::move(s));
  return all;
}

}  // namespace

std::vector<SettingText> setting_texts(const Session& session) {
  Session read = session;
  std::vector<SettingText> all;
  for_each(typed_settings(read), "", [&](const std::string& path, const Setting& s) {
    if (path.starts_with("train") && session.view.workspace != Workspace::train) return;
    if (path.starts_with("model.") && session.view.workspace != Workspace::model) return;
    if (is_of_backward(path) && path != "backward.on" && !session.experiment.backward.on) return;
    if (!is_typed(s) || std::holds_alternative<PolicyValue>(s.value)) return;
    const bool has_all = std::holds_alternative<bool*>(s.value) || std::holds_alternative<NamedValue>(s.value),
               rounds = std::holds_alternative<Rounding*>(s.value);
    all.push_back({path, text(s), choices_of(s), has_all ? "" : rounds ? "exact, main or a format" : expected(s)});
  });
  return all;
}

std::string set_setting(Session& session, std::string_view path, std::string_view value) {
  Session changed = session;
  const Settings all = typed_settings(changed);
  const Setting* const setting = find(all, path);
  if (setting == nullptr || !is_typed(*setting)) return "There is no field " + std::string(path) + ".";
  try {
    if (!set(*setting, value)) throw std::invalid_argument("expected " + expected(*setting));
    changed.experiment = following(session.experiment, changed.experiment, path, value);
  } catch (const std::invalid_argument& error) {
    return std::string(path) + " cannot be " + std::string(first_characters(value, 40)) + ": " + error.what() + ".";
  }
  session = std::move(changed);
  return {};
}

std::vector<Difference> differences(const Experiment& x, const Experiment& y) {
  std::vector<Difference> found;
  const Settings of_y = settings_to_read(y);
  for_each(settings_to_read(x), "", [&](const std::string& path, const Setting& s) {
    const Setting& other = *find(of_y, path);
    const bool ignored = !is_typed(s) || std::holds_alternative<PolicyValue>(s.value) || path == "problem.traced_row";
    if (!ignored && text(s) != text(other)) found.push_back({path, text(s), text(other)});
  });
  return found;
}

}  // namespace attoscope::ui
