#include "kernels/backward/partial_backward.h"

#include <utility>

#include "kernels/backward/backward_pass.h"
#include "kernels/backward/method_inputs.h"
#include "kernels/cpu/inputs.h"

namespace attoscope {
namespace {

/// A stop sign that forwards to one that can be replaced.
struct LentSign final : StopSign {
  explicit LentSign(const StopSign& first) : now(&first) { isa = first.isa; }
  void check() const override { now->check(); }
  const StopSign* now;
};

bool sees(const Keys& keys, std::int64_t first, std::int64_t end) { return keys.first < end && first < keys.end; }

/// Inputs that the passes of an experiment share.
template <class T>
struct SharedInputs {
  Experiment experiment;
  std::shared_ptr<const Tensors> tensors;
  Operands<T> operands;
  OutputGradients incoming;
};

/// Base class of a method's pass and of golden's.
template <class T>
class Parts : public PartialBackward {
 public:
  explicit Parts(const Problem& problem, const StopSign& stop)
      : problem_(problem), stop_(stop), ready_(at(problem.n)), output_{problem.n, value_columns(problem), {}} {
    output_.values = zeros<double>(at(problem.n) * at(output_.cols), stop);
    states_.m.resize(at(problem.n));
    states_.l.resize(at(problem.n));
  }
  void follow(const StopSign& stop) override { stop_.now = &stop; }

  GradientPairs pairs(const std::vector<int>& rows, const std::vector<int>& keys) override {
    return pairs_and(rows, keys, [](const ToldPanel<T>&) {});
  }

  QueryRun of_query(int query) override {
    QueryRun found;
    found.pairs = pairs_and({query}, numbers(key_count(problem_)),
                            [&](const ToldPanel<T>& panel) { add_query_tiles(panel, query, found.tiles); });
    return found;
  }

  KeyRun of_key(int key) override {
    prepare_all();
    KeyRun found;
    found.pairs =
        pairs_and(numbers(problem_.n), {key}, [&](const ToldPanel<T>& panel) { add_key_tiles(panel, key, found.tiles); });
    return found;
  }

  std::vector<Matrix> query_gradients(const std::vector<int>& rows, std::span<const TileSchedule> orders) override {
    const std::vector<int> whole = whole_rows(rows);
    std::vector<Matrix> found;
    std::vector<GradientRule<T>> rules;
    for (const TileSchedule& order : orders) {
      found.push_back({static_cast<int>(rows.size()), problem_.d, zeros<double>(rows.size() * at(problem_.d), stop_)});
      rules.push_back(pass().rule());
      rules.back().order = order.order;
      rules.back().order_seed = order.seed;
      rules.back().buffers = order.buffers;
    }
    run({.rows = whole,
         .places = places_in(whole, rows),
         .keys = numbers(key_count(problem_)),
         .has_sums = false,
         .told = [&](const ToldPanel<T>& panel) { add_queries(panel, rules, found); }});
    return found;
  }

 protected:
  virtual BackwardPass<T>& pass() = 0;
  virtual const Job<T>& forward() const = 0;
  virtual const GradMethod& grad() const = 0;
  /// Runs what the pass needs for these rows.
  virtual void prepare(const std::vector<int>& rows) = 0;
  /// Runs what the pass needs for all rows and few keys.
  virtual void prepare_all() = 0;

  const StopSign& stop() const { return stop_; }
  const ForwardAnswer<T> known_forward() const { return {&output_, &states_}; }

  /// Runs the forward pass of those rows that have not run yet.
  void run_forward(const std::vector<int>& rows) {
    std::vector<int> missing;
    for (const int row : rows)
      if (!ready_[at(row)]) missing.push_back(row);
    if (missing.empty()) return;
    RowStates<T> states;
    const Matrix output = attoscope::run(forward(), missing, nullptr, stop_, &states);
    for (std::size_t i = 0; i < missing.size(); ++i) {
      const std::size_t row = at(missing[i]);
      copy_row(output, static_cast<int>(i), output_, missing[i]);
      states_.m[row] = states.m[row];
      states_.l[row] = states.l[row];
      ready_[row] = 1;
    }
  }
  /// delta of all rows by the current rule.
  std::vector<double> all_deltas() {
    return statistics({.rows = numbers(problem_.n), .keys = {0}, .has_sums = false, .told = [](const ToldPanel<T>&) {}}).delta;
  }

