/// The lines of an algorithm's code for one row, made from the logged roundings of its lanes.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "kernels/lanes/rounding_log.h"
#include "kernels/questions/row_tiles.h"
#include "kernels/questions/stepper.h"

namespace attoscope {

/// Parts of a run to report.
struct RecordedParts {
  int row = 0, columns = 1;            ///< row of Q, and number of the first columns of O
  double q = 1, k = 1, v = 1, of = 1;  ///< bytes of one number of Q, K and V, and of any other number
  bool scores = false;                 ///< q.k is a separate step
  bool stores_P = false;               ///< storing P with a scale is a separate step
};

/// Assigns the roundings of a run to the lines of the algorithm's code. Without tiles, each key has its own lines.
template <class T>
class RecordedSteps {
 public:
  RecordedSteps(const Job<T>& job, const RowRun<T>& run, const RoundingLog& log, const RecordedParts& parts)
      : job_(job), run_(run), parts_(parts), code_(info(job.method.algorithm).code) {
    P_.assign(at(job.n), 0);
    state_ = {-std::numeric_limits<double>::infinity(), 0, std::vector<double>(at(parts.columns), 0.0)};
    for (const RowTile<T>& tile : run.tiles) S_.insert(S_.end(), tile.S.begin(), tile.S.end());
    sort_out(log);
    close(code_.front(), 0, {}, -1);
    for (std::size_t i = 1; i + 1 < code_.size();) {
      std::size_t end = i + 1;
      while (code_[end].pass < 0 && code_[end].kind != StepKind::finish) ++end;
      pass_ = code_[i].pass;
      loop(code_.subspan(i + 1, end - i - 1));
      i = end;
    }
    close(code_.back(), 0, {}, -1);
  }

  int passes() const { return pass_ + 1; }
  std::vector<RowStep> take() { return std::move(done_); }
  const std::vector<double>& S() const { return S_; }
  const std::vector<double>& P() const { return P_; }

 private:
  /// Sort key of a number in its line: before, among or after the products; then column and key.
  using Rank = std::tuple<int, int, int>;
  using Line = std::vector<std::pair<Rank, RoundedNumber>>;

  bool tiled() const { return has_tiles(job_.method.algorithm); }
  bool has_line(StepKind kind) const { return std::ranges::find(code_, kind, &AlgorithmLine::kind) != code_.end(); }

  /// The line that computes a number.
  StepKind line_of(const LoggedRounding& x) const {
    const bool normalises = normalises_P(job_.method.algorithm);
    switch (x.step) {
      case Step::m:
        return has_line(StepKind::tile_max) ? StepKind::tile_max : StepKind::max;
      case Step::shifted:
      case Step::e:
        return has_line(StepKind::weights) ? StepKind::weights : StepKind::sum;
      case Step::P:
        return parts_.stores_P ? StepKind::store : normalises ? StepKind::normalise : StepKind::weights;
      case Step::alpha:
        return StepKind::alpha;
      case Step::l_step:
      case Step::tile_sum:
      case Step::l:
        return StepKind::sum;
      case Step::rescaled:
        return x.of_column ? StepKind::output : StepKind::sum;
      case Step::pv_step:
        return StepKind::output;
      case Step::PV:
      case Step::O:
        return normalises ? StepKind::finish : StepKind::output;
      case Step::output:
        return StepKind::finish;
      case Step::input:
      case Step::qk_step:
      case Step::S:
        break;
    }
    return StepKind::scores;
  }

  /// Assigns each rounding to its line. A second pass recomputes e with the same numbers; only the first are kept.
  void sort_out(const RoundingLog& log) {
    std::set<std::tuple<Step, int, int, bool>> seen;
    bool summed = false;  // the tile's products were logged
    for (const LoggedRounding& x : log.roundings) {
      summed = x.step == Step::tile_sum || (summed && x.step != Step::m);
      if (!seen.emplace(x.step, x.i, x.k, x.of_column).second) continue;
      const bool is_first_alpha = x.step == Step::alpha && x.k == 0 && x.i == run_.tiles.front().tile;
      const StepKind kind = line_of(x);
      if (kind == StepKind::scores || is_first_alpha) continue;  // alpha is 1 if there is nothing to rescale
      const bool of_key = x.step == Step::shifted || x.step == Step::e || x.step == Step::P || x.step == Step::l_step;
      const bool is_product = x.step == Step::pv_step;
      const int key = of_key ? x.i : is_product ? x.k : -1, column = x.of_column || is_product ? x.i : -1;
      if (column >= parts_.columns) continue;
      const int tile = x.of_column ? (x.k < 0 ? -1 - x.k : x.k) : x.i, place = key < 0 ? tile : key / job_.method.block_k;
      const int among = is_product ? 1 : summed ? 2 : 0;
      const Rank rank = column >= 0                        ? Rank{among, column, is_product ? key : 0}
                        : of_key && x.step != Step::l_step ? Rank{0, key, 0}
                                                           : Rank{1, 0, 0};
      const bool rounds = job_[x.step].rounds() || (x.step == Step::P && job_.method.scaling.P.is_on());
      const RoundedNumber made{
          .step = x.step, .key = key, .column = column, .before = x.before, .after = x.after, .exact = 0, .rounds = rounds};
      lines_[{kind, kind == StepKind::finish ? -1 : tiled() ? place : key < 0 ? job_.n - 1 : key}].emplace_back(rank, made);
      if (x.step == Step::P) P_[at(key)] = x.after;
    }
  }

