/// A command: its name, its options and what runs it; and what commands share.
#pragma once

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
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
  std::ostream& warnings;            ///< failures that stop nothing
  std::ostream* terminal = nullptr;  ///< progress; null: nowhere
  std::string typed{};               ///< the command line of the same question, without its device and its outputs
  std::vector<OutputPlace> files{};  ///< files that are there and that options name
};

/// The options of a command, each declared once: its name, the place of its text, its line in the help. A place of type Typed
/// stays empty where nothing was typed; the text that a string holds before is the default, which the help shows.
class OptionList {
 public:
  explicit OptionList(CLI::App& app) : app_(&app) {}

  /// Begins a group: options that are added from here on stand under this heading in the help.
  OptionList& group(const char* heading);
  OptionList& add(const std::string& option, std::string& text, const std::string& help);
  OptionList& add(const std::string& option, Typed& text, const std::string& help);
  OptionList& add(const std::string& option, bool& flag, const std::string& help);
  /// An option that may be given several times.
  OptionList& add(const std::string& option, std::vector<std::string>& texts, const std::string& help);
  /// One that takes all texts behind it.
  OptionList& add_all(const std::string& option, std::vector<std::string>& texts, const std::string& help);
  /// The options of one table, each with its place.
  template <std::size_t N>
  OptionList& add(const std::array<FieldOption, N>& options, std::array<Typed, N>& typed) {
    for (std::size_t i = 0; i < N; ++i) add(options[i].option, typed[i], options[i].what);
    return *this;
  }
  /// Makes the last option one that must be given.
  OptionList& required();
  /// Replaces the help of an option that is there.
  OptionList& describe(const std::string& option, const std::string& help);

  /// The option of a parameter of experiments, and of several by their keys.
  OptionList& parameter(ExperimentOptions& x, const Parameter& p, const std::string& help);
  OptionList& parameters(ExperimentOptions& x, std::initializer_list<std::string_view> keys);

  /// Says of those of scale, softcap, alibi and sink that they may be numbers of heads.
  OptionList& of_heads();

  // Groups that commands share.
  OptionList& problem(ExperimentOptions& x);
  /// The files of the scales of Q, K, V and, where there are four, O.
  OptionList& scales(ExperimentOptions& x, std::size_t parts = 3);
  /// The tensors that say where sequences lie, and the layout of pages.
  OptionList& packed(ExperimentOptions& x);
  OptionList& arithmetic(ExperimentOptions& x);
  /// `usual`: a's policy where none is named. `cut`: also how it cuts the keys.
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
  /// Somebody's output.
  OptionList& kernel(ExperimentOptions& x);
  OptionList& device(std::string& device, std::string& threads, const std::string& help);
  OptionList& quiet();
  /// Width, font and size of a printed figure.
  OptionList& style(StyleArguments& x);

  /// True if the option is one of this list and was given.
  bool was_given(const std::string& option) const;
  /// The typed options, as a shell reads them back, without the groups Device and Output.
  std::string typed() const;
  /// The files that are there and that the typed options may name, each with its option.
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
  std::function<Run(OptionList&)> declare;  ///< adds the options; returns what runs the command once they were typed
};

/// The command whose options fill an Arguments. `run` may return false, which is the exit code judged_wrong.
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

/// The end of a command with --strict: a tensor is not the one whose digest was kept.
struct TensorsChanged : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Writes the sentences of `changed_tensors` as warnings; throws them as TensorsChanged where `strict`.
void tell_changed(const std::vector<std::string>& changed, bool strict, const Streams& streams);
/// Before a file is replaced: the tensors of `e` that are not those with the digests in the JSON that stands at `place`, if
/// that is of the same head of the same files. None where there is no such JSON.
std::vector<std::string> changed_since(const std::string& place, const Experiment& e);

/// Throws a sentence: this build has no window.
[[noreturn]] void no_window();

/// Has the codes for the device's GPUs compiled where their drivers have to do that first, and says so once if it takes longer
/// than a second. A failure is left to whoever needs the code.
void prepare_gpus(const std::string& device, const Streams& streams, const std::vector<LoadCode*>& codes = {attention_code});

/// The number of `--threads`; 0: all. Throws std::invalid_argument in a sentence.
int thread_option(const std::string& typed);

/// Before anything is computed: throws in a sentence where one of the files cannot be written ("" and "-" are none), where two
/// are the same, or where one is a file that another option names (`Streams::files`). `others` are written as well, and their
/// folders checked elsewhere.
void check_outputs(const std::vector<OutputPlace>& written, const std::vector<OutputPlace>& named,
                   const std::vector<OutputPlace>& others = {});

/// Places of a command's tables; "" nowhere, "-" standard output.
struct TableFiles {
  std::string csv, json;
};
/// The same for these, of which one alone may be standard output.
void check_tables(const TableFiles& files, const std::vector<OutputPlace>& named);

/// A text and its place, "" nowhere, "-" standard output; made where it is wanted.
struct OutputText {
  std::string place;
  std::function<std::string()> text;
};
/// Writes `files` and the texts that go to files together, and then to `out` those that go there, or else the report.
void write_outputs(StagedFiles& files, const std::vector<OutputText>& texts, const std::function<std::string()>& report,
                   std::ostream& out);
inline void write_outputs(const std::vector<OutputText>& texts, const std::function<std::string()>& report, std::ostream& out) {
  StagedFiles files;
  write_outputs(files, texts, report, out);
}

/// Standard error where it is a terminal; null where it is a file or a pipe, in which such lines would only pile up.
std::ostream* terminal();

/// Progress of a long command: one line of a terminal, written over itself.
class ProgressLine {
 public:
  /// `terminal` null: nothing is shown.
  explicit ProgressLine(std::ostream* terminal) : terminal_(terminal) {}
  ~ProgressLine() { clear(); }
  ProgressLine(ProgressLine&&) = delete;

  /// Makes room for a line that stays.
  void clear();
  /// Since it was made.
  double seconds() const { return std::chrono::duration<double>(Clock::now() - begun_).count(); }

  /// Shows text(), unless the last one is less than a tenth of a second old.
  template <class F>
  void show(F text) {
    if (is_due()) write(text());
  }

 private:
  using Clock = std::chrono::steady_clock;

  bool is_due() const;
  void write(std::string_view text);

  std::ostream* terminal_;
  bool is_shown_ = false;
  Clock::time_point last_{}, begun_ = Clock::now();
};

/// Returns work(cancelled); throws `sentence` where a signal stopped it.
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
