/// A command: its name, its options and the function that runs it; and helpers that commands share.
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "app/files/files.h"
#include "app/files/interrupts.h"
#include "app/session/experiment_options.h"
#include "kernels/compute.h"
#include "kernels/experiment/settings.h"
#include "kernels/gpu/device.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace attoscope::app {

struct StyleArguments;

/// Exit codes.
enum ExitCode : int { done = 0, failed = 1, wrong_usage = 2, judged_wrong = 3, changed_tensor = 4 };

/// The streams that a command writes to.
struct Streams {
  std::ostream& out;                 ///< results
  std::ostream& warnings;            ///< failures after which the command goes on
  std::ostream* terminal = nullptr;  ///< progress; null: not shown
  std::string typed{};               ///< the command line, without the options of device and outputs
  std::vector<OutputPlace> files{};  ///< `OptionList::files`
};

/// The options of a command, each declared once: its name, the place of its text, its line in the help. A place of type Typed
/// stays empty if the option was not typed; a string's initial text is the default that the help shows.
class OptionList {
 public:
  explicit OptionList(CLI::App& app) : app_(&app) {}

  /// Begins a group: the help lists the options added after it under this heading.
  OptionList& group(const char* heading);
  OptionList& add(const std::string& option, std::string& text, const std::string& help);
  OptionList& add(const std::string& option, Typed& text, const std::string& help);
  OptionList& add(const std::string& option, bool& flag, const std::string& help);
  /// An option that may be given several times.
  OptionList& add(const std::string& option, std::vector<std::string>& texts, const std::string& help);
  /// An option that takes all texts after it.
  OptionList& add_all(const std::string& option, std::vector<std::string>& texts, const std::string& help);
  /// The options of one table, each with its place.
  template <std::size_t N>
  OptionList& add(const std::array<FieldOption, N>& options, std::array<Typed, N>& typed) {
    for (std::size_t i = 0; i < N; ++i) add(options[i].option, typed[i], options[i].what);
    return *this;
  }
  /// Makes the last option mandatory.
  OptionList& required();
  /// Replaces the help of an added option.
  OptionList& describe(const std::string& option, const std::string& help);

  /// Adds the option of one parameter of experiments, or of several by their keys.
  OptionList& parameter(ExperimentOptions& x, const Parameter& p, const std::string& help);
  OptionList& parameters(ExperimentOptions& x, std::initializer_list<std::string_view> keys);

  /// Adds to the help of --scale, --softcap, --alibi and --sink that they take one number for each head.
  OptionList& of_heads();

  // Groups that commands share.
  OptionList& problem(ExperimentOptions& x);
  /// Options for files of the scales of Q, K, V and, if `parts` is 4, O; and for mask tensors.
  OptionList& scales(ExperimentOptions& x, std::size_t parts = 3);
  /// Options for tensors of packed and paged calls: bounds of sequences, and layout of pages.
  OptionList& packed(ExperimentOptions& x);
  OptionList& arithmetic(ExperimentOptions& x);
  /// `usual`: default policy of a. `cut`: also adds the options of its tiles of keys and splits.
  OptionList& method_a(ExperimentOptions& x, const std::string& usual, bool cut);
  /// Tensor cores and storage of a.
  OptionList& kernel_of_a(ExperimentOptions& x);
  /// Arithmetic, a and b.
  OptionList& methods(ExperimentOptions& x, const std::string& usual = "hw");
  /// Gradients of a and b.
  OptionList& backward(ExperimentOptions& x);
  /// The session that the experiment begins with, and `--strict`.
  OptionList& session(ExperimentOptions& x, bool& strict);
  OptionList& strict(bool& strict);
  /// Options for the output of the user's kernel.
  OptionList& kernel(ExperimentOptions& x);
  OptionList& device(std::string& device, std::string& threads, const std::string& help);
  OptionList& quiet();
  /// Width, font and size of a printed figure.
  OptionList& style(StyleArguments& x);

  /// True if this list has the option and it was given.
  bool was_given(const std::string& option) const;
  /// The typed command line, quoted for a shell, without the groups Device and Output.
  std::string typed() const;
  /// Existing files that the typed options may name, each with its option; also those in folders and in sessions that they
  /// name. Options of the group Output name none.
  std::vector<OutputPlace> files() const;

 private:
  OptionList& added(CLI::Option* option);

  CLI::App* app_;
  CLI::Option* last_ = nullptr;
};

std::string device_help();
std::string layout_help();
inline constexpr const char* figure_help =
    "draw it: FILE.pdf, .svg, .png or .tex (TikZ) with .csv, .gp and .json beside it, or FILE.zip with all of them";