  /// One pass over the tiles, or over the keys.
  void loop(std::span<const AlgorithmLine> lines) {
    for (const RowTile<T>& t : run_.tiles) {
      const Keys all{t.first_key, t.first_key + static_cast<int>(t.S.size())};
      tile_ = &t;
      for (Keys keys{all.first, tiled() ? all.end : all.first + 1}; keys.first < all.end; keys = {keys.end, keys.end + 1}) {
        reads_ += keys.end - keys.first;
        for (const AlgorithmLine& line : lines) {
          const int place = tiled() ? t.tile : keys.first;
          const bool has_scores = parts_.scores && pass_ == 0 && &line == &lines.front();
          if (has_scores) close({{}, StepKind::scores, -1, line.moved}, place, keys, t.tile);
          close({{}, line.kind, -1, has_scores ? LineTraffic{} : line.moved}, place, keys, t.tile);
          if (parts_.stores_P && line.kind == StepKind::sum) close({{}, StepKind::store}, place, keys, t.tile);
        }
      }
    }
  }

  void close(const AlgorithmLine& line, int place, Keys keys, int tile) {
    const int count = keys.end - keys.first, d = job_.d;
    const LineTraffic& x = line.moved;
    moved_ += (x.K ? count * d : 0) * parts_.k;
    moved_ += (x.q ? d : 0) * parts_.q;
    moved_ += (x.V ? count * d : 0) * parts_.v;
    moved_ += (x.per_key * count + x.others + (x.O ? d : 0)) * parts_.of;
    Line made = std::move(lines_[{*line.kind, tile < 0 ? -1 : place}]);
    if (line.kind == StepKind::output) add_blocks(made, keys);
    std::ranges::stable_sort(made, {}, &Line::value_type::first);
    RowStep step{.kind = *line.kind, .pass = pass_, .tile = tile, .keys = keys, .reads = reads_, .bytes = moved_};
    for (const auto& [rank, number] : made) step.numbers.push_back(number);
    advance(step);
    step.alpha = alpha_;
    step.share = share_;
    step.state = state_;
    done_.push_back(std::move(step));
  }

  /// Updates the state after a line.
  void advance(const RowStep& step) {
    if (step.kind == StepKind::max) state_.m = max_after(step.keys.end);
    if (step.kind == StepKind::sum) state_.l = step.numbers.back().after;
    if (step.kind == StepKind::alpha) {
      alpha_ = static_cast<double>(tile_->alpha);
      if (has_line(StepKind::tile_max)) share_ = step.numbers.back().after;  // beta
    }
    for (const RoundedNumber& number : step.numbers)
      if (number.column >= 0) state_.O[at(number.column)] = number.after;
  }
  /// m before key `end`; without tiles, it is rounded only after the last key.
  double max_after(int end) const {
    if (tiled() || end == job_.n) return static_cast<double>(tile_->m);
    const double S = S_[at(end - 1)];
    return S > state_.m ? S : state_.m;
  }

  /// Adds the sums of tensor cores, which round whole blocks: for each key, the sum as if that key were the last.
  void add_blocks(Line& line, Keys keys) const {
    if constexpr (std::is_same_v<T, float>) {
      if (job_.pv_sum.accumulator == Accumulator::fma) return;
      const bool continues = normalises_P(job_.method.algorithm) || job_.flush == 0;
      const std::vector<float> P(P_.begin(), P_.end());
      for (int c = 0; c < parts_.columns; ++c) {
        auto o = static_cast<float>(continues ? state_.O[at(c)] : 0);
        for (const auto& [rank, number] : line)
          if (continues && std::get<0>(rank) == 0 && number.column == c) o = static_cast<float>(number.after);
        const int first = tiled() ? keys.first : 0;  // the blocks of a single tile begin at key 0
        const float start = tiled() ? o : 0;
        for (int j = keys.first; j < keys.end; ++j) {
          const float* const v = job_.v + c;
          const double before = double{o} + double{v[j * job_.d]} * double{P[at(j)]};
          o = sum_of_blocks({.a = v + first * job_.d, .b = P.data() + first, .a_step = job_.d, .count = j + 1 - first}, start);
          line.push_back(
              {{1, c, j},
               {.step = Step::pv_step, .key = j, .column = c, .before = before, .after = double{o}, .rounds = true}});
        }
      }
    }
  }
  float sum_of_blocks(const BlockFactors& all, float sum) const {
    if (job_.pv_sum.accumulator == Accumulator::f64) return next_fp64_sum(all, sum);
    sum = first_carry(job_.pv_sum, sum);
    for (int i = 0; i < all.count; i += job_.pv_sum.block) {
      BlockFactors block = all;
      block.a += i * all.a_step;
      block.b += i * all.b_step;
      block.count = std::min(job_.pv_sum.block, all.count - i);
      sum = next_sum(job_.pv_sum, block, sum);
    }
    return sum;
  }

  const Job<T>& job_;
  const RowRun<T>& run_;
  RecordedParts parts_;
  std::span<const AlgorithmLine> code_;
  std::map<std::pair<StepKind, int>, Line> lines_;  ///< by kind, and by tile or key
  std::vector<double> S_, P_;
  const RowTile<T>* tile_ = nullptr;
  RowState state_;
  double alpha_ = 1, share_ = 1, moved_ = 0;
  int pass_ = 0, reads_ = 0;
  std::vector<RowStep> done_;
};

}  // namespace attoscope
