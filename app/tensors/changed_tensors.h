/// Tensors whose bits are not those that a session, a figure or a sweep was made with.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "app/json/json.h"
#include "kernels/experiment/experiment.h"

namespace attoscope::app {

/// A sentence for each tensor of `read` whose digest is not that of `kept`: its file, its name, both digests. None where
/// `kept` has no digest, or is another file or head.
std::vector<std::string> changed_tensors(const Input& kept, const Input& read);
std::vector<std::string> changed_tensors(const KernelOutput& kept, const KernelOutput& read, const std::string& name);
/// The same of Q, K, V, the mask, a loaded output, dO and dL.
std::vector<std::string> changed_tensors(const Experiment& kept, const Experiment& read);

/// Reads the files of an experiment that has digests from before. Returns `changed_tensors`. Throws as `load_tensors`.
std::vector<std::string> load_kept(Experiment& e);

/// {"0123456789abcdef": {"q", "k", "v", "mask"}} by the digests of the inputs, as far as they are known; null: none is.
Json part_digests_json(const std::vector<const Input*>& inputs);
/// Takes those of the inputs' digests from "tensors" of such a document; what is no digest is left out.
void read_part_digests(const nlohmann::json& document, const std::vector<Input*>& inputs);

}  // namespace attoscope::app
