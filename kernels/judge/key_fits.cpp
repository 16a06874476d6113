// Fits keys that a row sees although it should not, or does not see, and keys whose K or V is another key's.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "kernels/judge/wrong_output.h"

namespace attoscope {
namespace {

using Kind = Slip::Kind;
using M = Mask::Kind;

constexpr int most_keys = 4096;

/// Prefix sums over keys of exp(S - m) and of exp(S - m) V, for all keys of several heads in sequence, hidden keys included.
class RunningSums {
 public:
  RunningSums(const WrongOutput& wrong, const std::vector<const VariantHead*>& heads, int row)
      : wrong_(wrong), row_(row), columns_(wrong.golden().cols) {
    SoftmaxVariant foreign = wrong.right();
    foreign.mask = nullptr;  // its terms are of this head's keys
    for (const VariantHead* head : heads) {
      const bool is_own = head == wrong.head().get();
      std::ranges::copy(scores_of_all(*head, is_own ? wrong.right() : foreign, row), std::back_inserter(e_));
      for (int j = 0; j < head->shape.n_k; ++j) v_.push_back(&head->v[at(j) * at(columns_)]);
    }
    const double m = *std::ranges::max_element(e_);
    sink_ = sink_weight(wrong.right(), m);
    l_.push_back(0);
    o_.resize(at(columns_) * (e_.size() + 1));
    double* sum = o_.data();
    for (std::size_t j = 0; j < e_.size(); ++j, sum += columns_) {
      e_[j] = std::exp(e_[j] - m);
      l_.push_back(l_.back() + e_[j]);
      for (int c = 0; c < columns_; ++c) sum[columns_ + c] = sum[c] + e_[j] * v_[j][c];
    }
  }

  double output(Keys keys, int c) const {
    return (o_[at(keys.end) * at(columns_) + at(c)] - o_[at(keys.first) * at(columns_) + at(c)]) / l(keys);
  }

  /// True if the row is rounded from attention over these keys.
  bool fits(Keys keys) const {
    return wrong_.fits(row_, [&](int, double* out, double* slack) {
      std::vector<double> square(at(columns_));
      for (int j = keys.first; j < keys.end; ++j)
        for (int c = 0; c < columns_; ++c) square[at(c)] += std::pow(e_[at(j)] / l(keys) * v_[at(j)][c], 2);
      for (int c = 0; c < columns_; ++c) {
        out[c] = output(keys, c);
        slack[c] = wrong_.more_tolerated(row_, c, std::sqrt(square[at(c)]));
      }
    });
  }

  /// The run of keys nearest to the output, among runs that begin in `firsts` and whose last key is in `lasts`.
  Keys nearest(Keys firsts, Keys lasts) const {
    const double* const o = wrong_.output(row_);
    Keys found{};
    double best = infinity;
    for (int first = firsts.first; first < firsts.end; ++first)
      for (int end = std::max(first, lasts.first) + 1; end <= lasts.end; ++end) {
        double distance = 0;
        for (int c = 0; c < columns_ && distance < best; ++c) distance += std::pow(o[c] - output({first, end}, c), 2);
        if (distance < best) {
          best = distance;
          found = {first, end};
        }
      }
    return found;
  }

 private:
  double l(Keys keys) const { return l_[at(keys.end)] - l_[at(keys.first)] + sink_; }