 private:
  /// P, dP and dS of these rows and keys; passes each panel to `told`, too.
  template <class Told>
  GradientPairs pairs_and(const std::vector<int>& rows, const std::vector<int>& keys, Told told) {
    const std::vector<double> none(rows.size() * keys.size(), std::numeric_limits<double>::quiet_NaN());
    GradientPairs found{none, none, none, std::vector<char>(none.size()), {}, {}};
    const Gradients g =
        run({.rows = whole_rows(rows), .keys = whole_keys(keys), .has_sums = false, .told = [&](const ToldPanel<T>& panel) {
               take(panel, rows, keys, found);
               told(panel);
             }});
    for (const int row : rows) {
      found.lse.push_back(g.lse[at(row)]);
      found.delta.push_back(g.delta[at(row)]);
    }
    return found;
  }
  std::vector<int> whole_rows(const std::vector<int>& rows) {
    return pass().stores_tiles() ? whole_tiles(rows, grad().block_q, problem_.n) : rows;
  }
  std::vector<int> whole_keys(const std::vector<int>& keys) {
    if (pass().rule().finds_state) return numbers(key_count(problem_));  // m and l need all
    return pass().stores_tiles() ? whole_tiles(keys, pass().rule().block_k, key_count(problem_)) : keys;
  }

  Gradients run(const RowsAndKeys<T>& part) {
    prepare(part.rows);
    return statistics(part);
  }
  /// Runs a pass without the forward pass; returns delta and L of its rows.
  Gradients statistics(const RowsAndKeys<T>& part) {
    Gradients g;
    g.delta.resize(at(problem_.n));
    g.lse.resize(at(problem_.n));
    pass().rows_and_keys(part, g);
    return g;
  }

  /// Copies P, dP, dS and lost of these rows and keys from the panel.
  void take(const ToldPanel<T>& panel, const std::vector<int>& rows, const std::vector<int>& keys, GradientPairs& found) {
    const GradientLanes<T>& lanes = pass().lanes();
    const KeyList& list = panel.keys.keys;
    const MaskView mask = mask_view(problem_);
    std::vector<int> places;  // [key]: its index in the list
    for (int i = 0, place = 0; i < static_cast<int>(keys.size()); ++i) {
      while (list[place] != keys[at(i)]) ++place;
      places.push_back(place);
    }
    parallel_for_single(0, panel.keys.block_count, [&](int block) {
      stop_.check();
      for (int lane = 0; lane < panel.keys.blocks[block].count; ++lane) {
        const int row = panel.keys.blocks[block].rows[lane];
        const auto place_of_row = std::ranges::lower_bound(rows, row);
        if (place_of_row == rows.end() || *place_of_row != row) continue;
        const std::size_t first = static_cast<std::size_t>(place_of_row - rows.begin()) * keys.size();
        const Keys seen = visible_keys(problem_, row);
        for (std::size_t i = 0; i < keys.size(); ++i) {
          if (keys[i] < seen.first || keys[i] >= seen.end) continue;
          if (mask.terms != nullptr && mask.drops(row, keys[i])) continue;
          const std::size_t from = (at(block) * at(list.count) + at(places[i])) * at(lanes.rows) * at(lanes.parts) + at(lane);
          const auto number = [&](const T* x) {
            return static_cast<double>(x[from]) + (lanes.parts > 1 ? static_cast<double>(x[from + at(lanes.rows)]) : 0.0);
          };
          found.p[first + i] = number(panel.memory.p);
          found.dp[first + i] = number(panel.memory.dp);
          found.ds[first + i] = number(panel.memory.ds);
          found.lost[first + i] = panel.memory.lost != nullptr && panel.memory.lost[from] != 0;
        }
      }
    });
  }

  /// Appends dQ of the query after each key tile that it sees.
  void add_query_tiles(const ToldPanel<T>& panel, int query, std::vector<QueryTileSums>& tiles) {
    GradientRule<T> rule = pass().rule();
    rule.grad[static_cast<int>(GradStep::dQ)] = {};
    for (int block = 0; block < panel.keys.block_count; ++block) {
      const RowBlock& rows = panel.keys.blocks[block];
      const int lane = query - rows.rows[0];
      if (lane < 0 || lane >= rows.count) continue;
      std::vector<int> places(at(rows.count), -1);
      places[at(lane)] = 0;
      const auto sums = [&](int first, int end) {
        std::vector<double> dq(at(problem_.d));
        RowsTask<T> task = panel.task_of(block);
        task.first_tile = first;
        task.end_tile = end;
        task.d_q = dq.data();
        task.places = places.data();
        pass().lanes().queries_of_block(rule, task, stop_, pass().scratch(rule));
        return dq;
      };
      const int count = (rule.job.n - 1) / rule.block_k + 1;
      const TileOrder order(rule.order, rule.order_seed, panel.task_of(block).query_tile, count);
      const Keys seen = visible_keys(problem_, query);
      for (int i = 0; i < count; ++i) {
        stop_.check();  // the sum of all tiles so far is computed anew for each tile
        const std::int64_t first = static_cast<std::int64_t>(order[i]) * rule.block_k;
        if (sees(seen, first, first + rule.block_k)) tiles.push_back({order[i], sums(i, i + 1), sums(0, i + 1)});
      }
    }
  }

