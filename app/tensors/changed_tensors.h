/// Finds tensors whose bits have changed since a session, a figure or a sweep was made.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/json/json.h"
#include "app/tensors/kernel_output.h"
#include "kernels/experiment/experiment.h"

namespace attoscope::app {

/// One sentence for each tensor whose digest in `read` differs from that in `kept`: its file, its name, both digests. Empty if
/// `kept` has no digest, or is another file or head.
std::vector<std::string> changed_tensors(const Input& kept, const Input& read);
std::vector<std::string> changed_tensors(const KernelOutput& kept, const KernelOutput& read, GivenTensor which);
/// The same for Q, K, V, the mask, a loaded output, dO and dL.
std::vector<std::string> changed_tensors(const Experiment& kept, const Experiment& read);

/// Reads the files of an experiment with stored digests. Returns `changed_tensors`. Throws as `load_tensors`.
std::vector<std::string> load_kept(Experiment& e);

/// Part digests by input digest: {"0123456789abcdef": {"q", "k", "v", "mask"}}. Leaves out unknown ones; null: none is known.
Json part_digests_json(const std::vector<const Input*>& inputs);
/// Sets the inputs' part digests from "tensors" of a document, an object of `part_digests_json`; 0 for what is no digest.
void read_part_digests(const nlohmann::json& document, const std::vector<Input*>& inputs);

}  // namespace attoscope::app
