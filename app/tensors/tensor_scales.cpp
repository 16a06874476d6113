#include "app/tensors/tensor_scales.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "app/words/numbers.h"

namespace attoscope::app {
namespace {

using Sizes = std::vector<std::uint64_t>;

/// Axes of a scale: b batch, h heads, g heads of K, n tokens, d columns; N and D: blocks of tokens and columns.
struct Template {
  std::string_view axes;
  ScaleGroup group;
};
constexpr std::array<Template, 20> templates{
    {{"", ScaleGroup::tensor},     {"h", ScaleGroup::head},       {"bh", ScaleGroup::head},     {"g", ScaleGroup::head},
     {"bg", ScaleGroup::head},     {"n", ScaleGroup::token},      {"bn", ScaleGroup::token},    {"hn", ScaleGroup::token},
     {"nh", ScaleGroup::token},    {"bhn", ScaleGroup::token},    {"bnh", ScaleGroup::token},   {"d", ScaleGroup::channel},
     {"hd", ScaleGroup::channel},  {"bhd", ScaleGroup::channel},  {"hN", ScaleGroup::tokens},   {"bhN", ScaleGroup::tokens},
     {"hnD", ScaleGroup::columns}, {"bhnD", ScaleGroup::columns}, {"nhD", ScaleGroup::columns}, {"bnhD", ScaleGroup::columns}}};

/// Templates tried if none of the others fits.
constexpr std::array<Template, 2> blocks_before_heads{{{"Nh", ScaleGroup::tokens}, {"bNh", ScaleGroup::tokens}}};

int size_of(const ScaledMatrix& of, char axis) {
  switch (axis) {
    case 'b':
      return of.shape.batch;
    case 'h':
      return of.shape.heads;
    case 'g':
      return of.kv_heads;
    case 'n':
    case 'N':
      return of.shape.n;
    default:
      return of.shape.d;
  }
}

int blocks_of(int size, int block) { return size / block + (size % block > 0 ? 1 : 0); }

/// Possible lengths of `blocks` blocks: all equal, or a power of two with a shorter last block; if neither, a multiple of 16,
/// or any.
std::vector<int> possible_blocks(int size, int blocks) {
  const int least = blocks_of(size, blocks), most = (size - 1) / (blocks - 1);
  std::vector<int> found;
  if (size % blocks == 0) found.push_back(least);
  for (int power = 1; power <= most; power *= 2)
    if (power >= least && found != std::vector{power}) found.push_back(power);
  constexpr std::size_t enough = 8;
  for (const int step : {16, 1}) {
    if (!found.empty()) return found;
    for (int block = blocks_of(least, step) * step; found.size() < enough && block <= most; block += step)
      found.push_back(block);
  }
  return found;
}

/// The axes of these along which the tensor's size is above 1.
std::string axes_in(std::string_view axes, const ScaledMatrix& of) {
  std::string found;
  for (const char axis : axes)
    if (size_of(of, axis) > 1) found += axis;
  return found;
}

/// Possible lengths of blocks along this axis, or the given one; 1 if the axis has no blocks; empty: it does not fit.
std::vector<int> blocks_along(char axis, std::uint64_t size, const ScaledMatrix& of, const std::optional<SaidGroup>& said) {
  const int all = size_of(of, axis);
  if (axis != 'N' && axis != 'D') return size == static_cast<std::uint64_t>(all) ? std::vector{1} : std::vector<int>();
  if (size < 2 || size >= static_cast<std::uint64_t>(all)) return {};
  const int blocks = static_cast<int>(size);
  if (!said || said->block <= 1) return possible_blocks(all, blocks);
  return blocks_of(all, said->block) == blocks ? std::vector{said->block} : std::vector<int>();
}

HeadShape shape_along(std::string_view axes, const Sizes& sizes) {
  const auto size = [&](std::string_view either) {
    const std::size_t at = axes.find_first_of(either);
    return at == std::string_view::npos ? 1 : static_cast<int>(sizes[at]);
  };
  const std::size_t tokens = axes.find_first_of("nN"), heads = axes.find_first_of("hg");
  const bool tokens_first = heads != std::string_view::npos && tokens < heads;
  return {tokens_first ? HeadOrder::tokens_first : HeadOrder::heads_first, size("b"), size("hg"), size("nN"), size("dD")};
}

/// True if a scale has a number for every token of all pages, or numbers that all tokens share. Blocks of tokens may hold
/// tokens of several sequences.
bool fits_sequences(ScaleGroup group, int batch, const ScaledMatrix& of) {
  if (is_of_tokens(group)) return batch == of.shape.batch;
  return group != ScaleGroup::tokens && batch == 1;
}

/// Readings of the scale with its sizes along these axes, one for each possible block length; empty: it does not fit.
std::vector<StoredScale> along(const Template& t, const Sizes& sizes, const ScaledMatrix& of,
                               const std::optional<SaidGroup>& said) {
  const std::string axes = axes_in(t.axes, of);
  if (axes.size() != sizes.size() || (said && said->group != t.group)) return {};
  std::vector<int> blocks{1};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::vector<int> found = blocks_along(axes[i], sizes[i], of, said);
    if (found.empty()) return {};
    if (axes[i] == 'N' || axes[i] == 'D') blocks = std::move(found);
  }
  const HeadShape shape = shape_along(axes, sizes);
  if (of.of_sequences > 0 && !fits_sequences(t.group, shape.batch, of)) return {};
  std::vector<StoredScale> scales;
  for (const int block : blocks) scales.push_back({t.group, block, shape});
  return scales;
}

/// Adds readings that differ from the others by more than their group.
void add(std::vector<StoredScale>& all, const std::vector<StoredScale>& more) {
  for (const StoredScale& s : more)
    if (std::ranges::none_of(all, [&](const StoredScale& x) { return x.shape == s.shape && x.block == s.block; }))
      all.push_back(s);
}

/// Axes of a scale with as many dimensions as its tensor, each 1 or the tensor's size; else none.
std::optional<std::string> axes_side_by_side(const StoredTensor& scale, const ScaledMatrix& of) {
  if (of.shape.order == HeadOrder::side_by_side || scale.shape.size() != of.tensor.shape.size()) return std::nullopt;
  const std::string_view all = of.shape.order == HeadOrder::heads_first ? "bhnd" : "bnhd";
  if (scale.shape.size() > all.size()) return std::nullopt;
  const std::string_view axes = all.substr(all.size() - scale.shape.size());
  std::string found;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (scale.shape[i] == 1) continue;
    if (scale.shape[i] != static_cast<std::uint64_t>(size_of(of, axes[i]))) return std::nullopt;
    found += axes[i];
  }
  return found;
}