  /// Appends dK and dV of the key after each query tile of the panel; the first tile may be the rest of one.
  void add_key_tiles(const ToldPanel<T>& panel, int key, std::vector<KeyTileSums>& tiles) {
    const GradientLanes<T>& lanes = pass().lanes();
    GradientRule<T> rule = pass().rule();
    for (const GradStep s : {GradStep::dK, GradStep::dV}) rule.grad[static_cast<int>(s)] = {};
    KeysTask<T> task = panel.keys;
    task.first = 0;
    task.end = task.keys.count;
    const std::size_t of_block = at(task.keys.count) * at(lanes.rows) * at(lanes.parts);
    int place = 0;
    while (task.keys[place] != key) ++place;
    for (int block = 0, end = 0; block < panel.keys.block_count; block = end) {
      bool is_seen = false;
      for (; end < panel.keys.block_count && panel.keys.first_rows[end] == panel.keys.first_rows[block]; ++end)
        for (int lane = 0; lane < panel.keys.blocks[end].count; ++lane)
          is_seen |= sees(visible_keys(problem_, panel.keys.blocks[end].rows[lane]), key, key + 1);
      task.blocks = panel.keys.blocks + block;
      task.first_rows = panel.keys.first_rows + block;
      task.block_count = end - block;
      task.p = panel.keys.p + at(block) * of_block;
      task.ds = panel.keys.ds + at(block) * of_block;
      lanes.sums_of_keys(rule, task, stop_);
      const int tile = panel.keys.first_rows[block] / std::min(grad().block_q, problem_.n);
      if (is_seen && !tiles.empty() && tiles.back().tile == tile) tiles.pop_back();
      if (is_seen) tiles.push_back(finished(task, rule, place, tile));
    }
  }
  KeyTileSums finished(const KeysTask<T>& task, const GradientRule<T>& rule, int place, int tile) {
    const std::size_t d = at(problem_.d), d_v = at(value_columns(problem_));
    std::vector<double> dk(at(task.keys.count) * d), dv(at(task.keys.count) * d_v);
    pass().lanes().finish_keys(rule, task, dk.data(), dv.data());
    const auto row = [&](const std::vector<double>& x, std::size_t columns) {
      const auto first = x.begin() + static_cast<std::ptrdiff_t>(at(place) * columns);
      return std::vector<double>(first, first + static_cast<std::ptrdiff_t>(columns));
    };
    return {tile, row(dk, d), row(dv, d_v)};
  }

  void add_queries(const ToldPanel<T>& panel, const std::vector<GradientRule<T>>& rules, std::vector<Matrix>& found) {
    parallel_for_single(0, panel.keys.block_count, [&](int block) {
      for (std::size_t i = 0; i < rules.size(); ++i) {
        RowsTask<T> task = panel.task_of(block);
        task.d_q = found[i].values.data();
        pass().lanes().queries_of_block(rules[i], task, stop_, pass().scratch(rules[i]));
      }
    });
  }

  const Problem problem_;
  LentSign stop_;
  std::vector<char> ready_;  ///< [row]: 1 if its forward pass has run
  Matrix output_;
  RowStates<T> states_;
};

template <class T>
class PartsOfMethod final : public Parts<T> {
 public:
  PartsOfMethod(std::shared_ptr<const SharedInputs<T>> shared, bool of_b, const StopSign& stop)
      : Parts<T>(shared->experiment.problem, stop),
        shared_(std::move(shared)),
        grad_(of_b ? shared_->experiment.backward.b : shared_->experiment.backward.a),
        inputs_(shared_->experiment.problem, of_b ? shared_->experiment.b : shared_->experiment.a, shared_->experiment.format,
                shared_->operands, shared_->incoming, this->stop()),
        pass_(shared_->experiment.problem, grad_, shared_->experiment.format,
              inputs_.rows(grad_.scaling.dO, shared_->experiment.format, this->stop()), shared_->incoming, this->stop()) {
    pass_.set_forward(this->known_forward());
    pass_.begin_method(inputs_.forward(), inputs_.format());
  }

