// Fits pages and sequences with keys of others, bounds of sequences that are off by one or left out, and padding that is seen.
#include <algorithm>
#include <cmath>
#include <utility>

#include "kernels/judge/wrong_output.h"

namespace attoscope {
namespace {

using Kind = Slip::Kind;

constexpr std::size_t most_keys_of_sequence = 4096, most_changes = std::size_t{1} << 18;

/// The head's tensors with K and V of these stored tokens.
Tensors with_tokens(const WrongOutput& wrong, const StoredKeys& stored, const std::vector<int>& of_k,
                    const std::vector<int>& of_v) {
  const Tensors &own = wrong.tensors(), &all = *stored.all;
  Tensors t{own.n, static_cast<int>(of_k.size()), own.d, own.d_v, own.q, {}, {}, {}};
  const auto take = [](std::vector<double>& to, const std::vector<double>& from, const std::vector<int>& tokens, int columns) {
    for (const int token : tokens) {
      const auto first = from.begin() + static_cast<std::ptrdiff_t>(token) * columns;
      to.insert(to.end(), first, first + columns);
    }
  };
  take(t.k, all.k, of_k, t.d);
  take(t.v, all.v, of_v, t.d_v);
  return t;
}

/// Rows of another sequence, whose last query is aligned with its last key.
RoundedRow rows_seen(const WrongOutput& wrong, const StoredKeys& stored, const RowsOfSequence& rows) {
  Problem problem = wrong.problem();
  problem.n = rows.queries;
  problem.n_k = static_cast<int>(rows.keys.size());
  Tensors seen = with_tokens(wrong, stored, rows.keys, rows.values.empty() ? rows.keys : rows.values);
  if (rows.q) seen.q = *rows.q;
  MistakenKernel kernel = wrong.kernel_of(std::move(seen));
  kernel.softmax = right_softmax(problem, wrong.right().rounds);
  kernel.softmax.diagonal += rows.shift;
  kernel.softmax.keys = [of_query = kernel.softmax.keys, shift = rows.shift](int row) { return of_query(row + shift); };
  return wrong.rows_of(std::move(kernel));
}

NamedSlip other_bounds(const WrongOutput& wrong, const StoredKeys& stored) {
  for (const OtherBounds& bounds : stored.bounds) {
    wrong.check();
    if (std::ranges::any_of(bounds.rows,
                            [](const RowsOfSequence& r) { return r.keys.empty() || r.keys.size() > most_keys_of_sequence; }))
      continue;
    std::vector<std::pair<Keys, RoundedRow>> parts;
    for (const RowsOfSequence& rows : bounds.rows)
      parts.emplace_back(Keys{rows.first, rows.end}, rows_seen(wrong, stored, rows));
    const RoundedRow seen = [&wrong, parts](int row, double* out, double* slack) {
      for (const auto& [rows, expected] : parts)
        if (row >= rows.first && row < rows.end) return expected(row, out, slack);
      std::copy_n(wrong.golden_row(row), wrong.golden().cols, out);
    };
    if (NamedSlip slip = wrong.named(Kind::place, bounds.text, seen)) return slip;
  }
  return {};
}

/// A page of the sequence, and the stored page that is read instead.
struct PageChange {
  int page = 0, stored = 0;
};

/// Parts of a page that are read from another page.
struct Parts {
  bool k = true, v = true;
  const char* text = "";
};

/// Tries for each page the pages of other sequences, unused pages, and the sequence's other pages.
class PageChanges {
 public:
  PageChanges(const WrongOutput& wrong, const StoredKeys& stored)
      : wrong_(wrong), stored_(stored), pool_(variant_head(stored.all)), pages_((stored.first + keys() - 1) / stored.page + 1) {
    pool_.q = wrong.head()->q;
  }

  NamedSlip slip() {
    const std::size_t all = stored_.holders.size(), own = at(pages_);
    if (at(keys()) > most_keys_of_sequence || wrong_.problem().alibi != 0 || all * own > most_changes) return {};
    const std::vector<int> rows = wrong_.some(3);
    for (const int row : {rows.back(), rows.front()}) {
      prepare(row);
      for (int page = 0; page < pages_; ++page) {
        wrong_.check();
        for (int other = 0; at(other) < all; ++other)
          if (NamedSlip slip = of_page({page, other})) return slip;
      }
      if (NamedSlip slip = exchanged()) return slip;
    }
    return {};
  }

 private:
  int keys() const { return static_cast<int>(stored_.own.size()); }
  int columns() const { return wrong_.golden().cols; }
  Keys keys_of(int page) const {
    const int begin = page * stored_.page - stored_.first;
    return {std::max(0, begin), std::min(keys(), begin + stored_.page)};
  }
  int stored_page(int page) const { return stored_.own[at(keys_of(page).first)] / stored_.page; }
  int token(int stored_page, int key) const { return stored_page * stored_.page + (stored_.first + key) % stored_.page; }