/// One `attoscope NAME`.
struct Command {
  using Run = std::function<ExitCode(const Streams&)>;
  const char *name, *what;
  std::function<Run(OptionList&)> declare;  ///< adds the options; returns the function that runs the command after parsing
};

/// The command whose options fill an Arguments. If `run` returns false, the exit code is judged_wrong.
template <class Arguments, class Result>
Command command(const char* name, const char* what, void (*declare)(OptionList&, Arguments&),
                Result (*run)(const Arguments&, const Streams&)) {
  return {name, what, [=](OptionList& list) -> Command::Run {
            const auto x = std::make_shared<Arguments>();
            declare(list, *x);
            return [x, run](const Streams& streams) {
              if constexpr (std::is_same_v<Result, bool>) return run(*x, streams) ? done : judged_wrong;
              run(*x, streams);
              return done;
            };
          }};
}

/// Ends a command with --strict: a tensor differs from its kept digest.
struct TensorsChanged : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Removes the sentences that `others` lacks.
void keep_common(std::vector<std::string>& sentences, const std::vector<std::string>& others);
/// Writes sentences as warnings.
void tell(const std::vector<std::string>& sentences, const Streams& streams);
/// Writes the sentences of `changed_tensors` as warnings; throws them as TensorsChanged if `strict`.
void tell_changed(const std::vector<std::string>& changed, bool strict, const Streams& streams);
/// Sentences on the tensors of `e` whose digests differ from the JSON at `place`, which is about to be replaced. Empty
/// if `place` holds no JSON of the same head of the same files.
std::vector<std::string> changed_since(const std::string& place, const Experiment& e);

/// Throws std::runtime_error: this build has no window.
[[noreturn]] void no_window();

/// Loads the codes on the device's GPUs; a driver may have to compile them first. Prints one sentence if that takes longer than
/// a second. Ignores failures: the first use of the code reports them.
void prepare_gpus(const std::string& device, const Streams& streams, const std::vector<LoadCode*>& codes = {attention_code});

/// The number of `--threads`, at most that of the machine; 0: all. Throws std::invalid_argument in a sentence.
int thread_option(const std::string& typed);

/// Throws a sentence if a file cannot be written ("" and "-" are no files), if two are the same or both standard output, or if
/// another option names one of them (`Streams::files`). Call it before computing. `others` are also outputs, but their folders
/// are checked elsewhere.
void check_outputs(const std::vector<OutputPlace>& written, const std::vector<OutputPlace>& named,
                   const std::vector<OutputPlace>& others = {});

/// Places of a command's tables: "" is none, "-" standard output.
struct TableFiles {
  std::string csv, json;
};
/// Calls check_outputs.
void check_tables(const TableFiles& files, const std::vector<OutputPlace>& named);

/// An output: its place ("" is none, "-" standard output) and the function that makes its text if there is a place.
struct OutputText {
  std::string place;
  std::function<std::string()> text;
};
/// Writes `files` and the texts that have a file, all or none; then writes to `out` the text with place "-", or the report if
/// there is none.
void write_outputs(StagedFiles& files, const std::vector<OutputText>& texts, const std::function<std::string()>& report,
                   std::ostream& out);
inline void write_outputs(const std::vector<OutputText>& texts, const std::function<std::string()>& report, std::ostream& out) {
  StagedFiles files;
  write_outputs(files, texts, report, out);
}

/// Standard error if it is a terminal, else null: in a file or a pipe lines of progress would pile up.
std::ostream* terminal();

/// Progress of a long command, shown by any of its threads: one line of a terminal, written over itself.
class ProgressLine {
 public:
  /// `terminal` null: nothing is shown.
  explicit ProgressLine(std::ostream* terminal) : terminal_(terminal) {}
  ~ProgressLine() { clear(); }
  ProgressLine(ProgressLine&&) = delete;

  /// Erases the line, before other output is written.
  void clear();
  /// Seconds since construction.
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begun_).count(); }

  /// Shows text(), unless the last text was shown less than 0.1 s ago.
  template <class F>
  void show(F text) {
    const std::lock_guard lock(mutex_);
    if (is_due()) write(text());
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool is_due() const;
  void write(std::string_view text);

  std::ostream* terminal_;
  std::mutex mutex_;
  bool is_shown_ = false;
  Clock::time_point last_{}, begun_ = Clock::now();
};

/// Returns work(cancelled); throws `sentence` as std::runtime_error if a signal stopped it.
template <class Work>
auto unless_stopped(const std::string& sentence, Work work) {
  const Interrupts interrupts;
  try {
    return work([&] { return interrupts.arrived(); });
  } catch (const Stopped&) {
    throw std::runtime_error(sentence);
  }
}

}  // namespace attoscope::app
