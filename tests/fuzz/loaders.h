/// The program's readers, each as one function of bytes: libFuzzer calls it with its own bytes, the suite with the kept ones.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope::testing {

/// `load` reads bytes as the program would. It may succeed, or throw a sentence in a std::runtime_error or
/// std::invalid_argument; it throws std::logic_error if the sentence is none, or if the value read is wrong.
struct Loader {
  std::string_view name;
  void (*load)(std::string_view bytes);
  std::vector<std::string> (*seeds)();  ///< small texts that the program itself writes or reads
};

/// All of them.
std::span<const Loader> loaders();
/// The one of that name; null: there is none.
const Loader* loader(std::string_view name);

/// Throws std::logic_error with `what` unless `holds`.
void expect_that(bool holds, const std::string& what);

/// Runs `read`; if it refuses, the reason must be one printable sentence.
void refused_in_a_sentence(void (*read)(std::string_view), std::string_view bytes);

/// The same as a loader.
template <void (*read)(std::string_view)>
void checked(std::string_view bytes) {
  refused_in_a_sentence(read, bytes);
}

/// The loaders of each source.
std::vector<Loader> file_loaders();
std::vector<Loader> option_loaders();
std::vector<Loader> text_loaders();
std::vector<Loader> compute_loaders();

}  // namespace attoscope::testing
