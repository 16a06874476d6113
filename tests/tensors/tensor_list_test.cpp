// The list of a file's tensors: tensors taken and why, tensors named one by one, statistics, saved choices.
#include "app/tensors/tensor_list.h"

#include <cmath>

#include "app/tensors/call_files.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/tensor_set.h"
#include "tests/support/matchers.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope {
namespace {

using namespace testing;  // attoscope::testing

/// A file of F32 tensors [2, 3] with these names; all numbers of tensor i are i + 1.
std::string file_of(const TemporaryDirectory& folder, const std::vector<std::string>& names, const std::string& file = "x") {
  std::vector<FileTensor> tensors;
  for (const std::string& name : names)
    tensors.push_back({name, "F32", "[2,3]", raw(std::vector<float>(6, static_cast<float>(tensors.size() + 1)))});
  return folder.write(file + ".safetensors", safetensors(tensors));
}

std::string taken(const TensorList& list) {
  std::string text;
  for (const TensorEntry& e : list.tensors)
    if (e.taken) text += e.name + "=" + std::string(call_part_names[*e.taken]) + " ";
  return text;
}

TEST(TensorList, SaysWhatIsTakenAndWhy) {
  const TemporaryDirectory folder;
  struct Case {
    std::vector<std::string> names;
    std::string taken, why, problem;  ///< `why`: reason of the first taken tensor
  };
  const std::vector<Case> cases{
      {{"q", "k", "v", "bias"}, "k=K q=Q v=V ", "by its name; 1 head of 2 x 3, by its shape", ""},
      {{"q", "k", "v", "o", "do"}, "do=dO k=K o=O q=Q v=V ", "by its name", ""},
      {{"m.1.q_proj", "m.1.k_proj", "m.1.v_proj", "m.1.norm"},
       "m.1.k_proj=K m.1.q_proj=Q m.1.v_proj=V ",
       "by its name, m.1.*_proj",
       ""},
      {{"arg_0", "arg_1", "arg_2"}, "arg_0=Q arg_1=K arg_2=V ", "by its place", ""},
      {{"x", "y", "z"}, "", "", "No three tensors"},
      {{"q", "k", "z"}, "", "", "have no v"},
  };
  for (const Case& c : cases) {
    const TensorList list = tensors_of(file_of(folder, c.names));
    EXPECT_EQ(taken(list), c.taken);
    const auto first = std::ranges::find_if(list.tensors, [](const TensorEntry& e) { return e.taken.has_value(); });
    EXPECT_THAT(first != list.tensors.end() ? first->why : "", HasSubstr(c.why));
    EXPECT_THAT(list.problem, HasSubstr(c.problem));
    EXPECT_EQ(list.problem.empty(), c.problem.empty());
    EXPECT_EQ(list.tensors[0].shape, "[2, 3]");
    EXPECT_EQ(list.tensors[0].type, "F32");
  }
  EXPECT_THROW(tensors_of(folder / "none.safetensors"), std::runtime_error);
}

/// FILE:TENSOR three or four times: Q, K, V and O in this order, whatever their names.
TEST(TensorList, TakesTensorsOneByOne) {
  const TemporaryDirectory folder;
  const std::string file = file_of(folder, {"q", "k", "v", "a.b", "c,d", "0"}),
                    npy = folder.write("z.npy", npy_of("(2, 3)", std::vector<float>(6, 9.0F)));
  const std::string three = file + ":a.b," + file + ":k," + npy,
                    four = file + ":v," + file + ":k," + file + ":q," + file + ":0";
  const CallFiles call{TensorSpec(three)};
  const Tensors t = call.inputs(0);
  EXPECT_EQ(t.q[0], 4);
  EXPECT_EQ(t.k[0], 2);
  EXPECT_EQ(t.v[0], 9);
  EXPECT_FALSE(call.layers()[0].has_output);
  EXPECT_EQ(CallFiles{TensorSpec(four)}.output(0)[0], 6);
  EXPECT_TRUE(holds_whole_call(four));
  EXPECT_FALSE(is_kernel_output(TensorSpec(three)));
  EXPECT_EQ(taken(tensors_of(four)), "0=O k=K q=V v=Q ");
  EXPECT_EQ(tensors_of(four).all, file);
  EXPECT_EQ(tensors_of(four).tensors.size(), 6U);
  EXPECT_EQ(tensors_of(three).all, file + "," + npy);

  EXPECT_EQ(parse_input(four).index, 0) << ":0 is the name of a tensor, not a head";
  const Input head = parse_input(three + ":5");
  EXPECT_EQ(head.file, three);
  EXPECT_EQ(head.index, 5);
  EXPECT_EQ(parse_input(input_spec(head)), head);
  EXPECT_EQ(without_head(four), four);
  EXPECT_EQ(without_head(four + ":3"), four);
  for (const std::string& spec : {file + ":q," + file + ":k," + file + ":nothing", file + ":q," + file + ":k"})
    EXPECT_THROW(CallFiles{TensorSpec(spec)}, std::runtime_error) << spec;
}

TEST(TensorList, CountsTheNumbersOfATensor) {
  const TemporaryDirectory folder;
  const std::string file = folder.write("x.npy", npy_of("(6,)", std::vector<float>{1, -3, 0, NAN, INFINITY, 4}));
  const TensorStatistics s = statistics_of(file);
  EXPECT_EQ(s.count, 6U);
  EXPECT_EQ(s.zeros, 1U);
  EXPECT_EQ(s.nonfinite, 2U);
  EXPECT_EQ(s.least, -3);
  EXPECT_EQ(s.most, 4);
  EXPECT_EQ(s.mean, 0.5);
  EXPECT_EQ(s.rms, std::sqrt(26.0 / 4));
  EXPECT_EQ(statistics_of(file_of(folder, {"a", "b"}) + ":b").mean, 2);
  EXPECT_THROW(statistics_of(folder / "x.safetensors:c"), std::runtime_error);
  EXPECT_THROW(statistics_of(file, [](double) { return true; }), std::runtime_error);
}

TEST(TensorList, IsShownWhereThereIsMoreThanACall) {
  const TemporaryDirectory folder;
  const std::vector<std::string> call{"q", "k", "v", "o"};
  std::vector<std::string> many = call;
  for (int i = 0; i < 8; ++i) many.push_back("w" + std::to_string(i));
  EXPECT_FALSE(is_worth_a_look(tensors_of(file_of(folder, call))));
  EXPECT_TRUE(is_worth_a_look(tensors_of(file_of(folder, many))));
}

TEST(TensorChoices, AreKeptByFile) {
  const TemporaryDirectory folder;
  const std::string list = folder / "state/tensors.json", file = file_of(folder, {"x", "y", "z"}),
                    other = file_of(folder, {"q"}, "y"), choice = file + ":z," + file + ":y," + file + ":x";
  EXPECT_EQ(chosen_tensors(list, file), "");
  remember_tensors(list, file, choice);
  EXPECT_EQ(chosen_tensors(list, file), choice);
  EXPECT_EQ(chosen_tensors(list, other), "");
  EXPECT_EQ(chosen_tensors("", file), "");
  remember_tensors(list, file, file + ":z," + file + ":y," + file + ":gone");
  EXPECT_EQ(chosen_tensors(list, file), choice) << "an invalid choice leaves the old one";
  file_of(folder, {"x", "y"});
  EXPECT_EQ(chosen_tensors(list, file), "") << "the chosen tensors are missing";
  file_of(folder, {"q", "k", "v"});
  remember_tensors(list, file, file);
  file_of(folder, {"x", "y", "z"});
  EXPECT_EQ(chosen_tensors(list, file), "") << "the choice by names removed the old one";
}

/// A gradient may be one of many tensors of a file.
TEST(GradientSpecs, NameATensor) {
  const TemporaryDirectory folder;
  const std::string file = file_of(folder, {"x", "y"});
  Problem p;
  p.n = 2, p.d = 3;
  EXPECT_EQ(read_gradient(file + ":y", p, false).values->front(), 2);
  EXPECT_EQ(read_kernel_gradient(file + ":x", p, AnswerTensor::dK).values->front(), 1);
  EXPECT_THROW(read_kernel_gradient(file + ":nothing", p, AnswerTensor::dK), std::runtime_error);
  EXPECT_FALSE(gradients_in(file_of(folder, {"q", "k", "v", "dq"}, "y")).any()) << "a gradient without dO is not taken";
  EXPECT_EQ(gradients_in(file_of(folder, {"do", "dq"}, "y")).dq, folder / "y.safetensors");
}

}  // namespace
}  // namespace attoscope
