#include "app/tensors/packed.h"

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>

#include "app/tensors/name_words.h"
#include "app/tensors/strided_file.h"
#include "app/tensors/tensor_names.h"
#include "app/tensors/tensor_set.h"
#include "app/words/numbers.h"
#include "kernels/experiment/experiment.h"

namespace attoscope::app {
namespace {

using enum PackedPart;

constexpr std::uint64_t most_entries_of_table = 1 << 22;
constexpr std::size_t most_sequences = 1 << 16;

[[noreturn]] void refuse_packed(const NamedTensor& t, const std::string& what) {
  throw std::runtime_error(t.tensor.label + what);
}

std::string_view name_of(PackedPart part) { return packed_part_names[part]; }

/// The tokens of part 0 q .. 3 o.
const TokenRun& run_of(const Sequence& s, int part) { return part == 1 || part == 2 ? s.k : s.q; }

bool holds_integers(const NamedTensor& t) {
  return t.dtype == "I32" || t.dtype == "I64" || t.dtype == "U32" || t.dtype == "I16" || t.dtype == "U64";
}

void check_integers(const NamedTensor& t) {
  if (!holds_integers(t)) refuse_packed(t, " has dtype " + in_quotes(t.dtype) + ", expected I32 or I64");
}

/// The numbers of a table of `rank` dimensions.
std::vector<std::int64_t> numbers_of(const NamedTensor& t, std::size_t rank) {
  const StoredTensor& s = t.tensor;
  check_integers(t);
  if (s.shape.size() != rank || s.fortran_order) refuse_shape(s, rank == 1 ? "one dimension" : "[sequences, pages]");
  const std::size_t width = static_cast<std::size_t>(element_bytes(t.dtype));
  const std::uint64_t count = byte_count(s.shape, 1, s.label);
  if (count > most_entries_of_table)
    refuse_packed(t, " holds " + std::to_string(count) + " numbers, expected at most " + std::to_string(most_entries_of_table));
  std::vector<char> bytes(count * width);
  t.file->read_at(s.offset, bytes);
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = number_in({&bytes[i * width], width}, s.big_endian);
    const std::uint64_t sign = std::uint64_t{1} << (8 * width - 1);
    const bool negative = t.dtype[0] == 'I' && (bits & sign) != 0;
    numbers.push_back(static_cast<std::int64_t>(negative ? bits - sign - sign : bits));
  }
  return numbers;
}

[[noreturn]] void refuse_number(const NamedTensor& t, std::size_t i, std::int64_t x, const std::string& expected) {
  refuse_packed(t, "[" + std::to_string(i) + "] is " + std::to_string(x) + ", expected " + expected);
}

std::uint64_t checked(const NamedTensor& t, std::size_t i, std::int64_t x, std::uint64_t least, std::uint64_t most) {
  if (x < 0 || static_cast<std::uint64_t>(x) < least || static_cast<std::uint64_t>(x) > most)
    refuse_number(t, i, x, std::to_string(least) + (least == most ? "" : " to " + std::to_string(most)));
  return static_cast<std::uint64_t>(x);
}

/// Reads bounds, which begin at 0, never decrease, and are at most `most`.
std::vector<std::uint64_t> bounds_of(const NamedTensor& t, std::uint64_t most) {
  std::vector<std::uint64_t> bounds;
  for (const std::int64_t x : numbers_of(t, 1)) {
    if (bounds.empty() && x != 0) refuse_number(t, 0, x, "0");
    bounds.push_back(checked(t, bounds.size(), x, bounds.empty() ? 0 : bounds.back(), most));
  }
  return bounds;
}

/// The tensor of `--block-table` and the like.
NamedTensor open_table(PackedPart part, const std::string& text) {
  const TensorRef ref = tensor_ref(text);
  if (!is_tensor_file(ref.file))
    throw std::invalid_argument(std::string(name_of(part)) + " is " + in_quotes(text) + ", expected " + tensor_specs());
  const std::array<std::string_view, 1> usual{name_of(part)};
  const TensorSet set = list_file(ref.file);
  const auto found = std::ranges::find(set.tensors, part, [](const NamedTensor& t) { return packed_part_of(t.name); });
  return ref.tensor.empty() && found != set.tensors.end() ? *found : tensor_in(set, ref, usual);
}

/// The tensors of packed and paged calls in a set, by their parts.
using TablesOfSet = std::multimap<PackedPart, const NamedTensor*>;

TablesOfSet tables_of(const TensorSet& set) {
  TablesOfSet tables;
  for (const NamedTensor& t : set.tensors)
    if (const std::optional<PackedPart> part = packed_part_of(t.name)) tables.emplace(*part, &t);
  return tables;
}

/// The table of a call among those of its files.
std::optional<NamedTensor> table_in(const TablesOfSet& tables, PackedPart part, const std::string& shared) {
  std::vector<const NamedTensor*> all, own;
  const NamedTensor* no_integers = nullptr;
  for (auto [at, end] = tables.equal_range(part); at != end; ++at) {
    const NamedTensor& t = *at->second;
    if (!holds_integers(t)) {
      no_integers = &t;
      continue;
    }
    all.push_back(&t);
    if (place_of(t.name.substr(0, t.name.find_last_of("./") + 1)) == place_of(shared)) own.push_back(&t);
  }
  if (own.empty()) own = all;
  if (own.empty() && no_integers != nullptr) check_integers(*no_integers);
  if (own.empty()) return {};
  if (own.size() > 1)
    throw std::runtime_error(own[0]->tensor.label + " and " + in_quotes(own[1]->name) + " are both called " +
                             std::string(name_of(part)) + ", expected one of them to be named");
  return *own.front();
}

/// The tensor as tokens; `d`: columns of a head if heads are side by side.
TokenStore store_of(const NamedTensor& t, HeadOrder order, std::uint64_t d) {
  const std::vector<std::uint64_t>& shape = readable(t).tensor.shape;
  const std::size_t rank = shape.size();
  const bool flat = order == HeadOrder::side_by_side && d > 0;
  refuse_fortran_order(t.tensor);
  const auto size = [&](std::size_t from_end) { return from_end > rank ? 1 : shape[rank - from_end]; };
  std::uint64_t pages = size(flat ? 3 : 4), n = size(2), heads = size(3), columns = size(1);
  if (order == HeadOrder::tokens_first && rank > 2) std::swap(n, heads);
  if (flat) {
    heads = columns / d;
    columns = columns % d == 0 ? d : 0;
  }
  const bool sized = columns >= 1 && columns <= max_d && heads >= 1 && heads <= most_heads && n >= 1 && pages >= 1;
  if (rank < 2 || rank > (flat ? 3 : 4) || !sized)
    refuse_shape(t.tensor, flat                              ? "(tokens, heads * d)"
                           : order == HeadOrder::heads_first ? "(heads, tokens, d) or (pages, heads, tokens, d)"
                                                             : "(tokens, heads, d) or (pages, tokens, heads, d)");
  const bool apart = order == HeadOrder::heads_first;
  return {t,
          pages,
          n,
          static_cast<int>(heads),
          static_cast<int>(columns),
          n * heads * columns,
          apart ? columns : heads * columns,
          apart ? n * columns : columns};
}

/// The sequences of a call, from its tables.
class Sequences {
 public:
  Sequences(const PackedCall& call, const PackedTables& tables)
      : call_(call), tables_(tables), ragged_(tables[kv_indptr] && !tables[kv_indices]) {
    count(tables[cu_seqlens_q], 1);
    count(tables[cu_seqlens_k], 1);
    count(tables[kv_indptr], 1);
    count(tables[leftpad_k], 0);
    count(tables[block_table], 0);
    count(tables[cache_seqlens], 0);
    count(tables[kv_last_page_len], 0);
    if (count_ > most_sequences)
      throw std::runtime_error(counted_ + " holds " + std::to_string(count_) + " sequences, expected at most " +
                               std::to_string(most_sequences));
  }

