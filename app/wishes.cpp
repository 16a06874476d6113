#include "app/wishes.h"

#include "app/session.h"
#include "imgui.h"

namespace attoscope {

void grant(const Wishes& wishes, Session& session, Explorer& explorer) {
  if (!wishes.open_tensors.empty()) explorer.open(session, wishes.open_tensors);
  if (wishes.paste) explorer.paste(session, wishes.paste_text);
  explorer.ask_beside(wishes, session);
  if (!wishes.copy) return;
  ImGui::SetClipboardText(session_text(session).c_str());
  explorer.note("The session is on the clipboard as text; Ctrl+V brings it back.");
}

}  // namespace attoscope
