#include "tests/ui/stage.h"

#include <epoxy/gl.h>

#include <algorithm>

#include "app/files/paths.h"
#include "imgui.h"
#include "imgui_impl_opengl3.h"
#include "ui/frame/ui_state.h"
#include "ui/learn/lesson_steps.h"
#include "ui/widgets/theme.h"

namespace attoscope::testing {
namespace {

constexpr int largest_width = 1920, largest_height = 1200;

/// True if a frame ended without pixels would leave unmade a texture of letters that drawings use.
bool has_new_texture() {
  return std::ranges::any_of(ImGui::GetPlatformIO().Textures,
                             [](const ImTextureData* t) { return t->Status == ImTextureStatus_WantCreate; });
}

/// The bottom left corner of `all`, where a window smaller than the framebuffer is.
Picture corner(const Picture& all, int width, int height) {
  Picture part{width, height, {}};
  for (int y = all.height - height; y < all.height; ++y) {
    const auto row = all.rgb.begin() + static_cast<std::ptrdiff_t>(y) * all.width * 3;
    part.rgb.insert(part.rgb.end(), row, row + static_cast<std::ptrdiff_t>(width) * 3);
  }
  return part;
}

}  // namespace

Session small_session(Workspace workspace) {
  Session session;
  session.view.workspace = workspace;
  session.experiment.problem.n = 96;
  session.experiment.problem.d = 16;
  session.experiment.a.block_q = session.experiment.a.block_k = 16;
  session.experiment.b.block_q = session.experiment.b.block_k = 16;
  return session;
}

Session all_heads(int n) {
  Session s = small_session();
  Problem& p = s.experiment.problem;
  p.input = {
      .kind = InputKind::tensors, .file = assets_directory() + "/examples/grouped.safetensors", .index = 3, .tensors = nullptr};
  p.n = n, p.d = 64;
  p.mask.kind = Mask::Kind::causal;
  s.view.picture = PictureKind::heads;
  return s;
}

Stage::Stage(int width, int height) : width_(width), height_(height) {
  screen_.emplace(largest_width, largest_height);
  gui_.emplace();
  texture_.emplace();
  open(small_session());
}

void Stage::open(Session opened) {
  session = std::move(opened);
  told.reset();
  asked_to_quit = false;
  train_request = {};
  state = make_ui_state();
  sessions_.emplace(places, session, document);
  dialog_.emplace([] {});
  explorer_.emplace(Start{.session = session, .example_file = example_file(), .first = first_start}, [] {});
  sweeper_.emplace([] {}, points_directory);
  train_.emplace([] {}, TrainKeeping{data_directory});
  model_.emplace([] {}, data_directory);
}

PanelInput Stage::panel_input() const {
  if (told) return *told;
  PanelInput input = explorer_->panel_input();
  input.sweep = sweeper_->view();
  input.train = train_->view();
  input.model = model_->view();
  input.sessions = session_files(session, *sessions_, *dialog_);
  return input;
}

void Stage::resize(int width, int height) {
  width_ = width;
  height_ = height;
}

void Stage::update() {
  explorer_->update(session);
  settle_row(context(), state->history);
  sweeper_->update(session, explorer_->computing());
  train_->update(session, explorer_->computing());
  model_->update(session);
  take_trained(context());
}

void Stage::draw() {
  if (!told) update();
  sessions_->observe(session);
  apply_theme(session.view.theme, shown_scale(session, width_, height_));
  ImGuiIO& io = ImGui::GetIO();
  io.DisplaySize = {static_cast<float>(width_), static_cast<float>(height_)};
  io.DeltaTime = 1 / 60.0f;
  ImGui_ImplOpenGL3_NewFrame();
  ImGui::NewFrame();
  exporter.prepare();
  PanelInput shown = panel_input();
  exporter.tell(shown);
  shown.paint = [this](ImDrawList* list, const ImVec2& min, const ImVec2& max, const PixelImage& image,
                       const Colouring& colouring) { texture_->paint(list, min, max, image, colouring); };
  Requests requests = draw_ui(session, shown, *state);
  if (requests.train.act != TrainRequest::Act::none) train_request = requests.train;
  if (told) requests.train = {}, requests.model = {};
  if (!told) update();
  const bool wanted = !picture_ || exporter.asked();  // the test runs at the end of this frame and may ask then
  ImGui::EndFrame();                                  // lists the current textures
  if (!wanted) glEnable(GL_RASTERIZER_DISCARD);       // skips only the pixels, which software draws slowly
  if (wanted || has_new_texture() || ++drawn_ % 8 == 0) {
    gui_->draw(palette(session.view.theme).background);
  } else {
    ImGui::Render();
  }
  glDisable(GL_RASTERIZER_DISCARD);
  exporter.take(*explorer_);
  texture_->end_frame();
  asked_to_quit |= requests.quit;
  handle(requests, shown, session, *explorer_, exporter);
  handle_sessions(requests, context());
  if (std::string why = sweeper_->handle(requests, session); !why.empty()) explorer_->show_error(std::move(why));
  if (wanted) picture_ = corner(screen_->read(), width_, height_);
}

}  // namespace attoscope::testing
