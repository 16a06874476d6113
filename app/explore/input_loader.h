/// Reads the files that an experiment names. What could not be read is not tried again until something else is asked.
#pragma once

#include <optional>
#include <string>

#include "app/explore/file_reader.h"
#include "kernels/experiment/experiment.h"
#include "ui/frame/entries.h"

namespace attoscope {

/// Small files are read at once, others by a FileReader: until they are there, its functions say no without a failure.
class InputLoader {
 public:
  explicit InputLoader(FileReader& reader) : reader_(reader) {}

  /// False if the problem's tensors cannot be read, or not yet; the shape is made to fit those that can. `failure` then says
  /// why, the first time.
  bool load(Problem& problem, std::string& failure);
  /// False if a kernel's output is wanted and cannot be read, or not yet; `failure` then says why, the first time.
  bool load_output(Experiment& experiment, std::string& failure);
  /// Takes note of tensors that somebody else has read.
  void loaded(const Input& input);
  /// Something else is asked: tensors that could not be read are tried again.
  void retry() { unreadable_.reset(); }

  /// What the file offers; looks into it where it is another one than at the last call. `failure`: why it cannot.
  const TensorFileInfo& describe(const std::string& file, std::string& failure);
  /// The same of a loaded output's file, for the problem's n and d; no heads where it does not fit them.
  const OutputFileInfo& describe_output(const KernelOutput& output, const Problem& problem);

 private:
  /// What was read of one file, or why it was not; `asked` tells for what.
  template <class Asked, class Read>
  struct Arrival {
    Asked asked;
    Read read;
    std::string failure;
  };
  /// A file that is being read, and what came of it.
  template <class Asked, class Read>
  struct Shelf {
    std::optional<Asked> awaited;
    std::optional<Arrival<Asked, Read>> arrived;
  };
  template <class Asked, class Read, class F>
  std::optional<Arrival<Asked, Read>> read(Shelf<Asked, Read>& shelf, const Asked& asked, const std::string& files, F f);

  struct Head {
    std::string file;
    int index = 0, n = 0, d = 0;
    friend bool operator==(const Head&, const Head&) = default;
  };

  FileReader& reader_;
  Shelf<Head, Input> inputs_;
  Shelf<Head, KernelOutput> outputs_;
  Shelf<std::string, TensorFileInfo> infos_;
  std::optional<Input> loaded_;                  ///< whose tensors were read last
  std::optional<Input> unreadable_;              ///< whose tensors could not be read
  std::optional<Experiment> unreadable_output_;  ///< whose loaded output could not be read
  std::optional<std::string> described_;         ///< the file that `info_` is about
  TensorFileInfo info_;
  OutputFileInfo output_info_;
  std::uint64_t output_digest_ = 0;  ///< of the output that `output_info_` is about
};

}  // namespace attoscope
