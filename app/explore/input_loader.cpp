#include "app/explore/input_loader.h"

#include <exception>

#include "app/tensors/kernel_output.h"
#include "app/tensors/tensors.h"
#include "kernels/experiment/rules.h"

namespace attoscope {
namespace {

/// True if both name the same head of the same file.
bool same_source(const Input& x, const Input& y) { return x.file == y.file && x.index == y.index; }

}  // namespace

bool InputLoader::load(Problem& problem, std::string& failure) {
  Input& input = problem.input;
  if (input.kind != InputKind::tensors) return true;
  if (unreadable_ && same_source(*unreadable_, input)) return false;
  if (!input.tensors || !loaded_ || !same_source(*loaded_, input)) {
    try {
      input.tensors.reset();
      load_tensors(input);
      loaded_ = input;
      unreadable_.reset();
    } catch (const std::exception& error) {
      unreadable_ = input;
      failure = error.what();
      return false;
    }
  }
  problem = fitted(problem, input.tensors->n, input.tensors->d);
  return true;
}

bool InputLoader::load_output(Experiment& experiment, std::string& failure) {
  if (!has_loaded(experiment) || experiment.loaded.values) return true;
  if (unreadable_output_ == experiment) return false;
  try {
    load_kernel_output(experiment.loaded, experiment.problem.n, experiment.problem.d);
    unreadable_output_.reset();
    return true;
  } catch (const std::exception& error) {
    unreadable_output_ = experiment;
    failure = error.what();
    return false;
  }
}

void InputLoader::loaded(const Input& input) {
  loaded_ = input;
  unreadable_.reset();
}

const TensorFileInfo& InputLoader::describe(const std::string& file, std::string& failure) {
  if (file == described_) return info_;
  described_ = file;
  info_ = {};
  try {
    if (!file.empty()) info_ = describe_tensors(file);
    info_.has_output = holds_kernel_output(file);
  } catch (const std::exception& error) {
    failure = error.what();
  }
  return info_;
}

}  // namespace attoscope
