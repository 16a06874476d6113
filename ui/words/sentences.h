/// Words made from numbers.
#pragma once

#include <string>

#include "kernels/deviation/fields.h"
#include "kernels/experiment/method.h"

namespace attoscope {

struct Experiment;
struct Result;

/// The name of the last of some files, without their folders and without the scales behind them: "qkv.safetensors" of
/// "/a/qkv.safetensors,k_scale=/b/s.npy".
std::string shown_file(const std::string& files);

/// What a and b are called: "flash2" and "three-pass"; where both are one algorithm, with the first thing that tells them
/// apart: "flash2 hw" and "flash2 tile", "flash4 tau 8" and "flash4 tau 0"; "a" and "b" where nothing does.
struct MethodNames {
  std::string a, b;
  std::string b_after_a;  ///< b after a was named: "three-pass", "tau 0"
};
MethodNames method_names(const Experiment& experiment);

/// The same where the loaded output is replaced by what a slip gives: "the slip".
MethodNames names_with_slip(const Experiment& experiment);

/// What a field is called with the methods' names in it: "flash - golden".
std::string field_title(Field field, const MethodNames& names);

/// The policy nearest to `precision`: "hw", or "hw, 2 changed".
struct NearestPolicy {
  std::string_view name;
  int changed = 0;
  const Precision* precision = nullptr;  ///< of the policy
};
NearestPolicy nearest_policy(const Precision& precision, Algorithm algorithm);

/// The answer in two sentences.
struct Verdict {
  enum class Tone { plain, good, bad } tone = Tone::plain;
  std::string headline, sentence;
};
Verdict verdict(const Result& result);

/// How far a real kernel's second run and its emulation are from it, each in a short line; empty where neither method is one.
struct HardwareWords {
  std::string runs, emulation;
  bool repeats = true;  ///< both runs gave the same bits
};
HardwareWords hardware_words(const Result& result);
/// The same for the end of a tooltip, each on a line of its own; empty where neither method is one.
std::string hardware_lines(const Result& result);

/// "512 of 16384 rows".
std::string rows_text(const Result& result);

}  // namespace attoscope
