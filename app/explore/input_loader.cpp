#include "app/explore/input_loader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <exception>
#include <utility>

#include "app/tensors/call_files.h"
#include "app/tensors/changed_tensors.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/tensors.h"
#include "app/threads/job.h"
#include "kernels/experiment/rules.h"

namespace attoscope::app {
namespace {

/// True if both are the same head of the same file.
bool same_source(const Input& x, const Input& y) { return x.file == y.file && x.index == y.index; }

}  // namespace

InputLoader::Described InputLoader::described(const std::string& file) {
  Described found;
  if (!file.empty()) found.info = describe_tensors(file);
  found.info.has_output = holds_kernel_output(file);
  if (file.empty()) return found;
  try {
    found.numbers = HeadNumbers({}, CallFiles(file));
  } catch (const std::exception&) {  // opening the file reports the error
  }
  return found;
}

/// Result of f(asked, watch), at once if `files` are quick to read; else none until a FileReader has read them.
template <class Asked, class Read, class F>
std::optional<InputLoader::Arrival<Asked, Read>> InputLoader::read(Shelf<Asked, Read>& shelf, const Asked& asked,
                                                                   const std::string& files, F f) {
  if (shelf.arrived && shelf.arrived->asked == asked) return std::exchange(shelf.arrived, std::nullopt);
  if (shelf.awaited == asked) return std::nullopt;
  if (quick_to_read(files)) {
    Arrival<Asked, Read> arrival{asked, {}, ""};
    arrival.failure = failure_of([&] { arrival.read = f(asked, ReadWatch{}); });
    return arrival;
  }
  shelf.awaited = asked;
  const auto arrive = [&shelf, asked](Read read, const std::string& failure) {
    if (shelf.awaited == asked) shelf.awaited.reset();
    shelf.arrived = {asked, std::move(read), failure};
  };
  reader_.read(
      [f, asked, arrive](const ReadWatch& watch) -> FileReader::Then {
        return [arrive, read = f(asked, watch)](ui::Session&) { arrive(read, ""); };
      },
      [arrive](const std::string& sentence) { arrive({}, sentence); });
  return std::nullopt;
}

bool InputLoader::load(Problem& problem, std::string& failure) {
  Input& input = problem.input;
  if (input.kind != InputKind::tensors) return true;
  if (unreadable_ && same_source(*unreadable_, input)) return false;
  if (!input.tensors || !loaded_ || !same_source(*loaded_, input)) {
    auto arrival = read(inputs_, Head{input.file, input.index}, input.file, [](const Head& head, const ReadWatch& watch) {
      Input read;
      read.kind = InputKind::tensors;
      read.file = head.file;
      read.index = head.index;
      load_tensors(read, watch);
      return read;
    });
    input.tensors.reset();
    if (!arrival) return false;
    if (!arrival->failure.empty()) {
      unreadable_ = input;
      failure = arrival->failure;
      return false;
    }
    const std::vector<std::string> changed = changed_tensors(input, arrival->read);
    input.tensors = arrival->read.tensors;
    input.digest = arrival->read.digest;
    input.parts = arrival->read.parts;
    loaded(input, changed);
  }
  problem = fitted(problem, input.tensors->shape());
  return true;
}

bool InputLoader::load_beside(Experiment& e, std::string& failure) {
  for (const GivenTensor which : given_tensors(e))
    if (is_in_use(e, which) && !load_one(e, which, failure)) return false;
  return true;
}

/// Reads one tensor; false as `load`.
bool InputLoader::load_one(Experiment& e, GivenTensor which, std::string& failure) {
  KernelOutput& output = given_tensor(e, which);
  if (output.file.empty() || output.values) return true;
  if (unreadable_output_ == e) return false;
  const Problem& problem = e.problem;
  const std::string input = problem.input.kind == InputKind::tensors ? problem.input.file : "";
  const Head head{output.file, output.index, problem.n, value_columns(problem), input};
  auto arrival = read(given_[static_cast<std::size_t>(which)], head, output.file,
                      [problem, which](const Head& asked, const ReadWatch& watch) {
                        KernelOutput read;
                        read.file = asked.file;
                        read.index = asked.index;
                        load_given(read, problem, which, watch);
                        return read;
                      });
  if (!arrival) return false;
  if (!arrival->failure.empty()) {
    unreadable_output_ = e;
    failure = arrival->failure;
    return false;
  }
  keep(arrival->read.digest, changed_tensors(output, arrival->read, which));
  arrival->read.lse = output.lse;
  output = arrival->read;
  unreadable_output_.reset();
  return true;
}

const ui::OutputFileInfo& InputLoader::describe_output(const KernelOutput& output, const Problem& problem) {
  if (output.values && (output_info_.file != output.file || output_digest_ != output.digest)) {
    output_info_ = {output.file, 0};
    output_digest_ = output.digest;
    try {
      output_info_.heads = kernel_output_heads(output.file, problem);
    } catch (const std::exception&) {  // the file was rewritten: it is read again
    }
  }
  return output_info_;
}

void InputLoader::loaded(const Input& input, const std::vector<std::string>& changed) {
  loaded_ = input;
  unreadable_.reset();
  keep(input.digest, changed);
}

void InputLoader::keep(std::uint64_t digest, const std::vector<std::string>& changed) {
  if (!changed.empty()) changed_[digest] = fmt::format("{}", fmt::join(changed, ".  ")) + ".";
}

std::string InputLoader::changed(const Experiment& e) const {
  std::string all;
  const auto add = [&](std::uint64_t digest) {
    const auto found = changed_.find(digest);
    if (digest != 0 && found != changed_.end()) all += (all.empty() ? "" : "  ") + found->second;
  };
  if (e.problem.input.kind == InputKind::tensors) add(e.problem.input.digest);
  for (const GivenTensor which : given_tensors(e)) add(given_tensor(e, which).digest);
  return all;
}

const ui::TensorFileInfo& InputLoader::describe(const std::string& file, std::string& failure) {
  if (file == described_) return described_now_.info;
  auto arrival = read(infos_, file, file, [](const std::string& asked, const ReadWatch&) { return described(asked); });
  described_now_ = {};
  if (!arrival) return described_now_.info;
  described_ = file;
  described_now_ = arrival->read;
  if (!arrival->failure.empty()) failure = arrival->failure;
  return described_now_.info;
}

}  // namespace attoscope::app
