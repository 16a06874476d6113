/// `attoscope heads`: every head of a file, worst first. `attoscope kv`: which heads may keep K and V in fewer bits.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/commands/commands.h"
#include "app/files/paths.h"
#include "app/heads/heads.h"
#include "app/json/json.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/tensor_set.h"
#include "app/words/devices.h"
#include "app/words/field_setter.h"
#include "kernels/questions/kv_cache.h"

namespace attoscope::app {
namespace {

/// The options as typed.
struct HeadsArguments : ExperimentOptions, TableFiles {
  std::string file;  ///< as in `--input`, which `heads` has, too; without a head
  std::string layer, sort = "a.rel_rms", top = "20";
  std::string device = "cpu", threads = "0";
  bool no_cache = false;
};
struct KvArguments : HeadsArguments {
  KvArguments() { sort = kv_storages[usual_kv_order].key; }
};

template <class Measures>
std::vector<std::string_view> keys_of(const Measures& measures) {
  std::vector<std::string_view> keys;
  for (const auto& m : measures) keys.emplace_back(m.key);
  return keys;
}

/// Index of the measure with the key of `--sort`. Throws std::invalid_argument with the list of known keys.
template <class Measures>
std::size_t sorted_by(const Measures& measures, const std::string& key) {
  const std::vector<std::string_view> keys = keys_of(measures);
  const auto found = std::ranges::find(keys, key);
  if (found == keys.end()) refuse("--sort", key, listed(keys));
  return static_cast<std::size_t>(found - keys.begin());
}

/// The experiment of every head, with the tensors of the file's first head.
Experiment base_of(const HeadsArguments& x) {
  ExperimentOptions options = x;
  const std::string* const input = x.find("input");
  if (input != nullptr && !x.file.empty()) throw std::invalid_argument("--input was not expected beside the file");
  const std::string file = input != nullptr ? *input : x.file;
  if (file.empty()) throw std::invalid_argument("the file is missing: expected " + tensor_file_specs());
  if (!names_tensor_files(without_head(file)))
    throw std::invalid_argument("the file is " + in_quotes(file) + ", expected " + tensor_file_specs());
  if (without_head(file) != file)
    throw std::invalid_argument("the file is " + in_quotes(file) +
                                ", expected no head behind it: all heads are listed, or those of --layer");
  if (x.kernel && of_option("--kernel", [&] { return parse_kernel_output(*x.kernel); }).file != *x.kernel)
    refuse("--kernel", *x.kernel, "no head behind it: each head of the file is compared with its own");
  options.typed["input"] = file;
  return experiment_of(options);
}

/// The checked arguments.
struct HeadsJob {
  HeadsJob(const HeadsArguments& x, const Streams& streams)
      : top(whole_number("--top", x.top, std::size_t{0}, std::size_t{1} << 20)),
        options{.threads = thread_option(x.threads), .device = x.device} {
    check_device("--device", x.device);
    check_tables(x, streams.files);
    base = base_of(x);
    tell(options_without_effect(x, base), streams);
    files = std::make_unique<CallFiles>(base.problem.input.file);
    kept = std::make_unique<KeptHeads>(x.no_cache ? "" : default_point_cache());
    question = {base, x.find("n") == nullptr, heads_of_layer(*files, x.layer), kept.get(), HeadNumbers(x.typed, *files)};
  }