  /// Computes the row's weights of all stored tokens, its l, and its O before the division.
  void prepare(int row) {
    row_ = row;
    e_ = scores_of_all(pool_, wrong_.right(), row);
    visible_ = wrong_.right().keys(row);
    double m = wrong_.right().sink.value_or(e_[at(stored_.own.front())]);
    for (int j = visible_.first; j < visible_.end; ++j) m = std::max(m, e_[at(stored_.own[at(j)])]);
    for (double& x : e_) x = std::exp(std::min(x - m, 60.0));
    l_ = sink_weight(wrong_.right(), m);
    o_.assign(at(columns()), 0);
    for (int j = visible_.first; j < visible_.end; ++j) add(stored_.own[at(j)], stored_.own[at(j)], 1, l_, o_);
  }
  void add(int of_k, int of_v, double sign, double& l, std::vector<double>& o) const {
    const double e = sign * e_[at(of_k)], *v = pool_.v.data() + at(of_v) * at(columns());
    l += e;
    for (int c = 0; c < columns(); ++c) o[at(c)] += e * v[c];
  }

  /// True if the prepared row is roughly as near as rounding allows.
  bool may_be(const std::vector<PageChange>& changes, const Parts& parts) const {
    double l = l_;
    std::vector<double> o = o_;
    for (const PageChange& x : changes) {
      const Keys page = keys_of(x.page);
      for (int j = std::max(page.first, visible_.first); j < std::min(page.end, visible_.end); ++j) {
        const int own = stored_.own[at(j)], other = token(x.stored, j);
        add(own, own, -1, l, o);
        add(parts.k ? other : own, parts.v ? other : own, 1, l, o);
      }
    }
    return wrong_.may_be(row_, o, l);
  }

  NamedSlip tried(const std::vector<PageChange>& changes, const Parts& parts, const std::string& text) const {
    if (!may_be(changes, parts)) return {};
    std::vector<int> of_k = stored_.own, of_v = stored_.own;
    std::vector<Keys> wrong_keys;
    for (const PageChange& x : changes) {
      wrong_keys.push_back(keys_of(x.page));
      for (int j = wrong_keys.back().first; j < wrong_keys.back().end; ++j) {
        if (parts.k) of_k[at(j)] = token(x.stored, j);
        if (parts.v) of_v[at(j)] = token(x.stored, j);
      }
    }
    const RoundedRow rows = wrong_.rows_of(wrong_.kernel_of(with_tokens(wrong_, stored_, of_k, of_v)));
    return with_keys(wrong_.named_in_rows(Kind::place, text, rows), std::move(wrong_keys));
  }

  std::string own_text(int page) const {
    return "page " + std::to_string(page) + " of sequence " + std::to_string(stored_.sequence);
  }

  NamedSlip of_page(const PageChange& x) const {
    if (x.stored == stored_page(x.page)) return {};
    const std::string& holder = stored_.holders[at(x.stored)];
    const std::string of =
        holder.empty() ? "page " + std::to_string(x.stored) + " of the cache, which is in no sequence" : holder;
    for (const Parts& parts : {Parts{true, true, ""}, {true, false, "K of "}, {false, true, "V of "}})
      if (NamedSlip slip = tried({x}, parts, parts.text + own_text(x.page) + " holds keys of " + of)) return slip;
    return {};
  }

  NamedSlip exchanged() const {
    for (int x = 0; x < pages_; ++x) {
      wrong_.check();
      for (int y = x + 1; y < pages_; ++y) {
        const std::string text = "pages " + std::to_string(x) + " and " + std::to_string(y) + " of sequence " +
                                 std::to_string(stored_.sequence) + " are exchanged";
        if (NamedSlip slip = tried({{x, stored_page(y)}, {y, stored_page(x)}}, {}, text)) return slip;
      }
    }
    return {};
  }

  const WrongOutput& wrong_;
  const StoredKeys& stored_;
  VariantHead pool_;
  int pages_, row_ = 0;
  Keys visible_{};
  std::vector<double> e_, o_;
  double l_ = 0;
};

}  // namespace

NamedSlip sequence_fit(const WrongOutput& wrong) {
  if (!wrong.others().keys || wrong.right().mask) return {};  // a mask tensor has no keys of other sequences
  const std::shared_ptr<const StoredKeys> stored = wrong.others().keys(wrong.problem().input.index);
  if (!stored || stored->own.empty()) return {};
  if (NamedSlip slip = other_bounds(wrong, *stored)) return slip;
  return stored->page > 0 ? PageChanges(wrong, *stored).slip() : std::nullopt;
}

}  // namespace attoscope
