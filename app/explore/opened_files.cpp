// The explorer's files: opens, drops, watches and rereads them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <iterator>
#include <utility>

#include "app/explore/explorer.h"
#include "app/explore/side_answers.h"
#include "app/files/paths.h"
#include "app/files/zip.h"
#include "app/judge/judgement.h"
#include "app/judge/row_numbers.h"
#include "app/tensors/call_scales.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/readers.h"
#include "app/tensors/tensor_list.h"
#include "app/tensors/tensor_names.h"
#include "app/tensors/tensor_set.h"
#include "app/tensors/tensors.h"
#include "app/threads/job.h"
#include "app/words/numbers.h"
#include "kernels/experiment/letters.h"
#include "kernels/experiment/rules.h"
#include "ui/frame/loaded_output.h"
#include "ui/words/sentences.h"

namespace attoscope::app {
namespace {

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

/// Files that may be opened in addition to Q, K, V and an output.
constexpr std::array all_gradients{&GradientSpecs::d_o, &GradientSpecs::d_lse, &GradientSpecs::dq,
                                   &GradientSpecs::dk,  &GradientSpecs::dv,    &GradientSpecs::lse};

/// Files of a spec to watch; none of a large folder.
std::vector<std::string> watched_files(const std::string& spec) {
  constexpr std::size_t most = 64;
  try {
    std::vector<std::string> files = single_files_of(spec);
    return files.size() <= most ? files : std::vector<std::string>();
  } catch (const std::exception&) {  // deleted since it was read
    return {};
  }
}

/// True if the file's name is usual for outputs: o.npy, out_3.npy, attn.npy.
bool is_called_output(const std::string& file) {
  const std::string name = file_name(file);
  return name.starts_with('o') || name.starts_with('O') || name.starts_with("attn") || name.starts_with("attention") ||
         name.starts_with("context");
}

/// Three files as an input, in the order of the parts that their names name, else of their names: "q.npy,k.npy,v.npy".
std::string input_of(std::vector<std::string> files) {
  std::ranges::sort(files, natural_less, file_name);
  std::vector<TensorName> names;
  for (const std::string& file : files) names.push_back({in_small_letters(without_ending(file_name(file)))});
  const auto file = [&](int i) { return files[static_cast<std::size_t>(i)]; };
  if (const std::vector<NamedCall> calls = calls_in(names).calls; calls.size() == 1)
    files = {file(calls[0].q), file(calls[0].k), file(calls[0].v)};
  return fmt::format("{}", fmt::join(files, ","));
}

/// Shows the error of an output that was just loaded.
void show_output(ui::Session& session, bool as_b) {
  ui::View& view = session.view;
  view.workspace = ui::Workspace::explore;
  view.picture = ui::PictureKind::output;
  view.field = as_b ? Field::b_error : Field::a_error;
  if (std::exchange(view.second_slip, false)) view.comparison = ui::Comparison::none;
  view.slip.clear();
  if (session.experiment.problem.input.kind == InputKind::tensors) view.heads_show = ui::HeadsShow::verdict;
}

}  // namespace

/// Reads an output as a or b. D becomes the format of the tensors, unless `keeps_format`.
FileReader::Read Explorer::output_reading(const std::string& spec, const Experiment& asked, bool as_b, bool keeps_format) {
  return [this, spec, asked, as_b, keeps_format](const ReadWatch& watch) -> FileReader::Then {
    Experiment e = asked;
    const KernelOutput output = read_kernel_output(spec, e.problem, watch);
    use_kernel_output(e, output, as_b);
    return [this, output, as_b, format = keeps_format ? e.format : format_of_loaded(e)](ui::Session& shown) {
      side_.forget_files();  // the file may have changed
      const Format before = shown.experiment.format;
      const bool turns_off = std::exchange(shown.experiment.backward.on, false);  // an output has no backward pass
      use_kernel_output(shown.experiment, output, as_b);
      shown.experiment = with_format(shown.experiment, format);
      tell_loaded(output, before, shown.experiment.format);
      if (turns_off) messages_.notice += " The backward pass is off: an output has none.";
      show_output(shown, as_b);
      judged_answer_.open(shown.experiment);
    };
  };
}

namespace {

/// The kernel's gradients among these files: dQ, dK and dV that are given.
std::vector<std::pair<const std::string*, AnswerTensor>> computed_in(const GradientSpecs& specs) {
  std::vector<std::pair<const std::string*, AnswerTensor>> all{
      {&specs.dq, AnswerTensor::dQ}, {&specs.dk, AnswerTensor::dK}, {&specs.dv, AnswerTensor::dV}};
  std::erase_if(all, [](const auto& one) { return one.first->empty(); });
  return all;
}

/// Sets dO or dL of the backward pass from a file; turns the backward pass on and removes a loaded output.
void use_gradient(ui::Session& session, const KernelOutput& gradient, bool of_lse) {
  Experiment& e = session.experiment;
  if (has_loaded(e)) e = with_loaded(e, LoadedPlace::nowhere);
  e = with_backward(std::move(e));
  (of_lse ? e.backward.d_lse_file : e.backward.d_o_file) = gradient;
  if (!of_lse) e.backward.d_o = OutputGradient::file;
  session.view.workspace = ui::Workspace::explore;
}

}  // namespace

/// Reads dO and dL for a problem; only checks a kernel's gradients, which are read with each answer.
FileReader::Read Explorer::gradient_reading(const GradientSpecs& specs, const Problem& asked) {
  return [this, specs, asked](const ReadWatch& watch) -> FileReader::Then {
    std::vector<std::pair<KernelOutput, bool>> read;
    if (!specs.d_o.empty()) read.emplace_back(read_gradient(specs.d_o, asked, false, watch), false);
    if (!specs.d_lse.empty()) read.emplace_back(read_gradient(specs.d_lse, asked, true, watch), true);
    std::vector<AnswerTensor> sums;
    for (const auto& [spec, tensor] : computed_in(specs))
      if (!read_kernel_gradient(*spec, asked, tensor, watch).values) sums.push_back(tensor);
    return [this, read, specs, sums](ui::Session& shown) {
      if (!specs.lse.empty()) use_lse(shown, specs.lse);
      for (const auto& [gradient, of_lse] : read) {
        use_gradient(shown, gradient, of_lse);
        tell(std::string(of_lse ? "dL" : "dO") + " was read from " + file_name(gradient.file) + ".");
      }
      if (specs.any_computed()) show_computed(shown, specs, sums);
    };
  };
}

/// Has the log-sum-exp judged with the loaded output.
void Explorer::use_lse(ui::Session& shown, const std::string& spec) {
  if (!has_loaded(shown.experiment))
    return show_error("The log-sum-exp in " + file_name(spec) + " belongs to a kernel's output: open the output, too.");
  shown.experiment.loaded.lse = spec;
  side_.forget_verdict();  // the file may have changed
  tell("The log-sum-exp in " + file_name(spec) + " is judged with the output.");
}

void Explorer::open_gradients(ui::Session& session, const GradientSpecs& specs) {
  const bool quick = std::ranges::all_of(
      all_gradients, [&](auto of) { return (specs.*of).empty() || quick_to_read(without_head(specs.*of)); });
  read(session, quick, gradient_reading(specs, asked_of(session).problem));
}

/// Shows the first opened gradient of a kernel, and lists all in a notice.
void Explorer::show_computed(ui::Session& shown, const GradientSpecs& specs, const std::vector<AnswerTensor>& sums) {
  Experiment& e = shown.experiment;
  if (has_loaded(e)) e = with_loaded(e, LoadedPlace::nowhere);
  e = with_backward(std::move(e));
  side_.forget_gradients();  // the files may have changed
  std::string names, summed;
  for (const auto& [spec, tensor] : computed_in(specs)) {
    if (std::ranges::find(sums, tensor) != sums.end()) {
      summed.append(summed.empty() ? "" : " and ").append(name(tensor));
      continue;
    }
    if (names.empty()) shown.view.tensor = tensor;
    names.append(names.empty() ? "" : ", ").append(name(tensor)).append(" was read from ").append(file_name(*spec));
  }
  for (const auto& [from, to] : {std::pair{&specs.dq, &shown.kernel_gradients.dq},
                                 {&specs.dk, &shown.kernel_gradients.dk},
                                 {&specs.dv, &shown.kernel_gradients.dv}})
    if (!from->empty()) *to = *from;
  ui::View& view = shown.view;
  view.workspace = ui::Workspace::explore;
  view.picture = ui::PictureKind::output;
  view.field = Field::a_error;
  if (!names.empty()) names += ", instead of a's.";
  if (!summed.empty())
    names += (names.empty() ? "" : " ") + summed +
             " in the file: sums over the heads that share K and V, which are judged as such; " +
             "the picture of one head shows a's own.";
  tell(names + (e.backward.d_o == OutputGradient::file ? "" : " dO is not from a file."));
}

/// Sets the notice on a loaded output, and on a change of D.
void Explorer::tell_loaded(const KernelOutput& output, const Format& before, const Format& after) {
  const std::string file = file_name(output.file), held = fmt::format("{}", fmt::join(contents_of(output.file), ", "));
  std::string text = "Loaded " + (held.starts_with(file) ? "" : file + ": ") + held + ".";  // an .npy's contents begin with it
  if (before != after)
    text = "D is " + name(after) + " now, the format of " + file_name(output.file) + "; it was " + name(before) +
           " (Ctrl+Z restores it).";
  tell(std::move(text));
}

/// Moves the head of output, dO and dL with the input's if they were equal; the output only if its file has that head.
void Explorer::follow_head(Experiment& e) {
  const HeadsOnShow now = heads_on_show(e);
  const bool moved = shown_heads_ && shown_heads_->input_file == now.input_file &&
                     shown_heads_->output_file == now.output_file && shown_heads_->input == shown_heads_->output &&
                     now.output == shown_heads_->output && now.input != shown_heads_->input;
  if (moved && e.problem.input.kind == InputKind::tensors && choices_.output.file == e.loaded.file &&
      now.input < choices_.output.heads)
    e.loaded = with_head(e.loaded, now.input);
  const bool other_head = shown_heads_ && shown_heads_->input_file == now.input_file && shown_heads_->input != now.input;
  for (KernelOutput* const gradient : {&e.backward.d_o_file, &e.backward.d_lse_file})
    if (other_head && !gradient->file.empty() && e.problem.input.kind == InputKind::tensors &&
        gradient->index == shown_heads_->input)
      *gradient = with_head(*gradient, now.input);
  if (const HeadNumbers& numbers = loader_.numbers();
      other_head && e.problem.input.file == choices_.tensors.file && now.input < choices_.tensors.heads &&
      shown_heads_->input < choices_.tensors.heads && numbers.of_head(e.problem, shown_heads_->input) == e.problem)
    e.problem = numbers.of_head(std::move(e.problem), now.input);
  shown_heads_ = HeadsOnShow{now.input_file, now.output_file, now.input, e.loaded.index};
}

namespace {

/// The file of a gradient named FILE or FILE:TENSOR, with a head or without.
std::string gradient_file(const std::string& spec) { return tensor_ref(without_head(spec)).file; }

/// Files that are read with each answer: of a kernel's gradients, and of a loaded output's log-sum-exp.
std::vector<std::string> read_with_answers(const Experiment& e, const ui::KernelGradients& gradients) {
  std::vector<std::string> files;
  for (const std::string* const spec : {&gradients.dq, &gradients.dk, &gradients.dv})
    if (e.backward.on && !spec->empty()) files.push_back(gradient_file(*spec));
  if (has_loaded(e) && !e.loaded.lse.empty()) files.push_back(file_of_row_numbers(e.loaded.lse));
  return files;
}

}  // namespace

/// Watches the files of the session; lists its folders again after a period of the watch.
void Explorer::watch_files(const Experiment& e) {
  const Input& input = e.problem.input;
  std::vector<std::string> files = read_with_answers(e, gradient_files_), specs;
  for (const GivenTensor which : given_tensors(e))
    if (which == GivenTensor::o)
      specs.push_back(e.loaded.file);
    else
      files.push_back(gradient_file(given_tensor(e, which).file));
  if (!choices_.missing.empty()) files.push_back(choices_.missing);
  if (input.kind == InputKind::tensors && input.tensors && input.file != choices_.example_file) specs.push_back(input.file);
  const auto now = std::chrono::steady_clock::now();
  if (watched_ == std::pair(files, specs) && now < listed_ + FileWatch::period) return;
  watched_ = {files, specs};
  listed_ = now;
  for (const std::string& spec : specs) std::ranges::move(watched_files(spec), std::back_inserter(files));
  watch_.watch(files);
}

/// Reads rewritten files again, an input before its output, which may have another number of tokens. A file that cannot be read
/// may be half written; the session then stays unchanged.
void Explorer::read_rewritten(ui::Session& session) {
  std::vector<std::string> changed = watch_.take();
  if (!changed.empty()) side_.forget_files();
  const Experiment& e = session.experiment;
  const auto is_in = [](const std::string& spec, const std::string& file) {
    const std::vector<std::string> files = watched_files(spec);
    return std::ranges::find(files, file) != files.end();
  };
  std::stable_partition(changed.begin(), changed.end(),
                        [&](const std::string& file) { return is_in(e.problem.input.file, file); });
  for (const std::string& file : changed) {
    if (file == choices_.missing) {
      loader_.try_again();
      continue;
    }
    const auto failed = [this, file](const std::string& sentence) {
      messages_.notice = file_name(file) + " was rewritten, but cannot be read yet: " + sentence;
    };
    std::vector<GivenTensor> given = given_tensors(e);
    std::erase_if(given, [&](GivenTensor which) {
      const std::string& spec = given_tensor(e, which).file;
      return which == GivenTensor::o ? !is_in(spec, file) : gradient_file(spec) != file;
    });
    const std::vector<std::string> computed = read_with_answers(e, gradient_files_);
    const bool is_computed = std::ranges::find(computed, file) != computed.end();
    if (is_computed) tell(file_name(file) + " was rewritten and is read again.");
    if ((given.empty() && !is_computed) || is_in(e.problem.input.file, file)) files_.read(reread_input(e), failed);
    const auto reread_all = [this, e, given, failed](ui::Session& shown) {
      Experiment now = e;
      now.problem = shown.experiment.problem;
      for (const GivenTensor which : given) files_.read(reread_given(now, which), failed);
    };
    if (!given.empty()) files_.read([reread_all](const ReadWatch&) { return reread_all; }, failed);
  }
}

namespace {

/// The same output without its values.
KernelOutput unread(const KernelOutput& output) { return with_head(with_head(output, -1), output.index); }

}  // namespace

FileReader::Read Explorer::reread_given(const Experiment& e, GivenTensor which) {
  return
      [this, fresh = unread(given_tensor(e, which)), problem = e.problem, which](const ReadWatch& watch) -> FileReader::Then {
        KernelOutput read = fresh;
        load_given(read, problem, which, watch);
        return [this, read, which](ui::Session& shown) {
          KernelOutput& now = given_tensor(shown.experiment, which);
          if (now.file != read.file || now.index != read.index || now == read) return;
          now = read;
          tell(file_name(read.file) + " was rewritten and has been read again.");
        };
      };
}

/// Reads Q, K and V again, and the numbers beside them; other numbers that the user chose stay.
FileReader::Read Explorer::reread_input(const Experiment& e) {
  return [this, asked = e.problem.input](const ReadWatch& watch) -> FileReader::Then {
    if (asked.kind != InputKind::tensors) return [](ui::Session&) {};
    const CallFiles files(asked.file);
    return [this, input = files.input(asked.index, watch), numbers = HeadNumbers({}, files)](ui::Session& shown) {
      Problem& problem = shown.experiment.problem;
      const Problem before = problem;
      if (before.input.kind != input.kind || before.input.file != input.file || before.input.index != input.index) return;
      if (has_own_numbers(before) || choices_.tensors.file != input.file)
        problem = numbers.of_head(loader_.numbers().without(problem), input.index);
      problem.input = input;
      const bool was_whole = before.input.tensors && shape_of(before) == before.input.tensors->shape();
      problem = was_whole ? with_shape(problem, input.tensors->shape()) : fitted(problem, input.tensors->shape());
      Backward& backward = shown.experiment.backward;
      for (KernelOutput* const result : {&shown.experiment.loaded, &backward.d_o_file, &backward.d_lse_file})
        if (shape_of(problem) != shape_of(before)) *result = unread(*result);
      loader_.try_again();
      loader_.loaded(input);
      const bool has_other_scale = depends_on_other_heads(shown.experiment);  // the digest is of one head
      reading_ += has_other_scale;
      if (has_other_scale) side_.forget(true);
      if (problem != before || has_other_scale) tell("Q, K and V were rewritten and have been read again.");
    };
  };
}

void Explorer::look_into(const std::string& spec, ui::FileUse use) {
  if (spec.empty() || spec == choices_.content.files) return;
  std::vector<std::string> endings{".json", std::string(pack_ending)};
  if (use != ui::FileUse::session) endings = tensor_endings();
  choices_.content = {.files = spec, .completions = completions(spec, endings)};
  if (use == ui::FileUse::session) return;
  try {
    if (quick_to_read(without_head(spec))) choices_.content.tensors = contents_of(spec);
  } catch (const std::exception&) {  // still being typed; opening it reports errors
  }
}

namespace {

/// Gradients for these tensors: `given`, completed by gradients in the same files.
GradientSpecs gradients_of(const std::string& input, GradientSpecs given) {
  if (input.empty()) return given;
  const GradientSpecs found = gradients_in(input);
  if (given.d_o.empty()) given.d_o = found.d_o;
  if (given.d_lse.empty()) given.d_lse = found.d_lse;
  for (std::string GradientSpecs::* const of : computed_gradients)
    if ((given.*of).empty() && !given.d_o.empty()) given.*of = found.*of;
  return given;
}

/// True if the files hold at least three tensors, but none are named as Q, K and V.
bool has_nameless_tensors(const std::string& files) try {
  const ui::TensorList list = tensors_of(files);
  return !list.problem.empty() && list.tensors.size() >= 3;
} catch (const std::exception&) {  // the caller's error already reports this
  return false;
}

}  // namespace

/// True if the problem has the numbers that its file gives its head.
bool Explorer::has_own_numbers(const Problem& problem) const {
  return problem.input.file == choices_.tensors.file && problem.input.index < choices_.tensors.heads &&
         loader_.numbers().of_head(problem, problem.input.index) == problem;
}

/// The problem with this input, and with `numbers` instead of the numbers of the former input's heads.
Problem Explorer::with_input(Problem problem, const Input& input, const HeadNumbers& numbers) const {
  if (has_own_numbers(problem)) problem = loader_.numbers().without(std::move(problem));
  problem = numbers.of_head(std::move(problem), input.index);
  problem.input = input;
  return input.tensors ? with_shape(problem, input.tensors->shape()) : problem;
}

FileReader::Read Explorer::reading(const std::string& spec, const Experiment& asked, bool keeps_format,
                                   const GradientSpecs& beside) {
  return [this, spec, asked, keeps_format, beside](const ReadWatch& watch) -> FileReader::Then {
    if (is_kernel_output(spec)) {
      const FileReader::Then of_output = output_reading(spec, asked, false, keeps_format)(watch);
      const FileReader::Then of_gradients = gradient_reading(beside, asked.problem)(watch);
      return [of_output, of_gradients](ui::Session& shown) { of_output(shown), of_gradients(shown); };
    }
    if (holds(FileKind::one, spec) && is_single_file(spec) && is_part_alone(spec))
      throw std::runtime_error(in_quotes(spec) + " is one of Q, K and V by its name: open it together with the other two.");
    Input input = parse_input(spec);
    try {
      load_tensors(input, watch);
    } catch (const std::runtime_error& error) {
      if (!has_nameless_tensors(input.file)) throw;
      return [this, file = input.file, sentence = std::string(error.what())](ui::Session& shown) {
        shown.view.workspace = ui::Workspace::explore;
        shown.view.show_tensors = true;
        shown.view.listed_file = file;
        messages_.error = sentence;
      };
    }
    const bool lists = input.kind == InputKind::tensors && is_worth_a_look(tensors_of(input.file));
    const HeadNumbers numbers = input.kind == InputKind::tensors ? HeadNumbers({}, CallFiles(input.file)) : HeadNumbers();
    Problem sized = asked.problem;
    sized.input = input;
    if (input.tensors) sized = with_shape(sized, input.tensors->shape());
    const FileReader::Then of_gradients = gradient_reading(gradients_of(input.file, beside), sized)(watch);
    return [this, input, numbers, lists, of_gradients](ui::Session& shown) {
      side_.forget_files();  // the file may have changed
      shown.view.workspace = ui::Workspace::explore;
      tell(input.kind == InputKind::tensors ? "Q, K and V are now from " + ui::shown_file(input.file) + "." : "");
      shown.view.show_tensors = lists || (shown.view.show_tensors && !input.file.empty());
      shown.view.listed_file.clear();
      shown.experiment.problem = with_input(shown.experiment.problem, input, numbers);
      if (input.tensors) {
        loader_.try_again();
        loader_.loaded(input);
      }
      shown.kernel_gradients = {};
      look_at_all(shown.view);
      of_gradients(shown);
      if (!has_loaded(shown.experiment)) shown.experiment.loaded = {};  // of the call before
      tell_found(numbers.found());
    };
  };
}

/// Adds to the notice which numbers of a file are used or ignored.
void Explorer::tell_found(const std::vector<std::string>& sentences) {
  constexpr std::size_t most = 3;
  if (sentences.empty()) return;
  const std::size_t told = std::min(sentences.size(), most);
  const auto end = sentences.begin() + static_cast<std::ptrdiff_t>(told);
  messages_.notice += (messages_.notice.empty() ? "" : " ") + fmt::format("{}", fmt::join(sentences.begin(), end, " "));
  if (told < sentences.size()) messages_.notice += fmt::format(" And {} more.", sentences.size() - told);
  remarked_ = true;
}

void Explorer::open_changed(std::function<void(Experiment&)> change, const std::function<void()>& open) {
  change_ = std::move(change);
  if (std::string failure = failure_of(open); !failure.empty()) show_error(std::move(failure));
  change_ = {};
}

Experiment Explorer::asked_of(const ui::Session& session) const {
  Experiment e = session.experiment;
  if (change_) change_(e);
  return e;
}

void Explorer::open(ui::Session& session, const std::string& spec, bool keeps_format, const GradientSpecs& beside) {
  read(session, quick_to_read(without_head(spec)), reading(spec, asked_of(session), keeps_format, beside));
}

void Explorer::open_kernel(ui::Session& session, const std::string& spec, bool as_b) {
  read(session, quick_to_read(without_head(spec)), output_reading(spec, session.experiment, as_b));
}

namespace {

/// True if the file holds an output and no input; false if it cannot be opened, which is reported on reading.
bool is_output_alone(const std::string& file) {
  try {
    return is_kernel_output(without_head(file));
  } catch (const std::exception&) {
    return false;
  }
}

/// dO or dL of a file that holds one tensor; none if it cannot be opened, which is reported on reading.
GradientSpecs gradients_alone(const std::string& file) {
  if (!holds(FileKind::one, without_head(file))) return {};
  try {
    return gradients_in(without_head(file));
  } catch (const std::exception&) {
    return {};
  }
}

/// True for names of log-sum-exps such as lse.npy.
bool is_called_lse(const std::string& file) {
  const std::string name = file_name(without_head(file));
  return std::ranges::find(lse_names, std::string_view(name).substr(0, name.find_last_of('.'))) != lse_names.end();
}

/// Removes files of a single dO, dL, kernel's gradient or log-sum-exp from the list and returns them.
GradientSpecs taken_gradients(std::vector<std::string>& files) {
  GradientSpecs taken;
  std::erase_if(files, [&](const std::string& file) {
    const bool is_lse = holds(FileKind::one, without_head(file)) && is_called_lse(file);
    const GradientSpecs found = is_lse ? GradientSpecs{.d_o = "", .d_lse = "", .lse = file} : gradients_alone(file);
    for (std::string GradientSpecs::* const of : all_gradients)
      if (!(found.*of).empty()) taken.*of = file;
    return found.any();
  });
  return taken;
}

}  // namespace

void Explorer::open_dropped(ui::Session& session, const std::vector<std::string>& dropped, bool keeps_format,
                            GradientSpecs gradients) {
  std::vector<std::string> files = dropped;
  const GradientSpecs taken = taken_gradients(files);
  for (std::string GradientSpecs::* const of : all_gradients)
    if ((gradients.*of).empty()) gradients.*of = taken.*of;
  if (files.empty() && gradients.any()) return open_gradients(session, gradients);
  if (files.empty()) return;
  const bool all_npy = std::ranges::all_of(files, [](const std::string& f) { return holds(FileKind::one, f); });
  if (all_npy && files.size() == 3) return open(session, input_of(files), keeps_format, gradients);
  const bool has_scale = std::ranges::any_of(files, [](const std::string& f) { return is_called_scale(file_name(f)); });
  if (all_npy && files.size() == 4 && !has_scale) return open_all(session, files, keeps_format, gradients);
  if (files.size() == 2 && is_output_alone(files[0]) != is_output_alone(files[1])) {
    const bool first = is_output_alone(files[0]);
    return open_both(session, files[first ? 1 : 0], files[first ? 0 : 1], keeps_format, gradients);
  }
  std::vector<std::string> sorted = files;
  std::ranges::sort(sorted);
  const std::string all = fmt::format("{}", fmt::join(sorted, ","));
  if (files.size() > 1 && !names_tensor_files(all))
    return show_error("Drop one file (" + reader_endings() +
                      ") or session, a folder, or q.npy, k.npy and v.npy together, and o.npy with them; "
                      "these are " +
                      std::to_string(files.size()) + " files.");
  if (holds_whole_call(without_head(all))) return open_both(session, all, all, keeps_format, gradients);
  open(session, all, keeps_format, gradients);
}

/// Opens Q, K, V and an output: the only file with a usual name of outputs, or the last one.
void Explorer::open_all(ui::Session& session, const std::vector<std::string>& files, bool keeps_format,
                        const GradientSpecs& beside) {
  std::vector<std::string> inputs = files;
  const bool one = std::ranges::count_if(inputs, is_called_output) == 1;
  const auto output = one ? std::ranges::find_if(inputs, is_called_output) : inputs.end() - 1;
  const std::string spec = *output;
  inputs.erase(output);
  open_both(session, input_of(inputs), spec, keeps_format, beside);
}

void Explorer::open_both(ui::Session& session, const std::string& input, const std::string& output, bool keeps_format,
                         const GradientSpecs& beside) {
  const auto both = [this, input, output, keeps_format, beside,
                     asked = asked_of(session)](const ReadWatch& watch) -> FileReader::Then {
    const FileReader::Then of_input = reading(input, asked, keeps_format)(watch);
    const CallFiles files(without_head(input));
    Experiment sized = asked;
    sized.problem.input = parse_input(input);
    sized.problem = with_shape(sized.problem, files.layer_of(sized.problem.input.index).shape());
    const FileReader::Then of_output = output_reading(output, sized, false, keeps_format)(watch);
    const FileReader::Then of_gradients =
        gradient_reading(gradients_of(sized.problem.input.file, beside), sized.problem)(watch);
    const HeadNumbers numbers({}, files);
    return [this, of_input, of_output, of_gradients, numbers](ui::Session& shown) {
      of_input(shown);
      of_output(shown);
      of_gradients(shown);
      tell_found(numbers.found());
    };
  };
  read(session, quick_to_read(without_head(input)) && quick_to_read(without_head(output)), both);
}

}  // namespace attoscope::app
