#include "app/commands/command_line.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <new>
#include <stdexcept>

#include "app/commands/commands.h"
#include "app/tensors/readers.h"
#include "app/tensors/tensor_set.h"
#include "app/words/numbers.h"

namespace attoscope::app {
namespace {

/// In the order of the help.
std::vector<Command> commands() {
  return {run_command(),    sweep_command(),      train_command(), figure_command(),    presets_command(), bench_command(),
          render_command(), lessons_command(),    dot_command(),   check_gpu_command(), judge_command(),   heads_command(),
          kv_command(),     invariance_command(), model_command(), open_command(),      pack_command()};
}

void check_written(std::ostream& out) {
  if (!out.flush()) throw std::runtime_error("standard output was closed, or is full, before everything was written");
}

/// Words typed without a command: files for the window.
std::vector<std::string> words_of(const CLI::App& app) { return app.get_option("file")->results(); }

/// Throws if a file or --device of the window stands before a command.
void check_before_command(const CLI::App& app) {
  if (const std::vector<std::string> words = words_of(app); !words.empty())
    throw std::invalid_argument(in_quotes(words.front()) + " was not expected before a command");
  if (app.count("--device") > 0) throw std::invalid_argument("--device was not expected before a command, expected after it");
}

/// Throws for a word that is no file: it was meant to be a command.
void check_without_command(const CLI::App& app, const std::vector<Command>& all) {
  for (const std::string& word : words_of(app)) {
    const bool file_like = word.ends_with(".json") || word.ends_with(".zip") || word.find('/') != std::string::npos;
    std::error_code error;
    if (file_like || std::filesystem::exists(word, error)) continue;
    if (const std::string file = without_head(word); reader_of(file) != nullptr && !std::filesystem::exists(file, error))
      throw std::invalid_argument(in_quotes(word) + " does not exist, expected a session or files of tensors");
    if (reader_of(without_head(word)) == nullptr)
      throw std::invalid_argument(in_quotes(word) + " is neither a command (" + listed(names_in(all), ", ") +
                                  ") nor a session file");
  }
}

/// Parses and runs. Throws CLI::ParseError for help, version and wrong usage.
ExitCode parse_and_run(CLI::App& app, const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  const std::vector<Command> all = commands();
  OptionList chosen(app);
  Command::Run run = window_command().declare(chosen);
  for (const Command& c : all) {
    CLI::App& sub = *app.add_subcommand(c.name, c.what);
    OptionList options(sub);
    sub.callback([&chosen, &run, options, own = c.declare(options)] { chosen = options, run = own; });
  }
  app.set_version_flag("--version", std::string("attoscope ") + ATTOSCOPE_VERSION, "print the version");
  app.require_subcommand(0, 1);
  app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  const bool has_command = !app.get_subcommands().empty();
  has_command ? check_before_command(app) : check_without_command(app, all);
  const ExitCode code = run({out, err, chosen.was_given("--quiet") ? nullptr : terminal(), chosen.typed(), chosen.files()});
  if (has_command) check_written(out);
  return code;
}

/// "--width is given 2 times, expected once", of the first option that is; "" if there is none.
std::string repeated_option(const CLI::App& app) {
  std::vector<const CLI::App*> typed{&app};
  for (const CLI::App* const sub : app.get_subcommands()) typed.push_back(sub);
  for (const CLI::App* const a : typed)
    for (const CLI::Option* const o : a->get_options())
      if (o->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw && o->get_items_expected_max() == 1 && o->count() > 1)
        return o->get_name() + " is given " + std::to_string(o->count()) + " times, expected once";
  return "";
}

int complain(std::ostream& err, const std::string& sentence, ExitCode code) {
  err << "attoscope: " << printable(sentence) << std::endl;
  return code;
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  CLI::App app("Attoscope: a microscope for attention arithmetic.", "attoscope");
  try {
    try {
      return parse_and_run(app, arguments, out, err);
    } catch (const CLI::Success& asked) {  // --help, --version
      app.exit(asked, out, err);
      check_written(out);
      return done;
    }
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string repeated = repeated_option(app);
    return complain(err, (repeated.empty() ? error.what() : repeated) + " (see attoscope --help)", wrong_usage);
  } catch (const CLI::ParseError& error) {
    return complain(err, std::string(error.what()) + " (see attoscope --help)", wrong_usage);
  } catch (const std::invalid_argument& error) {
    return complain(err, error.what(), wrong_usage);
  } catch (const TensorsChanged& error) {
    return complain(err, error.what(), changed_tensor);
  } catch (const std::bad_alloc&) {
    return complain(err, "there is not enough memory for this", failed);
  } catch (const std::exception& error) {
    return complain(err, error.what(), failed);
  }
}

}  // namespace attoscope::app