  std::vector<Sequence> found() {
    std::vector<Sequence> all(count_);
    for (std::size_t i = 0; i < count_; ++i) all[i].index = static_cast<int>(i);
    find_queries(all);
    if (tables_[block_table])
      find_blocks(all);
    else if (tables_[kv_indices])
      find_csr(all);
    else
      find_keys(all);
    cut(all);
    return all;
  }

  /// The table of K's bounds; none: it has none of its own.
  const std::optional<NamedTensor>& bounds_of_k() const { return ragged_ ? tables_[kv_indptr] : tables_[cu_seqlens_k]; }

 private:
  void count(const std::optional<NamedTensor>& t, std::uint64_t more) {
    if (!t) return;
    check_integers(*t);
    const std::vector<std::uint64_t>& shape = t->tensor.shape;
    const bool is_row = shape.size() == 1 || &t == &tables_[block_table];
    if (!is_row || shape.empty() || shape[0] <= more)
      refuse_shape(t->tensor, (is_row ? "at least " : "one dimension of at least ") + std::to_string(more + 1) + " numbers");
    if (!counted_.empty() && shape[0] - more != count_)
      refuse_shape(t->tensor,
                   std::to_string(count_ + more) + " for the " + std::to_string(count_) + " sequences of " + counted_);
    count_ = shape[0] - more;
    counted_ = t->tensor.label;
  }

