#include "app/judge/judged_files.h"

#include <algorithm>
#include <span>
#include <stdexcept>

#include "app/tensors/npy.h"
#include "app/tensors/safetensors.h"
#include "app/words/numbers.h"
#include "kernels/experiment/experiment.h"

namespace attoscope {
namespace {

constexpr std::string_view safetensors = ".safetensors";
constexpr std::array<const char*, 4> role_names{"q", "k", "v", "o"};
constexpr std::array<std::string_view, 3> q_names{"q", "Q", "query"}, k_names{"k", "K", "key"}, v_names{"v", "V", "value"};

std::span<const std::string_view> usual_names(int role) {
  constexpr std::array<std::span<const std::string_view>, 4> all{q_names, k_names, v_names, usual_output_names};
  return all[static_cast<std::size_t>(role)];
}

[[noreturn]] void refuse(const StoredTensor& t, const std::string& expected) {
  throw std::runtime_error(t.label + " has shape " + shape_text(t.shape) + ", expected " + expected);
}

}  // namespace

JudgedFiles::JudgedFiles(const JudgeSources& sources) {
  for (int role = 0; role < 4; ++role) parts_[static_cast<std::size_t>(role)] = open_part(sources, role);
  check_shapes();
}

JudgedFiles::Part JudgedFiles::open_part(const JudgeSources& sources, int role) {
  const std::string& named = *std::array{&sources.q, &sources.k, &sources.v, &sources.o}[static_cast<std::size_t>(role)];
  const bool from_input = named.empty();
  const std::string& spec = from_input ? sources.input : named;
  if (spec.ends_with(".npy") && !from_input) {
    auto file = std::make_shared<const InputFile>(spec);
    return {file, read_npy(*file), sources.layout};
  }
  if (spec.ends_with(safetensors)) {
    auto file = std::make_shared<const InputFile>(spec);
    return {file, read_tensor(*file, usual_names(role), !from_input), sources.layout};
  }
  const std::size_t name = spec.rfind(".safetensors:");
  if (name == std::string::npos || from_input)
    throw std::runtime_error((from_input ? "--input " : "--" + std::string(role_names[static_cast<std::size_t>(role)]) + " ") +
                             in_quotes(spec) + " is not understood, expected " + (from_input ? "" : "FILE.npy, ") +
                             "FILE.safetensors" + (from_input ? "" : " or FILE.safetensors:TENSOR"));
  auto file = std::make_shared<const InputFile>(spec.substr(0, name + safetensors.size()));
  const std::array<std::string_view, 1> wanted{std::string_view(spec).substr(name + safetensors.size() + 1)};
  return {file, read_tensor(*file, wanted, false), sources.layout};
}

JudgedFiles::Shape JudgedFiles::shape_of(const StoredTensor& t, HeadLayout layout) {
  const std::size_t rank = t.shape.size();
  const bool tokens_first = layout == HeadLayout::bnhd && rank > 2;
  const auto size = [&](std::size_t from_end, int most, const char* what) {
    const std::uint64_t x = t.shape[rank - from_end];
    if (x < 1 || x > static_cast<std::uint64_t>(most)) refuse(t, std::string(what) + " from 1 to " + std::to_string(most));
    return static_cast<int>(x);
  };
  if (rank < 2 || rank > 4) refuse(t, tokens_first ? "[tokens, heads, d]" : "[n, d], [heads, n, d] or [batch, heads, n, d]");
  byte_count(t.shape, bytes_of(t.type), t.label);
  constexpr int most_heads = 1 << 16;
  return {rank == 4 ? size(4, most_heads, "a batch") : 1, rank > 2 ? size(tokens_first ? 2 : 3, most_heads, "heads") : 1,
          size(tokens_first ? 3 : 2, max_n, "tokens"), size(1, max_d, "a head dimension")};
}

void JudgedFiles::check_shapes() {
  const auto& [q, k, v, o] = parts_;
  shape_ = shape_of(q.tensor, q.layout);
  const Shape of_k = shape_of(k.tensor, k.layout), of_v = shape_of(v.tensor, v.layout);
  const std::string like_q = " like q's " + shape_text(q.tensor.shape);
  if (of_k.n != shape_.n || of_k.d != shape_.d || of_k.batch != shape_.batch) refuse(k.tensor, "batch, tokens and d" + like_q);
  if (!(of_v == of_k)) refuse(v.tensor, "the shape of k, " + shape_text(k.tensor.shape));
  if (shape_.heads % of_k.heads != 0)
    refuse(k.tensor, "a number of heads that divides the " + std::to_string(shape_.heads) + " of q");
  kv_heads_ = of_k.heads;
  const HeadLayout other = o.layout == HeadLayout::bhnd ? HeadLayout::bnhd : HeadLayout::bhnd;
  if (shape_of(o.tensor, o.layout) == shape_) return;
  if (o.tensor.shape.size() < 3 || !(shape_of(o.tensor, other) == shape_)) refuse(o.tensor, "a shape" + like_q);
  parts_[3].layout = other;
}

std::vector<double> JudgedFiles::head_of(int index, int head) const {
  const Part& part = parts_[static_cast<std::size_t>(index)];
  const Shape s = shape_of(part.tensor, part.layout);
  check_memory(part.file->path(), 8, s.n, s.d);
  if (part.layout == HeadLayout::bhnd || s.heads == 1)
    return read_matrix(*part.file, part.tensor, {s.batch * s.heads, s.n, s.d}, head);
  return read_across(*part.file, part.tensor, head);
}

std::shared_ptr<const Tensors> JudgedFiles::inputs(int head) const {
  const int batch = head / shape_.heads, kv = batch * kv_heads_ + head % shape_.heads / (shape_.heads / kv_heads_);
  return std::make_shared<const Tensors>(Tensors{shape_.n, shape_.d, head_of(0, head), head_of(1, kv), head_of(2, kv)});
}

std::shared_ptr<const std::vector<double>> JudgedFiles::output(int head) const {
  return std::make_shared<const std::vector<double>>(head_of(3, head));
}

std::vector<std::string> JudgedFiles::files_for_window(int head) const {
  const bool same_heads = kv_heads_ == shape_.heads,
             heads_first =
                 std::ranges::all_of(parts_, [&](const Part& p) { return p.layout == HeadLayout::bhnd || shape_.heads == 1; });
  if (!same_heads || !heads_first) return {};
  const std::string& first = parts_[0].file->path();
  std::vector<std::string> files;
  for (std::size_t role = 0; role < 4; ++role) {
    const std::string& path = parts_[role].file->path();
    const bool usual = parts_[role].tensor.label.ends_with("tensor '" + std::string(role_names[role]) + "'");
    if (path.ends_with(safetensors) ? path != first || !usual : heads() > 1) return {};
    files.push_back(path);
  }
  if (first.ends_with(safetensors)) return {first + ":" + std::to_string(head)};
  return files;
}

OtherHeads JudgedFiles::other_heads() const {
  return {heads(), [this](int head) { return inputs(head); }};
}

}  // namespace attoscope
