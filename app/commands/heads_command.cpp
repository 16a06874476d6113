#include "app/commands/heads_command.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/commands/first_use.h"
#include "app/commands/progress_line.h"
#include "app/files/interrupts.h"
#include "app/files/paths.h"
#include "app/heads/heads.h"
#include "app/heads/heads_table.h"
#include "app/heads/kept_heads.h"
#include "app/json/json.h"
#include "app/tensors/tensors.h"
#include "app/words/devices.h"
#include "app/words/field_setter.h"
#include "kernels/experiment/rules.h"

namespace attoscope {
namespace {

/// The experiment that each head is asked, with the file's first head read.
Experiment base_of(const HeadsArguments& x) {
  ExperimentOptions options = x;
  if (x.find("input") != nullptr) throw std::invalid_argument("--input was not expected beside the file");
  if (of_option("the file", [&] { return parse_input(x.file); }).kind != InputKind::tensors)
    throw std::invalid_argument("the file is " + in_quotes(x.file) + ", expected " + std::string(tensor_file_specs));
  options.typed["input"] = x.file;
  return experiment_of(options);
}

/// How many heads are done, and how long the others will take.
class CountedHeads {
 public:
  CountedHeads(std::ostream* terminal, std::size_t all) : line_(terminal), all_(all) {}
  void found() {
    ++done_;
    line_.show([&] { return fmt::format("{} of {} heads, {:.0f} s left", done_, all_, seconds() / done_ * (all_ - done_)); });
  }

 private:
  using Clock = std::chrono::steady_clock;
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  ProgressLine line_;
  double all_, done_ = 0;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

HeadsJob heads_job(const HeadsArguments& x) {
  whole_number("--threads", x.threads, 0, 4096);
  check_device("--device", x.device);
  check_tables(x);
  const Experiment base = base_of(x);
  CallFiles files(base.problem.input.file);
  const auto kept = std::make_shared<KeptHeads>(x.no_cache ? "" : default_point_cache());
  HeadsQuestion question{base, x.find("n") == nullptr, heads_of_layer(files, x.layer), kept.get()};
  return {base, std::move(files), kept, std::move(question)};
}

void run_heads(const HeadsJob& job, const HeadsArguments& x, std::ostream* terminal,
               const std::function<void(const Options&, const std::function<void()>& done)>& work) {
  compile_code(x.device);
  const Interrupts interrupts;
  CountedHeads progress(terminal, job.question.heads.size());
  std::size_t found = 0;
  const Options options{.cancelled = [&] { return interrupts.arrived(); },
                        .threads = whole_number("--threads", x.threads, 0, 4096),
                        .device = x.device};
  try {
    work(options, [&] {
      ++found;
      progress.found();
    });
  } catch (const Stopped&) {
    throw std::runtime_error(
        fmt::format("stopped after {} of {} heads; nothing was written", found, job.question.heads.size()));
  }
}

void heads(const HeadsArguments& x, std::ostream& out, std::ostream* terminal) {
  const HeadMeasure& by = head_measure(x.sort);
  const std::size_t top = whole_number("--top", x.top, std::size_t{0}, std::size_t{1} << 20);
  const HeadsJob job = heads_job(x);
  std::vector<HeadRow> rows;
  run_heads(job, x, terminal, [&](const Options& options, const std::function<void()>& done) {
    compute_heads(job.question, job.files, options, [&](const HeadRow& row) {
      rows.push_back(row);
      done();
    });
  });
  sort_worst_first(rows, by);
  write_tables(
      x,
      {[&] { return csv_text(heads_table(rows, job.files)); }, [&] { return json_text(heads_json(rows, job.files, job.base)); },
       [&] { return heads_report(rows, job.files, by, top); }},
      out);
}

}  // namespace attoscope