  void find_queries(std::vector<Sequence>& all) const {
    const TokenStore& q = call_.parts[0];
    if (const auto& bounds = tables_[cu_seqlens_q]) return set_bounds(all, &Sequence::q, bounds_of(*bounds, q.tokens()));
    const bool one_each = q.pages == 1 && q.page == count_;
    if (!one_each && q.pages != count_)
      refuse_shape(q.tensor.tensor, "queries of " + std::to_string(count_) + " sequences, or cu_seqlens_q");
    for (std::size_t i = 0; i < count_; ++i) all[i].q = {one_each ? i : i * q.page, one_each ? 1 : whole(q.page)};
  }

  static int whole(std::uint64_t count) { return static_cast<int>(std::min<std::uint64_t>(count, max_n + 1)); }

  static void set_bounds(std::vector<Sequence>& all, TokenRun Sequence::* run, const std::vector<std::uint64_t>& bounds) {
    for (std::size_t i = 0; i < all.size(); ++i) all[i].*run = {bounds[i], whole(bounds[i + 1] - bounds[i])};
  }

  /// Keys of each sequence, at most `most`, from cache_seqlens, or else from the bounds of K.
  std::vector<std::uint64_t> lengths(std::uint64_t most) const {
    std::vector<std::uint64_t> all;
    if (const auto& table = tables_[cache_seqlens])
      for (const std::int64_t x : numbers_of(*table, 1)) all.push_back(checked(*table, all.size(), x, 0, most));
    else if (const auto& bounds = bounds_of_k()) {
      const std::vector<std::uint64_t> ends = bounds_of(*bounds, most * count_);
      for (std::size_t i = 0; i < count_; ++i) all.push_back(ends[i + 1] - ends[i]);
    }
    return all;
  }

  void find_keys(std::vector<Sequence>& all) const {
    const TokenStore& k = call_.parts[1];
    if (ragged_ && k.pages > 1)
      refuse_packed(*tables_[kv_indptr], " has no kv_indices beside it, expected the pages of its sequences");
    const auto& own = bounds_of_k();
    const bool rows = !own && k.pages == count_ && (count_ > 1 || !tables_[cu_seqlens_q]);
    if (rows)
      for (std::size_t i = 0; i < count_; ++i) all[i].k = {i * k.page, whole(k.page)};
    else if (const auto& bounds = own ? own : tables_[cu_seqlens_q])
      set_bounds(all, &Sequence::k, bounds_of(*bounds, k.tokens()));
    else
      refuse_shape(k.tensor.tensor, "keys of " + std::to_string(count_) + " sequences, or cu_seqlens_k or block_table");
    if (!tables_[cache_seqlens]) return;
    const std::vector<std::int64_t> used = numbers_of(*tables_[cache_seqlens], 1);
    for (std::size_t i = 0; i < count_; ++i)
      all[i].k.count = whole(checked(*tables_[cache_seqlens], i, used[i], 0, static_cast<std::uint64_t>(all[i].k.count)));
  }