 private:
  BackwardPass<T>& pass() override { return pass_; }
  const Job<T>& forward() const override { return inputs_.forward(); }
  const GradMethod& grad() const override { return grad_; }
  void prepare(const std::vector<int>& rows) override { this->run_forward(rows); }
  void prepare_all() override {
    this->run_forward(numbers(shared_->experiment.problem.n));
    if (grad_.precision.delta_from != DeltaFrom::probabilities || !delta_.empty()) return;
    delta_ = this->all_deltas();
    pass_.set_known_delta(delta_.data());
  }

  std::shared_ptr<const SharedInputs<T>> shared_;
  const GradMethod& grad_;
  MethodInputs<T> inputs_;
  BackwardPass<T> pass_;
  std::vector<double> delta_;
};

/// Golden's pass: in double, or in double-double if the experiment works in double.
template <class Shared>
class PartsOfGolden final : public Parts<double> {
 public:
  PartsOfGolden(std::shared_ptr<const Shared> shared, bool precise, const StopSign& stop)
      : Parts<double>(shared->experiment.problem, stop),
        shared_(std::move(shared)),
        precise_(precise),
        inputs_(shared_->experiment.problem, *shared_->tensors),
        pass_(shared_->experiment.problem, inputs_.grad, fp64,
              inputs_.rows(shared_->experiment.problem, shared_->incoming, this->stop()), shared_->incoming, this->stop()) {
    pass_.set_forward(known_forward());
    pass_.begin_golden(inputs_.forward, precise, false);
  }
  GradientPairs pairs(const std::vector<int>& rows, const std::vector<int>& keys) override {
    return as_the_whole([&] { return Parts<double>::pairs(rows, keys); });
  }
  std::vector<Matrix> query_gradients(const std::vector<int>& rows, std::span<const TileSchedule> orders) override {
    return as_the_whole([&] { return Parts<double>::query_gradients(rows, orders); });
  }
  QueryRun of_query(int query) override {
    QueryRun found = as_the_whole([&] { return Parts<double>::of_query(query); });
    found.tiles.clear();
    return found;
  }
  KeyRun of_key(int key) override {
    pass_.set_finds_state(false);
    KeyRun found = Parts<double>::of_key(key);
    found.tiles.clear();
    return found;
  }

 private:
  BackwardPass<double>& pass() override { return pass_; }
  const Job<double>& forward() const override { return inputs_.forward; }
  const GradMethod& grad() const override { return inputs_.grad; }
  void prepare(const std::vector<int>& rows) override {
    if (!precise_ && !pass_.rule().finds_state) run_forward(rows);
  }
  void prepare_all() override { prepare(numbers(shared_->experiment.problem.n)); }

  /// Calls f with m and l computed as the whole pass computes them.
  template <class F>
  auto as_the_whole(F f) {
    pass_.set_finds_state(!precise_ && pass_.has_all());
    return f();
  }

  std::shared_ptr<const Shared> shared_;
  const bool precise_;
  GoldenInputs inputs_;
  BackwardPass<double> pass_;
};

template <class T>
PartialPasses passes_of(const Experiment& e, const StopSign& stop) {
  auto shared = std::make_shared<SharedInputs<T>>();
  shared->experiment = e;
  shared->operands = operands<T>(*raw_inputs(e.problem, stop), e.a.precision[Step::input], e.format, e.problem.seed, stop);
  shared->tensors = as_tensors(shared->operands, shape_of(e.problem), stop);
  shared->incoming = output_gradients(e, stop);
  PartialPasses all{.inputs = shared->tensors, .d_o = shared->incoming.d_o, .golden = {}, .a = {}, .b = {}};
  const std::shared_ptr<const SharedInputs<T>> inputs = shared;
  all.golden = std::make_unique<PartsOfGolden<SharedInputs<T>>>(inputs, std::is_same_v<T, double>, stop);
  if (is_emulated(e.a.algorithm)) all.a = std::make_unique<PartsOfMethod<T>>(inputs, false, stop);
  if (is_emulated(e.b.algorithm)) all.b = std::make_unique<PartsOfMethod<T>>(inputs, true, stop);
  return all;
}

}  // namespace

PartialPasses partial_passes(const Experiment& e, const StopSign& stop) {
  return works_in_double(e) ? passes_of<double>(e, stop) : passes_of<float>(e, stop);
}

}  // namespace attoscope
