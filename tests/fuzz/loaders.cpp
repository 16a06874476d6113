#include "tests/fuzz/loaders.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "kernels/arithmetic/quoted.h"

namespace attoscope::testing {
namespace {

template <void (*read)(std::string_view)>
void checked(std::string_view bytes) {
  refused_in_a_sentence(read, bytes);
}

constexpr std::array<Loader, 20> table{{
    {"tensors", checked<load_tensor_files>, tensor_files},
    {"kernel_outputs", checked<load_kernel_outputs>, kernel_outputs},
    {"judged_calls", checked<load_judged_calls>, judged_calls},
    {"archives", checked<load_archives>, archives},
    {"torch_files", checked<load_torch_files>, torch_files},
    {"gguf_files", checked<load_gguf_files>, gguf_files},
    {"folders", checked<load_folders>, folders},
    {"parts_of_calls", checked<load_parts_of_calls>, parts_of_calls},
    {"npy_numbers", checked<load_npy_numbers>, npy_numbers},
    {"sessions", checked<load_sessions>, session_texts},
    {"figures", checked<load_figures>, figure_texts},
    {"zips", checked<load_zips>, zip_archives},
    {"packs", checked<load_packs>, packs},
    {"checkpoints", checked<load_checkpoints>, checkpoints},
    {"points", checked<load_points>, point_texts},
    {"command_texts", checked<load_command_texts>, command_texts},
    {"lessons", checked<load_lessons>, lesson_texts},
    {"expressions", checked<load_expressions>, expressions},
    {"links", checked<load_links>, links},
    {"compute", checked<compute_experiment>, experiment_bytes},
}};

/// Expects one printable sentence of limited length.
void check_sentence(const std::string& sentence) {
  constexpr std::size_t longest = 4000;
  expect_that(!sentence.empty() && sentence.size() <= longest && printable(sentence) == sentence,
              "no sentence for people: " + printable(sentence.substr(0, longest)));
}

}  // namespace

std::span<const Loader> loaders() { return table; }

const Loader* loader(std::string_view name) {
  const auto* const found = std::ranges::find(table, name, &Loader::name);
  return found == table.end() ? nullptr : found;
}

void expect_that(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error(what);
}

void refused_in_a_sentence(void (*read)(std::string_view), std::string_view bytes) {
  try {
    read(bytes);
  } catch (const std::invalid_argument& error) {
    check_sentence(error.what());
  } catch (const std::runtime_error& error) {
    check_sentence(error.what());
  }
}

}  // namespace attoscope::testing
