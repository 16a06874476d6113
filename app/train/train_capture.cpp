#include "app/train/train_capture.h"

#include <bit>
#include <nlohmann/json.hpp>

#include "app/json/json.h"
#include "app/session/session.h"

namespace attoscope::app {
namespace {

void append_little_endian(std::string& bytes, std::uint64_t x, int count) {
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(x >> (8 * i) & 0xff);
}

void append_floats(std::string& bytes, const std::vector<float>& values) {
  for (const float x : values) append_little_endian(bytes, std::bit_cast<std::uint32_t>(x), 4);
}

/// The method of one head, which may be exact.
Method method_of(const TrainMethod& x, const CapturePlace& place) {
  Method m = x.method;
  if (!x.is_exact(place.layer, place.head)) return m;
  const Rounding input = m.precision[Step::input];
  m.precision = {};
  m.precision[Step::input] = input;
  return m;
}

}  // namespace

std::string capture_title(const CapturePlace& place) {
  return place.run + ", layer " + std::to_string(place.layer) + ", head " + std::to_string(place.head) + ", sequence " +
         std::to_string(place.sequence) + ", after " + std::to_string(place.step) + (place.step == 1 ? " step" : " steps");
}

std::string capture_file(const CapturedHead& head, const CapturePlace& place, const TrainMethod& method) {
  const std::uint64_t bytes = head.q.size() * sizeof(float);
  Json header{{"__metadata__",
               {{"title", capture_title(place)},
                {"heads", "layer" + std::to_string(place.layer) + ".head" + std::to_string(place.head)},
                {"run", place.run},
                {"layer", std::to_string(place.layer)},
                {"head", std::to_string(place.head)},
                {"sequence", std::to_string(place.sequence)},
                {"step", std::to_string(place.step)},
                {"format", name(method.format)},
                {"method", json_text(method_json(method_of(method, place)), -1)},
                {"version", ATTOSCOPE_VERSION}}}};
  std::uint64_t begin = 0;
  for (const char* const tensor : {"q", "k", "v"}) {
    header[tensor] = {{"dtype", "F32"}, {"shape", {head.n, head.d}}, {"data_offsets", {begin, begin + bytes}}};
    begin += bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string file;
  append_little_endian(file, text.size(), 8);
  file += text;
  for (const std::vector<float>* const values : {&head.q, &head.k, &head.v}) append_floats(file, *values);
  return file;
}

Experiment captured_experiment(const TrainPlan& plan, const RunPlan& run, const CapturePlace& place) {
  Experiment e = default_experiment();
  e.problem.mask.kind = Mask::Kind::causal;
  e.format = run.method.format;
  const bool as_b = run.method.method == plan.b.method && run.method.exact == plan.b.exact;
  e.a = method_of(as_b ? plan.a : run.method, place);
  e.b = method_of(plan.b, place);
  return e;
}

}  // namespace attoscope::app