  void find_blocks(std::vector<Sequence>& all) const {
    const NamedTensor& table = *tables_[block_table];
    const std::vector<std::int64_t> pages = numbers_of(table, 2);
    const std::uint64_t columns = table.tensor.shape[1], page = call_.parts[1].page;
    const std::vector<std::uint64_t> keys = lengths(std::min<std::uint64_t>(columns * page, max_n));
    if (keys.empty()) refuse_packed(table, " has no cache_seqlens beside it, expected the keys of each sequence");
    for (std::size_t i = 0; i < count_; ++i) {
      all[i].k = {0, whole(keys[i]), {}};
      if (keys[i] > columns * page)
        refuse_packed(table, ": sequence " + std::to_string(i) + " has " + std::to_string(keys[i]) +
                                 " keys, expected at most the " + std::to_string(columns * page) + " of its " +
                                 std::to_string(columns) + " pages");
      Places places;
      for (std::uint64_t p = i * columns; (p - i * columns) * page < keys[i]; ++p) add_page(all[i], places, table, p, pages[p]);
    }
  }

  void find_csr(std::vector<Sequence>& all) const {
    const auto &indptr = tables_[kv_indptr], &last = tables_[kv_last_page_len];
    const NamedTensor& indices = *tables_[kv_indices];
    if (!indptr) refuse_packed(indices, " has no kv_indptr beside it, expected the bounds of sequences in it");
    if (!last) refuse_packed(indices, " has no kv_last_page_len beside it, expected the keys in each sequence's last page");
    const std::vector<std::int64_t> pages = numbers_of(indices, 1), ends = numbers_of(*last, 1);
    const std::vector<std::uint64_t> bounds = bounds_of(*indptr, pages.size());
    const std::uint64_t page = call_.parts[1].page;
    for (std::size_t i = 0; i < count_; ++i) {
      if (bounds[i] == bounds[i + 1]) continue;
      const std::uint64_t in_last = checked(*last, i, ends[i], 1, page);
      all[i].k = {0, whole((bounds[i + 1] - bounds[i] - 1) * page + in_last), {}};
      Places places;
      for (std::uint64_t p = bounds[i]; p < bounds[i + 1]; ++p) add_page(all[i], places, indices, p, pages[p]);
    }
  }

  using Places = std::map<std::uint64_t, std::size_t>;  ///< of each page in its sequence
  void add_page(Sequence& sequence, Places& places, const NamedTensor& table, std::uint64_t i, std::int64_t x) const {
    std::vector<std::uint64_t>& pages = sequence.k.pages;
    pages.push_back(checked(table, i, x, 0, call_.parts[1].pages - 1));
    const auto [place, added] = places.emplace(pages.back(), pages.size() - 1);
    if (!added)
      refuse_packed(table, ": sequence " + std::to_string(sequence.index) + " has page " + std::to_string(x) +
                               " as its pages " + std::to_string(place->second) + " and " + std::to_string(pages.size() - 1) +
                               ", expected each page once");
  }

  /// Removes the padding before the keys, and checks the numbers of tokens.
  void cut(std::vector<Sequence>& all) const {
    const auto& pads = tables_[leftpad_k];
    const std::vector<std::int64_t> left = pads ? numbers_of(*pads, 1) : std::vector<std::int64_t>(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      TokenRun& k = all[i].k;
      if (all[i].q.count > max_n || k.count > max_n)
        throw std::runtime_error(counted_ + ": sequence " + std::to_string(i) + " has more than " + std::to_string(max_n) +
                                 " tokens");
      if (!pads) continue;
      all[i].left_padding = checked(*pads, i, left[i], 0, static_cast<std::uint64_t>(k.count));
      k.first += all[i].left_padding;
      k.count -= static_cast<int>(all[i].left_padding);
    }
  }

