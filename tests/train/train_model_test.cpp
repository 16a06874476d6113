/// Texts and weights, a model's gradients against the chain rule and finite differences, and the roundings of mixed precision.
#include <algorithm>
#include <set>

#include "kernels/lanes/job.h"
#include "tests/reference/plain_primitives.h"
#include "tests/reference/plain_transformer.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/train/small_runs.h"

namespace attoscope {
namespace {

using namespace testing;

/// A method that rounds nothing, in double.
TrainMethod exact_by(Algorithm algorithm) {
  TrainMethod x = small_tiled(fp64, algorithm, "exact");
  x.gradient = grad_policy(algorithm == Algorithm::three_pass ? "grad_base_exact" : "grad_exact").precision;
  return x;
}

std::string repeated(std::string_view part, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += part;
  return text;
}

// --- texts and weights --------------------------------------------------------------------------------------------------

TEST(Corpus, NumbersCharactersByCodePoint) {
  const auto corpus = corpus_of(repeated("b\u00e9\u20ac\U0001f600a", 400), "t");
  EXPECT_EQ(corpus->characters, (std::vector<char32_t>{'a', 'b', 0xe9, 0x20ac, 0x1f600}));
  ASSERT_EQ(corpus->text.size(), 2000u);
  EXPECT_EQ(std::vector(corpus->text.begin() + 5, corpus->text.begin() + 10), (std::vector<std::uint16_t>{1, 2, 3, 4, 0}));
}

TEST(Corpus, SaysWhatIsWrongWithAText) {
  const auto told = [](const std::string& text) {
    return message_of<std::invalid_argument>([&] { corpus_of(text, "notes.txt"); });
  };
  const std::string good = repeated("ab", 1000);
  EXPECT_EQ(told(good), "");
  EXPECT_EQ(told(good.substr(1)), "notes.txt has 1999 characters, expected at least 2000");
  EXPECT_EQ(told(""), "notes.txt has 0 characters, expected at least 2000");
  EXPECT_EQ(told(repeated("a", 3000)), "notes.txt repeats one character, expected at least two different ones");
  for (const char* bad : {"\x80", "\xff", "\xc0\xaf", "\xed\xa0\x80", "\xe0\x80\x80", "\xf4\x90\x80\x80",
                          "\xf8\x88\x80\x80\x80", "\xe2\x82", "\xc3", "\xf0\x9f\x98"})
    EXPECT_EQ(told(good + bad), "notes.txt is not UTF-8: its byte 2000, counted from 0, begins no character");
  std::string many = good;
  for (int c = 0x1000; c < 0x1000 + max_vocabulary - 1; ++c)
    for (const int byte : {0xe0 | c >> 12, 0x80 | (c >> 6 & 0x3f), 0x80 | (c & 0x3f)}) many += static_cast<char>(byte);
  EXPECT_EQ(told(many), "notes.txt has 1025 different characters, expected at most 1024");
}

TEST(Corpus, BatchesAreTextFromEverywhereFollowedByItself) {
  const auto corpus = corpus_of(made_text(2000), "t");
  std::set<std::size_t> places;
  for (int step = 1; step <= 300; ++step) {
    const Batch batch = batch_at(corpus->text, 5, step, 2, 50);
    for (const auto first : {batch.input.begin(), batch.input.begin() + 50}) {
      const auto found = std::search(corpus->text.begin(), corpus->text.end(), first, first + 50);
      ASSERT_NE(found, corpus->text.end());
      const auto target = batch.target.begin() + (first - batch.input.begin());
      EXPECT_TRUE(std::equal(target, target + 50, found + 1));
      places.insert(static_cast<std::size_t>(found - corpus->text.begin()));
    }
  }
  EXPECT_GT(places.size(), 400u);
  EXPECT_LT(*places.begin(), 40u);
  EXPECT_GT(*places.rbegin(), corpus->text.size() - 50 - 40);
}

TEST(Corpus, BatchesDependOnSeedAndStepAlone) {
  const auto corpus = corpus_of(made_text(2000), "t");
  const Batch four = batch_at(corpus->text, 5, 9, 4, 30), two = batch_at(corpus->text, 5, 9, 2, 30);
  EXPECT_EQ(batch_at(corpus->text, 5, 9, 4, 30).input, four.input);
  EXPECT_TRUE(std::equal(two.input.begin(), two.input.end(), four.input.begin()));
  EXPECT_NE(batch_at(corpus->text, 6, 9, 4, 30).input, four.input);
  EXPECT_NE(batch_at(corpus->text, 5, 10, 4, 30).input, four.input);
}

TEST(Corpus, SpacedBatchesGoThroughTheWholeText) {
  const auto corpus = corpus_of(made_text(2000), "t");
  std::vector<std::uint16_t> inputs;
  for (int i = 0; i < 5; ++i) {
    const Batch batch = spaced_batch(corpus->text, i, 5, 4, 100);
    ASSERT_EQ(batch.input.size(), 400u);
    inputs.insert(inputs.end(), batch.input.begin(), batch.input.end());
    for (std::size_t s = 0; s < 4; ++s)
      for (std::size_t k = 0; k + 1 < 100; ++k) EXPECT_EQ(batch.target[100 * s + k], batch.input[100 * s + k + 1]);
  }
  for (std::size_t piece = 0; piece < 20; ++piece) {
    const std::size_t first = piece * (corpus->text.size() - 100) / 20;
    EXPECT_TRUE(std::equal(inputs.begin() + static_cast<std::ptrdiff_t>(100 * piece),
                           inputs.begin() + static_cast<std::ptrdiff_t>(100 * piece + 100),
                           corpus->text.begin() + static_cast<std::ptrdiff_t>(first)))
        << piece;
  }
}

TEST(Corpus, TheHeldOutPartIsTheEnd) {
  TrainPlan plan;
  plan.text.corpus = corpus_of(made_text(2000), "t");
  const std::vector<std::uint16_t>& text = plan.text.corpus->text;
  plan.recipe.held_out = 0.25;
  EXPECT_EQ(held_out_text(plan).size(), text.size() / 4);
  EXPECT_EQ(training_text(plan).size() + held_out_text(plan).size(), text.size());
  EXPECT_EQ(training_text(plan).data(), text.data());
  EXPECT_EQ(held_out_text(plan).data() + held_out_text(plan).size(), text.data() + text.size());
  plan.recipe.held_out = 0;
  EXPECT_TRUE(held_out_text(plan).empty());
}

TEST(Parameters, LieAlignedOneBehindTheOther) {
  const ModelShape shape{.layers = 2, .width = 9, .heads = 3, .context = 10};
  const Parameters p = parameters(shape, 7);
  std::size_t end = 0, bare = 0;
  for (const ParameterTensor& t : p.tensors) {
    EXPECT_EQ(t.first, (end + 15) / 16 * 16) << t.name;
    end = t.first + t.size();
    bare += t.size();
    EXPECT_EQ(t.decays, t.name == "head" || t.name.find(" W_") != std::string::npos) << t.name;
  }
  EXPECT_EQ(p.size, (end + 15) / 16 * 16);
  EXPECT_EQ(bare, 9u * (7 + 10 + 7 + 2) + 2u * (4 * 81 + 2 * 4 * 81 + 4 * 9));
  EXPECT_EQ(p.find(1, Weight::W_1)->name, "layer 1 W_1");
  const Parameters rms = parameters({.layers = 1, .width = 8, .heads = 1, .context = 8, .norm = Norm::rms}, 7);
  EXPECT_EQ(rms.index(0, Weight::norm_1_bias), -1);
  EXPECT_EQ(rms.index("final norm bias"), -1);
  EXPECT_EQ(rms.tensors.size(), 2u + 8 + 1 + 1);
}

TEST(Parameters, FirstWeightsAreTheStreamsOfTheSeedOnEveryInstructionSet) {
  const ModelShape shape{.layers = 2, .width = 9, .heads = 3, .context = 10};
  const Parameters p = parameters(shape, 7);
  const std::vector<float> weights = first_weights(p, shape, 42);
  std::vector<float> expected(p.size);
  for (const char* isa : own_instruction_sets()) {
    for (std::size_t i = 0; i < p.tensors.size(); ++i) {
      const ParameterTensor& t = p.tensors[i];
      std::vector<double> normals(t.size() + 1);
      instruction_set(isa).normals(42, static_cast<std::uint32_t>(i), 0, static_cast<std::int64_t>((t.size() + 1) / 2 * 2),
                                   normals.data());
      const bool small = t.name.ends_with("W_O") || t.name.ends_with("W_2");
      for (std::size_t k = 0; k < t.size(); ++k)
        expected[t.first + k] = t.name.ends_with("gain")   ? 1.0f
                                : t.name.ends_with("bias") ? 0.0f
                                                           : static_cast<float>(0.02 / (small ? 2 : 1) * normals[k]);
    }
    EXPECT_EQ(weights, expected) << isa;
  }
}

// --- gradients ----------------------------------------------------------------------------------------------------------

/// A model in double by the plainly written rule, with weights large enough to make all functions nonlinear.
struct DoubleModel {
  DoubleModel(const ModelShape& model_shape, const TrainMethod& method)
      : shape(model_shape),
        on(plain::primitives<double>()),
        model(shape, 11, 2, method, *on),
        weights(*on, model.parameters().size),
        gradient(*on, weights.size()) {
    Dice dice(3);
    for (int i = 0; i < 2 * shape.context; ++i) {
      batch.input.push_back(static_cast<std::uint16_t>(dice.between(0, 9)));  // one character never occurs
      batch.target.push_back(static_cast<std::uint16_t>(dice.between(0, 10)));
    }
    values.resize(weights.size());
    for (const ParameterTensor& t : model.parameters().tensors)
      for (std::size_t i = 0; i < t.size(); ++i) values[t.first + i] = (t.name.ends_with("gain") ? 1 : 0) + 0.4 * dice.normal();
  }

