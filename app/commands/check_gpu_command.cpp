#include "app/commands/check_gpu_command.h"

#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "app/commands/commands.h"
#include "app/commands/progress_line.h"
#include "app/json/json.h"
#include "app/session/gpu_check_json.h"
#include "app/words/devices.h"
#include "app/words/field_setter.h"
#include "kernels/gpu/driver.h"
#include "kernels/questions/gpu_check.h"

namespace attoscope {
namespace {

std::vector<ProductKind> kinds_of(const Typed& typed) {
  if (!typed) return {product_kinds.begin(), product_kinds.end()};
  std::vector<ProductKind> kinds;
  std::istringstream words(*typed + ",");
  for (std::string word; std::getline(words, word, ',');)
    kinds.push_back(of_option("--formats", [&] { return parse_product_kind(word); }));
  return kinds;
}

GpuCheckQuestion question_of(const CheckGpuArguments& x) {
  return {.device = x.device,
          .count = whole_number("--count", x.count, 1, most_products),
          .seed = whole_number<std::uint64_t>("--seed", x.seed, 0, ~std::uint64_t{0}),
          .kinds = kinds_of(x.formats)};
}

/// Before anything is computed: is it one GPU that is named, and is there one?
void check_one_gpu(const std::string& device) {
  if (device == "auto" || device == "cpu" || device.find(',') != std::string::npos)
    refuse("--device", device, "cuda or cuda:K");
  check_device("--device", device);
}

GpuCheck answer(const GpuCheckQuestion& question, const CheckedGpu& gpu, const Streams& streams, bool told) {
  ProgressLine line(streams.terminal);
  const auto tell = [&](const GpuCheck& so_far) {
    if (!told) return;
    line.clear();
    if (so_far.kinds.empty()) streams.out << gpu_text(so_far) << '\n';
    streams.out << (so_far.kinds.empty() ? digests_line(so_far.digests) : products_line(so_far.kinds.back())) << std::endl;
  };
  return unless_stopped("stopped before the check was over; no file was written", [&](const Cancelled& cancelled) {
    const auto doing = [&](const std::string& what) { line.show([&] { return what + " ..."; }); };
    return gpu_check(question, gpu, {.cancelled = cancelled, .doing = doing, .known = tell});
  });
}

void declare(OptionList& c, CheckGpuArguments& x) {
  c.add("--device", x.device, "the GPU: cuda or cuda:K");
  c.group("Products");
  c.add("--count", x.count, "sums of products of each format, 1 to 1000000");
  c.add("--seed", x.seed, "of their random numbers");
  std::string known;
  for (const ProductKind& kind : product_kinds) known += (known.empty() ? "" : ", ") + name(kind);
  c.add("--formats", x.formats, "some of " + known + ", with commas between them (all)");
  c.group("Output");
  c.add("--json", x.json, "write everything to this file, to be sent in, - for standard output").quiet();
}

bool check_named_gpu(const CheckGpuArguments& x, const Streams& streams) {
  question_of(x);
  check_one_gpu(x.device);
  check_outputs({{"--json", x.json}});
  prepare_gpus(x.device, streams);
  return check_gpu(x, checked_gpu(x.device), streams);
}

}  // namespace

bool check_gpu(const CheckGpuArguments& x, const CheckedGpu& gpu, const Streams& streams) {
  const GpuCheckQuestion question = question_of(x);
  check_outputs({{"--json", x.json}});
  const GpuCheck check = answer(question, gpu, streams, x.json != "-");
  const auto json = [&] { return json_text(gpu_check_json(check, cuda_of_driver())); };
  write_outputs({{x.json, json}}, [&] { return gpu_check_sentence(check) + "\n"; }, streams.out);
  return check.as_written();
}

Command check_gpu_command() {
  return command<CheckGpuArguments>(
      "check-gpu", "Tell whether your GPU has the CPU's bits, and by whose rule its tensor cores add: exit code 3 is by none",
      declare, check_named_gpu);
}

}  // namespace attoscope
