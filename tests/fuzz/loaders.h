/// The program's readers as functions of bytes: libFuzzer calls them with its own bytes, the suite with kept bytes.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope::testing {

/// `load` reads bytes as the program does. It succeeds or throws std::runtime_error or std::invalid_argument with a sentence;
/// it throws std::logic_error if the message is not a printable sentence or the value read is wrong.
struct Loader {
  std::string_view name;
  void (*load)(std::string_view bytes);
  std::vector<std::string> (*seeds)();  ///< small inputs that the program writes or reads

  /// Names a test without its addresses, which every build changes.
  friend void PrintTo(const Loader& loader, std::ostream* out) { *out << loader.name; }
};

/// All loaders.
std::span<const Loader> loaders();
/// The loader of this name, or null.
const Loader* loader(std::string_view name);

/// Throws std::logic_error with `what` unless `holds`.
void expect_that(bool holds, const std::string& what);

/// Runs `read`; throws std::logic_error if its error message is not one printable sentence.
void refused_in_a_sentence(void (*read)(std::string_view), std::string_view bytes);

/// `refused_in_a_sentence` of `read`, as Loader::load.
template <void (*read)(std::string_view)>
void checked(std::string_view bytes) {
  refused_in_a_sentence(read, bytes);
}

/// The loaders of each source file.
std::vector<Loader> file_loaders();
std::vector<Loader> model_loaders();
std::vector<Loader> option_loaders();
std::vector<Loader> text_loaders();
std::vector<Loader> compute_loaders();

}  // namespace attoscope::testing
