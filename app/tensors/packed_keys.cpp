// Keys of all sequences of a call, and usual kernel mistakes in their bounds.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "app/tensors/packed.h"

namespace attoscope::app {
namespace {

constexpr std::uint64_t most_stored_tokens = 1 << 16;
constexpr std::size_t most_other_sequences = 64;

std::string sequence_text(const Sequence& s) { return "sequence " + std::to_string(s.index); }

/// Usual mistakes of one sequence.
class BoundMistakes {
 public:
  BoundMistakes(const PackedCall& call, std::size_t place, const ReadTokens& read)
      : call_(call), read_(read), all_(call.sequences), place_(place), own_(all_[place]) {}

  std::vector<OtherBounds> found() {
    add_sequences();
    if (call_.bounds_keys) {
      add_bounds();
      add_keys_elsewhere();
    }
    if (call_.bounds_queries) add_queries_elsewhere();
    if (!call_.bounds_keys)
      for (const int by : {1, -1})
        add("cache_seqlens[" + std::to_string(own_.index) + "] is one too " + (by > 0 ? "large" : "small"),
            tokens(own_.k, 0, own_.k.count + by));
    add_padding();
    return std::move(found_);
  }

  /// Places in the store of tokens `first` to `end` of a run; empty if some are outside the store or its pages.
  std::vector<int> tokens(const TokenRun& run, std::int64_t first, std::int64_t end) const {
    const TokenStore& k = call_.parts[1];
    const std::uint64_t known = run.pages.empty() ? k.tokens() : run.pages.size() * k.page;
    const std::int64_t begin = static_cast<std::int64_t>(run.first) + first;
    std::vector<int> all;
    if (begin < 0 || static_cast<std::uint64_t>(begin + end - first) > known) return all;
    for (std::int64_t token = first; token < end; ++token)
      all.push_back(static_cast<int>(run.place(static_cast<std::uint64_t>(token), k.page)));
    return all;
  }

 private:
  void add(const std::string& text, std::vector<int> keys) {
    const int n = own_.q.count;
    if (!keys.empty() && keys != tokens(own_.k, 0, own_.k.count)) found_.push_back({text, {{0, n, n, 0, std::move(keys)}}});
  }

  void add_sequences() {
    const std::size_t half = most_other_sequences / 2, first = place_ > half ? place_ - half : 0;
    for (std::size_t i = first; i < std::min(all_.size(), first + most_other_sequences); ++i) {
      if (i == place_) continue;
      if (call_.paged)
        add(sequence_text(own_) + " reads the pages of " + sequence_text(all_[i]), tokens(all_[i].k, 0, own_.k.count));
      add(sequence_text(own_) + " reads the keys of " + sequence_text(all_[i]), tokens(all_[i].k, 0, all_[i].k.count));
    }
  }

  /// Mistakes in K's bounds: keys begin at token 0 or at the next sequence, or include all sequences before or behind.
  void add_keys_elsewhere() {
    const std::string own = sequence_text(own_);
    const std::vector<int> right = tokens(own_.k, 0, own_.k.count);
    for (const auto& [first, at] : elsewhere(own_.k)) {
      const std::vector<int> there = tokens({first, 0, {}}, 0, own_.k.count);
      if (there.empty()) continue;
      add("the keys of " + own + " begin at " + at, there);
      found_.push_back({"K of " + own + " begins at " + at, {{0, own_.q.count, own_.q.count, 0, there, right}}});
      found_.push_back({"V of " + own + " begins at " + at, {{0, own_.q.count, own_.q.count, 0, right, there}}});
    }
    const auto first = static_cast<std::int64_t>(own_.k.first), total = static_cast<std::int64_t>(call_.parts[1].tokens());
    add(own + " sees the keys of all sequences before it", tokens(own_.k, -first, own_.k.count));
    add(own + " sees the keys of all sequences behind it", tokens(own_.k, 0, total - first));
  }

  /// Mistakes in Q's bounds, alone and together with K's.
  void add_queries_elsewhere() {
    const int n = own_.q.count;
    for (const auto& [first, at] : elsewhere(own_.q)) {
      if (first + static_cast<std::uint64_t>(n) > call_.parts[0].tokens()) continue;
      const auto q = std::make_shared<const std::vector<double>>(read_({0, {first, n, {}}, {}, 0}, 0));
      found_.push_back({"the queries of " + sequence_text(own_) + " begin at " + at,
                        {{0, n, n, 0, tokens(own_.k, 0, own_.k.count), {}, q}}});
      if (std::vector<int> keys = tokens({0, 0, {}}, 0, own_.k.count); call_.bounds_keys && first == 0 && !keys.empty())
        found_.push_back(
            {"queries and keys of " + sequence_text(own_) + " begin at " + at, {{0, n, n, 0, std::move(keys), {}, q}}});
    }
  }

  /// Wrong places at which a run of the sequence may begin.
  static std::vector<std::pair<std::uint64_t, std::string>> elsewhere(const TokenRun& run) {
    std::vector<std::pair<std::uint64_t, std::string>> places;
    if (run.first != 0) places.emplace_back(0, "token 0");
    places.emplace_back(run.first + static_cast<std::uint64_t>(run.count), "those of the next sequence");
    return places;
  }

