#include "tests/gpu/train.h"

#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>

#include "kernels/train/paired_training.h"
#include "tests/support/support.h"
#include "tests/train/train_questions.h"

namespace attoscope::gpu_check {
namespace {

using Array = DeviceArray<float, float>;
using Numbers = std::vector<double>;

/// The primitives of `device`, without a substitute.
std::unique_ptr<Primitives<float>> primitives_of(const std::string& device) { return primitives_on(device, 0).make(); }

Array normals(Primitives<float>& on, std::int64_t count, std::uint64_t seed) {
  testing::Dice dice(seed);
  std::vector<float> x(static_cast<std::size_t>(count));
  for (float& v : x) v = static_cast<float>(dice.normal());
  Array array(on, x.size());
  array.write(x);
  return array;
}

/// A product as training makes it: X.W, dY.W^T (b_turned) or X^T.dY (a_turned, in pieces).
struct ProductShape {
  int m, n, k, piece;
  bool a_turned, b_turned, adds;
};

MatrixProduct<float> product_of(const ProductShape& s, const Array& a, const Array& b, const Array& c) {
  return {.a = a.get(),
          .a_row = s.a_turned ? 1 : s.k,
          .a_col = s.a_turned ? s.m : 1,
          .b = b.get(),
          .b_row = s.b_turned ? 1 : s.n,
          .b_col = s.b_turned ? s.k : 1,
          .c = c.get(),
          .c_row = s.n,
          .m = s.m,
          .n = s.n,
          .k = s.k,
          .piece = s.piece,
          .adds = s.adds,
          .rounding = plan<float>(to_main, bf16)};
}

Numbers large_product(Primitives<float>& on, const ProductShape& s) {
  const std::int64_t m = s.m, n = s.n, k = s.k;
  const Array a = normals(on, m * k, 1), b = normals(on, k * n, 2), c = normals(on, m * n, 3);
  on.product(product_of(s, a, b, c));
  const std::vector<float> answer = c.read();
  return Numbers(answer.begin(), answer.end());
}

/// Compares answers of the CPU and of another device to the same questions.
class TrainComparison {
 public:
  TrainComparison(const std::string& device, Tally& tally)
      : cpu_(cpu_primitives()), other_(primitives_of(device)), tally_(tally) {}

  void ask(const std::string& name, const std::function<Numbers(Primitives<float>&)>& question) {
    std::string fault;
    try {
      fault = testing::difference(question(*cpu_), question(*other_));
    } catch (const std::exception& error) {
      fault = error.what();
    }
    tally_.note(fault, name);
  }

 private:
  std::unique_ptr<Primitives<float>> cpu_, other_;
  Tally& tally_;
};

void ask_primitives(TrainComparison& compare, int seeds) {
  auto questions = testing::primitive_questions<float>();
  questions.push_back(testing::attention_question());
  for (const auto& question : questions)
    for (int seed = 0; seed < seeds; ++seed)
      compare.ask(question.name + ", seed " + std::to_string(seed),
                  [&](Primitives<float>& on) { return question.answer(on, static_cast<std::uint64_t>(seed)); });
}

void ask_large_products(TrainComparison& compare) {
  constexpr ProductShape shapes[] = {{4096, 1536, 384, 0, false, false, false},  {4000, 1537, 383, 0, false, false, true},
                                     {4096, 384, 1536, 0, false, true, true},    {4099, 384, 1536, 0, false, true, false},
                                     {384, 1536, 4096, 256, true, false, false}, {385, 1533, 4001, 250, true, false, true}};
  for (const ProductShape& s : shapes)
    compare.ask("product " + std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k),
                [&](Primitives<float>& on) { return large_product(on, s); });
}

/// Compares whole runs, each on its own devices.
std::string difference_of_runs(const TrainPlan& plan, int steps, const std::string& device) {
  try {
    const Numbers here = testing::trained(plan, steps, cpu_primitives());
    return testing::difference(here, testing::trained(plan, steps, primitives_of(device)));
  } catch (const std::exception& error) {
    return error.what();
  }
}

void compare_runs(const std::string& device, bool quick, Tally& tally) {
  struct Run {
    Format format;
    Algorithm algorithm;
    const char* policy;
    Norm norm;
  };
  constexpr Run runs[] = {{bf16, Algorithm::flash2, "eager", Norm::layer},
                          {fp32, Algorithm::flash2, "exact", Norm::rms},
                          {fp16, Algorithm::three_pass, "base_eager", Norm::layer},
                          {bf16, Algorithm::split_kv, "hw", Norm::rms}};
  for (const Run& run : runs) {
    const ModelShape shape = quick ? ModelShape{1, 32, 2, 24, run.norm} : ModelShape{2, 128, 4, 128, run.norm};
    const TrainPlan plan =
        testing::made_up_plan(shape, quick ? 2 : 8, testing::small_tiled(run.format, run.algorithm, run.policy));
    tally.note(difference_of_runs(plan, quick ? 2 : 20, device), "training in " + name(run.format) + ", " + run.policy);
    if (quick) return;
  }
}

/// Milliseconds of work(), one of many; `wait` waits until all is done.
double milliseconds(const std::function<void()>& work, const std::function<void()>& wait) {
  constexpr int repeats = 10;
  work();
  wait();
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) work();
  wait();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count() / repeats;
}

