#include "app/model/captured_run.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "app/model/run_words.h"
#include "app/tensors/exact_tensors.h"
#include "app/tensors/tensor_set.h"
#include "app/words/numbers.h"
#include "kernels/arithmetic/format.h"
#include "kernels/model/model_run.h"

namespace attoscope::app {
namespace {

std::uint64_t product_of(const std::vector<std::uint64_t>& shape, std::size_t count) {
  std::uint64_t all = 1;
  for (std::size_t i = 0; i < count; ++i) all *= shape[i];
  return all;
}

std::uint64_t count_of(const NamedTensor& t) { return product_of(t.tensor.shape, t.tensor.shape.size()); }

/// All numbers of a tensor, row-major.
std::vector<double> all_numbers(const NamedTensor& t) {
  const std::uint64_t count = count_of(t);
  if (!std::in_range<int>(count))
    throw std::runtime_error(t.tensor.label + " has " + std::to_string(count) + " numbers, expected fewer than 2^31");
  const StoredTensor& stored = numeric(t).tensor;
  refuse_fortran_order(stored);
  return read_flat(*t.file, stored, 0, static_cast<int>(count));
}

/// [.., heads, rows, d] as [.., rows, heads, d].
std::vector<double> rows_first(const std::vector<double>& x, std::size_t heads, std::size_t rows, std::size_t d) {
  std::vector<double> y;
  y.reserve(x.size());
  for (std::size_t block = 0; block < x.size(); block += heads * rows * d)
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t h = 0; h < heads; ++h) {
        const auto from = x.begin() + static_cast<std::ptrdiff_t>(block + (h * rows + i) * d);
        y.insert(y.end(), from, from + static_cast<std::ptrdiff_t>(d));
      }
  return y;
}

/// A tensor of the exact model, which is run only as far as that tensor.
std::vector<double> exact_tensor(const LanguageModel& model, const std::vector<int>& tokens, ModelTensor wanted, int layer) {
  const StopSign stop;
  ModelRun<double> run(model, tokens, Surroundings{}, stop);
  std::vector<double> found;
  run.tap = [&](ModelTensor t, int l, std::vector<double>& x) {
    if (t == wanted && l == layer) found = x;
  };
  std::vector<double> x = run.embedded();
  const int last = is_of_layer(wanted) ? layer : wanted == ModelTensor::embedding ? -1 : model.architecture.layers - 1;
  for (int l = 0; l <= last; ++l) run.run_layer(l, x, {});
  if (wanted < ModelTensor::norm) return found;
  const std::vector<double> normed = run.last_norm(x);
  return wanted == ModelTensor::norm ? normed : run.logits(normed, 0, static_cast<int>(tokens.size()));
}

bool is_zero(const std::vector<double>& x) {
  return std::ranges::all_of(x, [](double v) { return v == 0; });
}

/// The captured tensors of a file.
class CapturedRunFile final : public CapturedRun {
 public:
  /// Finds the tensors, and the rows that belong to `tokens`. Throws std::runtime_error with one sentence: no tensor has a
  /// usual name, shapes that fit no model, or rows that are not of these tokens.
  CapturedRunFile(const std::string& path, const LanguageModel& model, const std::vector<int>& tokens)
      : path_(path), model_(model), tokens_(tokens), set_(open_tensor_set(path)) {
    choose_call();
    pair_residuals();
    if (all_.empty())
      throw std::runtime_error(path_ + ": none of " + tensor_list(set_) +
                               " has the name of a model's tensor, expected names such as 'model.layers.0.self_attn.o_proj'");
    leave_out_other_shapes();
    align();
  }

  bool has(ModelTensor t, int layer) const override { return all_.contains({t, layer}); }