  double loss(const std::vector<double>& w) {
    weights.write(w);
    return model.forward(weights.get(), batch, 0);
  }
  std::vector<double> gradient_at(const std::vector<double>& w) {
    loss(w);
    model.backward(weights.get(), 1, gradient.get());
    return gradient.read();
  }

  ModelShape shape;
  Batch batch;
  std::vector<double> values;
  std::unique_ptr<Primitives<double>> on;
  Model<double> model;
  DeviceArray<double, double> weights, gradient;
};

constexpr ModelShape tiny{.layers = 2, .width = 8, .heads = 2, .context = 8};

ModelShape tiny_with(Norm norm) {
  ModelShape shape = tiny;
  shape.norm = norm;
  return shape;
}

void expect_gradient_of_formulas(const ModelShape& shape, const TrainMethod& method) {
  DoubleModel m(shape, method);
  const plain::LossAndGradient expected = plain::transformer(m.shape, m.model.parameters(), m.values, m.batch);
  EXPECT_NEAR(m.loss(m.values), expected.loss, 1e-13 * expected.loss);
  const std::vector<double> gradient = m.gradient_at(m.values);
  for (const ParameterTensor& t : m.model.parameters().tensors) {
    double largest = 0;
    for (std::size_t i = t.first; i < t.first + t.size(); ++i) largest = std::max(largest, std::abs(expected.gradient[i]));
    EXPECT_GT(largest, 1e-4) << t.name;
    for (std::size_t i = t.first; i < t.first + t.size(); ++i)
      ASSERT_NEAR(gradient[i], expected.gradient[i], 1e-12 * largest) << t.name << " element " << i - t.first;
  }
}

TEST(Gradient, IsTheChainRulesOfThePlainFormulas) {
  for (const Norm norm : {Norm::layer, Norm::rms})
    for (const Algorithm algorithm : {Algorithm::flash2, Algorithm::three_pass})
      expect_gradient_of_formulas(tiny_with(norm), exact_by(algorithm));
}

TEST(Gradient, IsTheSlopeOfTheLoss) {
  for (const Norm norm : {Norm::layer, Norm::rms})
    for (const Algorithm algorithm : {Algorithm::flash2, Algorithm::three_pass}) {
      DoubleModel m(tiny_with(norm), exact_by(algorithm));
      const std::vector<double> gradient = m.gradient_at(m.values);
      Dice dice(5);
      for (const ParameterTensor& t : m.model.parameters().tensors)
        for (int draw = 0; draw < 4; ++draw) {
          const std::size_t i = t.first + static_cast<std::size_t>(dice.between(0, static_cast<int>(t.size()) - 1));
          std::vector<double> up = m.values, down = m.values;
          up[i] += 1e-5;
          down[i] -= 1e-5;
          EXPECT_NEAR((m.loss(up) - m.loss(down)) / 2e-5, gradient[i], 2e-9) << t.name << " element " << i - t.first;
        }
    }
}

// --- mixed precision ----------------------------------------------------------------------------------------------------

bool is_in(const Format& format, float x) { return round(format, x) == x; }
bool is_in(const Format& format, const std::vector<float>& x) {
  return std::ranges::all_of(x, [&](float value) { return is_in(format, value); });
}

/// Counts products, and factors that D cannot hold.
struct ProductWatch : plain::Device<float> {
  explicit ProductWatch(const Format& D) : format(D) {}
  void product(const MatrixProduct<float>& p) override {
    ++products;
    for (int k = 0; k < p.k; ++k) {
      for (int i = 0; i < p.m; ++i) strangers += !is_in(format, p.a[i * p.a_row + k * p.a_col]);
      for (int j = 0; j < p.n; ++j) strangers += !is_in(format, p.b[k * p.b_row + j * p.b_col]);
    }
    plain::Device<float>::product(p);
  }

