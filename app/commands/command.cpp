#include "app/commands/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>

#include "app/figures/bundle.h"
#include "app/json/json.h"
#include "app/json/settings_json.h"
#include "app/session/session.h"
#include "app/session/session_places.h"
#include "app/tensors/changed_tensors.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/readers.h"
#include "app/tensors/tensor_scales.h"
#include "app/tensors/tensor_set.h"
#include "app/tensors/tensors.h"
#include "app/words/devices.h"
#include "app/words/field_setter.h"
#include "kernels/experiment/settings.h"

namespace attoscope::app {
namespace {

/// `word` quoted for a shell where it needs quotes.
std::string shell_word(const std::string& word) {
  const bool plain =
      word.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:=,+@%") == std::string::npos;
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// Prints the sentence unless `stop` is requested within a second.
void tell_after_a_second(const std::string& sentence, const std::stop_token& stop, std::ostream& out) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any stopped;
  stopped.wait_for(lock, stop, std::chrono::seconds(1), [] { return false; });
  if (!stop.stop_requested()) out << "attoscope: " << sentence << std::endl;
}

}  // namespace

std::string device_help() { return "what computes: " + std::string(device_specs); }
std::string layout_help() { return "order of the dimensions of the tensors: " + std::string(layout_specs); }

OptionList& OptionList::added(CLI::Option* option) {
  last_ = option;
  return *this;
}

OptionList& OptionList::group(const char* heading) {
  app_->option_defaults()->group(heading);
  return *this;
}

OptionList& OptionList::add(const std::string& option, std::string& text, const std::string& help) {
  CLI::Option* const typed = app_->add_option(option, text, help)->capture_default_str();
  if (text.empty() && option.starts_with("--"))  // an empty text would mean that it was not typed
    typed->check([typed](const std::string& value) {
      if (value.empty() && !typed->get_required()) refuse(typed->get_name(), value, "a text");
      return std::string();
    });
  return added(typed);
}

OptionList& OptionList::add(const std::string& option, Typed& text, const std::string& help) {
  return added(app_->add_option(option, text, help));
}

OptionList& OptionList::add(const std::string& option, bool& flag, const std::string& help) {
  return added(app_->add_flag(option, flag, help));
}

OptionList& OptionList::add(const std::string& option, std::vector<std::string>& texts, const std::string& help) {
  return added(app_->add_option(option, texts, help)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
}

OptionList& OptionList::add_all(const std::string& option, std::vector<std::string>& texts, const std::string& help) {
  return added(app_->add_option(option, texts, help));
}

OptionList& OptionList::required() { return added(last_->required()); }

OptionList& OptionList::describe(const std::string& option, const std::string& help) {
  app_->get_option(option)->description(help);
  return *this;
}

OptionList& OptionList::parameter(ExperimentOptions& x, const Parameter& p, const std::string& help) {
  const std::string option = std::string(p.option) + (p.key == "n" ? ",--n-q" : ""), key = p.key;
  if (is_flag(p)) return added(app_->add_flag_callback(option, [&x, key] { x.typed[key] = "true"; }, help));
  const auto take = [&x, key](const std::string& text) { x.typed[key] = text; };
  return added(app_->add_option_function<std::string>(option, take, help));
}

OptionList& OptionList::parameters(ExperimentOptions& x, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) parameter(x, *find_parameter(key), help_of(*find_parameter(key)));
  return *this;
}

OptionList& OptionList::of_heads() {
  for (const char* const key : {"scale", "softcap", "alibi", "sink"})
    describe(std::string("--") + key, help_of(*find_parameter(key)) + "; X,X,.. or a file: one for each head");
  return *this;
}

OptionList& OptionList::scales(ExperimentOptions& x, std::size_t parts) {
  group("Scales of stored tensors");
  constexpr std::array<const char*, 4> called{"Q", "K", "V", "O"};
  for (std::size_t i = 0; i < parts; ++i)
    add(scale_options[i], x.scales[i],
        std::string("factor of ") + called[i] + ": " + tensor_specs() + ", behind it [" + std::string(scale_groups) +
            "] where its shape fits several (for 8 bits, " + part_names[i] + "_scale or the like beside " + called[i] + ")");
  group("Mask tensors, which --mask joins");
  add(scale_options[mask_part], x.scales[mask_part],
      mask_specs() +
          ": 1 keeps a key (keep), 1 drops it (drop), or it is added to scores (add); booleans and whole numbers keep, others "
          "are added");
  add(scale_options[documents_part], x.scales[documents_part],
      "ids [n_k] or [b, n_k] of the documents of keys and queries; a query sees only keys of its own document");
  return *this;
}

OptionList& OptionList::packed(ExperimentOptions& x) {
  group("Packed and paged calls (told by the names of FlashAttention, FlashInfer and vLLM in the file)");
  constexpr std::array<const char*, packed_part_names.size()> helps{
      "bounds of sequences in Q, [b + 1], whole numbers: each sequence is a call of its own",
      "the same in K and V (as in Q)",
      "padding before each sequence's first key, [b]",
      "pages of each sequence, [b, pages]",
      "keys of each sequence, [b], also without pages: JAX's key_value_seq_lengths",
      "NHD: K is blocks, page, heads, d; HND: blocks, heads, page, d (NHD)",
      "K and V in one tensor: [2, ...] or [blocks, 2, ...]",
      "FlashInfer's bounds in --kv-indices, [b + 1]",
      "FlashInfer's pages of all sequences",
      "FlashInfer's keys in each sequence's last page, [b]"};
  for (std::size_t i = 0; i < helps.size(); ++i) {
    const auto part = static_cast<PackedPart>(i);
    add(option_of(part), x.packed[part], helps[i]);
  }
  return *this;
}

OptionList& OptionList::problem(ExperimentOptions& x) {
  group("Input");
  add("--preset", x.preset, "start from a probe (see attoscope presets); the other options then change it");
  parameter(x, *find_parameter("input"), "Q, K, V: " + input_specs() + " (normal)");
  add("--layout", x.layout, layout_help() + " (told by the shapes)");
  parameters(x,
             {"n", "n_k", "d", "d_v", "seed", "scale", "mask", "sink", "softcap", "alibi", "empty_rows", "rows", "traced_row"});
  return of_heads().scales(x).packed(x);
}

OptionList& OptionList::arithmetic(ExperimentOptions& x) {
  group("Arithmetic").parameters(x, {"format"});
  return add("--set", x.set, "one choice on top, such as a.O=fp32, b.P=main/stochastic, b.tau=4; repeatable");
}

OptionList& OptionList::method_a(ExperimentOptions& x, const std::string& usual, bool cut) {
  group("Method a");
  parameter(x, *find_parameter("algorithm"), "of a: " + listed(algorithm_names) + " (flash2)");
  parameter(x, *find_parameter("policy"),
            "where a rounds (see attoscope presets); " + usual + ", or base_eager for three_pass");
  parameters(x, {"block_q"});
  if (cut) parameters(x, {"block_k", "splits"});
  return parameters(x, {"tau", "tie_beta", "exponential", "exp2_degree", "p_exponent", "order", "kahan_l", "reverse_keys"});
}

OptionList& OptionList::kernel_of_a(ExperimentOptions& x) {
  group("Tensor cores, method a");
  add("--like", x.like,
      "a whole kernel: tiles, roundings, options and its GPU's sums (see attoscope presets), such as fa3_h100; the other "
      "options then change it");
  parameters(x, {"accumulator", "flush"});
  return group("Storage with scales, method a")
      .parameters(x, {"scaling.Q", "scaling.K", "scaling.V", "scaling.P", "scaling.hadamard", "scaling.smooth_K",
                      "scaling.smooth_Q", "scaling.smooth_V", "scaling.smoothed"});
}

OptionList& OptionList::methods(ExperimentOptions& x, const std::string& usual) {
  return arithmetic(x).method_a(x, usual, true).kernel_of_a(x).group("Method b").parameters(x, {"baseline"});
}

OptionList& OptionList::backward(ExperimentOptions& x) {
  return group("Backward pass; each of these turns it on")
      .parameters(x, {"backward", "do", "dlse", "gradient", "baseline_gradient", "gradient_order"});
}

OptionList& OptionList::kernel(ExperimentOptions& x) {
  group("Your own kernel");
  add("--kernel", x.kernel, "your own kernel's output on these inputs, in the place of a: " + kernel_output_specs());
  return add("--kernel-as", x.kernel_as, "which method your kernel's output takes the place of: a, the default, or b");
}

OptionList& OptionList::device(std::string& device, std::string& threads, const std::string& help) {
  return group("Device").add("--device", device, help).add("--threads", threads, "0 is all");
}

OptionList& OptionList::style(StyleArguments& x) {
  add("--columns", x.columns, "of a page that the figure spans: 1 (85 mm), 2 (175 mm); or slide (254 mm, larger letters)");
  add("--font", x.font, "of its letters (Inter); a .tex has the document's own");
  return add("--font-size", x.font_size, "points of its letters (8, on a slide 18 or 12)");
}

OptionList& OptionList::quiet() {
  return added(app_->add_flag("--quiet")->description("show no progress (it is shown on terminals only)"));
}

bool OptionList::was_given(const std::string& option) const {
  const CLI::Option* const found = app_->get_option_no_throw(option);
  return found != nullptr && found->count() > 0;
}

std::string OptionList::typed() const {
  std::string text = "attoscope " + app_->get_name();
  for (const CLI::Option* const option : app_->get_options()) {
    if (option->get_group() == "Device" || option->get_group() == "Output") continue;
    for (const std::string& value : option->results())
      if (!value.empty())
        text += " " + option->get_name() + (option->get_items_expected_max() > 0 ? " " + shell_word(value) : "");
  }
  return text;
}

namespace {

/// Existing files among: the text, its parts between commas, the value of a part "key=value", and each of these cut after a
/// format's ending. Example: "a.npy,k_scale=b.npy[head]:3".
std::vector<std::string> files_in(const std::string& text) {
  std::vector<std::string> found{text}, files;
  for (const std::string& part : split(text)) {
    found.push_back(part.substr(part.find('=') + 1));  // the whole part if there is no "="
    for (const std::string& ending : tensor_endings())
      if (const std::size_t at = found.back().find(ending); at != part.npos)
        found.push_back(found.back().substr(0, at + ending.size()));
  }
  std::error_code error;
  for (const std::string& file : found)
    if (std::filesystem::is_regular_file(file, error)) files.push_back(file);
  return files;
}

/// Tensor files in the folders that the text names, as "dump:3" does.
std::vector<std::string> files_in_folders(const std::string& text) try {
  std::vector<std::string> files;
  std::error_code error;
  for (const std::string& path : paths_of(text))
    if (std::filesystem::is_directory(path, error))
      for (const std::string& file : single_files_of({path, std::nullopt})) files.push_back(file);
  return files;
} catch (const std::exception&) {  // it names no folder of tensors
  return {};
}

/// The text of an option, and if it is the file of a session, the texts in there that name files.
std::vector<std::string> texts_of(const CLI::Option& option, const std::string& text) try {
  std::vector<std::string> texts{text}, remarks;
  if (option.get_name() != "--session") return texts;
  ui::Session session = read_session(text, remarks);
  for_each_spec(session, [&](const std::string& spec) { texts.push_back(spec); });
  return texts;
} catch (const std::exception&) {  // told where the session is opened
  return {text};
}

/// Options whose text may name a folder; the text of another one, such as "hw", may be the name of a folder by chance.
constexpr std::array<std::string_view, 6> of_folders{"--input", "file", "--kernel", "--against", "--session", "checkpoint"};

/// Files that an option with this text reads.
std::vector<std::string> read_files(const CLI::Option& option, const std::string& value) {
  std::vector<std::string> files;
  const bool is_of_folders = std::ranges::find(of_folders, option.get_name()) != of_folders.end();
  for (const std::string& text : texts_of(option, value)) {
    std::ranges::move(files_in(text), std::back_inserter(files));
    if (is_of_folders) std::ranges::move(files_in_folders(text), std::back_inserter(files));
  }
  return files;
}

}  // namespace

std::vector<OutputPlace> OptionList::files() const {
  std::vector<OutputPlace> all;
  for (const CLI::Option* const option : app_->get_options()) {
    if (option->get_group() == "Output") continue;  // their folders hold what an earlier command wrote
    for (const std::string& value : option->results())
      for (const std::string& file : read_files(*option, value)) all.push_back({option->get_name(), file});
  }
  return all;
}

OptionList& OptionList::session(ExperimentOptions& x, bool& is_strict) {
  group("Session");
  add("--session", x.session, "begin with the experiment of this session or packed session; the other options then change it");
  return strict(is_strict);
}

OptionList& OptionList::strict(bool& is_strict) {
  return add("--strict", is_strict,
             "end with exit code 4 and write nothing where a tensor is not the one whose digest was kept");
}

void keep_common(std::vector<std::string>& sentences, const std::vector<std::string>& others) {
  std::erase_if(sentences, [&](const std::string& s) { return std::ranges::find(others, s) == others.end(); });
}

void tell(const std::vector<std::string>& sentences, const Streams& streams) {
  for (const std::string& sentence : sentences) streams.warnings << "attoscope: " << printable(sentence) << '\n';
}

void tell_changed(const std::vector<std::string>& changed, bool strict, const Streams& streams) {
  if (strict && !changed.empty()) throw TensorsChanged(fmt::format("{}", fmt::join(changed, "; ")));
  tell(changed, streams);
}

std::vector<std::string> changed_since(const std::string& place, const Experiment& e) try {
  constexpr std::uint64_t largest = 64 << 20;
  constexpr int deepest = 16;
  if (place.empty() || place == "-" || !can_open(place)) return {};
  const nlohmann::json json = parse_json(read_file(place, largest), deepest);
  std::vector<std::string> remarks;
  Experiment kept = e;
  kept.problem.input.digest = kept.loaded.digest = kept.backward.d_o_file.digest = kept.backward.d_lse_file.digest = 0;
  read_settings(json.at("experiment"), "experiment", settings(kept), remarks);
  read_part_digests(json, {&kept.problem.input});
  return changed_tensors(kept, e);
} catch (const std::exception&) {  // no JSON of an experiment
  return {};
}

void prepare_gpus(const std::string& device, const Streams& streams, const std::vector<LoadCode*>& codes) try {
  const std::vector<int> gpus = devices_of(device);
  std::string sentence;
  for (LoadCode* const code : codes)
    if (sentence.empty()) sentence = gpu_code().sentence(gpus, code);
  if (sentence.empty()) return;
  const std::jthread told([&](const std::stop_token& loaded) { tell_after_a_second(sentence, loaded, streams.warnings); });
  for (LoadCode* const code : codes) gpu_code().load(gpus, code);
} catch (const DeviceFailure&) {
}

int thread_option(const std::string& typed) {
  return std::min(whole_number("--threads", typed, 0, 4096), thread_count(0));  // oneTBB warns of more than the machine has
}

void check_outputs(const std::vector<OutputPlace>& written, const std::vector<OutputPlace>& named,
                   const std::vector<OutputPlace>& others) {
  check_distinct(written);             // told first, also where none of them can be written
  const OutputPlace* shown = nullptr;  // on standard output
  for (const OutputPlace& place : written) {
    if (place.file == "-" && shown != nullptr)
      throw std::invalid_argument(shown->option + " and " + place.option + " are both -, expected one of them");
    if (place.file == "-") shown = &place;
    if (!place.file.empty() && place.file != "-") check_place(place.option, place.file);
  }
  std::vector<OutputPlace> all = written;
  all.insert(all.end(), others.begin(), others.end());
  std::vector<OutputPlace> read = named;
  const auto writes = [&](const OutputPlace& x) { return std::ranges::find(all, x.option, &OutputPlace::option) != all.end(); };
  std::erase_if(read, writes);
  check_distinct(all, read);
}

void check_tables(const TableFiles& x, const std::vector<OutputPlace>& named) {
  check_outputs({{"--csv", x.csv}, {"--json", x.json}}, named);
}

void write_outputs(StagedFiles& files, const std::vector<OutputText>& texts, const std::function<std::string()>& report,
                   std::ostream& out) {
  std::string shown;
  bool reports = true;
  for (const auto& [place, text] : texts) {
    if (place.empty()) continue;
    if (place == "-") {
      shown += text();
      reports = false;
    } else {
      files.add(place, text());
    }
  }
  files.commit();
  out << (reports ? report() : shown) << std::flush;
}

std::ostream* terminal() { return isatty(STDERR_FILENO) == 1 ? &std::cerr : nullptr; }

void ProgressLine::clear() {
  const std::lock_guard lock(mutex_);
  if (is_shown_) *terminal_ << "\r\x1b[K" << std::flush;
  is_shown_ = false;
}

bool ProgressLine::is_due() const {
  return terminal_ != nullptr && (!is_shown_ || Clock::now() - last_ >= std::chrono::milliseconds(100));
}

void ProgressLine::write(std::string_view text) {
  *terminal_ << '\r' << text << "\x1b[K" << std::flush;
  is_shown_ = true;
  last_ = Clock::now();
}

}  // namespace attoscope::app