  std::vector<double> numbers(ModelTensor t, int layer) const override {
    const Piece& p = all_.at({t, layer});
    if (t != ModelTensor::logprobs) return rows_of(p, t, first_, stride_);
    const std::vector<double> x = whole(p, t);
    const std::uint64_t n = tokens_.size(), vocabulary = static_cast<std::uint64_t>(model_.architecture.vocabulary);
    constexpr double greatest = 0.01;  // above the rounding error of a sum of weights
    std::vector<double> y;
    for (std::uint64_t i = 0; i + 1 < n; ++i) {
      const std::uint64_t at = first_ + i * stride_;
      if (x.size() == rows_ * vocabulary)
        y.push_back(x[at * vocabulary + static_cast<std::uint64_t>(tokens_[i + 1])]);
      else if (x.size() + 1 == rows_)
        y.push_back(x[at]);
      else if (x.size() == rows_)
        y.push_back(x[at + (std::isfinite(x[0]) && x[0] != 0 ? 0 : stride_)]);
      else
        refuse_shape(p.tensor->tensor, "[" + std::to_string(n - 1) +
                                           "], the log-probabilities of the tokens behind the first, or [" + std::to_string(n) +
                                           ", vocabulary]");
      if (y.back() > greatest)
        throw std::runtime_error(p.tensor->tensor.label + " has " + shortest(y.back()) + " at token " + std::to_string(i + 1) +
                                 ", expected log-probabilities, none of which is above 0");
    }
    return y;
  }

  Format stored(ModelTensor t, int layer) const override { return format_of(all_.at({t, layer}).tensor->tensor.type, fp32); }

  /// Sentences on what was dropped, summed or left out.
  const std::vector<std::string>& notes() const { return notes_; }

  /// The narrowest format that holds the numbers of most of its tensors; none: it has only log-probabilities or logits.
  std::optional<Format> usual() const {
    constexpr std::size_t most_read = 12;
    std::map<std::string_view, int> counts;
    const std::size_t step = std::max<std::size_t>(1, all_.size() / most_read);
    std::size_t i = 0;
    for (const auto& [place, piece] : all_)
      if (place.first < ModelTensor::logits && i++ % step == 0)
        ++counts[exact_type(rows_of(piece, place.first, first_, stride_), "BF16")];
    if (counts.empty()) return {};
    const auto most = std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
    return format_of(type_named(most->first).value(), fp32);
  }

  int first_row() const { return first_row_; }

 private:
  /// Columns of a tensor, with a residual that is added to it.
  struct Piece {
    const NamedTensor* tensor = nullptr;
    const NamedTensor* residual = nullptr;
    int first_col = 0;
    int cols = 0;  ///< of the whole tensor in the file
  };
  using Place = std::pair<ModelTensor, int>;

  /// Takes the tensors of the longest call of the model; calls that hold only zeros come last.
  void choose_call() {
    struct Call {
      std::vector<std::pair<const NamedTensor*, RunName>> tensors;
      std::uint64_t longest = 0;
      bool zeros = true;
    };
    std::map<int, Call> calls;
    for (const NamedTensor& t : set_.tensors) {
      RunName found;
      if (!read_run_name(t.name, found)) continue;
      gate_and_up_are_one_ |= found.part == RunName::Part::gate_up;
      Call& call = calls[found.call];
      call.tensors.emplace_back(&t, found);
      call.longest = std::max(call.longest, count_of(t));
    }
    for (auto& [number, call] : calls)
      call.zeros =
          calls.size() > 1 && std::ranges::all_of(call.tensors, [](const auto& t) {
            return t.second.part == RunName::Part::tokens || !t.first->refusal.empty() || is_zero(all_numbers(*t.first));
          });
    const auto kept =
        std::ranges::max_element(calls, {}, [](const auto& c) { return std::pair{!c.second.zeros, c.second.longest}; });
    for (const auto& [number, call] : calls) {
      if (number == kept->first)
        for (const auto& [t, found] : call.tensors) add(*t, found);
      else
        notes_.push_back("dropped call " + std::to_string(number) +
                         (call.zeros ? ", which holds only zeros (a profiling pass)" : ", which is shorter than another"));
    }
  }

  int columns(ModelTensor t) const {
    const Architecture& a = model_.architecture;
    using enum ModelTensor;
    const auto among = [t](std::initializer_list<ModelTensor> all) { return std::ranges::find(all, t) != all.end(); };
    if (among({q, q_norm, q_rope, attention})) return a.heads * a.head_dim;
    if (among({k, v, k_norm, k_rope})) return a.kv_heads * a.head_dim;
    if (among({gate, up, gated})) return a.inner;
    return t == logits ? a.vocabulary : t == logprobs ? 1 : a.width;
  }

