#include <array>
#include <functional>
#include <string>

#include "app/tensors/call_files.h"

namespace attoscope::app {
namespace {

using Factors = std::vector<double>;

constexpr std::array<const char*, 3> letters_of_inputs{"Q", "K", "V"};
constexpr std::array<std::vector<double> Tensors::*, 3> numbers{&Tensors::q, &Tensors::k, &Tensors::v};

/// Replaces each number's factor `has` by `should_have`; by 1 if that is empty.
void replace(std::vector<double>& x, const Factors& has, const Factors& should_have) {
  for (std::size_t i = 0; i < has.size(); ++i) x[i] = x[i] / has[i] * (should_have.empty() ? 1 : should_have[i]);
}

}  // namespace

std::vector<OtherReading> wrong_scales(std::shared_ptr<const CallFiles> files, int head) {
  std::vector<OtherReading> readings;
  const auto add = [&](std::string text, std::function<void(Tensors&)> change) {
    readings.push_back({std::move(text), [files, head, change = std::move(change)] {
                          Tensors t = files->inputs(head);
                          change(t);
                          return std::make_shared<const Tensors>(std::move(t));
                        }});
  };
  const auto scale = [files, head](int part) { return files->scale(head, part); };
  const CallFiles::Layer& layer = files->layer_of(head);
  int scaled = 0;
  for (int part = 0; part < 3; ++part) {
    const std::optional<OpenedScale>& own = files->part(layer, part).scale;
    if (!own) continue;
    ++scaled;
    const std::string scales = std::string("the scale of ") + letters_of_inputs[static_cast<std::size_t>(part)];
    const auto x = numbers[static_cast<std::size_t>(part)];
    add(scales + " forgotten", [=](Tensors& t) { replace(t.*x, scale(part), {}); });
    add(scales + " applied twice", [=](Tensors& t) {
      const Factors factors = scale(part);
      for (std::size_t i = 0; i < factors.size(); ++i) (t.*x)[i] *= factors[i];
    });
    if (own->stored.shape.n > 1 && own->stored.shape.heads > 1)
      add(scales + " read as if its heads and tokens stood the other way round",
          [=](Tensors& t) { replace(t.*x, scale(part), files->scale(head, part, true)); });
  }
  if (scaled > 1)
    add("the scales of Q, K and V forgotten", [scale](Tensors& t) {
      for (int part = 0; part < 3; ++part) replace(t.*numbers[static_cast<std::size_t>(part)], scale(part), {});
    });
  if (files->part(layer, 1).scale && files->part(layer, 2).scale && layer.k.d == layer.v.d)
    add("the scales of K and V exchanged", [scale](Tensors& t) {
      const Factors of_K = scale(1), of_V = scale(2);
      replace(t.k, of_K, of_V), replace(t.v, of_V, of_K);
    });
  return readings;
}

}  // namespace attoscope::app
