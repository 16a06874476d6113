#include "tests/fuzz/loaders.h"

#include <algorithm>
#include <stdexcept>

#include "kernels/arithmetic/quoted.h"

namespace attoscope::testing {
namespace {

/// Throws std::logic_error unless `sentence` is printable, not empty and at most 4000 bytes long.
void check_sentence(const std::string& sentence) {
  constexpr std::size_t longest = 4000;
  expect_that(!sentence.empty() && sentence.size() <= longest && printable(sentence) == sentence,
              "no printable sentence: " + printable(sentence.substr(0, longest)));
}

}  // namespace

std::span<const Loader> loaders() {
  static const std::vector<Loader> all = [] {
    std::vector<Loader> found = file_loaders();
    for (const auto& more : {model_loaders(), option_loaders(), text_loaders(), compute_loaders()})
      found.insert(found.end(), more.begin(), more.end());
    return found;
  }();
  return all;
}

const Loader* loader(std::string_view name) {
  const auto found = std::ranges::find(loaders(), name, &Loader::name);
  return found == loaders().end() ? nullptr : &*found;
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