  void add(const NamedTensor& t, const RunName& found) {
    const Architecture& a = model_.architecture;
    if (found.part == RunName::Part::tokens) {
      ids_ = &t;
      return;
    }
    if (is_of_layer(found.tensor) && (found.layer < 0 || found.layer >= a.layers)) return;
    Place place{found.tensor, is_of_layer(found.tensor) ? found.layer : -1};
    if (found.is_state && found.layer == a.layers - 1) place = {ModelTensor::norm, -1};
    if (found.piece == 1 && place.first != ModelTensor::output) {  // vLLM's norms return (normed, residual stream)
      if (place.first == ModelTensor::mlp_norm)
        place.first = ModelTensor::middle;
      else if (place.first == ModelTensor::attention_norm)
        place = place.second == 0 ? Place{ModelTensor::embedding, -1} : Place{ModelTensor::output, place.second - 1};
      else if (place.first == ModelTensor::norm)
        place = {ModelTensor::output, a.layers - 1};
      else
        return;
      all_[place] = {&t, nullptr, 0, a.width};
      return;
    }
    if (found.part == RunName::Part::qkv) {
      const int q = columns(ModelTensor::q), kv = columns(ModelTensor::k), all = q + 2 * kv;
      all_[{ModelTensor::q, found.layer}] = {&t, nullptr, 0, all};
      all_[{ModelTensor::k, found.layer}] = {&t, nullptr, q, all};
      all_[{ModelTensor::v, found.layer}] = {&t, nullptr, q + kv, all};
    } else if (found.part == RunName::Part::gate_up) {
      all_[{ModelTensor::gate, found.layer}] = {&t, nullptr, 0, 2 * a.inner};
      all_[{ModelTensor::up, found.layer}] = {&t, nullptr, a.inner, 2 * a.inner};
    } else if (found.piece == 1 && found.tensor == ModelTensor::output) {
      residuals_[place] = &t;
    } else if (found.piece == 0 && (found.part != RunName::Part::activation || gate_and_up_are_one_)) {
      all_[place] = {&t, nullptr, 0, columns(place.first)};
    }
  }

  /// A layer of vLLM returns (hidden, residual), and the stream is their sum.
  void pair_residuals() {
    std::map<Place, const NamedTensor*> pairs = residuals_;
    const auto middles = std::ranges::count_if(all_, [](const auto& p) { return p.first.first == ModelTensor::middle; });
    const bool has_parts = std::ranges::any_of(
        all_, [](const auto& p) { return p.first.first == ModelTensor::o || p.first.first == ModelTensor::mlp_norm; });
    if (pairs.empty() && middles > 0 && !has_parts)
      for (const auto& [place, piece] : std::map(all_))
        if (place.first == ModelTensor::middle && all_.contains({ModelTensor::output, place.second})) {
          pairs[{ModelTensor::output, place.second}] = piece.tensor;
          all_.erase(place);
        }
    std::size_t summed = 0;
    for (const auto& [place, residual] : pairs) {
      const auto found = all_.find(place);
      if (found == all_.end() || found->second.tensor->tensor.shape != residual->tensor.shape) continue;
      found->second.residual = residual;
      ++summed;
    }
    if (summed > 0) notes_.push_back("summed the pair (hidden, residual) of " + counted(summed, "layer"));
  }

  /// True for keys, which a file may repeat for every head of Q.
  static bool is_key(ModelTensor t) { return t == ModelTensor::k_rope || t == ModelTensor::k_norm; }

  /// Rows of tokens in a tensor; 0: it has no whole number of rows.
  std::uint64_t rows_in_file(const Piece& p) const {
    const std::vector<std::uint64_t>& shape = p.tensor->tensor.shape;
    const std::uint64_t count = product_of(shape, shape.size()), cols = static_cast<std::uint64_t>(p.cols);
    return cols == 0 || count % cols != 0 ? 0 : count / cols;
  }

