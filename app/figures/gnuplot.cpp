#include "app/figures/gnuplot.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include "app/figures/gnuplot_text.h"
#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/words/numbers.h"

namespace attoscope::app {
namespace {
namespace fs = std::filesystem;

/// A temporary directory, removed on destruction; also removes directories of killed programs.
class Workshop {
 public:
  Workshop() {
    const fs::path folder = temporary_directory();
    remove_older(folder);
    made_ = make_locked_folder(folder / beginning);
    if (!made_.lock.valid())
      throw std::runtime_error(made_.path + ": cannot be made, to draw the picture in (" +
                               std::generic_category().message(errno) + ").");
  }
  ~Workshop() {
    std::error_code ignored;
    fs::remove_all(made_.path, ignored);
  }
  Workshop(Workshop&&) = delete;
  std::string operator/(const char* name) const { return (path() / name).string(); }
  fs::path path() const { return made_.path; }

 private:
  static constexpr std::string_view beginning = "attoscope-figure-";

  static void remove_older(const fs::path& folder) {
    std::error_code error, ignored;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
      if (const Descriptor old = leftover(entry->path(), beginning); old.valid()) fs::remove_all(entry->path(), ignored);
  }

  LockedPath made_;
};

/// Waits for a child and returns its exit status. Throws Stopped if a signal to end stopped it, and kills it and throws Stopped
/// if cancelled.
int status_of(pid_t child, const Cancelled& cancelled) {
  constexpr auto between_looks = std::chrono::milliseconds(5);
  for (;;) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, cancelled ? WNOHANG : 0);
    if (ended == child) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
      std::this_thread::sleep_for(between_looks);  // Ctrl-C ends the child, too, before Interrupts tells of it
      const bool is_cancelled = cancelled && cancelled();
      const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      if (is_cancelled || signal == SIGINT || signal == SIGTERM) throw Stopped();
      return signal == 0 ? WEXITSTATUS(status) : 128;
    }
    if (cancelled && cancelled()) {
      ::kill(child, SIGKILL);
      while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
      throw Stopped();
    }
    if (cancelled) std::this_thread::sleep_for(between_looks);
  }
}

/// Runs gnuplot on script.gp in `directory` with its output in log.txt; returns its exit status. Signals are unblocked in it,
/// so Ctrl-C ends it.
int run_gnuplot(const fs::path& directory, const Cancelled& cancelled) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, (directory / "log.txt").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  std::string name = "gnuplot", no_settings = "-d", before = "-e", script = "script.gp";  // -d: ignore the user's settings
  std::string enter = "cd " + gnuplot_literal(directory.string());  // glibc 2.28 cannot spawn in another directory
  std::array<char*, 6> arguments{name.data(), no_settings.data(), before.data(), enter.data(), script.data(), nullptr};
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, name.c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error == ENOENT) throw std::runtime_error("There is no gnuplot to draw the picture with (package gnuplot-nox).");
  if (error != 0) throw std::runtime_error("gnuplot cannot be run (" + std::generic_category().message(error) + ")");
  return status_of(child, cancelled);
}

/// Removes the time of drawing, so that the same figure always has the same bytes. TikZ: erases a comment. PDF: sets the date
/// to 1970 in place, because byte offsets must not move.
std::string without_time(std::string picture) {
  if (picture.starts_with("%PDF")) {
    constexpr std::string_view key = "/CreationDate (D:", first = "19700101000000";
    if (const std::size_t at = picture.find(key); at != std::string::npos && at + key.size() + first.size() < picture.size())
      picture.replace(at + key.size(), first.size(), first);
  } else if (picture.starts_with("\\begin{tikzpicture}")) {
    const std::size_t at = picture.find("\n%% ", picture.find("\n%% generated with GNUPLOT") + 1);
    if (at != std::string::npos) picture.erase(at, picture.find('\n', at + 1) - at);
  }
  return picture;
}

}  // namespace

std::string picture_ending(PictureFormat f) {
  constexpr EnumArray<PictureFormat, const char*> endings{".pdf", ".svg", ".png", ".tex"};
  return endings[f];
}

PictureFormat picture_format(const std::string& file) {
  for (const PictureFormat f : {PictureFormat::pdf, PictureFormat::svg, PictureFormat::png, PictureFormat::tikz})
    if (file.ends_with(picture_ending(f))) return f;
  throw std::invalid_argument(in_quotes(file) + " is no picture file, expected a name that ends in .pdf, .svg, .png or .tex");
}

std::vector<std::string> style_files(PictureFormat format) {
  if (format != PictureFormat::tikz) return {};
  return {"gnuplot-lua-tikz.sty", "gnuplot-lua-tikz-common.tex"};
}

std::vector<std::string> drawn(const std::string& script, const std::vector<std::string>& files, const Cancelled& cancelled) {
  constexpr std::uint64_t largest = 1 << 28;
  const Workshop workshop;
  write_file(workshop / "script.gp", script);
  const int status = run_gnuplot(workshop.path(), cancelled);
  const std::string said = read_file(workshop / "log.txt", largest);
  std::vector<std::string> bytes;
  for (const std::string& file : files) {
    const std::string path = workshop / file.c_str();
    std::error_code error;
    if (status != 0 || !fs::exists(path, error) || fs::file_size(path, error) == 0)
      throw std::runtime_error("gnuplot could not draw " + file + ": " + in_quotes(said.substr(0, 200)));
    bytes.push_back(without_time(read_file(path, largest)));
  }
  return bytes;
}

}  // namespace attoscope::app
