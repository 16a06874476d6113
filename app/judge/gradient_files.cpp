#include "app/judge/gradient_files.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "app/tensors/head_layout.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/text.h"

namespace attoscope::app {
namespace {

std::span<const std::string_view> usual_names(std::string_view option) {
  if (option == "--do") return usual_output_gradient_names;
  if (option == "--dq") return usual_dq_names;
  if (option == "--dk") return usual_dk_names;
  return option == "--dv" ? std::span<const std::string_view>(usual_dv_names) : usual_dsink_names;
}

CallPart opened(const std::string& spec, const char* option) { return tensor_of_option(spec, option, usual_names(option)); }

bool all_in(const std::vector<double>& x, const Format& f) {
  return std::ranges::all_of(x, [&](double y) { return std::isnan(y) || round(f, y) == y; });
}

}  // namespace

GradientFiles::GradientFiles(const GradientSpecs& x, const CallFiles& call) : call_(call) {
  if (x.d_o.empty()) throw std::invalid_argument("--do is missing: gradients are judged with the dO that they come from");
  const CallFiles::Layer& layer = call.layers().front();
  if (call.is_paged())
    throw std::runtime_error(
        "the keys lie in pages, expected packed sequences (--cu-seqlens-k) where gradients are judged: a paged cache is read "
        "by decoding, which has no backward pass");
  if (call.layers().size() > 1 && layer.sequence < 0)
    throw std::runtime_error("the files hold " + std::to_string(call.layers().size()) +
                             " layers, expected one: gradients are judged layer by layer");
  d_o_ = open(x.d_o, "--do", 0, layer.q.heads, layer.v.d, "O's");
  dq_ = open(x.dq, "--dq", 0, layer.q.heads, layer.q.d, "q's " + shape_text(call.whole(0).tensor.shape));
  open_kv(x);
  groups_ = call.heads() / heads_;
  if (!x.lse.empty()) lse_ = open_row_numbers(x.lse, "--lse", lse_names, call);
  if (!x.d_lse.empty()) d_lse_ = open_row_numbers(x.d_lse, "--dlse", usual_lse_gradient_names, call);
  if (!x.dsink.empty()) open_sink(x.dsink);
}

/// Opens dK and dV, which have the heads of K and V, or Q's heads.
void GradientFiles::open_kv(const GradientSpecs& x) {
  const CallFiles::Layer& layer = call_.layers().front();
  int heads = layer.k.heads;
  heads_ = layer.q.heads / heads;
  if (heads_ > 1)
    for (const auto& [spec, option, d] : {std::tuple{&x.dk, "--dk", layer.k.d}, {&x.dv, "--dv", layer.v.d}})
      if (!spec->empty() && !call_.like(opened(*spec, option), 1, layer.q.heads, d).empty()) has_heads_of_q_ = true;
  if (has_heads_of_q_) {
    heads_ = 1;
    heads = layer.q.heads;
  }
  const std::string before = has_heads_of_q_ ? "q's heads and " : "";
  dk_ = open(x.dk, "--dk", 1, heads, layer.k.d, before + "k's " + shape_text(call_.whole(1).tensor.shape));
  dv_ = open(x.dv, "--dv", 1, heads, layer.v.d, before + "v's " + shape_text(call_.whole(2).tensor.shape));
}

GradientFiles::Parts GradientFiles::open(const std::string& spec, const char* option, int part, int heads, int d,
                                         const std::string& like) const {
  if (spec.empty()) return {};
  const CallPart tensor = opened(spec, option);
  Parts parts = call_.like(tensor, part, heads, d);
  if (!parts.empty()) return parts;
  refuse_shape(tensor.tensor.tensor, call_.expected_like(like, part, heads, d));
}

/// Opens dSink, one number for each head of Q.
void GradientFiles::open_sink(const std::string& spec) {
  const HeadShape& q = call_.layers().front().q;
  const CallPart part = opened(spec, "--dsink");
  const StoredTensor& t = part.tensor.tensor;
  if (byte_count(t.shape, 1, t.label) != static_cast<std::uint64_t>(q.heads))
    refuse_shape(t, "one number for each of " + counted(q.heads, "head"));
  refuse_fortran_order(t);
  dsink_ = read_flat(*part.tensor.file, t, 0, q.heads);
}

std::vector<int> GradientFiles::sequences() const {
  std::vector<int> all;
  for (const CallFiles::Layer& layer : call_.layers()) all.push_back(layer.sequence);
  return all;
}

std::vector<double> GradientFiles::dsink_of(int group) const {
  if (dsink_.empty()) return {};
  const auto first = dsink_.begin() + group % groups_of_sequence() * heads_;
  return {first, first + heads_};
}

/// Reads head `index` of the layer of a group.
std::vector<double> GradientFiles::read(const Parts& parts, int group, int index) const {
  const CallFiles::Output& own = parts[static_cast<std::size_t>(call_.layer_index(first_head(group)))];
  return read_scaled_head(own.part, own.shape, index);
}

/// The head of dK and dV of a group, in its layer.
int GradientFiles::head_of_k(int group) const {
  const int first = first_head(group);
  return (first - call_.layer_of(first).first) / heads_;
}

/// Reads `count` heads, from `first` on, of the layer of a group.
GivenGradient GradientFiles::given(const Parts& parts, int group, int first, int count, const Format& d) const {
  GivenGradient g;
  if (parts.empty()) return g;
  bool narrow = true;
  for (int i = first; i < first + count; ++i) {
    g.values.push_back(std::make_shared<const std::vector<double>>(read(parts, group, i)));
    narrow = narrow && all_in(*g.values.back(), d);
  }
  g.stored = format_of_elements(parts.front().part.tensor.tensor.type);
  if (narrow && significand_bits(g.stored) > significand_bits(d)) g.stored = d;
  return g;
}

JudgedGradients GradientFiles::group(int group, const std::function<Problem(int head)>& problem_of,
                                     const KernelClaim& claim) const {
  JudgedGradients g;
  const int first = first_head(group);
  const CallFiles::Layer& layer = call_.layer_of(first);
  g.format = claim.format;
  g.stored_o = claim.stored;
  for (int head = first; head < first + heads_; ++head) {
    g.own.push_back(with_shape(problem_of(head), layer.shape()));
    g.own.back().rows = 0;
    g.heads.push_back(std::make_shared<const Tensors>(call_.inputs(head)));
    g.d_o.push_back(std::make_shared<const std::vector<double>>(read(d_o_, group, head - layer.first)));
    if (layer.has_output) g.o.push_back(std::make_shared<const std::vector<double>>(call_.output(head)));
    g.d_lse.push_back(d_lse_ ? d_lse_->of(head) : std::vector<double>{});
    g.lse.push_back(lse_ ? lse_->of(head) : std::vector<double>{});
  }
  g.problem = g.own.front();
  g.place = group % groups_of_sequence();
  for (int place = 0; place < groups_of_sequence(); ++place)
    if (const int other = group - g.place + place; other != group)
      g.others.push_back(
          {place, [=, this](GradientTensor t) { return read(t == GradientTensor::dk ? dk_ : dv_, other, head_of_k(other)); },
           [=, this] { return this->group(other, problem_of, claim); }});
  const int own = first - layer.first;
  g.dq = given(dq_, group, own, heads_, claim.format);
  g.dk = given(dk_, group, head_of_k(group), 1, claim.format);
  g.dv = given(dv_, group, head_of_k(group), 1, claim.format);
  return g;
}

}  // namespace attoscope::app