  void leave_out_other_shapes() {
    std::map<std::uint64_t, int> counts;
    const auto is_rows = [](const Place& place) { return place.first != ModelTensor::logprobs; };
    for (const auto& [place, piece] : all_) {
      const auto size = piece.tensor->tensor.shape.size();
      const bool last = size > 0 && (piece.tensor->tensor.shape[size - 1] == static_cast<std::uint64_t>(piece.cols));
      if (is_rows(place) && last) ++counts[rows_in_file(piece)];
    }
    rows_ = tokens_.size();
    int most = 0;
    for (const auto& [rows, count] : counts)
      if (rows >= tokens_.size() && count > most) {
        most = count;
        rows_ = rows;
      }
    const auto logprobs = all_.find({ModelTensor::logprobs, -1});
    if (most == 0 && ids_ != nullptr && logprobs != all_.end() && count_of(*logprobs->second.tensor) + 1 >= count_of(*ids_))
      rows_ = std::max(rows_, count_of(*ids_));
    if (most == 0 && logprobs == all_.end()) {
      const NamedTensor& t = *all_.begin()->second.tensor;
      throw std::runtime_error(path_ + ": has " + in_quotes(t.name) + " of shape " + shape_text(t.tensor.shape) +
                               ", expected " + std::to_string(tokens_.size()) + " tokens or more of " +
                               std::to_string(all_.begin()->second.cols) + " columns");
    }
    std::string left;
    int missing = 0;
    std::erase_if(all_, [&](const auto& entry) {
      const auto& [place, piece] = entry;
      std::uint64_t rows = rows_in_file(piece);
      const auto group = static_cast<std::uint64_t>(model_.architecture.heads / model_.architecture.kv_heads);
      const bool fits = !is_rows(place) || (most > 0 && (rows == rows_ || (is_key(place.first) && rows == rows_ * group)));
      if (fits && piece.tensor->refusal.empty()) return false;
      const StoredTensor& stored = piece.tensor->tensor;
      if (missing++ == 0)
        left = in_quotes(piece.tensor->name) + " of type " + piece.tensor->dtype + " and shape " + shape_text(stored.shape);
      return true;
    });
    if (all_.empty())
      throw std::runtime_error(path_ + ": has " + left + ", expected numbers of " + std::to_string(rows_) + " tokens");
    if (missing > 0)
      notes_.push_back("left out " + left + (missing > 1 ? " and " + std::to_string(missing - 1) + " more" : "") +
                       ", whose type or shape is not that of the numbers of " + std::to_string(rows_) + " tokens");
  }

  std::vector<double> whole(const Piece& p, ModelTensor t) const {
    std::vector<double> x = all_numbers(*p.tensor);
    if (p.residual != nullptr) {
      const std::vector<double> more = all_numbers(*p.residual);
      const Format f = format_of(p.tensor->tensor.type, fp32);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = round(f, x[i] + more[i]);
    }
    const std::vector<std::uint64_t>& shape = p.tensor->tensor.shape;
    const auto d = static_cast<std::uint64_t>(model_.architecture.head_dim),
               queries = static_cast<std::uint64_t>(model_.architecture.heads);
    const std::uint64_t heads = static_cast<std::uint64_t>(columns(t)) / d;
    const std::uint64_t there = is_key(t) && x.size() == rows_ * queries * d ? queries : heads;  // keys may be repeated
    const bool by_head =
        t >= ModelTensor::q && t <= ModelTensor::attention && shape.size() >= 3 && shape.back() == d && p.cols == columns(t);
    if (by_head && shape[shape.size() - 3] == there && shape[shape.size() - 2] != there)
      x = rows_first(x, there, shape[shape.size() - 2], d);
    if (there == heads) return x;
    std::vector<double> y;
    const std::uint64_t group = there / heads;
    for (std::uint64_t i = 0; i < x.size() / d; i += group)
      y.insert(y.end(), x.begin() + static_cast<std::ptrdiff_t>(i * d), x.begin() + static_cast<std::ptrdiff_t>((i + 1) * d));
    return y;
  }