  std::size_t top;  ///< rows that are printed; 0: all
  Options options;
  Experiment base;
  std::unique_ptr<CallFiles> files;
  std::unique_ptr<KeptHeads> kept;
  HeadsQuestion question;
};

/// Rows of all heads, computed by compute(question, files, options, found). Throws std::runtime_error if a signal stopped it.
template <class Row, class Compute>
std::vector<Row> rows_of(HeadsJob& job, const Streams& streams, Compute compute) {
  prepare_gpus(job.options.device, streams);
  const Interrupts interrupts;
  job.options.cancelled = [&] { return interrupts.arrived(); };
  ProgressLine line(streams.terminal);
  std::vector<Row> rows;
  const std::size_t all = job.question.heads.size();
  try {
    compute(job.question, *job.files, job.options, [&](const Row& row) {
      rows.push_back(row);
      const auto done = static_cast<double>(rows.size()), left = static_cast<double>(all) - done;
      line.show([&] { return fmt::format("{} of {} heads, {:.0f} s left", rows.size(), all, line.seconds() / done * left); });
    });
  } catch (const Stopped&) {
    throw std::runtime_error(fmt::format("stopped after {} of {} heads; nothing was written", rows.size(), all));
  }
  return rows;
}

void tell_heads(const HeadsArguments& x, const Streams& streams) {
  const ui::HeadMeasure& by = ui::head_measures[sorted_by(ui::head_measures, x.sort)];
  HeadsJob job(x, streams);
  std::vector<ui::HeadRow> rows = rows_of<ui::HeadRow>(job, streams, compute_heads);
  mark_unusual(rows);
  sort_worst_first(rows, by);
  write_outputs(
      {{x.csv, [&] { return csv_text(heads_table(rows, *job.files)); }},
       {x.json, [&] { return json_text(heads_json(rows, *job.files, job.base)); }}},
      [&] { return heads_report(rows, *job.files, by, job.top); }, streams.out);
}

void tell_kv(const KvArguments& x, const Streams& streams) {
  const std::size_t by = sorted_by(kv_storages, x.sort);
  HeadsJob job(x, streams);
  std::vector<KvRow> rows = rows_of<KvRow>(job, streams, compute_kv_heads);
  sort_worst_first(rows, by);
  write_outputs(
      {{x.csv, [&] { return csv_text(kv_table(rows, *job.files)); }},
       {x.json, [&] { return json_text(kv_json(rows, *job.files)); }}},
      [&] { return kv_report(rows, *job.files, by, job.top); }, streams.out);
}

/// First options of both commands; `measures` are the keys of --sort.
template <class Measures>
void declare_heads(OptionList& c, HeadsArguments& x, const Measures& measures) {
  c.add("file", x.file, "Q, K and V of many heads: " + tensor_file_specs());
  c.group("Heads");
  c.add("--layer", x.layer, "only the heads of this layer, by its name or number");
  c.add("--sort", x.sort, "by what they are ordered: " + listed(keys_of(measures), ", "));
  c.add("--no-cache", x.no_cache, "compute every head, and keep none");
  c.add("--top", x.top, "how many are printed; 0 is all");
}

/// Last options of both commands.
void declare_tables(OptionList& c, HeadsArguments& x) {
  c.add("--threads", x.threads, "heads computed at a time; 0 is as many as the machine has");
  c.group("Output");
  c.add("--csv", x.csv, "write a line for each head to this file, - for standard output");
  c.add("--json", x.json, "the same as JSON").quiet();
}

}  // namespace

Command heads_command() {
  const auto declare = [](OptionList& c, HeadsArguments& x) {
    declare_heads(c, x, ui::head_measures);
    c.problem(x).methods(x).kernel(x).group("Device").add("--device", x.device, device_help());
    declare_tables(c, x);
  };
  return command<HeadsArguments>("heads", "Compute every head of a file and list them, the worst first", declare, tell_heads);
}

Command kv_command() {
  const auto declare = [](OptionList& c, KvArguments& x) {
    declare_heads(c, x, kv_storages);
    c.group("The kernel's attention");
    c.parameters(x, {"n", "mask", "scale", "softcap", "alibi", "sink", "empty_rows", "rows", "block_k"})
        .of_heads()
        .scales(x)
        .packed(x)
        .group("Device");
    declare_tables(c, x);
  };
  return command<KvArguments>("kv", "Tell which heads of a file may keep K and V in fewer bits, the worst first", declare,
                              tell_kv);
}

}  // namespace attoscope::app
