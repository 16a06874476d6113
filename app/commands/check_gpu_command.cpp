#include "app/commands/check_gpu_command.h"

#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "app/commands/first_use.h"
#include "app/commands/progress_line.h"
#include "app/files/files.h"
#include "app/files/interrupts.h"
#include "app/json/json.h"
#include "app/session/gpu_check_json.h"
#include "app/words/devices.h"
#include "app/words/field_setter.h"
#include "kernels/gpu/driver.h"
#include "kernels/questions/gpu_check_words.h"

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

void check_places(const CheckGpuArguments& x) {
  if (!x.json.empty() && x.json != "-") check_place("--json", x.json);
}

GpuCheck answer(const GpuCheckQuestion& question, const CheckedGpu& gpu, const CheckGpuOutput& output, bool told) {
  const Interrupts interrupts;
  ProgressLine line(output.terminal);
  const auto tell = [&](const GpuCheck& so_far) {
    if (!told) return;
    line.clear();
    if (so_far.kinds.empty()) output.out << gpu_text(so_far) << '\n';
    output.out << (so_far.kinds.empty() ? digests_line(so_far.digests) : products_line(so_far.kinds.back())) << std::endl;
  };
  try {
    return gpu_check(question, gpu,
                     {.cancelled = [&] { return interrupts.arrived(); },
                      .doing = [&](const std::string& what) { line.show([&] { return what + " ..."; }); },
                      .known = tell});
  } catch (const Stopped&) {
    throw std::runtime_error("stopped before the check was over; no file was written");
  }
}

}  // namespace

bool check_gpu(const CheckGpuArguments& x, const CheckedGpu& gpu, const CheckGpuOutput& output) {
  const GpuCheckQuestion question = question_of(x);
  check_places(x);
  const GpuCheck check = answer(question, gpu, output, x.json != "-");
  const std::string json = x.json.empty() ? "" : json_text(gpu_check_json(check, cuda_of_driver()));
  StagedFiles files;
  if (!json.empty() && x.json != "-") files.add(x.json, json);
  files.commit();
  output.out << (x.json == "-" ? json : gpu_check_sentence(check) + "\n") << std::flush;
  return check.as_written();
}

bool check_gpu(const CheckGpuArguments& x, const CheckGpuOutput& output) {
  question_of(x);
  check_one_gpu(x.device);
  check_places(x);
  compile_code(x.device);
  return check_gpu(x, checked_gpu(x.device), output);
}

}  // namespace attoscope