/// True for a scale of (batch, heads) or (batch, heads of K), as FlashAttention-3 takes them.
bool has_batch_and_heads(const StoredTensor& scale, const ScaledMatrix& of) {
  const auto is = [&](int heads) {
    return scale.shape == Sizes{static_cast<std::uint64_t>(of.shape.batch), static_cast<std::uint64_t>(heads)};
  };
  return of.shape.batch > 1 && (is(of.shape.heads) || is(of.kv_heads));
}

/// All possible readings of a scale of this shape.
std::vector<StoredScale> possible_scales(const StoredTensor& scale, const ScaledMatrix& of,
                                         const std::optional<SaidGroup>& said) {
  Sizes sizes = scale.shape;
  std::erase(sizes, 1U);  // sizes of 1 do not show the kind of a scale
  const std::optional<std::string> axes = axes_side_by_side(scale, of);
  std::vector<StoredScale> all;
  for (const Template& t : templates)
    if (axes ? t.axes == *axes : t.group == ScaleGroup::head && has_batch_and_heads(scale, of))
      add(all, along(t, sizes, of, said));
  if (!all.empty()) return all;
  for (const Template& t : templates) add(all, along(t, sizes, of, said));
  if (!all.empty()) return all;
  for (const Template& t : blocks_before_heads) add(all, along(t, sizes, of, said));
  return all;
}

/// If a reading fits in both orders of tokens and heads, keeps the one in the given order.
void keep_order(std::vector<StoredScale>& all, HeadOrder order) {
  const bool heads_first = order == HeadOrder::heads_first;
  const auto follows = [&](const StoredScale& s) { return (s.shape.order == HeadOrder::heads_first) == heads_first; };
  const std::vector<StoredScale> found = all;
  std::erase_if(all, [&](const StoredScale& s) {
    const auto other = [&](const StoredScale& x) { return x.group == s.group && x.block == s.block && follows(x); };
    return !follows(s) && std::ranges::any_of(found, other);
  });
}

std::string wanted_shapes(const ScaledMatrix& of) {
  const HeadShape& s = of.shape;
  const auto text = [](std::initializer_list<int> sizes, const char* behind = "") {
    std::string shape = "[";
    for (const int size : sizes) shape += (shape.size() > 1 ? ", " : "") + std::to_string(size);
    return shape + behind + "]";
  };
  if (of.of_sequences > 0)
    return "[1], " + text({s.heads}) + " (per head), " + text({of.of_sequences, s.heads}) + " (per head of each sequence), " +
           (s.batch > 1 ? text({s.batch, s.n, s.heads}) : text({s.n, s.heads})) + " (per token) or " + text({s.heads, s.d}) +
           " (per channel)";
  std::string shapes = "[1], " + text({s.heads}) + " (per head), " + text({s.n}) + " or " + text({s.heads, s.n}) +
                       " (per token), " + text({s.heads, s.d}) + " (per channel), " + text({s.heads}, ", blocks") +
                       ", [blocks, " + std::to_string(s.heads) + "] or " + text({s.heads, s.n}, ", blocks");
  return s.batch > 1 ? shapes + ", a batch of " + std::to_string(s.batch) + " in front or not" : shapes;
}