  const WrongOutput& wrong_;
  int row_, columns_;
  double sink_ = 0;
  std::vector<double> e_, l_, o_;
  std::vector<const double*> v_;
};

/// A rule that gives a row's first key, or its end, from the right keys, and its text.
struct Rule {
  std::string text;
  std::function<int(const Keys& right)> key;
  Keys wrong{};  ///< wrong keys if all rows have the same; empty: each row has its own
};

std::string keys_text(int count) { return std::to_string(count) + (count == 1 ? " key" : " keys"); }

std::string left_out(int first, int last) { return run_text("key", first, last, " counts 0 times", " count 0 times"); }

/// Rules that turn the first of the `right` keys into `found`; the identity if both are equal. A mask tensor may narrow the
/// keys of `mask`.
std::vector<Rule> rules_of_first(const Mask& mask, int found, Keys keys) {
  const int right = keys.first, by = found - right;
  if (by == 0) return {{"", [](const Keys& x) { return x.first; }}};
  if ((mask.kind == M::none || mask.kind == M::causal) && right == 0) {
    std::vector<Rule> rules{{left_out(0, found - 1), [found](const Keys&) { return found; }, {0, found}}};
    if (const int width = keys.end - found; mask.kind == M::causal && width > 0)
      rules.push_back(
          {"a window of " + keys_text(width) + " where the mask is causal", [width](const Keys& x) { return x.end - width; }});
    return rules;
  }
  std::vector<Rule> rules{
      {(by > 0 ? "the first " + keys_text(by) + " of each row hidden" : keys_text(-by) + " more seen before each row's first"),
       [by](const Keys& x) { return x.first + by; }}};
  if (mask.kind == M::window && mask.window > by) {
    const int width = mask.window - by;
    rules[0].text = "a window of " + keys_text(width) + " instead of " + std::to_string(mask.window) +
                    (width == 2 * mask.window ? ", twice as many" : "");
  }
  for (int tile = 16; tile <= 256; tile *= 2)
    if (right / tile * tile == found)
      rules.push_back({std::string(mask.kind == M::window ? "a window" : "a mask") +
                           " whose first key is rounded down to tiles of " + std::to_string(tile),
                       [tile](const Keys& x) { return x.first / tile * tile; }});
  rules.push_back({"each row sees keys from " + std::to_string(found) + " on", [found](const Keys&) { return found; }});
  return rules;
}

std::vector<Rule> rules_of_end(const Mask& mask, int found, int right, int n_k) {
  if (found == right) return {{"", [](const Keys& x) { return x.end; }}};
  if (mask.kind == M::none && right == n_k)
    return {{left_out(found, right - 1), [found](const Keys&) { return found; }, {found, right}}};
  const int by = found - right;
  std::string text = by > 0 ? "a mask that shows " + keys_text(by) + " more at each row's end"
                            : "a mask that hides the last " + keys_text(-by) + " of each row";
  if (by == 1) text = "a mask shifted by one key: it shows the next one of each row";
  if (by == -1) text = "a mask shifted by one key: it hides the diagonal, each row's last key";
  std::vector<Rule> rules{{text, [by](const Keys& x) { return x.end + by; }}};
  for (int tile = 16; tile <= 256; tile *= 2)
    if ((right + tile - 1) / tile * tile == found)
      rules.push_back({"a mask whose last key is rounded up to tiles of " + std::to_string(tile),
                       [tile](const Keys& x) { return (x.end + tile - 1) / tile * tile; }});
  rules.push_back({"each row sees keys up to " + std::to_string(found - 1), [found](const Keys&) { return found; }});
  return rules;
}

/// Rows of a kernel that sees other keys, with zeros where it sees none.
RoundedRow rows_or_zeros(const WrongOutput& wrong, const MistakenKernel& kernel) {
  return [rows = wrong.rows_of(kernel), keys = kernel.softmax.keys, columns = kernel.head->shape.d_v](int row, double* out,
                                                                                                      double* slack) {
    rows(row, out, slack);
    if (keys(row).empty()) std::fill_n(out, columns, 0.0);
  };
}

/// Fits the runs of keys that wrong rows see by one rule for all rows.
NamedSlip other_runs(const WrongOutput& wrong) {
  const int n_k = wrong.head()->shape.n_k;
  if (n_k > most_keys || n_k < 4) return {};
  std::set<std::string> tried;
  for (const int row : wrong.some(5)) {
    wrong.check();
    const Keys right = wrong.right().keys(row),
               found = RunningSums(wrong, {wrong.head().get()}, row).nearest({0, n_k}, {0, n_k});
    if (right.empty() || found == right) continue;
    for (const Rule& first : rules_of_first(wrong.problem().mask, found.first, right))
      for (const Rule& end : rules_of_end(wrong.problem().mask, found.end, right.end, n_k)) {
        const std::string text = first.text + (first.text.empty() || end.text.empty() ? "" : ", and ") + end.text;
        if (!tried.insert(text).second) continue;
        MistakenKernel kernel = wrong.right_kernel();
        kernel.softmax.keys = [n_k, right = wrong.right().keys, first = first.key, end = end.key](int i) {
          const Keys keys = right(i);
          const int last = std::clamp(end(keys), 0, n_k);
          return Keys{std::clamp(first(keys), 0, last), last};
        };
        std::vector<Keys> keys{first.wrong, end.wrong};
        std::erase_if(keys, [](const Keys& k) { return k.empty(); });
        if (NamedSlip slip = wrong.named_in_rows(Kind::mask, text, rows_or_zeros(wrong, kernel)))
          return with_keys(std::move(slip), std::move(keys));
      }
  }
  return {};
}

/// Fits a kernel in which each split masks by positions within the split.
NamedSlip local_masks(const WrongOutput& wrong) {
  const int n_k = wrong.head()->shape.n_k;
  if (wrong.problem().mask.kind == M::none) return {};
  for (int splits = 2; splits <= 16; splits *= 2) {
    const int length = (n_k + splits - 1) / splits;
    MistakenKernel kernel = wrong.right_kernel();
    kernel.sees = [right = wrong.right().keys, length](int row, int j) { return right(row).contains(j % length); };
    if (NamedSlip slip =
            wrong.named_in_rows(Kind::mask, "a mask by the local positions of each of " + std::to_string(splits) + " splits",
                                wrong.rows_of(kernel)))
      return slip;
  }
  return {};
}

/// A replacement of K or V of some keys, and its text.
struct KeyChange {
  Keys keys;
  std::string text;
  int from = 0;  ///< first key of the run that replaces them; negative: zeros
  bool k = false, v = false, moves_P = false;
  double times = 1;  ///< factor of the scores
};

std::string run_of_keys(Keys keys) { return run_text("key", keys.first, keys.end - 1); }

class KeyChanges {
 public:
  explicit KeyChanges(const WrongOutput& wrong) : wrong_(wrong), n_k_(wrong.head()->shape.n_k), scale_(wrong.right().scale) {}

