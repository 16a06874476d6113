/// Numbers and settings in words.
#pragma once

#include <array>
#include <span>
#include <string>

#include "kernels/deviation/fields.h"
#include "kernels/experiment/method.h"

namespace attoscope {
struct Experiment;
struct Result;
}  // namespace attoscope

namespace attoscope::ui {

/// File names without folders and without scales: "qkv.safetensors" of "/a/qkv.safetensors,k_scale=/b/s.npy".
std::string shown_file(const std::string& files);

/// `shown_file` without the extension of a single file: "qkv".
std::string shown_stem(const std::string& files);

/// Names of a and b: "flash2" and "three-pass"; for one algorithm with their first difference: "flash2 hw" and "flash2 tile",
/// "flash4 tau 8" and "flash4 tau 0"; "a" and "b" without one.
struct MethodNames {
  std::string a, b;
  std::string b_after_a;  ///< b's name after a's: "three-pass", "tau 0"
  friend bool operator==(const MethodNames&, const MethodNames&) = default;
};
MethodNames method_names(const Experiment& experiment);

/// "flash2 hw", "three-pass base_eager +1": a method, the nearest policy, and the number of steps that differ from it.
std::string method_words(const Method& method);
/// Names of a and b common to several experiments: "flash2 hw" and "flash2 tile", "flash4 hw, tau 8" and "flash4 hw, tau 0".
/// An algorithm or policy that varies is left out; "the varied method" if both vary.
std::array<std::string, 2> legend_names(std::span<const Experiment> experiments);

/// `method_names` with "the slip" for the loaded output, for views where a slip's output replaces it.
MethodNames names_with_slip(const Experiment& experiment);

/// Replaces the words a and b of a text by the methods' names: "flash2, rel. RMS" of "a, rel. RMS".
std::string with_names(std::string_view text, const MethodNames& names);
/// Title of a field with the methods' names: "flash - golden".
std::string field_title(Field field, const MethodNames& names);

/// The policy nearest to `precision`, and the number of steps that differ from it.
struct NearestPolicy {
  std::string_view name;
  int changed = 0;
  const Precision* precision = nullptr;  ///< roundings of the policy
};
NearestPolicy nearest_policy(const Precision& precision, Algorithm algorithm);

/// The answer in two sentences.
struct Verdict {
  enum class Tone { plain, good, bad } tone = Tone::plain;
  std::string headline, sentence;
};
Verdict verdict(const Result& result);

/// Differences of a real kernel from its second run and from its emulation, each in a short line; empty without a real kernel.
struct HardwareWords {
  std::string runs, emulation;
  bool repeats = true;  ///< both runs have the same bits
};
HardwareWords hardware_words(const Result& result);
/// `hardware_words` as lines to end a tooltip; empty without a real kernel.
std::string hardware_lines(const Result& result);

/// "512 of 16384 rows".
std::string rows_text(const Result& result);

}  // namespace attoscope::ui
