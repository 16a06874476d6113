// Device choice: the processor, a GPU, several GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/experiment/result.h"
#include "ui/controls/controls.h"
#include "ui/frame/entries.h"
#include "ui/frame/panel_input.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

bool is_gpu(const DeviceEntry& e) { return e.spec.starts_with("cuda"); }

/// Entries of the list: auto, each device, and all usable GPUs together if there are several.
std::vector<DeviceEntry> choices_of(const std::vector<DeviceEntry>& devices) {
  std::vector<DeviceEntry> all{
      {"auto", "the GPU that draws, or the first; the processor for fewer than 512 rows, and where there is no GPU", ""}};
  std::string together;
  int gpus = 0;
  if (devices.empty()) all.push_back({"cpu", "the processor", ""});
  for (const DeviceEntry& e : devices) {
    all.push_back(e);
    if (!is_gpu(e) || !e.reason.empty()) continue;
    together += (gpus++ > 0 ? "," : "") + e.spec;
  }
  if (gpus > 1) all.push_back({together, fmt::format("{} GPUs, each with a part of the rows", gpus), ""});
  return all;
}

/// One sentence why the session's device is unavailable; empty: available. "cuda" is the first GPU; a list needs all its
/// devices.
std::string reason_against(const std::string& device, const std::vector<DeviceEntry>& choices) {
  std::string rest = device;
  while (!rest.empty()) {
    const std::string one = rest.substr(0, rest.find(','));
    rest.erase(0, one.size() + 1);
    const auto entry =
        std::ranges::find_if(choices, [&](const DeviceEntry& e) { return e.spec == one || (one == "cuda" && is_gpu(e)); });
    if (entry == choices.end()) return "This machine has no device '" + one + "'; expected auto, cpu or one of the list.";
    if (!entry->reason.empty()) return entry->reason;
  }
  return device.empty() ? "The session names no device; expected auto, cpu or one of the list." : "";
}

/// "the answer on screen: cpu avx512, 2 threads"
std::string answered_by(const AnswerInput& answer) {
  return answer.device.empty() ? "" : "the answer on screen: " + answer.device;
}

bool choose(std::string& device, const std::vector<DeviceEntry>& choices) {
  bool changed = false;
  for (const DeviceEntry& e : choices) {
    ImGui::BeginDisabled(!e.reason.empty());
    if (ImGui::Selectable((e.spec + "###" + e.spec).c_str(), e.spec == device) && device != e.spec) {
      device = e.spec;
      changed = true;
    }
    ImGui::EndDisabled();
    explain(e.reason.empty() ? e.name : e.name.empty() ? e.reason : e.name + ": " + e.reason);
  }
  if (const std::string reason = reason_against(device, choices); !reason.empty()) {
    ImGui::BeginDisabled();
    ImGui::PushStyleColor(ImGuiCol_Text, colours().bad);
    ImGui::Selectable((device + "###unknown device").c_str(), true);
    ImGui::PopStyleColor();
    ImGui::EndDisabled();
    explain(reason);
  }
  return changed;
}

}  // namespace

bool edit_device(std::string& device, const PanelInput& input, float width) {
  const std::vector<DeviceEntry> choices = choices_of(input.choices.devices);
  const std::string reason = reason_against(device, choices);
  const WithField f(Face::label);
  const std::string preview = fitted(Face::label, device == "auto" ? "device: auto" : device, width - px(36));
  if (!reason.empty()) ImGui::PushStyleColor(ImGuiCol_Text, colours().bad);
  const bool open = begin_combo("##device", preview, width);
  if (!reason.empty()) ImGui::PopStyleColor();
  if (!open) {
    explain(reason.empty() ? "The device that computes. Emulated kernels give the same bits everywhere, so this changes only "
                             "their time; the method `hardware` runs on the GPU alone."
                           : reason,
            answered_by(input.answer));
    return false;
  }
  const bool changed = choose(device, choices);
  ImGui::EndCombo();
  return changed;
}

}  // namespace attoscope
