#include "app/app.h"

#include <exception>
#include <optional>
#include <utility>

#include "app/explorer.h"
#include "app/keeper.h"
#include "app/paths.h"
#include "app/session.h"
#include "app/texture.h"
#include "app/window.h"
#include "app/wishes.h"
#include "ui/theme.h"
#include "ui/ui.h"

namespace attoscope {
namespace {

/// All that the window needs, in the order of its lifetime.
class App {
 public:
  explicit App(const Start& start)
      : session_(start.session),
        saved_(start.session),
        device_(start.device),
        session_file_(start.session_file),
        explorer_(start, [this] { window_.wake(); }) {
    if (start.device) session_.device = *start.device;
    if (start.remarks.empty()) explorer_.say(window_.remark());
  }

  void run() {
    while (!window_.closing()) {
      if (window_.visible()) show_frame();
      const bool moving = explorer_.computing() || animated_ || keeper_.asked();
      if (window_.idle(moving)) save();
      window_.wait(moving);
    }
    save();
  }

 private:
  void show_frame() {
    explorer_.open_dropped(session_, window_.take_dropped());
    explorer_.update(session_);
    apply_theme(session_.view.theme, session_.view.ui_scale, window_.scale());
    window_.begin_frame();
    keeper_.hide_mouse();
    Frame frame = explorer_.frame();
    frame.paint = [this](ImDrawList* list, const ImVec2& min, const ImVec2& max, const PixelImage& image,
                         const Colouring& colouring) { texture_.paint(list, min, max, image, colouring); };
    const Wishes wishes = draw_ui(session_, frame, *memory_);
    explorer_.update(session_);  // asks for what was changed just now, not a frame later
    window_.draw_frame(palette(session_.view.theme).background);
    keeper_.take(explorer_);
    window_.show_frame();
    texture_.end_frame();
    if (std::string remark = texture_.take_remark(); !remark.empty()) explorer_.say(std::move(remark));
    grant(wishes, session_, explorer_, keeper_);
    animated_ = wishes.animate;
    if (wishes.quit) window_.close();
  }

  /// The session without the device that this window was started on.
  Session kept() const {
    Session session = session_;
    if (session.device == device_) session.device = saved_.device;
    return session;
  }

  /// Keeps the session file up to date; an idle window saves.
  void save() {
    Session session = kept();
    if (session_file_.empty() || session == saved_) return;
    saved_ = std::move(session);
    try {
      write_session(session_file_, saved_);
    } catch (const std::exception& error) {
      explorer_.say(error.what());
    }
  }

  Window window_{"Attoscope", 1600, 1000};
  Texture texture_;
  UiMemoryPtr memory_ = make_ui_memory();
  Keeper keeper_{pictures_directory()};
  Session session_, saved_;
  std::optional<std::string> device_;  ///< typed for this window alone
  std::string session_file_;
  bool animated_ = false;  ///< the panels asked for the next frame
  Explorer explorer_;  ///< last: its worker wakes the window
};

}  // namespace

void run_window(const Start& start) { App(start).run(); }

}  // namespace attoscope
