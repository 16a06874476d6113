#include "app/tensors/head_layout.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "app/words/numbers.h"
#include "kernels/experiment/experiment.h"

namespace attoscope::app {
namespace {

using Call = std::array<StoredTensor, 3>;
using Shapes = std::array<HeadShape, 3>;

std::string shapes_in(HeadOrder order) {
  if (order == HeadOrder::heads_first) return "(n, d), (heads, n, d) or (batch, heads, n, d)";
  if (order == HeadOrder::tokens_first) return "(n, heads, d) or (batch, n, heads, d)";
  return "(n, heads * d) or (batch, n, heads * d)";
}

std::size_t rank_of(const StoredTensor& t) { return t.shape.size(); }

bool is_within(std::uint64_t size, int most) { return size >= 1 && size <= static_cast<std::uint64_t>(most); }

/// Expected sizes, "a number of tokens from 1 to 1048576", if these are out of range; else "".
std::string fault_of(std::uint64_t batch, std::uint64_t heads, std::uint64_t n, std::uint64_t d) {
  const auto from_one = [](const char* what, int most) { return std::string(what) + " from 1 to " + std::to_string(most); };
  if (!is_within(n, max_n)) return from_one("a number of tokens", max_n);
  if (!is_within(d, max_d)) return from_one("a head dimension", max_d);
  if (!is_within(heads, most_heads) || !is_within(batch, most_heads) || heads * batch > most_heads)
    return from_one("a number of heads", most_heads);
  return "";
}

/// The tensor, K or V, that does not fit, and what was expected; empty if all fit.
struct Mismatch {
  std::size_t tensor = 0;
  std::string expected;
};

/// Required sizes. alike: K has as many tokens as Q, and V as many columns as K. more_keys: K may have more tokens, V other
/// columns. any: the layout is given.
enum class AllowedSizes : std::uint8_t { alike, more_keys, any };

/// Words behind a refusal of K if its bytes may each hold two numbers, as those of NVFP4 and MXFP4 do.
std::string packed_by_two(const StoredTensor& k, const Shapes& s) {
  const bool halved = k.type == ElementType::U8 && s[0].d == 2 * s[1].d;
  return halved ? "; numbers of 4 bits, two in a byte, are not read: unpack them" : "";
}

Mismatch mismatch_of(const Call& qkv, const Shapes& s, AllowedSizes sizes) {
  const auto& [q, k, v] = s;
  const bool alike = sizes == AllowedSizes::alike;
  if ((alike && k.n != q.n) || k.d != q.d || k.batch != q.batch)
    return {1, std::string(alike ? "batch, tokens and d" : "batch and d") + " like q's " + shape_text(qkv[0].shape) +
                   packed_by_two(qkv[1], s)};
  if (sizes == AllowedSizes::more_keys && k.n < q.n)
    return {1, "no fewer tokens than q's " + shape_text(qkv[0].shape) + ", or --layout"};
  if (q.heads % k.heads != 0) return {1, "a number of heads that divides the " + std::to_string(q.heads) + " of q"};
  if (v.batch != k.batch || v.heads != k.heads || v.n != k.n)
    return {2, "batch, heads and tokens like k's " + shape_text(qkv[1].shape)};
  if (alike && v.d != k.d) return {2, "the shape of k, " + shape_text(qkv[1].shape)};
  return {};
}

/// Shapes of all three in one order, or the mismatch.
struct Fit {
  Shapes shapes;
  Mismatch mismatch;
  bool fits() const { return mismatch.expected.empty(); }
};

Fit fit_in(const Call& qkv, const std::array<HeadOrder, 3>& orders, AllowedSizes sizes, int d) {
  Fit fit;
  for (std::size_t i = 0; i < 3; ++i) {
    HeadReading reading = reading_in(qkv[i], orders[i], d);
    if (!reading.fault.empty()) return {{}, {i, std::move(reading.fault)}};
    fit.shapes[i] = reading.shape;
  }
  fit.mismatch = mismatch_of(qkv, fit.shapes, sizes);
  return fit;
}

Fit fit_in(const Call& qkv, HeadOrder order, AllowedSizes sizes) { return fit_in(qkv, {order, order, order}, sizes, 0); }

/// A tensor with one more dimension than another has a dimension of heads, after its tokens or else before them.
Fit fit_side_by_side(const Call& qkv, AllowedSizes sizes, int d) {
  const std::size_t least = rank_of(std::ranges::min(qkv, {}, rank_of));
  const auto with_apart = [&](HeadOrder apart) {
    std::array<HeadOrder, 3> orders{};
    for (std::size_t i = 0; i < 3; ++i) orders[i] = rank_of(qkv[i]) > least ? apart : HeadOrder::side_by_side;
    return fit_in(qkv, orders, sizes, d);
  };
  Fit after = with_apart(HeadOrder::tokens_first);
  if (after.fits()) return after;
  Fit before = with_apart(HeadOrder::heads_first);
  return before.fits() ? before : after;
}

/// d from a tensor with a dimension of heads, if another tensor has heads side by side; else 0.
int shown_d(const Call& qkv, const StoredTensor* sibling) {
  std::vector<const StoredTensor*> all{&qkv[0], &qkv[1], &qkv[2]};
  if (sibling != nullptr) all.push_back(sibling);
  const auto less = [](const StoredTensor* x, const StoredTensor* y) { return x->shape.size() < y->shape.size(); };
  const auto [flat, apart] = std::ranges::minmax_element(all, less);
  const bool differ = (*flat)->shape.size() + 1 == (*apart)->shape.size() && (*flat)->shape.size() >= 2;
  return differ && is_within((*apart)->shape.back(), max_d) ? static_cast<int>((*apart)->shape.back()) : 0;
}

/// Possible head counts of Q with heads side by side: for usual head dimensions, else at most 8 others.
std::vector<int> possible_heads(const Call& qkv) {
  const std::vector<std::uint64_t>& q = qkv[0].shape;
  if (q.size() < 2 || q.size() > 3) return {};
  std::vector<int> found;
  const auto add = [&](int d) {
    const bool whole = q.back() % static_cast<std::uint64_t>(d) == 0;
    if (whole && fit_side_by_side(qkv, AllowedSizes::more_keys, d).fits())
      found.push_back(static_cast<int>(q.back() / static_cast<std::uint64_t>(d)));
  };
  for (const int d : {32, 64, 72, 80, 96, 112, 128, 192, 256}) add(d);
  if (!found.empty()) return found;
  for (int d = max_d; d >= 1 && found.size() < 8; --d) add(d);
  return found;
}

std::string reading_text(const Shapes& s) {
  const std::string layout = std::string(s[0].batch > 1 ? "b " : "") + layout_text({s[0].order, 0});
  return layout + " (" + counted(s[0].heads, "head") + " of " + std::to_string(s[0].n) + " tokens)";
}

[[noreturn]] void ask_which(const Call& qkv, const Fit& one, const Fit& other) {
  throw std::runtime_error(qkv[0].label + " has shape " + shape_text(qkv[0].shape) + ", which fits " +
                           reading_text(one.shapes) + " and " + reading_text(other.shapes) +
                           ": say which by --layout, or behind the file's name as [" + layout_text({one.shapes[0].order, 0}) +
                           "]");
}

[[noreturn]] void ask_heads(const Call& qkv, const std::vector<int>& heads) {
  const std::string fitting = listed(heads, ", ", [](int h) { return layout_text({HeadOrder::side_by_side, h}); });
  throw std::runtime_error(qkv[0].label + " has shape " + shape_text(qkv[0].shape) + ", k has " + shape_text(qkv[1].shape) +
                           ": how many heads stand side by side is not said, and " + fitting +
                           " would fit: say which by --layout, or behind the file's name in [ ]");
}

/// The given number of heads side by side, or that which another tensor shows.
Fit said_side_by_side(const Call& qkv, int said, const StoredTensor* sibling) {
  const std::uint64_t width = qkv[0].shape.empty() ? 0 : qkv[0].shape.back();
  const auto heads = static_cast<std::uint64_t>(said);
  if (said > 0 && width % heads != 0) refuse_shape(qkv[0], "rows of " + counted(said, "head"));
  const int d = said > 0 ? static_cast<int>(std::min<std::uint64_t>(width / heads, max_d + 1)) : shown_d(qkv, sibling);
  if (d == 0)
    if (const std::vector<int> heads_that_fit = possible_heads(qkv); !heads_that_fit.empty()) ask_heads(qkv, heads_that_fit);
  for (const AllowedSizes sizes : {AllowedSizes::alike, AllowedSizes::more_keys})
    if (Fit fit = fit_side_by_side(qkv, sizes, d); fit.fits()) return fit;
  return fit_side_by_side(qkv, AllowedSizes::any, d);
}

/// Shapes in the given layout; throws with one sentence if they do not fit.
Shapes as_said(const Call& qkv, const HeadLayout& said, const StoredTensor* sibling) {
  const Fit fit = said.order == HeadOrder::side_by_side ? said_side_by_side(qkv, said.heads, sibling)
                                                        : fit_in(qkv, said.order, AllowedSizes::any);
  if (!fit.fits()) refuse_shape(qkv[fit.mismatch.tensor], fit.mismatch.expected);
  return fit.shapes;
}

/// One head of a tensor whose tokens come before its heads.
std::vector<double> head_across(const InputFile& file, const StoredTensor& t, const HeadShape& s, int index,
                                const ReadWatch& watch) {
  if (t.fortran_order)
    throw std::runtime_error(t.label + " is in Fortran order with its heads in the middle, expected C order");
  const auto whole = [](int x) { return static_cast<std::uint64_t>(x); };
  const std::uint64_t row_bytes = whole(s.d) * whole(bytes_of(t.type)), first = whole(index / s.heads) * whole(s.n);
  std::vector<double> values;
  values.reserve(whole(s.n) * whole(s.d));
  StoredTensor row = t;
  for (int i = 0; i < s.n; ++i) {
    tell(watch, static_cast<double>(i) / s.n, t.label);
    row.offset = t.offset + ((first + whole(i)) * whole(s.heads) + whole(index % s.heads)) * row_bytes;
    const std::vector<double> x = read_matrix(file, row, {1, 1, s.d}, 0);
    values.insert(values.end(), x.begin(), x.end());
  }
  return values;
}

/// Shapes from the tensors' sizes alone; none if no order fits.
std::optional<Shapes> shapes_found(const Call& qkv, const LayoutHints& hints, AllowedSizes sizes) {
  const Fit heads = fit_in(qkv, HeadOrder::heads_first, sizes), tokens = fit_in(qkv, HeadOrder::tokens_first, sizes);
  if (heads.fits() && tokens.fits() && rank_of(std::ranges::max(qkv, {}, rank_of)) >= 3) {
    const bool by_tokens = hints.likely == HeadOrder::tokens_first;
    const Fit &likely = by_tokens ? tokens : heads, &other = by_tokens ? heads : tokens;
    const HeadShape& q = likely.shapes[0];
    if (hints.asks && q.heads > q.n) ask_which(qkv, likely, other);
    return likely.shapes;
  }
  if (heads.fits()) return heads.shapes;
  if (tokens.fits()) {
    const HeadShape& q = tokens.shapes[0];
    const Fit cross = fit_in(qkv, HeadOrder::heads_first, AllowedSizes::any);  // K may have fewer tokens than Q
    if (hints.likely == HeadOrder::heads_first && q.heads > q.n && cross.fits()) ask_which(qkv, cross, tokens);
    return tokens.shapes;
  }
  if (const int d = shown_d(qkv, hints.sibling); d > 0)
    if (const Fit fit = fit_side_by_side(qkv, sizes, d); fit.fits()) return fit.shapes;
  return std::nullopt;
}

}  // namespace

HeadReading reading_in(const StoredTensor& t, HeadOrder order, int d) {
  const bool flat = order == HeadOrder::side_by_side;
  const std::size_t rank = t.shape.size();
  if (rank < 2 || rank > (flat ? 3 : 4)) return {{}, shapes_in(order)};
  byte_count(t.shape, bytes_of(t.type), t.label);
  const auto size = [&](std::size_t from_end) { return from_end > rank ? 1 : t.shape[rank - from_end]; };
  std::uint64_t batch = size(4), heads = size(3), n = size(2), columns = size(1);
  if (order == HeadOrder::tokens_first && rank > 2) std::swap(heads, n);
  if (flat) {
    const auto wanted = static_cast<std::uint64_t>(d);
    if (d < 1 || columns % wanted != 0) return {{}, "rows of whole heads, each of " + std::to_string(d) + " numbers"};
    batch = size(3);
    heads = columns / wanted;
    columns = wanted;
  }
  if (std::string fault = fault_of(batch, heads, n, columns); !fault.empty()) return {{}, std::move(fault)};
  const auto whole = [](std::uint64_t x) { return static_cast<int>(x); };
  return {{order, whole(batch), whole(heads), whole(n), whole(columns)}, ""};
}

std::array<HeadShape, 3> shapes_of_call(const std::array<StoredTensor, 3>& qkv, const LayoutHints& hints) {
  if (hints.said) return as_said(qkv, *hints.said, hints.sibling);
  // equal token counts are tried first; if an order fits with them, others are not considered
  for (const AllowedSizes sizes : {AllowedSizes::alike, AllowedSizes::more_keys})
    if (const std::optional<Shapes> found = shapes_found(qkv, hints, sizes)) return *found;
  const bool wide = !qkv[0].shape.empty() && qkv[0].shape.back() > max_d, narrower = qkv[1].shape < qkv[0].shape;
  if (wide || narrower)
    if (const std::vector<int> fitting = possible_heads(qkv); !fitting.empty()) ask_heads(qkv, fitting);
  const Mismatch mismatch = fit_in(qkv, HeadOrder::heads_first, AllowedSizes::more_keys).mismatch;
  refuse_shape(qkv[mismatch.tensor], mismatch.expected);
}

std::vector<HeadLayout> layouts_side_by_side(const std::array<StoredTensor, 3>& qkv) {
  constexpr int least_usual_d = 32;
  std::vector<HeadLayout> layouts;
  for (const int heads : possible_heads(qkv))
    if (heads > 1 && qkv[0].shape.back() / static_cast<std::uint64_t>(heads) >= least_usual_d)
      layouts.push_back({HeadOrder::side_by_side, heads});
  return layouts;
}

std::string other_reading(const std::array<StoredTensor, 3>& qkv, const LayoutHints& hints) {
  constexpr int most_usual_heads = 128;
  const Fit heads = fit_in(qkv, HeadOrder::heads_first, AllowedSizes::alike),
            tokens = fit_in(qkv, HeadOrder::tokens_first, AllowedSizes::alike);
  if (hints.said || !heads.fits() || !tokens.fits() || rank_of(qkv[0]) < 3) return "";
  const bool by_tokens = hints.likely == HeadOrder::tokens_first;
  const Fit &likely = by_tokens ? tokens : heads, &other = by_tokens ? heads : tokens;
  if (other.shapes[0].heads > most_usual_heads) return "";
  std::string others = reading_text(other.shapes);
  for (const HeadLayout& layout : layouts_side_by_side(qkv)) others += ", " + layout_text(layout);
  return qkv[0].label + " has shape " + shape_text(qkv[0].shape) + ", read as " + reading_text(likely.shapes) + "; " + others +
         " would fit, too (--layout)";
}

std::optional<HeadShape> shape_of_output(const StoredTensor& o, const HeadShape& wanted) {
  for (const HeadOrder order : {wanted.order, HeadOrder::heads_first, HeadOrder::tokens_first, HeadOrder::side_by_side})
    if (const HeadReading reading = reading_in(o, order, wanted.d); reading.fault.empty() && reading.shape.same_sizes(wanted))
      return reading.shape;
  HeadShape wider = wanted;
  wider.d = o.shape.empty() ? 0 : static_cast<int>(std::min<std::uint64_t>(o.shape.back(), max_d));
  if (wider.d <= wanted.d) return std::nullopt;
  const std::optional<HeadShape> found = shape_of_output(o, wider);
  return found && found->order != HeadOrder::side_by_side ? found : std::nullopt;
}

std::vector<double> first_columns(std::vector<double> values, int columns, int kept) {
  if (columns == kept) return values;
  const auto from = static_cast<std::ptrdiff_t>(columns), to = static_cast<std::ptrdiff_t>(kept);
  const auto rows = static_cast<std::ptrdiff_t>(values.size()) / from;
  for (std::ptrdiff_t row = 1; row < rows; ++row) std::copy_n(values.begin() + row * from, to, values.begin() + row * to);
  values.resize(static_cast<std::size_t>(rows * to));
  return values;
}

std::vector<double> read_head(const InputFile& file, const StoredTensor& tensor, const HeadShape& s, int index,
                              const ReadWatch& watch) {
  const bool as_it_lies = s.heads == 1 && (!tensor.fortran_order || tensor.shape.size() == 2);
  if (s.order == HeadOrder::heads_first || as_it_lies) return read_matrix(file, tensor, {s.count(), s.n, s.d}, index, watch);
  return head_across(file, tensor, s, index, watch);
}

}  // namespace attoscope::app