  const PackedCall& call_;
  const PackedTables& tables_;
  bool ragged_;
  std::uint64_t count_ = 0;
  std::string counted_;
};

void check_parts(const PackedCall& call) {
  const TokenStore &q = call.parts[0], &k = call.parts[1], &v = call.parts[2];
  if (k.d != q.d) refuse_shape(k.tensor.tensor, std::to_string(q.d) + " columns as q has");
  if (q.heads % k.heads != 0)
    refuse_shape(k.tensor.tensor, "a number of heads that divides the " + std::to_string(q.heads) + " of q");
  if (v.heads != k.heads || v.pages != k.pages || v.page != k.page)
    refuse_shape(v.tensor.tensor, "heads and tokens like k's " + shape_text(k.tensor.tensor.shape));
}

/// Q, K, V and O as tokens.
void set_stores(PackedCall& call, const std::array<NamedTensor, 4>& qkvo, const PackedTables& tables,
                const HeadLayout& layout) {
  const bool flat = layout.order == HeadOrder::side_by_side;
  const std::uint64_t width = qkvo[0].tensor.shape.empty() ? 0 : qkvo[0].tensor.shape.back();
  if (flat && (layout.heads < 1 || width % static_cast<std::uint64_t>(layout.heads) != 0))
    refuse_shape(qkvo[0].tensor, "--layout with its number of heads, n (8 d)");
  const std::uint64_t d = flat ? width / static_cast<std::uint64_t>(layout.heads) : 0;
  call.parts[0] = store_of(qkvo[0], layout.order, d);
  HeadOrder order = layout.order;
  if (call.paged) {
    if (qkvo[1].tensor.shape.size() != 4) refuse_shape(qkvo[1].tensor, "pages: [blocks, page, heads, d]");
    order = tables.page_layout == "HND" ? HeadOrder::heads_first : HeadOrder::tokens_first;
  }
  for (const std::size_t i : {1, 2}) call.parts[i] = store_of(qkvo[i], order, call.paged ? 0 : d);
  check_parts(call);
  call.parts[3].tensor = qkvo[3];
  if (!qkvo[3].file || !qkvo[3].refusal.empty()) return;
  const TokenStore &q = call.parts[0],
                   o = store_of(qkvo[3], layout.order, flat ? static_cast<std::uint64_t>(call.parts[2].d) : 0);
  if (o.heads == q.heads && o.pages == q.pages && o.page == q.page && o.d >= call.parts[2].d) call.parts[3] = o;
}

PackedCall call_in(const std::array<NamedTensor, 4>& qkvo, const PackedTables& tables, const HeadLayout& layout) {
  PackedCall call;
  call.paged = tables[block_table] || tables[kv_indices];
  set_stores(call, qkvo, tables, layout);
  Sequences sequences(call, tables);
  call.sequences = sequences.found();
  call.count = call.sequences.size();
  call.bounds_keys = !call.paged && (sequences.bounds_of_k() || (tables[cu_seqlens_q] && call.parts[1].pages == 1));
  call.bounds_queries = tables[cu_seqlens_q].has_value();
  const TokenRun& last = call.sequences.back().q;
  const std::uint64_t end = last.first + static_cast<std::uint64_t>(last.count), stored = call.parts[0].tokens();
  if (call.bounds_queries && end < stored)
    call.left_out.push_back((end + 1 == stored
                                 ? "token " + std::to_string(end) + " of q belongs"
                                 : "tokens " + std::to_string(end) + " to " + std::to_string(stored - 1) + " of q belong") +
                            " to no sequence");
  std::erase_if(call.sequences, [&](const Sequence& s) {
    const bool empty = s.q.count == 0 || s.k.count == 0;
    if (empty)
      call.left_out.push_back("sequence " + std::to_string(s.index) + " has no " + (s.q.count == 0 ? "queries" : "keys"));
    if (empty && s.q.count > 0) call.without_keys.push_back(s);
    return empty;
  });
  if (call.sequences.empty())
    refuse_packed(qkvo[0], " belongs to sequences without tokens, expected one with queries and keys");
  return call;
}

/// Drops a block table of the files if lists of pages are named. Throws std::invalid_argument with one sentence if both are
/// named, or if a table or the order of pages is named that has no use.
void take_one_kind_of_pages(PackedTables& tables, const PackedSpecs& specs) {
  if (!specs[kv_indices].empty())
    for (const PackedPart part : {block_table, cache_seqlens})
      if (specs[part].empty()) tables.tensors[static_cast<std::size_t>(part)].reset();
  for (const PackedPart part : {kv_indptr, kv_indices, kv_last_page_len}) {
    if (specs[part].empty()) continue;
    if (const auto& table = tables[block_table])
      throw std::invalid_argument(std::string(name_of(part)) + " is named and " + table->tensor.label +
                                  " is a block_table, expected one of them: both say where keys lie");
    if (part == kv_last_page_len && !tables[kv_indices])
      throw std::invalid_argument("kv_last_page_len is named, and there is no kv_indices, expected both");
  }
  if (!specs[page_layout].empty() && !tables[block_table] && !tables[kv_indices])
    throw std::invalid_argument("page_layout is named, and there is no block_table or kv_indices, expected pages");
  for (const PackedPart part : {cache_seqlens, cu_seqlens_k})
    if (const auto& pages = tables[kv_indices]; pages && !tables[block_table] && !specs[part].empty())
      throw std::invalid_argument(std::string(name_of(part)) + " is named, and the keys of " + pages->tensor.label +
                                  " are counted by kv_last_page_len, expected one of them");
}

}  // namespace

