#include "app/wishes.h"

#include "app/session.h"
#include "imgui.h"

namespace attoscope {
namespace {

/// A session that holds one pin and asks what it asks.
Session alone(const Pin& pin) {
  Session session;
  session.experiment = pin.experiment;
  session.pins = {pin};
  return session;
}

void to_clipboard(const Session& session) { ImGui::SetClipboardText(session_text(session).c_str()); }

std::string from_clipboard() {
  const char* const text = ImGui::GetClipboardText();
  return text != nullptr ? text : "";
}

}  // namespace

void grant(const Wishes& wishes, Session& session, Explorer& explorer, Keeper& keeper) {
  if (wishes.cancel) explorer.cancel();
  if (!wishes.complaint.empty()) explorer.say(wishes.complaint);
  if (wishes.paste) explorer.paste(session, wishes.paste_text);
  if (wishes.paste_pins) explorer.add_pins(session, from_clipboard());
  if (!wishes.open_kernel.empty()) explorer.open_kernel(session, wishes.open_kernel, wishes.kernel_as_b);
  explorer.ask_beside(wishes, session);
  if (wishes.save) explorer.note(keeper.ask(*wishes.save, session, explorer.frame()));
  if (!wishes.draw_figure.empty()) keeper.draw(wishes.draw_figure, session.view);
  if (wishes.stop_figures) keeper.stop_figures();
  if (wishes.copy_pin && *wishes.copy_pin < static_cast<int>(session.pins.size())) {
    const Pin& pin = session.pins[static_cast<std::size_t>(*wishes.copy_pin)];
    to_clipboard(alone(pin));
    explorer.note("The pin \u201c" + pin.name + "\u201d is on the clipboard as text.");
  }
  if (!wishes.copy) return;
  to_clipboard(session);
  explorer.note("The session is on the clipboard as text; Ctrl+V brings it back.");
}

}  // namespace attoscope
