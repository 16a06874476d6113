#include "app/tensors/changed_tensors.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/tensors/kernel_output.h"
#include "app/tensors/tensor_set.h"
#include "app/tensors/tensors.h"
#include "app/words/numbers.h"
#include "kernels/experiment/rules.h"

namespace attoscope::app {
namespace {

std::string changed_sentence(const std::string& file, const std::string& tensor, int head, std::uint64_t then,
                             std::uint64_t now) {
  return file + ": " + tensor + " of head " + std::to_string(head) + " has changed: its digest is " + hex16(now) +
         ", expected " + hex16(then);
}

/// File of a part of an input: 0 q, 1 k, 2 v, 3 the mask.
std::string file_of(const TensorSpec& spec, std::size_t part) {
  if (part == mask_part - 1) return spec.scales()[mask_part] ? spec.scales()[mask_part]->tensor : spec.text();
  const std::vector<std::string> list = files_in_list(spec.files());
  return list.size() == 3 || lists_tensors(spec.files()) ? list[part] : spec.files();
}

constexpr std::array<std::pair<const char*, std::uint64_t PartDigests::*>, 4> part_fields{
    {{"q", &PartDigests::q}, {"k", &PartDigests::k}, {"v", &PartDigests::v}, {"mask", &PartDigests::mask}}};

}  // namespace

std::vector<std::string> changed_tensors(const Input& kept, const Input& read) {
  std::vector<std::string> changed;
  if (kept.kind != InputKind::tensors || kept.digest == 0 || kept.digest == read.digest || kept.file != read.file ||
      kept.index != read.index)
    return changed;
  constexpr std::array names{"q", "k", "v", "the mask"};
  constexpr std::array parts{&PartDigests::q, &PartDigests::k, &PartDigests::v, &PartDigests::mask};
  const PartDigests &then = kept.parts, &now = read.parts;
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (then.q != 0 && then.*parts[i] != now.*parts[i])
      changed.push_back(changed_sentence(file_of(read.file, i), names[i], read.index, then.*parts[i], now.*parts[i]));
  if (changed.empty()) changed.push_back(changed_sentence(read.file, "q, k or v", read.index, kept.digest, read.digest));
  return changed;
}

std::vector<std::string> changed_tensors(const KernelOutput& kept, const KernelOutput& read, GivenTensor which) {
  if (kept.digest == 0 || read.digest == 0 || kept.digest == read.digest || kept.file != read.file || kept.index != read.index)
    return {};
  return {changed_sentence(read.file, given_names[static_cast<std::size_t>(which)], read.index, kept.digest, read.digest)};
}

std::vector<std::string> changed_tensors(const Experiment& kept, const Experiment& read) {
  std::vector<std::string> all = changed_tensors(kept.problem.input, read.problem.input);
  for (const GivenTensor t : {GivenTensor::o, GivenTensor::d_o, GivenTensor::d_lse})
    std::ranges::move(changed_tensors(given_tensor(kept, t), given_tensor(read, t), t), std::back_inserter(all));
  return all;
}

std::vector<std::string> load_kept(Experiment& e) {
  const Experiment kept = e;
  load_tensors(e.problem.input);
  load_given(e);
  return changed_tensors(kept, e);
}

Json part_digests_json(const std::vector<const Input*>& inputs) {
  Json all;
  for (const Input* const input : inputs) {
    if (input->kind != InputKind::tensors || input->digest == 0) continue;
    for (const auto& [name, field] : part_fields)
      if (input->parts.*field != 0) all[hex16(input->digest)][name] = hex16(input->parts.*field);
  }
  return all;
}

void read_part_digests(const nlohmann::json& document, const std::vector<Input*>& inputs) {
  const auto all = document.find("tensors");
  if (all == document.end() || !all->is_object()) return;
  for (Input* const input : inputs) {
    const auto parts = all->find(hex16(input->digest));
    if (parts == all->end() || !parts->is_object()) continue;
    for (const auto& [name, field] : part_fields)
      if (const auto text = parts->find(name); text != parts->end() && text->is_string())
        input->parts.*field = from_hex16(text->get<std::string>()).value_or(0);
  }
}

}  // namespace attoscope::app