constexpr ModelShape large_model{6, 384, 6, 256, Norm::layer};
constexpr int large_batch = 64;

TrainMethod exact_method() {
  TrainMethod method = testing::small_tiled(fp32, Algorithm::flash2, "exact");
  method.method.block_k = 64;
  return method;
}

void print_product_speed(Primitives<float>& on, const std::function<void()>& wait) {
  constexpr int tokens = large_batch * large_model.context, width = large_model.width;
  constexpr ProductShape shapes[] = {{tokens, width, width, 0, false, false, false},
                                     {tokens, 4 * width, width, 0, false, false, false},
                                     {tokens, width, 4 * width, 0, false, false, true},
                                     {tokens, 4 * width, width, 0, false, true, false},
                                     {width, 4 * width, tokens, large_model.context, true, false, false}};
  for (const ProductShape& s : shapes) {
    const std::int64_t m = s.m, n = s.n, k = s.k;
    const Array a = normals(on, m * k, 1), b = normals(on, k * n, 2), c(on, static_cast<std::size_t>(m * n));
    const double ms = milliseconds([&] { on.product(product_of(s, a, b, c)); }, wait);
    std::printf("  product %5d x %4d x %5d%s%s %8.3f ms %8.1f TFLOP/s\n", s.m, s.n, s.k, s.a_turned ? " A^T" : "",
                s.b_turned ? " B^T" : "", ms, 2e-9 * static_cast<double>(m * n * k) / ms);
  }
}

void print_attention_speed(Primitives<float>& on, const std::function<void()>& wait) {
  const std::vector<HeadRule<float>> rules(static_cast<std::size_t>(large_model.heads),
                                           head_rule<float>(large_model, exact_method(), false));
  const std::int64_t rows = std::int64_t{large_batch} * large_model.context, size = rows * large_model.width;
  const Array q = normals(on, size, 1), k = normals(on, size, 2), v = normals(on, size, 3), d_o = normals(on, size, 4);
  const auto count = static_cast<std::size_t>(size), states = static_cast<std::size_t>(rows * large_model.heads);
  const Array o(on, count), d_q(on, count), d_k(on, count), d_v(on, count), m(on, states), l(on, states);
  const HeadBatch<float> batch{.rules = rules.data(),
                               .sequences = large_batch,
                               .heads = large_model.heads,
                               .context = large_model.context,
                               .d = large_model.head_dimension(),
                               .row_stride = large_model.width,
                               .q = q.get(),
                               .k = k.get(),
                               .v = v.get(),
                               .o = o.get(),
                               .m = m.get(),
                               .l = l.get()};
  std::printf("  attention %8.3f ms\n", milliseconds([&] { on.attention(batch); }, wait));
  std::printf("  its gradient %8.3f ms\n",
              milliseconds([&] { on.attention_gradient({batch, d_o.get(), d_q.get(), d_k.get(), d_v.get()}); }, wait));
}

}  // namespace

void compare_lost_training(const std::string& device, const std::function<void()>& lose, Tally& tally) {
  const std::string what = "a training whose GPU is lost";
  TrainPlan plan =
      testing::made_up_plan({1, 32, 2, 24, Norm::layer}, 2, testing::small_tiled(bf16, Algorithm::flash2, "eager"));
  plan.recipe.steps = 30;
  PairedTraining here(plan, primitives_on("cpu", 0)), there(plan, primitives_on(device, 0));
  while (there.record().step < 20) there.step();
  lose();
  try {
    while (there.step()) {
    }
    while (here.step()) {
    }
  } catch (const std::exception& error) {
    return tally.note(std::string(error.what()), what);
  }
  const bool same_weights = here.weights(0) == there.weights(0) && here.weights(1) == there.weights(1);
  tally.note(std::string(same_weights ? "" : "other weights"), what);
  tally.note(!there.record().remark.empty(), what + ": nobody said that the CPU took over");
}

void compare_training(const std::string& device, bool quick, Tally& tally) {
  TrainComparison compare(device, tally);
  ask_primitives(compare, quick ? 2 : 60);
  if (!quick) ask_large_products(compare);
  compare_runs(device, quick, tally);
}

void print_training_speed(const std::string& device) {
  const auto on = primitives_of(device);
  const Array one(*on, 1);
  const auto wait = [&] { static_cast<void>(one.read()); };
  std::printf("training 6 layers x 384, context 256, batch 64 on %s:\n", on->name().c_str());
  print_product_speed(*on, wait);
  print_attention_speed(*on, wait);
  const TrainPlan plan = testing::made_up_plan(large_model, large_batch, exact_method());
  Trainer trainer(plan, runs_of(plan).runs.front(), primitives_of(device));
  const double ms = milliseconds([&] { trainer.step(false); }, [] {});
  std::printf("  a step %8.2f ms: %.1f steps a second\n", ms, 1000 / ms);
}

}  // namespace attoscope::gpu_check
