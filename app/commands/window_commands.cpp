#include "app/commands/window_commands.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "app/commands/first_use.h"
#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/link/link_url.h"
#include "app/link/live_link.h"
#include "app/link/start_window.h"
#include "app/session/autosave.h"
#include "app/session/session.h"
#include "app/tensors/tensor_set.h"
#include "app/words/devices.h"
#include "app/words/numbers.h"
#include "kernels/experiment/presets.h"
#ifdef ATTOSCOPE_GUI
#include "app/explore/app.h"
#include "app/explore/lesson_pages.h"
#include "app/explore/render.h"
#include "app/plots/window_bundle.h"
#endif

namespace attoscope {
namespace {

#ifdef ATTOSCOPE_GUI
/// The session of the file, or, where there is none, of the window's own autosave, else of the newest of any window.
LastSession session_from(const std::string& file, const Autosave* own, std::vector<std::string>& remarks) {
  if (!file.empty()) return LastSession{read_session(file, remarks), file};
  std::error_code error;
  if (own != nullptr && std::filesystem::exists(own->file(), error)) return last_session(own->file(), remarks);
  const std::vector<std::string> kept = autosaves(default_session_file());
  return last_session(kept.empty() ? "" : kept.front(), remarks);
}
#else
[[noreturn]] void no_window() {
  throw std::runtime_error("this build has no window, configure it with -DATTOSCOPE_GUI=ON; attoscope run works without");
}
#endif

/// FILE of FILE:HEAD.
std::string without_head(const std::string& spec) {
  const std::size_t colon = spec.rfind(':');
  const bool names_head = colon != std::string::npos && to_number<int>(std::string_view(spec).substr(colon + 1));
  return names_head ? spec.substr(0, colon) : spec;
}

/// A link as a message shows it: its beginning where it is long.
std::string quoted_link(const std::string& link) {
  constexpr std::size_t enough = 80;
  return in_quotes(link.size() <= enough ? link : link.substr(0, enough) + "...");
}

/// What was typed, or clicked: a link takes the place of files and settings.
LinkMessage typed_message(const OpenArguments& x) {
  const std::string& first = x.files.front();
  if (!first.starts_with(link_scheme)) return {.files = x.files, .settings = x.typed};
  try {
    if (x.files.size() > 1) throw std::runtime_error("was not expected beside other files");
    return parse_link_url(first);
  } catch (const std::runtime_error& error) {
    throw std::invalid_argument("the link " + quoted_link(first) + " " + error.what());
  }
}

/// Throws std::invalid_argument in a sentence unless the session of a link can be shown.
void check_session(const LinkMessage& message, const std::string& link) {
  try {
    std::vector<std::string> remarks;
    parse_session(message.session, remarks);
  } catch (const std::runtime_error& error) {
    throw std::invalid_argument("the link " + quoted_link(link) + " has a session that " + error.what());
  }
}

/// The files and settings of a message; what makes no sense is refused before it is sent.
LinkMessage message_of(const OpenArguments& x) {
  LinkMessage message = typed_message(x);
  if (!message.session.empty()) return check_session(message, x.files.front()), message;
  const auto is_input = [](const std::string& file) { return names_tensor_files(file_spec(without_head(file)).files); };
  if (message.files.size() > 4 || (message.files.size() == 2 && std::ranges::none_of(message.files, is_input)))
    throw std::invalid_argument(std::to_string(message.files.size()) +
                                " files were given, expected a session, an output, tensors, or q.npy k.npy v.npy o.npy");
  ExperimentOptions settings;
  settings.typed = message.settings;
  Experiment e = default_experiment();
  set_problem(e.problem, settings);
  set_methods(e, settings, true);
  for (std::string& file : message.files) {
    for (const std::string& single : single_files_of(without_head(file))) InputFile check(single);
    file = absolute_spec(file);
  }
  return message;
}

}  // namespace

PictureSize parse_size(const std::string& text) {
  constexpr int smallest = 64, largest = 16384;
  const std::size_t x = text.find('x');
  const auto width = to_number<int>(std::string_view(text).substr(0, x));
  const auto height = to_number<int>(x == std::string::npos ? std::string_view() : std::string_view(text).substr(x + 1));
  const auto fits = [](const auto& size) { return size && *size >= smallest && *size <= largest; };
  if (fits(width) && fits(height)) return {*width, *height};
  throw std::invalid_argument("--size is " + in_quotes(text) + ", expected WIDTHxHEIGHT with both from " +
                              std::to_string(smallest) + " to " + std::to_string(largest));
}

#ifdef ATTOSCOPE_GUI
void render_picture(const RenderArguments& x, std::ostream& out) {
  const PictureSize size = parse_size(x.size);
  if (x.device) check_device("--device", *x.device);
  check_place("--out", x.out);
  std::vector<std::string> remarks;
  Session session = session_from(x.session, nullptr, remarks).session;
  if (x.device) session.device = *x.device;
  compile_code(usable_device(session.device).spec);
  render(session, {.file = x.out, .width = size.width, .height = size.height, .example_file = example_file()});
  for (const std::string& remark : remarks) out << remark << '\n';
  out << x.out + ": " + std::to_string(size.width) + " x " + std::to_string(size.height) + " pixels\n";
}

void write_lessons(const LessonsArguments& x, std::ostream& out) { write_lesson_pages(x.html, out); }

void draw_window_plot(const FigureArguments& x, std::ostream& out) { draw_plot(x, out); }

void send_files(const OpenArguments& x) {
  const LinkMessage message = message_of(x);
  const std::string path = link_path();
  if (path.empty())
    throw std::runtime_error(
        "there is no folder that belongs to this user alone for the link to the window: expected one in "
        "$XDG_RUNTIME_DIR or the temporary directory");
  if (!send_to_window(path, message)) start_window_with(path, message);
}

void open_window(const WindowArguments& x) {
  if (x.device) check_device("--device", *x.device);
  std::vector<std::string> remarks;
  const std::string path = default_session_file();
  auto autosave = path.empty() ? nullptr : std::make_shared<const Autosave>(path, !x.session().empty());
  LastSession last = session_from(x.session(), autosave.get(), remarks);
  if (last.stays) autosave = std::make_shared<const Autosave>(path, true);
  last.session.view.welcome |= last.first;
  run_window({.session = std::move(last.session),
              .document = std::move(last.document),
              .autosave = std::move(autosave),
              .example_file = example_file(),
              .device = x.device,
              .files = x.session().empty() ? x.files : std::vector<std::string>{},
              .first = last.first,
              .link = !x.no_link,
              .remarks = std::move(remarks)});
}
#else
void render_picture(const RenderArguments& x, std::ostream&) {
  parse_size(x.size);
  if (x.device) check_device("--device", *x.device);
  no_window();
}

void write_lessons(const LessonsArguments&, std::ostream&) { no_window(); }

void draw_window_plot(const FigureArguments&, std::ostream&) { no_window(); }

void send_files(const OpenArguments& x) {
  message_of(x);
  no_window();
}

void open_window(const WindowArguments& x) {
  if (x.device) check_device("--device", *x.device);
  no_window();
}
#endif

}  // namespace attoscope