bool PackedTables::any() const {
  return std::ranges::any_of(tensors, [](const auto& t) { return t.has_value(); });
}

PackedTables packed_tables(const TensorSet& set, const PackedSpecs& specs, const std::string& shared) {
  PackedTables tables{.page_layout = specs[page_layout]};
  for (const StoredValue& v : set.values)
    if (const std::string_view name = last_name(v.name);
        tables.page_layout.empty() && (name == "kv_layout" || name == "page_layout") && v.texts.size() == 1)
      tables.page_layout = v.texts[0];
  if (!tables.page_layout.empty() && tables.page_layout != "NHD" && tables.page_layout != "HND")
    throw std::invalid_argument("page_layout is " + in_quotes(tables.page_layout) + ", expected NHD or HND");
  const TablesOfSet of_set = tables_of(set);
  for (const PackedPart part : packed_tensors)
    if (part != kv)
      tables.tensors[static_cast<std::size_t>(part)] =
          specs[part].empty() ? table_in(of_set, part, shared) : open_table(part, specs[part]);
  take_one_kind_of_pages(tables, specs);
  return tables;
}

std::pair<NamedTensor, NamedTensor> split_kv(const NamedTensor& both, bool blocks_first) {
  const std::vector<std::uint64_t>& shape = readable(both).tensor.shape;
  refuse_fortran_order(both.tensor);
  const bool outer = shape.size() >= 4 && shape[0] == 2, inner = shape.size() >= 4 && shape[1] == 2;
  if (!outer && !inner) refuse_shape(both.tensor, "[2, ...] or [blocks, 2, ...]");
  const std::size_t axis = inner && (blocks_first || !outer) ? 1 : 0;
  const auto half = [&](std::uint64_t index) {
    StridedView view{
        .file = both.file, .offset = both.tensor.offset, .width = bytes_of(both.tensor.type), .shape = shape, .strides = shape};
    for (std::uint64_t step = 1, i = shape.size(); i-- > 0; step *= shape[i]) view.strides[i] = step;
    view.offset += index * view.strides[axis] * static_cast<std::uint64_t>(view.width);
    view.shape.erase(view.shape.begin() + static_cast<std::ptrdiff_t>(axis));
    view.strides.erase(view.strides.begin() + static_cast<std::ptrdiff_t>(axis));
    NamedTensor part = both;
    part.name += index == 0 ? ".k" : ".v";
    part.tensor.label += index == 0 ? ", K" : ", V";
    part.tensor.shape = view.shape;
    part.tensor.offset = 0;
    part.file = gathered(view, both.file->path(), byte_count(view.shape, view.width, part.tensor.label));
    return part;
  };
  return {half(0), half(1)};
}

TensorSet with_kv_split(TensorSet set) {
  const bool blocks_first =
      std::ranges::any_of(set.tensors, [](const NamedTensor& t) { return packed_part_of(t.name) == kv_indptr; });
  std::vector<NamedTensor> tensors;
  for (NamedTensor& t : set.tensors) {
    if (packed_part_of(t.name) != kv || !t.refusal.empty()) {
      tensors.push_back(std::move(t));
      continue;
    }
    auto [k, v] = split_kv(t, blocks_first);
    tensors.push_back(std::move(k));
    tensors.push_back(std::move(v));
  }
  set.tensors = std::move(tensors);
  return set;
}

