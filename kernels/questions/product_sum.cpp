#include "kernels/questions/product_sum.h"

#include <algorithm>
#include <span>
#include <stdexcept>

#include "kernels/cpu/inputs.h"
#include "kernels/experiment/rules.h"
#include "kernels/questions/row_tiles.h"
#include "kernels/recurrence/row_steps.h"
#include "kernels/stop_token.h"

namespace attoscope {
namespace {

/// Factors of a product, from the beginning of its first block; missing ones are 0.
struct Factors {
  std::vector<float> a, b;
  int lead = 0;  ///< zeros before the first

  void add(float x, float y) {
    a.push_back(x);
    b.push_back(y);
  }
};

/// The sum of P.V of one column, computed tile by tile as in the kernel.
class ColumnSum {
 public:
  ColumnSum(const Job<float>& job, const std::optional<TensorCoreRule>& rule, int row, int column)
      : job_(job), rule_(rule), steps_(job, row), column_(column) {}

  /// Sets the state before the tile's products: starts a new sum, or rescales it.
  void enter(const RowTile<float>& tile) {
    if (tile.restarts) {
      sum_ = O_ = 0;
      tiles_ = 0;
      run_first_ = tile.tile / runs() * runs();
    }
    ++tiles_;
    if (normalises_P(job_.method.algorithm)) return;
    if (job_.flush == 1) {
      sum_ = 0;
      tiles_ = 1;
    }
    if (tile.restarts) return;
    if (job_.flush == 0) return void(sum_ = rescaled(tile, sum_, tile.tile));
    O_ = rescaled(tile, O_, tile.tile);
    if (job_.flush > 1) sum_ = rescaled(tile, sum_, -(1 << 24) - tile.tile);
  }

  /// Adds the tile's products.
  void add(const RowTile<float>& tile) {
    const Factors f = factors(tile);
    sum_ = rule_ ? tensor_core_dot(*rule_, f.a, f.b, sum_) : fma_chain_sum(f.a, f.b, sum_, rounding(tile));
  }
  /// The rounding of the sum after each of the tile's products, in a chain of fma.
  StepRounding rounding(const RowTile<float>& tile) const {
    return [this, first = tile.first_key](float sum, int step) {
      return steps_.rounded(Step::pv_step, sum, column_, first + step);
    };
  }
  /// Sets the kernel's state after the tile.
  void leave(const RowTile<float>& tile) {
    if (normalises_P(job_.method.algorithm)) return;
    if (job_.flush == 0) sum_ = tile.O[at(column_)];
    if (job_.flush == 1) O_ = tile.O[at(column_)];
    if (job_.flush > 1 && (tile.tile - run_first_ + 1) % job_.flush == 0) {
      O_ = tile.O[at(column_)];
      sum_ = 0;
      tiles_ = 0;
    }
  }

  /// P and V of the tile, from the beginning of the block that has its first key.
  Factors factors(const RowTile<float>& tile) const {
    const int first = job_.method.algorithm == Algorithm::three_pass ? 0 : tile.tile * job_.method.block_k;
    Factors f{.a = {}, .b = {}, .lead = rule_ ? (tile.first_key - first) % rule_->block : 0};
    for (int i = 0; i < f.lead; ++i) f.add(0, 0);
    for (std::size_t i = 0; i < tile.P.size(); ++i)
      f.add(job_.v[(static_cast<std::ptrdiff_t>(tile.first_key) + static_cast<std::ptrdiff_t>(i)) * job_.d_v + column_],
            tile.P[i]);
    return f;
  }

  float sum() const { return sum_; }
  float O() const { return O_; }
  int tiles() const { return tiles_; }

 private:
  float rescaled(const RowTile<float>& tile, float x, int key) const {
    return steps_.rounded(Step::rescaled, tile.alpha * x, column_, key);
  }
  /// Tiles per run.
  int runs() const { return std::max(1, tiles_of_a_run(job_.method, job_.n)); }