  std::vector<double> rows_of(const Piece& p, ModelTensor t, std::uint64_t first, std::uint64_t stride) const {
    const std::vector<double> x = whole(p, t);
    const auto cols = static_cast<std::uint64_t>(p.cols), wanted = static_cast<std::uint64_t>(columns(t));
    std::vector<double> y;
    y.reserve(tokens_.size() * wanted);
    for (std::uint64_t i = 0; i < tokens_.size(); ++i) {
      const auto from =
          x.begin() + static_cast<std::ptrdiff_t>((first + i * stride) * cols + static_cast<std::uint64_t>(p.first_col));
      y.insert(y.end(), from, from + static_cast<std::ptrdiff_t>(wanted));
    }
    return y;
  }

  /// Rows of the file that may be those of the tokens: first, first + stride, ...
  struct Start {
    std::uint64_t first, stride;
    std::uint64_t row, sequence;  ///< row of the first token in its sequence
  };

  /// All places of `n` tokens in sequences of `inner` adjacent rows, or of `outer` rows that are `inner` apart.
  static std::vector<Start> starts_of(std::uint64_t inner, std::uint64_t outer, std::uint64_t n) {
    std::vector<Start> starts;
    for (std::uint64_t b = 0; b < outer && inner >= n; ++b)
      for (std::uint64_t o = 0; o + n <= inner; ++o) starts.push_back({b * inner + o, 1, o, b});
    for (std::uint64_t b = 0; b < inner && outer >= n && outer > 1; ++b)
      for (std::uint64_t o = 0; o + n <= outer; ++o) starts.push_back({o * inner + b, inner, o, b});
    return starts;
  }

  /// Squared distance of two rows; an infinity or NaN of `given` is as far as a 0.
  static double distance(const double* own, const double* given, std::uint64_t columns) {
    double sum = 0;
    for (std::uint64_t c = 0; c < columns; ++c) {
      const double e = given[c] - own[c];
      sum += std::isfinite(e) ? e * e : own[c] * own[c];
    }
    return sum;
  }

  /// Finds the rows of the tokens: by the file's own tokens, else at the rows where its first tensor is nearest to the exact
  /// model's tensor.
  void align() {
    const auto& [place, piece] = *all_.begin();
    const std::uint64_t n = tokens_.size();
    const bool has_ids = ids_ != nullptr && count_of(*ids_) == rows_;
    if (ids_ != nullptr && !has_ids)
      notes_.push_back("ignored " + in_quotes(ids_->name) + " of shape " + shape_text(ids_->tensor.shape) + ", expected " +
                       std::to_string(rows_) + " tokens as its other tensors have");
    if (place.first == ModelTensor::logprobs && !has_ids) return;
    const std::vector<std::uint64_t>& shape = has_ids ? ids_->tensor.shape : piece.tensor->tensor.shape;
    const std::size_t leading = has_ids ? shape.size() : shape.size() - 1;
    const std::uint64_t inner = leading > 1 && product_of(shape, leading) == rows_ ? shape[leading - 1] : rows_,
                        outer = rows_ / inner;
    const std::vector<Start> starts = starts_of(inner, outer, n);
    if (starts.empty())
      throw std::runtime_error(path_ + ": has " + shape_text(shape) + ", expected sequences of " + std::to_string(n) +
                               " tokens or more");
    const std::vector<double> own = has_ids ? std::vector<double>(tokens_.begin(), tokens_.end())
                                            : exact_tensor(model_, tokens_, place.first, place.second);
    const std::vector<double> all = has_ids ? all_numbers(*ids_) : whole(piece, place.first);
    const auto cols = static_cast<std::uint64_t>(has_ids ? 1 : piece.cols),
               from = static_cast<std::uint64_t>(has_ids ? 0 : piece.first_col);
    const std::uint64_t wanted = own.size() / n;
    double least = std::numeric_limits<double>::infinity(), size = 0;
    for (const double v : own) size += v * v;
    const Start* best = &starts.front();
    for (const Start& s : starts) {
      double sum = 0;
      for (std::uint64_t i = 0; i < n && sum < least; ++i)
        sum += distance(&own[i * wanted], &all[(s.first + i * s.stride) * cols + from], wanted);
      if (sum < least) {
        least = sum;
        best = &s;
      }
    }
    const bool is_one_place = starts.size() == 1 && place.first != ModelTensor::embedding;  // an embedding tells the tokens
    if (has_ids ? least > 0 : !(least <= 0.5 * size || is_one_place))
      throw std::runtime_error(path_ + ": " + (has_ids ? in_quotes(ids_->name) : in_quotes(piece.tensor->name)) +
                               " has no rows of these " + std::to_string(n) + " tokens, expected a run over them");
    first_ = best->first;
    stride_ = best->stride;
    first_row_ = static_cast<int>(best->row);
    const std::uint64_t length = best->stride == 1 ? inner : outer, others = rows_ / length;
    if (others > 1) notes_.push_back("took sequence " + std::to_string(best->sequence) + " of " + std::to_string(others));
    const std::uint64_t before = best->row, behind = length - n - before;
    if (before > 0) notes_.push_back("dropped " + counted(before, "row") + " before the tokens (padding or a prefix)");
    if (behind > 0) notes_.push_back("dropped " + counted(behind, "row") + " behind the tokens (padding or more tokens)");
  }

