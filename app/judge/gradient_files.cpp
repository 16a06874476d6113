#include "app/judge/gradient_files.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "app/tensors/head_layout.h"
#include "kernels/experiment/rules.h"

namespace attoscope {
namespace {

CallPart opened(const std::string& spec, const char* option) {
  const std::array<std::string_view, 1> usual{std::string_view(option).substr(2)};
  return tensor_of_option(spec, option, usual);
}

bool all_in(const std::vector<double>& x, const Format& f) {
  return std::ranges::all_of(x, [&](double y) { return std::isnan(y) || round(f, y) == y; });
}

}  // namespace

GradientFiles::GradientFiles(const GradientSources& x, const CallFiles& call) : call_(call) {
  if (x.d_o.empty()) throw std::runtime_error("--do is missing: gradients are judged with the dO that they come from");
  if (call.layers().size() > 1)
    throw std::runtime_error("the files hold " + std::to_string(call.layers().size()) +
                             " layers, expected one: gradients are judged layer by layer");
  const CallFiles::Layer& layer = call.layers().front();
  HeadShape o = layer.q;
  o.d = layer.v.d;
  d_o_ = open(x.d_o, "--do", o, "O's");
  dq_ = open(x.dq, "--dq", layer.q, "q's " + shape_text(call.tensor(layer, 0).tensor.shape));
  open_kv(x);
  groups_ = layer.q.count() / heads_;
  constexpr std::array<std::string_view, 1> d_lse_names{"dlse"};
  if (!x.lse.empty()) lse_ = open_row_numbers(x.lse, "--lse", lse_names, layer.q);
  if (!x.d_lse.empty()) d_lse_ = open_row_numbers(x.d_lse, "--dlse", d_lse_names, layer.q);
  if (!x.dsink.empty()) open_sink(x.dsink);
}

/// dK and dV have the heads of K and V, or those of Q.
void GradientFiles::open_kv(const GradientSources& x) {
  const CallFiles::Layer& layer = call_.layers().front();
  HeadShape k = layer.k, v = layer.v;
  heads_ = layer.q.heads / layer.k.heads;
  if (heads_ > 1) {
    HeadShape of_q = k;
    of_q.heads = layer.q.heads;
    for (const auto& [spec, option, d] : {std::tuple{&x.dk, "--dk", k.d}, {&x.dv, "--dv", v.d}}) {
      of_q.d = d;
      if (!spec->empty() && shape_of_output(opened(*spec, option).tensor.tensor, of_q)) has_heads_of_q_ = true;
    }
  }
  if (has_heads_of_q_) heads_ = 1, k.heads = v.heads = layer.q.heads;
  dk_ = open(x.dk, "--dk", k,
             (has_heads_of_q_ ? "q's heads and k's " : "k's ") + shape_text(call_.tensor(layer, 1).tensor.shape));
  dv_ = open(x.dv, "--dv", v,
             (has_heads_of_q_ ? "q's heads and v's " : "v's ") + shape_text(call_.tensor(layer, 2).tensor.shape));
}

std::optional<GradientFiles::Part> GradientFiles::open(const std::string& spec, const char* option, const HeadShape& wanted,
                                                       const std::string& like) const {
  if (spec.empty()) return {};
  Part part{opened(spec, option), {}};
  const StoredTensor& t = part.part.tensor.tensor;
  const std::optional<HeadShape> shape = shape_of_output(t, wanted);
  if (!shape || shape->d != wanted.d)
    refuse_shape(t, "a shape like " + like + ": " + std::to_string(wanted.batch * wanted.heads) + " heads of " +
                        std::to_string(wanted.n) + " x " + std::to_string(wanted.d));
  part.shape = *shape;
  return part;
}

/// One number for each head of Q.
void GradientFiles::open_sink(const std::string& spec) {
  const HeadShape& q = call_.layers().front().q;
  CallPart part = opened(spec, "--dsink");
  StoredTensor& t = part.tensor.tensor;
  std::uint64_t count = 1;
  for (const std::uint64_t size : t.shape) count *= size;
  if (count != static_cast<std::uint64_t>(q.heads))
    refuse_shape(t, "one number for each of " + std::to_string(q.heads) + " heads");
  if (q.batch > 1)
    throw std::runtime_error(t.label + ": dSink is judged in calls of one batch, this one has " + std::to_string(q.batch));
  t.shape = {1, count};
  dsink_ = read_head(*part.tensor.file, t, {HeadOrder::heads_first, 1, 1, 1, q.heads}, 0);
}

GivenGradient GradientFiles::given(const std::optional<Part>& part, int first, int count, const Format& d) const {
  GivenGradient g;
  if (!part) return g;
  bool narrow = true;
  for (int i = first; i < first + count; ++i) {
    g.values.push_back(std::make_shared<const std::vector<double>>(read_scaled_head(part->part, part->shape, i)));
    narrow = narrow && all_in(*g.values.back(), d);
  }
  g.stored = format_of_elements(part->part.tensor.tensor.type);
  if (narrow && significand_bits(g.stored) > significand_bits(d)) g.stored = d;
  return g;
}

JudgedGradients GradientFiles::group(int group, const Problem& problem, const KernelClaim& claim) const {
  JudgedGradients g;
  g.problem = with_shape(problem, call_.layers().front().shape());
  g.problem.input = {}, g.problem.rows = 0;
  g.format = claim.format, g.stored_o = claim.stored;
  const int first = first_head(group);
  for (int head = first; head < first + heads_; ++head) {
    g.heads.push_back(std::make_shared<const Tensors>(call_.inputs(head)));
    g.d_o.push_back(std::make_shared<const std::vector<double>>(read_scaled_head(d_o_->part, d_o_->shape, head)));
    g.o.push_back(std::make_shared<const std::vector<double>>(call_.output(head)));
    g.d_lse.push_back(d_lse_ ? d_lse_->of(head) : std::vector<double>{}),
        g.lse.push_back(lse_ ? lse_->of(head) : std::vector<double>{});
    if (dsink_.empty()) continue;
    if (!g.dsink) g.dsink.emplace();
    g.dsink->push_back(dsink_[static_cast<std::size_t>(head)]);
  }
  if (const auto& mask = g.heads.front()->mask) {
    if (std::ranges::any_of(g.heads, [&](const auto& head) { return head->mask != mask; }))
      throw std::runtime_error(
          "--mask-file holds other masks for heads that share K and V, expected one where gradients are judged");
    g.problem.input = {.kind = InputKind::tensors, .file = "q,k,v", .index = 0, .digest = 1, .tensors = g.heads.front()};
  }
  g.dq = given(dq_, first, heads_, claim.format), g.dk = given(dk_, group, 1, claim.format);
  g.dv = given(dv_, group, 1, claim.format);
  return g;
}

}  // namespace attoscope
