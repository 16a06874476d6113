/// The window, and the commands that need it: drawing it to a file, sending it files. They throw in a build without a window.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "app/commands/commands.h"
#include "app/files/paths.h"
#include "app/files/zip.h"
#include "app/judge/row_numbers.h"
#include "app/link/link.h"
#include "app/link/live_link.h"
#include "app/session/session.h"
#include "app/session/session_places.h"
#include "app/session/session_store.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/tensor_set.h"
#include "app/words/devices.h"
#include "app/words/field_setter.h"
#include "app/words/numbers.h"
#include "kernels/experiment/presets.h"
#ifdef ATTOSCOPE_GUI
#include "app/explore/app.h"
#include "app/explore/lesson_pages.h"
#include "app/explore/render.h"
#include "app/plots/window_bundle.h"
#include "app/tensors/head_numbers.h"
#endif

namespace attoscope::app {
namespace {

/// Options of `attoscope render` as typed.
struct RenderArguments {
  std::string session;  ///< "": the last one
  std::string out;
  std::string size = "1600x1000";
  Typed device;  ///< none: the session's
};

/// Options of `attoscope lessons` as typed.
struct LessonsArguments {
  std::string html;  ///< the directory that the pages are written into
};

/// Options of `attoscope open` as typed.
struct OpenArguments : ExperimentOptions {
  std::vector<std::string> files;
  std::string d_o;                                           ///< dO of the backward pass; "": not given
  std::map<std::string, std::string, std::less<>> computed;  ///< a kernel's gradients by `link_gradients`; "": not given
};

/// Options of the window as typed.
struct WindowArguments {
  std::vector<std::string> files;  ///< a session, a file of tensors or of an output, or q, k, v and o .npy; none: the last
  Typed device;                    ///< for this window alone; none: the session's
  bool no_link = false;            ///< other programs cannot send it files