  std::string path_;
  const LanguageModel& model_;
  const std::vector<int>& tokens_;
  TensorSet set_;
  std::map<Place, Piece> all_;
  std::map<Place, const NamedTensor*> residuals_;
  const NamedTensor* ids_ = nullptr;
  bool gate_and_up_are_one_ = false;  ///< a tensor is the output of one projection for both
  std::vector<std::string> notes_;
  std::uint64_t rows_ = 0, first_ = 0, stride_ = 1;  ///< rows in the file; row of the first token; rows from token to token
  int first_row_ = 0;                                ///< index of the first token in its sequence
};

/// Presets that a run may follow whose tensors are mostly in this format; none: it has only log-probabilities or logits.
std::vector<std::string> likely_presets(const std::optional<Format>& usual) {
  if (!usual) return {"fp32", "hf_bf16", "fused"};
  if (usual == fp64) return {"exact"};
  if (usual == fp32) return {"fp32"};
  return {"hf_bf16", "fused"};
}

Surroundings preset_in(const std::string& text, const std::optional<Format>& usual) {
  Surroundings s = surroundings(text);
  if (usual == fp16)
    for (Rounding& r : s.steps)
      if (r == to_format(bf16)) r = to_format(fp16);
  return s;
}

/// The first tensor of those that the same operation makes: a mistake in one differs in all of them.
ModelTensor operation_of(ModelTensor t) {
  using enum ModelTensor;
  const auto is_of = [t](auto... all) { return ((t == all) || ...); };
  if (is_of(q_norm, k_norm, mlp_norm, norm)) return attention_norm;
  if (is_of(k, v, o, gate, up, down)) return q;
  if (t == k_rope) return q_rope;
  return t == output ? middle : t;
}

/// Lower for presets that fit a run better: fewer operations differ, then fewer tensors, then the first of them has a name.
std::tuple<std::size_t, int, bool> misfit(const RunJudgement& j) {
  std::set<ModelTensor> operations;
  for (const TensorDistance& d : j.tensors)
    if (!(d.ratio <= 1)) operations.insert(operation_of(d.tensor));
  return {operations.size(), j.differing, !j.explained};
}

}  // namespace

JudgedRun judge_file(const std::string& file, const LanguageModel& model, const std::vector<int>& tokens, const Method& a,
                     const std::optional<std::string>& around, const Options& options) {
  const CapturedRunFile captured(file, model, tokens);
  RunQuestion q{&model, tokens, {}, a, captured.first_row(), &captured};
  const std::optional<Format> usual = captured.usual();
  const std::vector<std::string> presets = around ? std::vector{*around} : likely_presets(usual);
  JudgedRun best;
  for (const std::string& preset : presets) {
    q.around = around ? surroundings(preset) : preset_in(preset, usual);
    const std::string followed = around ? preset : surroundings_text(preset, q.around);
    RunJudgement found = judge_run(q, options);
    if (!around && !usual && preset == "fp32" && found.differing > 0) continue;  // a run in bf16, or a wrong one
    if (best.around.empty() || misfit(found) < misfit(best.judgement))
      best = {std::move(found), followed, !around, captured.notes()};
    if (best.judgement.differing == 0) break;
  }
  return best;
}

}  // namespace attoscope::app
