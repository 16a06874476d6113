#include "app/app.h"

#include <chrono>
#include <utility>

#include "app/explorer.h"
#include "app/keeper.h"
#include "app/paths.h"
#include "app/session_wishes.h"
#include "app/sweep/point_cache.h"
#include "app/sweeper.h"
#include "app/texture.h"
#include "app/train/train_desk.h"
#include "app/window.h"
#include "app/wishes.h"
#include "ui/learn/lesson_steps.h"
#include "ui/session_menu.h"
#include "ui/theme.h"
#include "ui/ui.h"

namespace attoscope {
namespace {

/// All that the window needs, in the order of its lifetime.
class App {
 public:
  explicit App(const Start& start)
      : session_(start.session),
        sessions_({default_session_file(), recent_sessions_file()}, session_, start.document, start.device),
        dialog_([this] { window_.wake(); }),
        explorer_(start, [this] { window_.wake(); }) {
    if (start.device) session_.device = *start.device;
    if (start.remarks.empty()) explorer_.say(window_.remark());
  }

  void run() {
    while (!window_.closing()) {
      if (window_.visible()) show_frame();
      const bool moving =
          explorer_.computing() || sweeper_.busy() || train_.busy() || keeper_.busy() || animated_ || keeper_.asked();
      autosave(desk(), seconds(), window_.idle(moving));
      window_.wait(moving, explorer_.computing());
    }
    autosave(desk(), seconds(), true);
  }

 private:
  void show_frame() {
    open_files(window_.take_dropped(), desk());
    explorer_.update(session_);
    sweeper_.update(session_, explorer_.computing());
    train_.update(session_, explorer_.computing());
    take_trained(desk());
    sessions_.observe(session_);
    apply_theme(session_.view.theme, shown_scale(session_), window_.scale());
    window_.begin_frame();
    keeper_.prepare();
    Frame frame = explorer_.frame();
    frame.sessions = session_files(session_, sessions_, dialog_);
    window_.name(window_title(frame.sessions));
    frame.sweep = sweeper_.view();
    frame.train = train_.view();
    keeper_.tell(frame);
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
    grant_sessions(wishes, desk());
    if (std::string why = sweeper_.grant(wishes, session_); !why.empty()) explorer_.say(std::move(why));
    animated_ = wishes.animate;
    if (wishes.quit) window_.close();
  }

  SessionDesk desk() { return {session_, explorer_, sessions_, dialog_, train_}; }

  static double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

  MainWindow window_{"Attoscope", 1600, 1000};
  Texture texture_;
  UiMemoryPtr memory_ = make_ui_memory();
  Keeper keeper_{pictures_directory(), default_point_cache(), [this] { window_.wake(); }};
  Session session_;
  SessionKeeper sessions_;
  bool animated_ = false;                                               ///< the panels asked for the next frame
  FileDialog dialog_;                                                   ///< its thread wakes the window
  Explorer explorer_;                                                   ///< last: its worker wakes the window
  Sweeper sweeper_{[this] { window_.wake(); }, default_point_cache()};  ///< so do its
  TrainDesk train_{[this] { window_.wake(); }, {data_directory()}};     ///< and its
};

}  // namespace

void run_window(const Start& start) { App(start).run(); }

}  // namespace attoscope
