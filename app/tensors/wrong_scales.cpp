#include "app/tensors/wrong_scales.h"

#include <array>
#include <functional>
#include <string>

namespace attoscope {
namespace {

struct Part {
  const char* letter;
  std::vector<double> Tensors::* numbers;
};
constexpr std::array<Part, 3> parts{{{"Q", &Tensors::q}, {"K", &Tensors::k}, {"V", &Tensors::v}}};

using Factors = std::vector<double>;

/// Replaces each number's factor `has` by `should_have`.
void replace(std::vector<double>& x, const Factors& has, const Factors& should_have) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = x[i] / has[i] * should_have[i];
}

/// Collects the readings of one head.
class WrongScales {
 public:
  WrongScales(std::shared_ptr<const CallFiles> files, int head) : files_(std::move(files)), head_(head) {}

  std::vector<OtherReading> take() {
    const CallFiles::Layer& layer = files_->layer_of(head_);
    int scaled = 0;
    for (int part = 0; part < 3; ++part)
      if (files_->part(layer, part).scale) add_of(part), ++scaled;
    if (scaled > 1) add("the scales of Q, K and V forgotten", &forget_all);
    if (files_->part(layer, 1).scale && files_->part(layer, 2).scale && layer.k.d == layer.v.d)
      add("the scales of K and V exchanged", &exchange);
    return std::move(readings_);
  }

 private:
  using Change = std::function<void(const CallFiles&, int head, Tensors&)>;

  void add(std::string text, Change change) {
    readings_.push_back({std::move(text), [files = files_, head = head_, change = std::move(change)] {
                           Tensors t = files->inputs(head);
                           change(*files, head, t);
                           return std::make_shared<const Tensors>(std::move(t));
                         }});
  }

  void add_of(int part) {
    const std::string scales = std::string("the scale of ") + parts[static_cast<std::size_t>(part)].letter;
    const auto numbers = parts[static_cast<std::size_t>(part)].numbers;
    add(scales + " forgotten", [part, numbers](const CallFiles& files, int head, Tensors& t) {
      const Factors own = files.scale(head, part);
      replace(t.*numbers, own, Factors(own.size(), 1));
    });
    add(scales + " applied twice", [part, numbers](const CallFiles& files, int head, Tensors& t) {
      const Factors own = files.scale(head, part);
      for (std::size_t i = 0; i < own.size(); ++i) (t.*numbers)[i] *= own[i];
    });
    const HeadShape& shape = files_->part(files_->layer_of(head_), part).scale->stored.shape;
    if (shape.n == 1 || shape.heads == 1) return;
    add(scales + " read as if its heads and tokens stood the other way round",
        [part, numbers](const CallFiles& files, int head, Tensors& t) {
          replace(t.*numbers, files.scale(head, part), files.scale(head, part, true));
        });
  }

  static void forget_all(const CallFiles& files, int head, Tensors& t) {
    for (int part = 0; part < 3; ++part)
      if (const Factors own = files.scale(head, part); !own.empty())
        replace(t.*parts[static_cast<std::size_t>(part)].numbers, own, Factors(own.size(), 1));
  }
  static void exchange(const CallFiles& files, int head, Tensors& t) {
    const Factors of_K = files.scale(head, 1), of_V = files.scale(head, 2);
    replace(t.k, of_K, of_V), replace(t.v, of_V, of_K);
  }

  std::shared_ptr<const CallFiles> files_;
  int head_;
  std::vector<OtherReading> readings_;
};

}  // namespace

std::vector<OtherReading> wrong_scales(std::shared_ptr<const CallFiles> files, int head) {
  return WrongScales(std::move(files), head).take();
}

}  // namespace attoscope