std::string shape_of_reading(const StoredScale& s) {
  return scale_text(s) + (s.shape.order == HeadOrder::tokens_first ? " of tokens before heads" : "");
}

[[noreturn]] void ask_which(const StoredTensor& scale, const ScaledMatrix& of, const std::vector<StoredScale>& all) {
  constexpr std::size_t most = 4;
  std::string fitting;
  for (std::size_t i = 0; i < std::min(all.size(), most); ++i) fitting += (i > 0 ? ", " : "") + shape_of_reading(all[i]);
  const bool of_order =
      std::ranges::all_of(all, [&](const StoredScale& s) { return s.group == all[0].group && s.block == all[0].block; });
  throw std::runtime_error(
      scale.label + " has shape " + shape_text(scale.shape) + ", which fits several kinds of scales of " + of.tensor.label +
      ", " + shape_text(of.tensor.shape) + ": " + fitting + (all.size() > most ? ", ..." : "") + "; say which " +
      (of_order ? "by --layout"
                : "behind the scale's name, as k_scale=FILE[" + scale_group_text({all[0].group, all[0].block}) + "]"));
}

void check_type(const StoredTensor& scale) {
  constexpr std::array types{ElementType::F64,  ElementType::F32,     ElementType::F16,
                             ElementType::BF16, ElementType::F8_E4M3, ElementType::F8_E8M0};
  if (std::ranges::find(types, scale.type) != types.end()) return;
  throw std::runtime_error(scale.label + " is a scale of " + std::string(type_name(scale.type)) +
                           ", expected F64, F32, F16, BF16, F8_E4M3 or F8_E8M0");
}

void check_numbers(const std::vector<double>& scales, const StoredTensor& tensor) {
  const auto bad = std::ranges::find_if(scales, [](double x) { return !(std::isfinite(x) && x > 0); });
  if (bad == scales.end()) return;
  throw std::runtime_error(tensor.label + " holds the scale " + shortest(*bad) + ", expected finite numbers above 0");
}

}  // namespace

std::string scale_text(const StoredScale& scale) {
  return (scale.group < ScaleGroup::tokens ? "per " : "per block of ") + scale_group_text({scale.group, scale.block});
}

bool takes_scale(ElementType t) { return bytes_of(t) == 1 && t != ElementType::F8_E8M0; }

StoredScale stored_scale(const StoredTensor& scale, const ScaledMatrix& of, std::optional<HeadOrder> order,
                         const std::optional<SaidGroup>& said) {
  check_type(scale);
  std::vector<StoredScale> all = possible_scales(scale, of, said);
  if (order) keep_order(all, *order);
  if (all.empty())
    refuse_shape(scale,
                 "that of a scale of " + of.tensor.label + ", " + shape_text(of.tensor.shape) + ": " + wanted_shapes(of));
  if (all.size() > 1) ask_which(scale, of, all);
  return all.front();
}

void multiply_head(std::vector<double>& values, const HeadShape& of, int index, const InputFile& file,
                   const StoredTensor& tensor, const StoredScale& scale, const ReadWatch& watch) {
  const HeadShape& s = scale.shape;
  const int batch = s.batch > 1 ? index / of.heads : 0, head = index % of.heads / (of.heads / s.heads);
  StoredTensor plain = tensor;  // without the sizes of 1, which may be anywhere
  const auto whole = [](int x) { return static_cast<std::uint64_t>(x); };
  plain.shape = {whole(s.batch), whole(s.heads), whole(s.n), whole(s.d)};
  const std::vector<double> scales = read_head(file, plain, s, batch * s.heads + head, watch);
  check_numbers(scales, tensor);
  const int tokens = s.n == 1                            ? of.n
                     : scale.group == ScaleGroup::tokens ? scale.block
                                                         : 1,
            columns = s.d == 1                             ? of.d
                      : scale.group == ScaleGroup::columns ? scale.block
                                                           : 1;
  double* value = values.data();
  for (int i = 0; i < of.n; ++i) {
    const double* const row = &scales[whole(i / tokens) * whole(s.d)];
    for (int c = 0; c < of.d; ++c) *value++ *= row[c / columns];
  }
}

}  // namespace attoscope::app