  void add_padding() {
    const std::uint64_t page = call_.parts[1].page;
    if (own_.left_padding > 0)
      add("the " + std::to_string(own_.left_padding) + " keys of padding before " + sequence_text(own_) + " are not masked",
          tokens(own_.k, -static_cast<std::int64_t>(own_.left_padding), own_.k.count));
    if (call_.bounds_keys) return;
    const std::uint64_t end = own_.k.pages.empty() ? (own_.k.first / page + 1) * page : own_.k.pages.size() * page;
    add("the keys of padding behind " + sequence_text(own_) + " are not masked",
        tokens(own_.k, 0, static_cast<std::int64_t>(end - own_.k.first)));
  }

  /// Bounds of all sequences if they are adjacent; empty if there are gaps.
  std::vector<std::int64_t> bounds(TokenRun Sequence::* run) const {
    std::vector<std::int64_t> all;
    for (const Sequence& s : all_) {
      const auto first = static_cast<std::int64_t>((s.*run).first);
      if (!all.empty() && all.back() != first) return {};
      if (all.empty()) all.push_back(first);
      all.push_back(first + (s.*run).count);
    }
    return all;
  }

  void add_bounds() {
    const std::vector<std::int64_t> of_k = bounds(&Sequence::k),
                                    of_q = call_.bounds_queries ? bounds(&Sequence::q) : std::vector<std::int64_t>();
    if (of_k.empty()) return;
    for (const std::size_t i : {place_, place_ + 1})
      for (const int by : {1, -1}) {
        const std::string at = "[" + std::to_string(i < all_.size() ? all_[i].index : all_.back().index + 1) + "]",
                          is = std::string(" one too ") + (by > 0 ? "large" : "small");
        std::vector<std::int64_t> k = of_k, q = of_q;
        k[i] += by;
        if (!q.empty()) q[i] += by;
        if (!q.empty()) add_moved("cu_seqlens_q" + at + " and cu_seqlens_k" + at + " are" + is, q, k);
        add_moved("cu_seqlens_k" + at + " is" + is, of_q, k);
        if (!q.empty()) add_moved("cu_seqlens_q" + at + " is" + is, q, of_k);
      }
  }

  /// Adds the rows of this sequence as a kernel with these bounds computes them.
  void add_moved(const std::string& text, const std::vector<std::int64_t>& q, const std::vector<std::int64_t>& k) {
    OtherBounds seen{text, {}};
    const auto first = static_cast<std::int64_t>(own_.q.first);
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const std::int64_t begin = q.empty() ? (i == place_ ? first : 0) : q[i],
                         end = q.empty() ? (i == place_ ? first + own_.q.count : 0) : q[i + 1];
      const std::int64_t from = std::max(begin, first), to = std::min(end, first + own_.q.count);
      if (from >= to) continue;
      std::vector<int> keys = tokens({0, 0, {}}, k[i], k[i + 1]);
      if (keys.empty()) return;
      seen.rows.push_back({static_cast<int>(from - first), static_cast<int>(to - first), static_cast<int>(end - begin),
                           static_cast<int>(first - begin), std::move(keys)});
    }
    found_.push_back(std::move(seen));
  }

  const PackedCall& call_;
  const ReadTokens& read_;
  const std::vector<Sequence>& all_;
  std::size_t place_;
  const Sequence& own_;
  std::vector<OtherBounds> found_;
};

/// Words for the sequence that holds each page.
std::vector<std::string> holders_of(const PackedCall& call, const Sequence& own) {
  std::vector<std::string> holders(call.parts[1].pages);
  for (const Sequence& s : call.sequences)
    for (std::size_t p = 0; p < s.k.pages.size(); ++p) {
      holders[s.k.pages[p]] = sequence_text(s) + ", page " + std::to_string(p);
    }
  for (std::size_t p = 0; p < own.k.pages.size(); ++p) holders[own.k.pages[p]] = "its page " + std::to_string(p);
  return holders;
}

}  // namespace

std::shared_ptr<const StoredKeys> stored_keys(const PackedCall& call, std::size_t place, const AttentionShape& shape,
                                              const ReadTokens& read) {
  const std::uint64_t tokens = call.parts[1].tokens();
  if (tokens > most_stored_tokens) return nullptr;
  const Sequence &own = call.sequences[place], all{0, {}, {0, static_cast<int>(tokens), {}}, 0};
  BoundMistakes mistakes(call, place, read);
  auto stored = std::make_shared<StoredKeys>();
  stored->all = std::make_shared<const Tensors>(
      Tensors{0, static_cast<int>(tokens), shape.d, shape.d_v, {}, read(all, 1), read(all, 2), {}});
  stored->own = mistakes.tokens(own.k, 0, own.k.count);
  stored->sequence = own.index;
  stored->bounds = mistakes.found();
  if (!call.paged) return stored;
  stored->page = static_cast<int>(call.parts[1].page);
  stored->first = static_cast<int>(own.k.first);
  stored->holders = holders_of(call, own);
  return stored;
}

}  // namespace attoscope::app
