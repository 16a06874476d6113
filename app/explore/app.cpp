#include "app/explore/app.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "app/explore/explorer.h"
#include "app/explore/model_controller.h"
#include "app/explore/plot_exporter.h"
#include "app/explore/session_requests.h"
#include "app/files/paths.h"
#include "app/link/live_link.h"
#include "app/sweep/point_cache.h"
#include "app/sweep/sweeper.h"
#include "app/train/train_controller.h"
#include "app/window/texture.h"
#include "app/window/window.h"
#include "kernels/experiment/rules.h"
#include "ui/commands/bars.h"
#include "ui/frame/panel_input.h"
#include "ui/frame/pixel_image.h"
#include "ui/frame/requests.h"
#include "ui/frame/ui_state.h"
#include "ui/learn/lesson_steps.h"
#include "ui/session/session.h"
#include "ui/ui.h"
#include "ui/widgets/path_prompt.h"
#include "ui/widgets/theme.h"

namespace attoscope::app {
namespace {

/// The window and everything it needs, in order of lifetime.
class App {
 public:
  explicit App(const Start& start)
      : session_(start.session),
        sessions_({start.autosave, recent_sessions_file()}, session_, start.document, start.device),
        dialog_([this] { window_.wake(); }),
        explorer_(start, [this] { window_.wake(); }),
        link_(start.link ? link_path() : "", [this] { window_.wake(); }) {
    if (start.device) session_.device = *start.device;
    if (start.remarks.empty()) explorer_.show_error(window_.remark());
    if (start.files.empty()) return;
    session_.view.workspace = ui::Workspace::explore;
    open_files(start.files, context());
  }

  /// Shows a frame if one is due, and waits for the next; returns false when the window is closed.
  bool turn() {
    if (window_.closing()) {
      sessions_.close(session_);
      return false;
    }
    if (const std::optional<LinkMessage> message = link_.take()) open_sent(*message, context());
    if (window_.visible()) show_frame();
    const bool moving = explorer_.computing() || sweeper_.busy() || train_.busy() || model_.busy() || exporter_.busy() ||
                        animated_ || exporter_.asked();
    const double patience = window_.patience(moving, explorer_.computing());  // evaluated once: when idle, the session is saved
    autosave(context(), seconds(), patience == Pace::forever);
    window_.wait(std::min(patience, sessions_.unkept() ? SessionStore::retried_after : Pace::forever));
    return true;
  }

 private:
  void show_frame() {
    const std::vector<std::string> dropped = window_.take_dropped();
    const bool on_field = over_ && dropped.size() == 1;
    if (!on_field) open_files(dropped, context());
    explorer_.update(session_);
    settle_row(context(), state_->history);
    sweeper_.update(session_, explorer_.computing());
    train_.update(session_, explorer_.computing());
    model_.update(session_);
    take_trained(context());
    sessions_.observe(session_);
    const ImVec2 size = ImGui::GetIO().DisplaySize;
    apply_theme(session_.view.theme, shown_scale(session_, size.x / window_.scale(), size.y / window_.scale()),
                window_.scale());
    window_.begin_frame();
    exporter_.prepare();
    ui::PanelInput input = explorer_.panel_input();
    input.sessions = session_files(session_, sessions_, dialog_);
    window_.name(window_title(input.sessions));
    input.dragging = window_.dragging();
    input.sweep = sweeper_.view();
    input.train = train_.view();
    input.model = model_.view();
    exporter_.tell(input);
    input.paint = std::bind_front(&Texture::paint, &texture_);
    ui::Requests requests = draw_ui(session_, input, *state_);
    if (input.dragging) over_ = ui::held_over();
    if (on_field)
      requests.files.open =
          ui::FileRequest{*std::exchange(over_, {}), dropped.front(), loaded_place(session_.experiment) == LoadedPlace::b};
    explorer_.update(session_);  // submits changes of this frame now, not one frame later
    const bool font_found = window_.draw_frame(palette(session_.view.theme).background);
    exporter_.take(explorer_);
    window_.show_frame();
    texture_.end_frame();
    if (std::string remark = texture_.take_remark(); !remark.empty()) explorer_.show_error(std::move(remark));
    handle(requests, input, session_, explorer_, exporter_);
    handle_sessions(requests, context());
    if (std::string why = sweeper_.handle(requests, session_); !why.empty()) explorer_.show_error(std::move(why));
    animated_ = requests.animate || font_found;
    if (requests.quit) window_.close();
  }

  SessionContext context() { return {session_, explorer_, sessions_, dialog_, train_, model_}; }

  static double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

  MainWindow window_{"Attoscope", 1600, 1000};
  Texture texture_;
  ui::UiStatePtr state_ = ui::make_ui_state();
  PlotExporter exporter_{pictures_directory(), default_point_cache(), [this] { window_.wake(); }};
  ui::Session session_;
  SessionStore sessions_;
  std::optional<ui::FileUse> over_;                                        ///< field under files dragged over the window
  bool animated_ = false;                                                  ///< the panels requested another frame
  FileDialog dialog_;                                                      ///< its thread wakes the window
  Explorer explorer_;                                                      ///< after window_, which its worker wakes
  Sweeper sweeper_{[this] { window_.wake(); }, default_point_cache()};     ///< after window_, as above
  TrainController train_{[this] { window_.wake(); }, {data_directory()}};  ///< after window_, as above
  ModelController model_{[this] { window_.wake(); }, data_directory()};    ///< after window_, as above
  LiveLink link_;                                                          ///< after window_, as above
};

}  // namespace

void run_window(const Start& start) {
  MainWindow::repeat([app = std::make_shared<App>(start)] { return app->turn(); });
}

}  // namespace attoscope::app
