/// Reads the files of an experiment. A failed read is repeated only after another question.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/explore/file_reader.h"
#include "app/tensors/head_numbers.h"
#include "app/tensors/kernel_output.h"
#include "kernels/experiment/experiment.h"
#include "ui/frame/entries.h"

namespace attoscope::app {

/// Reads small files at once, others by a FileReader; until they are read its functions return false without a `failure`.
class InputLoader {
 public:
  explicit InputLoader(FileReader& reader) : reader_(reader) {}

  /// Reads the problem's tensors and adapts the shape. False if they are not read yet or cannot be read; sets `failure` the
  /// first time.
  bool load(Problem& problem, std::string& failure);
  /// Reads the kernel's output, dO and dL of the experiment, if they are files. False as `load`.
  bool load_beside(Experiment& experiment, std::string& failure);
  /// Records tensors that were read elsewhere, and sentences of `changed_tensors` on them.
  void loaded(const Input& input, const std::vector<std::string>& changed = {});
  /// Allows another read of tensors that could not be read.
  void retry() { unreadable_.reset(); }
  /// The same for all files, which may have changed.
  void try_again() { unreadable_.reset(), unreadable_output_.reset(), described_.reset(); }
  /// Sentences on tensors of the experiment that differ from its kept digests.
  std::string changed(const Experiment& experiment) const;

  /// Numbers of the heads in the file described last.
  const HeadNumbers& numbers() const { return described_now_.numbers; }
  /// Contents of the file, updated when it changes. `failure`: a sentence if it cannot be read.
  const ui::TensorFileInfo& describe(const std::string& file, std::string& failure);
  /// Contents of a loaded output's file for the problem's n and d; no heads if they do not fit.
  const ui::OutputFileInfo& describe_output(const KernelOutput& output, const Problem& problem);

 private:
  /// Result of reading a file, or its failure; `asked` is the question.
  template <class Asked, class Read>
  struct Arrival {
    Asked asked;
    Read read;
    std::string failure;
  };
  /// A file that is being read, and its result.
  template <class Asked, class Read>
  struct Shelf {
    std::optional<Asked> awaited;
    std::optional<Arrival<Asked, Read>> arrived;
  };
  template <class Asked, class Read, class F>
  std::optional<Arrival<Asked, Read>> read(Shelf<Asked, Read>& shelf, const Asked& asked, const std::string& files, F f);

  struct Described {
    ui::TensorFileInfo info;
    HeadNumbers numbers;
  };
  static Described described(const std::string& file);

  struct Head {
    std::string file;
    int index = 0, n = 0, d = 0;
    std::string input{};  ///< the problem's, whose layers and sequences an output has
    friend bool operator==(const Head&, const Head&) = default;
  };

  bool load_one(Experiment& experiment, GivenTensor which, std::string& failure);
  void keep(std::uint64_t digest, const std::vector<std::string>& changed);

  FileReader& reader_;
  Shelf<Head, Input> inputs_;
  std::array<Shelf<Head, KernelOutput>, given_names.size()> given_;
  Shelf<std::string, Described> infos_;
  std::optional<Input> loaded_;                   ///< input whose tensors were read last
  std::optional<Input> unreadable_;               ///< input whose tensors could not be read
  std::optional<Experiment> unreadable_output_;   ///< experiment whose output or gradient could not be read
  std::map<std::uint64_t, std::string> changed_;  ///< sentences by the new digest
  std::optional<std::string> described_;          ///< file of `described_now_`
  Described described_now_;
  ui::OutputFileInfo output_info_;
  std::uint64_t output_digest_ = 0;  ///< digest of the output of `output_info_`
};

}  // namespace attoscope::app