  NamedSlip slip() {
    if (n_k_ > most_keys || wrong_.problem().softcap != 0 || wrong_.problem().alibi != 0) return {};
    const std::vector<int> rows = wrong_.some(3);
    for (const int row : {rows.back(), rows.front()}) {
      prepare(row);
      for (int tile = 16; tile <= 256 && tile < n_k_; tile *= 2)
        for (int first = 0; first < n_k_; first += tile)
          if (NamedSlip slip = of_run({first, std::min(n_k_, first + tile)}, tile)) return slip;
    }
    return {};
  }

 private:
  void prepare(int row) {
    row_ = row;
    s_ = scores_of_all(*wrong_.head(), wrong_.right(), row);
    visible_ = wrong_.right().keys(row);
    m_ = *std::ranges::max_element(s_);
    l_ = sink_weight(wrong_.right(), m_);
    o_.assign(at(columns()), 0);
    for (int j = visible_.first; j < visible_.end; ++j) add(j, j, 1, l_, o_);
  }
  int columns() const { return wrong_.head()->shape.d_v; }
  /// Adds key of_P's weight, times `sign`, with the row of_V of V.
  void add(int of_P, int of_V, double sign, double& l, std::vector<double>& o, double times = 1) const {
    const double e = sign * std::exp(times * s_[at(of_P)] - m_);
    l += e;
    if (of_V < 0) return;
    for (int c = 0; c < columns(); ++c) o[at(c)] += e * wrong_.head()->v[at(of_V) * at(columns()) + at(c)];
  }

  /// True if the prepared row is roughly as near as rounding allows.
  bool may_be(const KeyChange& x) const {
    double l = l_;
    std::vector<double> o = o_;
    for (int j = std::max(x.keys.first, visible_.first); j < std::min(x.keys.end, visible_.end); ++j) {
      const int other = x.from < 0 ? -1 : std::min(n_k_ - 1, x.from + j - x.keys.first);
      add(j, j, -1, l, o);
      if (x.moves_P) {
        double none = 0;
        add(other, j, 1, none, o);
        l += std::exp(s_[at(j)] - m_);
      } else if (x.k && other < 0) {
        const double e = std::exp(-m_);
        l += e;
        for (int c = 0; c < columns() && !x.v; ++c) o[at(c)] += e * wrong_.head()->v[at(j) * at(columns()) + at(c)];
      } else {
        add(x.k ? other : j, x.v ? other : j, 1, l, o, x.times);
      }
    }
    return wrong_.may_be(row_, o, l);
  }

  RoundedRow rows_of(const KeyChange& x) const {
    if (x.moves_P) {
      MistakenKernel kernel = wrong_.right_kernel();
      kernel.weights = [x](int, const std::vector<double>&, std::vector<double>& of_O, std::vector<double>&) {
        const std::vector<double> before = of_O;
        for (int j = x.keys.first; j < x.keys.end; ++j) of_O[at(j)] = before[at(x.from + j - x.keys.first)];
      };
      return wrong_.rows_of(std::move(kernel));
    }
    Tensors t = wrong_.tensors();
    const Tensors& own = wrong_.tensors();
    for (int j = x.keys.first; j < x.keys.end; ++j) {
      const int other = x.from < 0 ? -1 : std::min(n_k_ - 1, x.from + j - x.keys.first);
      for (int c = 0; c < t.d; ++c)
        t.k[at(j * t.d + c)] = x.times * (!x.k ? own.k[at(j * t.d + c)] : other < 0 ? 0 : own.k[at(other * t.d + c)]);
      for (int c = 0; x.v && c < t.d_v; ++c) t.v[at(j * t.d_v + c)] = other < 0 ? 0 : own.v[at(other * t.d_v + c)];
    }
    return wrong_.rows_of(wrong_.kernel_of(std::move(t)));
  }

