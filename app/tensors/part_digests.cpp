#include "app/tensors/part_digests.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/json/json.h"
#include "app/words/numbers.h"

namespace attoscope::app {
namespace {

constexpr std::array<std::pair<const char*, std::uint64_t PartDigests::*>, 4> part_fields{
    {{"q", &PartDigests::q}, {"k", &PartDigests::k}, {"v", &PartDigests::v}, {"mask", &PartDigests::mask}}};

}  // namespace

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
