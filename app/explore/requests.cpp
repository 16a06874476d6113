#include "app/explore/requests.h"

#include "app/explore/lesson_pages.h"
#include "app/session/session.h"
#include "imgui.h"

namespace attoscope {
namespace {

/// A session with the experiment of a pin, and that pin alone.
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

/// Opens the setting of a lesson's number, as a page's link does.
void open_number(const LessonQuestion& question, Session& session, Explorer& explorer) try {
  explorer.follow_link(session, short_session_text(session_of(question)));
} catch (const std::exception& error) {
  explorer.show_error(error.what());
}

}  // namespace

void handle(const Requests& requests, Session& session, Explorer& explorer, PlotExporter& exporter) {
  if (requests.open_number) open_number(*requests.open_number, session, explorer);
  if (requests.cancel) explorer.cancel();
  if (!requests.error.empty()) explorer.show_error(requests.error);
  if (requests.clipboard.paste) explorer.paste(session, requests.clipboard.paste_text);
  if (requests.clipboard.paste_pins) explorer.add_pins(session, from_clipboard());
  explorer.look_into(requests.files.look);
  if (!requests.files.kernel.empty()) explorer.open_kernel(session, requests.files.kernel, requests.files.kernel_as_b);
  explorer.ask_beside(requests, session);
  explorer.want(requests.wanted);
  if (requests.exports.plot) explorer.show_notice(exporter.ask(*requests.exports.plot, session, explorer.panel_input()));
  if (!requests.exports.figure.empty()) exporter.draw(requests.exports.figure, session.view);
  if (requests.exports.stop_figures) exporter.stop_figures();
  if (requests.clipboard.copy_pin && *requests.clipboard.copy_pin < static_cast<int>(session.pins.size())) {
    const Pin& pin = session.pins[static_cast<std::size_t>(*requests.clipboard.copy_pin)];
    to_clipboard(alone(pin));
    explorer.show_notice("The pin \u201c" + pin.name + "\u201d is on the clipboard as text.");
  }
  if (!requests.clipboard.copy) return;
  to_clipboard(session);
  explorer.show_notice("The session is on the clipboard as text; Ctrl+V brings it back.");
}

}  // namespace attoscope