  NamedSlip first_of(const std::vector<KeyChange>& changes) const {
    for (const KeyChange& x : changes) {
      wrong_.check();
      if (!may_be(x)) continue;
      const Kind kind = x.times == 1 ? Kind::place : Kind::scale;
      if (NamedSlip slip = with_keys(wrong_.named_in_rows(kind, x.text, rows_of(x)), {x.keys})) return slip;
    }
    return {};
  }

  NamedSlip of_run(Keys keys, int tile) const {
    const std::string run = run_of_keys(keys);
    if (NamedSlip slip =
            first_of({{.keys = keys, .text = "the scale is missing for the scores of " + run, .times = 1 / scale_},
                      {.keys = keys, .text = "the scale is applied twice to the scores of " + run, .times = scale_},
                      {.keys = keys, .text = "K of " + run + " is 0", .from = -1, .k = true},
                      {.keys = keys, .text = "V of " + run + " is 0", .from = -1, .v = true},
                      {.keys = keys, .text = "K and V of " + run + " are 0", .from = -1, .k = true, .v = true}}))
      return slip;
    const bool many = n_k_ / tile > 64;
    for (int from = many ? std::max(0, keys.first - tile) : 0; from < (many ? std::min(n_k_, keys.end + tile) : n_k_);
         from += tile)
      if (from != keys.first)
        if (NamedSlip slip = of_source(keys, from, run)) return slip;
    return {};
  }

  NamedSlip of_source(Keys keys, int from, const std::string& run) const {
    if (from + keys.end - keys.first > n_k_) return {};
    const std::string other = run_of_keys({from, from + keys.end - keys.first});
    std::vector<KeyChange> changes{
        {.keys = keys, .text = "K of " + run + " is that of " + other, .from = from, .k = true},
        {.keys = keys, .text = "V of " + run + " is that of " + other, .from = from, .v = true},
        {.keys = keys, .text = "K and V of " + run + " are those of " + other, .from = from, .k = true, .v = true}};
    if (wrong_.problem().mask.kind == M::none)
      changes.push_back({.keys = keys, .text = "P of " + run + " is that of " + other, .from = from, .moves_P = true});
    return first_of(changes);
  }

  const WrongOutput& wrong_;
  int n_k_;
  double scale_;
  int row_ = 0;
  Keys visible_{};
  std::vector<double> s_, o_;
  double m_ = 0, l_ = 0;
};

/// Fits keys of another head after the last key, or before the first.
NamedSlip keys_of_other_heads(const WrongOutput& wrong) {
  const Tensors& own = wrong.tensors();
  if (!wrong.others().read || wrong.problem().mask.kind != M::none || own.n_k > most_keys || wrong.others().count > 64)
    return {};
  const int row = wrong.some(1)[0];
  for (int h = 0; h < wrong.others().count; ++h) {
    if (h == wrong.problem().input.index) continue;
    const std::shared_ptr<const Tensors> other = wrong.others().read(h);
    if (!other || !(other->shape() == own.shape())) continue;
    VariantHead there = variant_head(other);
    there.q = wrong.head()->q;
    for (const bool behind : {true, false}) {
      if (!behind && wrong.right().mask) continue;  // its terms would be those of the keys in front
      wrong.check();
      const VariantHead &first = behind ? *wrong.head() : there, &last = behind ? there : *wrong.head();
      const RunningSums sums(wrong, {&first, &last}, row);
      const Keys found =
          behind ? sums.nearest({0, 1}, {own.n_k, 2 * own.n_k}) : sums.nearest({0, own.n_k}, {2 * own.n_k - 1, 2 * own.n_k});
      if (!sums.fits(found)) continue;
      Tensors t = behind ? own : *other;
      const Tensors& second = behind ? *other : own;
      t.q = own.q;
      t.n_k = 2 * own.n_k;
      t.k.insert(t.k.end(), second.k.begin(), second.k.end());
      t.v.insert(t.v.end(), second.v.begin(), second.v.end());
      MistakenKernel kernel = wrong.kernel_of(std::move(t));
      kernel.softmax.keys = [found](int) { return found; };
      const int more = found.end - found.first - own.n_k;
      const std::string text =
          behind ? "the first " + keys_text(more) + " of head " + std::to_string(h) + " attended behind the last one"
                 : "the last " + keys_text(more) + " of head " + std::to_string(h) + " attended before the first one";
      if (NamedSlip slip = wrong.named(Kind::place, text, wrong.rows_of(std::move(kernel)))) return slip;
    }
  }
  return {};
}

}  // namespace

NamedSlip mask_fit(const WrongOutput& wrong) {
  if (NamedSlip slip = other_runs(wrong)) return slip;
  return local_masks(wrong);
}

NamedSlip key_place_fit(const WrongOutput& wrong) {
  if (NamedSlip slip = KeyChanges(wrong).slip()) return slip;
  return keys_of_other_heads(wrong);
}

}  // namespace attoscope