std::uint64_t TokenRun::place(std::uint64_t token, std::uint64_t page) const {
  const std::uint64_t at = first + token;
  return pages.empty() ? at : pages[at / page] * page + at % page;
}

HeadShape PackedCall::shape(const Sequence& s, int part) const {
  const TokenStore& store = parts[static_cast<std::size_t>(part)];
  return {HeadOrder::tokens_first, 1, store.heads, run_of(s, part).count, store.d};
}

bool PackedCall::has_all(const Sequence& s, int part) const {
  const TokenRun& run = run_of(s, part);
  return run.first == 0 && run.pages.empty() &&
         static_cast<std::uint64_t>(run.count) == parts[static_cast<std::size_t>(part)].tokens();
}

std::optional<TokenStore> PackedCall::store_like(const NamedTensor& t, int part, int heads, int d) const {
  const TokenStore& like = parts[static_cast<std::size_t>(part)];
  const bool heads_first = like.head_step > like.token_step;
  int longest = 0;
  for (const std::vector<Sequence>* const all : {&sequences, &without_keys})
    for (const Sequence& s : *all) longest = std::max(longest, s.q.count);
  for (const HeadOrder order : {heads_first ? HeadOrder::heads_first : HeadOrder::tokens_first,
                                heads_first ? HeadOrder::tokens_first : HeadOrder::heads_first, HeadOrder::side_by_side})
    try {
      const TokenStore store = store_of(t, order, order == HeadOrder::side_by_side ? static_cast<std::uint64_t>(d) : 0);
      const bool same = store.pages == like.pages && store.page == like.page,
                 padded = part == 0 && store.pages == count && store.page >= static_cast<std::uint64_t>(longest);
      if (store.heads == heads && store.d == d && (same || padded)) return store;
    } catch (const std::runtime_error&) {  // another order may fit
      readable(t);
    }
  return {};
}

NamedTensor PackedCall::tensor(const Sequence& s, int part) const {
  return tensor(parts[static_cast<std::size_t>(part)], s, part);
}

NamedTensor PackedCall::tensor(const TokenStore& store, const Sequence& s, int part) const {
  TokenRun run = run_of(s, part);
  if (part == 0 && store.pages != parts[0].pages) run.first = static_cast<std::uint64_t>(s.index) * store.page;
  NamedTensor t = store.tensor;
  if (store.page == 0) return t;
  const auto width = static_cast<std::uint64_t>(bytes_of(t.tensor.type)), row = static_cast<std::uint64_t>(store.d) * width,
             heads = static_cast<std::uint64_t>(store.heads);
  const auto read = [store, run, width, row, heads](std::uint64_t offset, std::span<char> to) {
    while (!to.empty()) {
      const std::uint64_t index = offset / row, within = offset % row, now = std::min<std::uint64_t>(row - within, to.size()),
                          place = run.place(index / heads, store.page);
      const std::uint64_t element =
          place / store.page * store.page_step + place % store.page * store.token_step + index % heads * store.head_step;
      store.tensor.file->read_at(store.tensor.tensor.offset + element * width + within, to.first(now));
      offset += now;
      to = to.subspan(now);
    }
  };
  t.tensor.label += ", sequence " + std::to_string(s.index);
  t.tensor.shape = {static_cast<std::uint64_t>(run.count), heads, static_cast<std::uint64_t>(store.d)};
  t.tensor.offset = 0;
  t.file = std::make_shared<const InputFile>(t.file->path(), static_cast<std::uint64_t>(run.count) * heads * row, read);
  return t;
}

PackedCall packed_call(const std::array<NamedTensor, 4>& qkvo, const PackedTables& tables,
                       const std::optional<HeadLayout>& layout) {
  std::string told;
  for (const char* const pages : {"NHD", "HND"})
    for (const HeadOrder order : {HeadOrder::tokens_first, HeadOrder::heads_first}) {
      PackedTables read = tables;
      if (read.page_layout.empty()) read.page_layout = pages;
      try {
        return call_in(qkvo, read, layout.value_or(HeadLayout{order}));
      } catch (const std::runtime_error& error) {
        if (told.empty()) told = error.what();
      }
    }
  throw std::runtime_error(told);
}

}  // namespace attoscope::app