  const Job<float>& job_;
  const std::optional<TensorCoreRule>& rule_;
  RowSteps<float> steps_;
  int column_, run_first_ = 0, tiles_ = 0;
  float sum_ = 0, O_ = 0;
};

/// Sets the steps of a product by fma; `place` is its first factor's place.
void set_chain(ProductSum& s, const Factors& f, int place, const RounderPlan<float>& plan, const StepRounding& rounded) {
  s.chain = fma_chain(f.a, f.b, s.start, plan.rounds() ? plan.format : fp32, rounded);
  s.first_places = {place};
  s.result = s.chain.parts.empty() ? s.start : s.chain.parts.back().after;
}

/// Sets the blocks of a product; `place` is its first factor's place.
void set_blocks(ProductSum& s, const Factors& f, int place) {
  const TensorCoreRule& rule = *s.rule;
  const int count = (static_cast<int>(f.a.size()) + rule.block - 1) / rule.block;
  const int parts = parts_of_a_block(rule), earlier = std::max(0, count - most_shown_blocks / parts);
  s.earlier_blocks = earlier * parts;
  const std::size_t skipped = at(earlier * rule.block);
  const std::span<const float> a(f.a), b(f.b);
  const float before = tensor_core_dot(rule, a.first(skipped), b.first(skipped), s.start);
  s.blocks = tensor_core_blocks(rule, a.subspan(skipped), b.subspan(skipped), before);
  for (int i = s.earlier_blocks; i < count * parts; ++i)
    s.first_places.push_back(place + s.step * (i / parts * rule.block - f.lead));
  s.result = s.blocks.empty() ? before : s.blocks.back().result;
}

void set_exact(ProductSum& s, const Factors& f) {
  s.exact = s.start;
  for (std::size_t i = 0; i < f.a.size(); ++i) s.exact += static_cast<double>(f.a[i]) * static_cast<double>(f.b[i]);
}

/// Place of a stored key in the file's order.
int place_of(const Job<float>& job, int stored) { return job.reversed ? job.n - 1 - stored : stored; }

void set_pv(ProductSum& s, const Job<float>& job, const std::vector<RowTile<float>>& tiles) {
  const RowTile<float>& last = tiles.back();
  ColumnSum sum(job, s.rule, s.question.row, s.question.column);
  for (const RowTile<float>& tile : tiles) {
    sum.enter(tile);
    if (&tile == &last) break;
    sum.add(tile);
    sum.leave(tile);
  }
  s.tile = last.tile;
  s.tiles_in_sum = sum.tiles();
  s.start = sum.sum();
  s.O_before = sum.O();
  s.O_after = last.O[at(s.question.column)];
  s.continues_O = normalises_P(job.method.algorithm) || job.flush == 0;
  s.step = job.reversed ? -1 : 1;
  const Factors f = sum.factors(last);
  const int place = place_of(job, last.first_key);
  s.rule ? set_blocks(s, f, place) : set_chain(s, f, place, job[Step::pv_step], sum.rounding(last));
  set_exact(s, f);
}

void set_qk(ProductSum& s, const Job<float>& job, const std::vector<RowTile<float>>& tiles) {
  const RowTile<float>& last = tiles.back();
  const int stored = last.first_key + static_cast<int>(last.S.size()) - 1;
  Factors f;
  for (int c = 0; c < job.d; ++c)
    f.add(job.k[static_cast<std::ptrdiff_t>(stored) * job.d + c],
          job.q[static_cast<std::ptrdiff_t>(s.question.row) * job.d + c]);
  s.key = place_of(job, stored);
  s.S = last.S.back();
  const RowSteps<float> steps(job, s.question.row);
  const auto rounded = [&](float sum, int step) { return steps.rounded(Step::qk_step, sum, stored, step); };
  s.rule ? set_blocks(s, f, 0) : set_chain(s, f, 0, job[Step::qk_step], rounded);
  set_exact(s, f);
}

/// One sentence: the reason why an emulated method has no sum to show; "" if it has one.
std::string why_none(const ProductSumQuestion& q) {
  const Method& m = q.of_b ? q.experiment.b : q.experiment.a;
  const std::string method = q.of_b ? "b" : "a", product = q.product == AttentionProduct::qk ? "q.k" : "P.V";
  if (!is_emulated(m.algorithm)) return method + " is not emulated: how it adds up is not known.";
  const Accumulator accumulator = m.accumulator[q.product];
  const std::string sums = method + " adds up " + product;
  if (is_tensor_core(accumulator)) return "";
  if (accumulator == Accumulator::f64)
    return sums + " by fma in fp64, and only sums of fp32 are shown step by step: choose fma, or a GPU, for its sums.";
  if (m.order != SumOrder::sequential)
    return sums + (m.order == SumOrder::pairwise ? " in pairs" : " in interleaved chains") +
           ", and only one chain is shown step by step: choose the order sequential.";
  if (works_in_double(q.experiment))
    return sums + " in fp64, and only sums of fp32 are shown step by step: choose a narrower format.";
  return "";
}

void check(const ProductSumQuestion& q) {
  const Problem& p = q.experiment.problem;
  if (q.row < 0 || q.row >= p.n || q.column < 0 || q.column >= value_columns(p))
    throw std::invalid_argument("the sum of row " + std::to_string(q.row) + ", column " + std::to_string(q.column) +
                                " is asked for, expected a row within 0 .. " + std::to_string(p.n - 1) +
                                " and a column within 0 .. " + std::to_string(value_columns(p) - 1));
}

}  // namespace

ProductSum product_sum(const ProductSumQuestion& question, const Options& options) {
  refuse(question.experiment, options.threads);
  check(question);
  ProductSum s{.question = question, .why_none = why_none(question)};
  if (!s.why_none.empty()) return s;
  const StopToken stop(options);
  const Experiment& e = question.experiment;
  s.rule = tensor_core_rule_of(e, question.of_b ? e.b : e.a, question.product);
  const MethodRows<float> run(e, question.of_b, stop);
  const std::vector<RowTile<float>> tiles = row_run(run.job(), question.row, stop).tiles;
  if (tiles.empty()) {
    s.why_none = "This row sees no key, so that nothing is added up.";
    return s;
  }
  question.product == AttentionProduct::qk ? set_qk(s, run.job(), tiles) : set_pv(s, run.job(), tiles);
  return s;
}

}  // namespace attoscope