  /// The session among the files; "": the last session.
  std::string session() const {
    const auto names = [&](std::string_view ending) { return files.front().find(ending) != std::string::npos; };
    const auto reads = [&](const Reader& reader) { return std::ranges::any_of(reader.endings, names); };
    const bool packed = files.size() == 1 && files.front().ends_with(pack_ending);
    return packed || (files.size() == 1 && std::ranges::none_of(readers(), reads)) ? files.front() : "";
  }
};

#ifdef ATTOSCOPE_GUI
/// The session of `file`; if that is "", of the window's own autosave, else of the newest autosave of any window.
LastSession session_from(const std::string& file, const Autosave* own, std::vector<std::string>& remarks) {
  if (!file.empty()) return LastSession{read_session(file, remarks), file};
  std::error_code error;
  if (own != nullptr && std::filesystem::exists(own->file(), error)) return last_session(own->file(), remarks);
  const std::vector<std::string> kept = autosaves(default_session_file());
  return last_session(kept.empty() ? "" : kept.front(), remarks);
}
#endif

/// Throws a sentence unless these files can be shown together.
void check_count(const std::vector<std::string>& files) {
  const auto is_input = [](const std::string& file) { return names_tensor_files(without_head(file)); };
  if (files.size() > 4 || (files.size() == 2 && std::ranges::none_of(files, is_input)))
    throw std::invalid_argument(std::to_string(files.size()) +
                                " files were given, expected a session, an output, tensors, or q.npy k.npy v.npy o.npy");
}

/// A link in quotes for an error, cut after 80 characters.
std::string quoted_link(const std::string& link) {
  constexpr std::size_t enough = 80;
  return in_quotes(link.size() <= enough ? link : link.substr(0, enough) + "...");
}

/// The message of the typed files and settings, or of a link that was typed or clicked.
LinkMessage typed_message(const OpenArguments& x) {
  const std::string& first = x.files.front();
  if (!first.starts_with(link_scheme)) {
    LinkMessage message{.files = x.files, .settings = x.typed, .d_o = x.d_o, .gradients = x.computed};
    std::erase_if(message.gradients, [](const auto& one) { return one.second.empty(); });
    return message;
  }
  try {
    if (x.files.size() > 1) throw std::runtime_error("was not expected beside other files");
    return parse_link_url(first);
  } catch (const std::runtime_error& error) {
    throw std::invalid_argument("the link " + quoted_link(first) + " " + error.what());
  }
}

/// Throws std::invalid_argument in a sentence if the session of a link cannot be read.
void check_session(const LinkMessage& message, const std::string& link) {
  try {
    std::vector<std::string> remarks;
    parse_session(message.session, remarks);
  } catch (const std::runtime_error& error) {
    throw std::invalid_argument("the link " + quoted_link(link) + " has a session that " + error.what());
  }
}

/// The message to send, with absolute paths. Throws if its settings are wrong or its files cannot be read.
LinkMessage message_of(const OpenArguments& x) {
  LinkMessage message = typed_message(x);
  if (!message.session.empty()) {
    check_session(message, x.files.front());
    return message;
  }
  check_count(message.files);
  ExperimentOptions settings;
  settings.typed = message.settings;
  Experiment e = default_experiment();
  set_problem(e.problem, settings);
  set_methods(e, settings, true);
  for (std::string& file : message.files) {
    for (const std::string& single : single_files_of(without_head(file))) InputFile check(single);
    file = absolute_spec(file);
  }
  const auto take = [](std::string& spec, const std::string& tensor) {
    InputFile check(tensor_ref(tensor).file);
    spec = absolute_spec(spec);
  };
  for (auto& [key, spec] : message.gradients) take(spec, key == "lse" ? file_of_row_numbers(spec) : parse_gradient(spec).file);
  if (!message.d_o.empty()) take(message.d_o, parse_gradient(message.d_o).file);
  return message;
}

/// Width and height in pixels of "1600x1000". Throws std::invalid_argument in a sentence.
std::pair<int, int> parse_size(const std::string& text) {
  constexpr int smallest = 64, largest = 16384;
  const std::size_t x = text.find('x');
  const auto width = to_number<int>(std::string_view(text).substr(0, x));
  const auto height = to_number<int>(x == std::string::npos ? std::string_view() : std::string_view(text).substr(x + 1));
  const auto fits = [](const auto& size) { return size && *size >= smallest && *size <= largest; };
  if (fits(width) && fits(height)) return {*width, *height};
  throw std::invalid_argument("--size is " + in_quotes(text) + ", expected WIDTHxHEIGHT with both from " +
                              std::to_string(smallest) + " to " + std::to_string(largest));
}

/// Draws a session to a PNG and prints its name and size.
void render_picture(const RenderArguments& x, [[maybe_unused]] const Streams& streams) {
  [[maybe_unused]] const auto [width, height] = parse_size(x.size);
  if (x.device) check_device("--device", *x.device);
#ifdef ATTOSCOPE_GUI
  check_outputs({{"--out", x.out}}, streams.files);
  if (!x.out.ends_with(".png")) refuse("--out", x.out, "a name that ends in .png");
  std::vector<std::string> remarks;
  ui::Session session = session_from(x.session, nullptr, remarks).session;
  if (x.device) session.device = *x.device;
  tell_changed(load_found(session.experiment), false, streams);
  tell(other_numbers(session.experiment.problem), streams);
  prepare_gpus(usable_device(session.device).spec, streams);
  render(session, {.file = x.out, .width = width, .height = height, .example_file = example_file()});
  for (const std::string& remark : remarks) streams.out << remark << '\n';
  streams.out << x.out + ": " + std::to_string(width) + " x " + std::to_string(height) + " pixels\n";
#else
  no_window();
#endif
}

/// Writes the lessons as static pages and prints their names.
void write_lessons([[maybe_unused]] const LessonsArguments& x, [[maybe_unused]] const Streams& streams) {
#ifdef ATTOSCOPE_GUI
  if (x.html.empty()) refuse("--html", x.html, "a directory");
  unless_stopped("stopped before all lessons were drawn; nothing was written",
                 [&](const Cancelled& cancelled) { write_lesson_pages(x.html, streams.out, cancelled); });
#else
  no_window();
#endif
}

/// Sends files to the running window, or starts a window with them, and returns.
void send_files(const OpenArguments& x, const Streams&) {
  [[maybe_unused]] const LinkMessage message = message_of(x);
#ifdef ATTOSCOPE_GUI
  const std::string path = link_path();
  if (path.empty())
    throw std::runtime_error(
        "there is no folder that belongs to this user alone for the link to the window: expected one in $XDG_RUNTIME_DIR or "
        "the temporary directory");
  if (!send_to_window(path, message)) start_window_with(path, message);
#else
  no_window();
#endif
}

/// Opens the window; returns when it is closed.
void open_window(const WindowArguments& x, const Streams&) {
  check_count(x.files);
  if (x.device) check_device("--device", *x.device);
#ifdef ATTOSCOPE_GUI
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
#else
  no_window();
#endif
}

void declare(OptionList& c, RenderArguments& x) {
  c.add("session", x.session, "session file (the last one)");
  c.add("--out", x.out, "PNG file to write").required();
  c.add("--size", x.size, "WIDTHxHEIGHT in pixels");
  c.add("--device", x.device, device_help() + " (the session's)");
}

void declare(OptionList& c, LessonsArguments& x) {
  c.add("--html", x.html, "directory for the pages, which is made").required();
}

void declare(OptionList& c, OpenArguments& x) {
  c.add_all("file", x.files, "a session, FILE.safetensors[:HEAD], your kernel's o.npy, q.npy k.npy v.npy o.npy, or a link")
      .required();
  c.group("The kernel's attention");
  for (const std::string_view key : link_settings) c.parameters(x, {key});
  c.add("--do", x.d_o, "dO, with which the window shows the backward pass, too: FILE.npy or FILE.safetensors[:HEAD]");
  c.add("--dq", x.computed["dq"], "dQ that your kernel computed: it is shown in the place of a's, and judged");
  c.add("--dk", x.computed["dk"], "dK, the same");
  c.add("--dv", x.computed["dv"], "dV, the same");
  c.add("--lse", x.computed["lse"], "the log-sum-exp that your kernel stored beside its output: it is judged with the output");
}

void declare(OptionList& c, WindowArguments& x) {
  c.add_all("file", x.files,
            "what to open in the window: a session (the last one), your kernel's o.npy, or q.npy k.npy v.npy o.npy");
  c.add("--device", x.device, device_help() + " (the session's)");
  c.add("--no-link", x.no_link, "do not let attoscope open and Python's view show files in this window");
}

}  // namespace

void no_window() {
  throw std::runtime_error(
      "this program has no window: it was built with -DATTOSCOPE_GUI=OFF, or is from the wheel for glibc 2.28; "
      "attoscope judge and attoscope run work without");
}

Command render_command() {
  return command<RenderArguments>(
      "render",
      "Draw the window to a picture, without a display; a sweep or a training that is shown is computed in full first", declare,
      render_picture);
}

Command lessons_command() {
  return command<LessonsArguments>("lessons", "Write the lessons as static pages with their views drawn, without a display",
                                   declare, write_lessons);
}

Command open_command() {
  return command<OpenArguments>("open", "Show files in the window that runs, or in one that is started, and return at once",
                                declare, send_files);
}

Command window_command() { return command<WindowArguments>("", "", declare, open_window); }

}  // namespace attoscope::app