  Format format;
  int products = 0, strangers = 0;
};

TEST(MixedPrecision, OperandsOfProductsAreInD) {
  TrainMethod exact_heads = eager_in(bf16);
  exact_heads.exact = {{1, -1}};
  for (const TrainMethod& method : {eager_in(bf16), exact_heads, small_tiled(fp16, Algorithm::three_pass, "base_floor")}) {
    auto watch = std::make_unique<ProductWatch>(method.format);
    const ProductWatch& seen = *watch;
    FloatModel m(small_plan(method), std::move(watch));
    m.gradient_of(1024);
    EXPECT_EQ(seen.products, 3 * (2 * 6 + 1)) << "forward, and two of each backward";
    EXPECT_EQ(seen.strangers, 0) << name(method.format);
  }
}

TEST(MixedPrecision, MatricesAndTheirGradientsAreInDTheStreamIsNot) {
  for (const TrainMethod& method : {eager_in(bf16), small_tiled(bf16, Algorithm::flash2, "exact")}) {
    FloatModel m(small_plan(method));
    const std::vector<float> gradient = m.gradient_of(1);
    const CapturedHead head = m.model.captured(1, 1, 1);
    EXPECT_TRUE(is_in(bf16, head.q) && is_in(bf16, head.k) && is_in(bf16, head.v));
    for (const ParameterTensor& t : m.model.parameters().tensors) {
      const auto first = gradient.begin() + static_cast<std::ptrdiff_t>(t.first);
      EXPECT_EQ(is_in(bf16, {first, first + static_cast<std::ptrdiff_t>(t.size())}), t.decays) << t.name;
    }
  }
}

TEST(MixedPrecision, MatricesEnterProductsInDWeightsOfNormsAndTokensDoNot) {
  FloatModel m(small_plan());
  const std::vector<float> exact_weights = m.weights.read();
  const double loss = m.forward();
  for (const ParameterTensor& t : m.model.parameters().tensors) {
    if (t.name.ends_with("gain") || t.name.ends_with("bias")) continue;  // 1 and 0 are in every format
    std::vector<float> weights = exact_weights;
    for (std::size_t i = t.first; i < t.first + t.size(); ++i) weights[i] = round(bf16, weights[i]);
    m.weights.write(weights);
    EXPECT_EQ(m.forward() == loss, t.decays) << t.name;
  }
}

TEST(MixedPrecision, AScaledLossScalesTheGradient) {
  FloatModel m(small_plan(eager_in(fp32)));
  const std::vector<float> one = m.gradient_of(1), scaled = m.gradient_of(1024);
  for (std::size_t i = 0; i < one.size(); ++i) ASSERT_EQ(scaled[i], 1024 * one[i]) << i;
}

TEST(MixedPrecision, TheGradientOfABatchIsTheSumOfItsSequences) {
  TrainPlan plan = small_plan(eager_in(fp32));
  FloatModel both(plan);
  plan.recipe.batch = 1;
  FloatModel one(plan);
  const std::vector<float> sum = both.gradient_of(1);
  const Batch batch = batch_at(training_text(plan), plan.recipe.data_seed, 1, 2, plan.model.context);
  const auto part = [&](std::ptrdiff_t first) {
    const Batch alone{{batch.input.begin() + first, batch.input.begin() + first + 16},
                      {batch.target.begin() + first, batch.target.begin() + first + 16}};
    one.model.forward(one.weights.get(), alone, 0);
    one.model.backward(one.weights.get(), 0.5f, one.gradient.get());
    return one.gradient.read();
  };
  const std::vector<float> first = part(0), second = part(16);
  for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_EQ(sum[i], first[i] + second[i]) << i;
}

TEST(MixedPrecision, AHeadThatIsExactChangesItsOwnOutputOnly) {
  TrainMethod some = eager_in(bf16);
  some.exact = {{0, 1}};
  FloatModel rounded(small_plan()), exact_head(small_plan(some));
  rounded.forward();
  exact_head.forward();
  EXPECT_EQ(rounded.model.captured(0, 1, 0).q, exact_head.model.captured(0, 1, 0).q);
  EXPECT_NE(rounded.model.captured(1, 0, 0).q, exact_head.model.captured(1, 0, 0).q);
}

}  // namespace
}  // namespace attoscope
