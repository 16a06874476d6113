// 500 outputs, correct and with planted mistakes, get the same verdict from judge, its report, heads, run --kernel, the
// window and Python.

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/explore/explorer.h"
#include "app/json/json.h"
#include "app/words/mathml.h"
#include "app/words/numbers.h"
#include "kernels/experiment/rules.h"
#include "tests/app/outcome.h"
#include "tests/support/eventually.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/tensors/tensor_files.h"
#include "ui/frame/loaded_output.h"

namespace attoscope::testing {
namespace {

using nlohmann::json;
using Values = std::vector<double>;

constexpr int heads = 4, n = 48, d = 16, tile = 16;
constexpr int calls = 48;  // covers every kernel with every pair of mask and format

std::size_t at(int row, int column) { return static_cast<std::size_t>(row * d + column); }

/// Q, K, V of one head, and attention computed in double.
struct Head {
  Values q, k, v;

  double score(int i, int j) const {
    double sum = 0;
    for (int c = 0; c < d; ++c) sum += q[at(i, c)] * k[at(j, c)];
    return sum / std::sqrt(d);
  }
  /// Attention over the keys with sees(i, j); P is rounded to f before it is multiplied by V.
  template <class Sees>
  Values attention(const Format& f, Sees sees, double scale = 1, double extra = 0) const {
    Values o;
    for (int i = 0; i < n; ++i) {
      double m = -INFINITY, l = 0;
      Values row(d);
      for (int j = 0; j < n; ++j)
        if (sees(i, j)) m = std::max(m, scale * score(i, j));
      for (int j = 0; j < n; ++j) {
        if (!sees(i, j)) continue;
        const double p = std::exp(scale * score(i, j) - m);
        l += p;
        for (int c = 0; c < d; ++c) row[static_cast<std::size_t>(c)] += round(f, p) * v[at(j, c)];
      }
      for (const double x : row) o.push_back(x / (l + extra * std::exp(-m)));
    }
    return o;
  }
};

/// The output of kernel number `kernel` on one of four heads; some kernels are correct, some have a mistake.
Values output(int kernel, int head, const std::vector<Head>& all, bool causal, const Format& f) {
  const Head& own = all[static_cast<std::size_t>(head)];
  const auto shown = [causal](int i, int j) { return !causal || j <= i; };
  Values o = own.attention(f, shown);
  switch (kernel) {
    case 1:
      return own.attention(f, shown, 1.1);
    case 2:
      return own.attention(f, [&](int i, int j) { return causal ? j <= i + 1 : j < n - 1; });
    case 3:
      return own.attention(f, [&](int i, int j) { return causal || j <= i; });
    case 4:
      return all[static_cast<std::size_t>((head + 1) % heads)].attention(f, shown);
    case 5:
      std::fill(o.begin() + static_cast<std::ptrdiff_t>(at(tile, 0)), o.begin() + static_cast<std::ptrdiff_t>(at(2 * tile, 0)),
                0);
      return o;
    case 6:
      o[at(n / 2, 3)] = std::nan("");
      return o;
    case 7:
      return own.attention(f, shown, 1, 20);
    case 8:
      for (double& x : o) x = round(e4m3, x);
      return o;
    case 9:
      std::rotate(o.begin(), o.begin() + d, o.end());
      return o;
    case 10:
      o[at(n - 1, d - 1)] += 0.5;
      return o;
    case 11:
      return own.attention(Format{8, 3}, shown);
    default:
      return o;  // correct; calls of even number have two more correct heads
  }
}

struct Call {
  std::string file, mask;
  Format format;
};

std::string array_of(const std::vector<Values>& all, const Format& f) {
  std::vector<float> numbers;
  for (const Values& x : all)
    for (const double y : x) numbers.push_back(static_cast<float>(round(f, y)));
  return raw(numbers);
}

Call written(const TemporaryDirectory& folder, int number) {
  Call call{"", number % 3 == 0 ? "none" : "causal", number % 2 == 0 ? bf16 : fp16};
  Dice dice(static_cast<std::uint64_t>(number) + 7);
  std::vector<Head> all(heads);
  std::vector<Values> parts[4];
  for (Head& head : all)
    for (const auto& [part, to] : {std::pair{&head.q, 0}, {&head.k, 1}, {&head.v, 2}}) {
      for (int i = 0; i < n * d; ++i) part->push_back(round(call.format, (to < 2 ? 1.5 : 1) * dice.normal()));
      parts[to].push_back(*part);
    }
  for (int head = 0; head < heads; ++head)
    parts[3].push_back(output((number * 5 + head * (number % 4 + 1)) % 16, head, all, call.mask == "causal", call.format));
  std::vector<FileTensor> tensors;
  for (int part = 0; part < 4; ++part)
    tensors.push_back({std::string(1, "qkvo"[part]), "F32", "[4,48,16]", array_of(parts[part], call.format)});
  call.file = folder.write("call" + std::to_string(number) + ".safetensors",
                           safetensors(tensors, "\"__metadata__\":{\"numbers\":\"arrays\"},"));
  return call;
}

/// The compared parts of an answer: verdict, ratio, first wrong row, worst column and named mistake.
json told(const json& x) {
  return {x["verdict"], x["ratio"], x["first_row"], x["worst_column"], x.contains("slip") ? x["slip"] : json()};
}

json judged(const Call& call, const std::vector<std::string>& more) {
  const Outcome outcome = attoscope(with({"judge", "--input", call.file, "--mask", call.mask, "--json", "-"}, more));
  EXPECT_EQ(outcome.err, "");
  return json::parse(outcome.out);
}

/// The window's verdicts: opens the file as if dropped, and selects each head.
class Window {
 public:
  json verdict(const Call& call, int head) {
    session_.experiment.problem.mask = parse_mask(call.mask);
    if (file_ != call.file) explorer_.open_dropped(session_, {file_ = call.file});
    session_.experiment.problem = with_head(session_.experiment.problem, head);
    const auto shown = [&]() -> const HeadVerdict* {
      explorer_.update(session_);
      const PanelInput input = explorer_.panel_input();
      const HeadVerdict* const found = input.side.verdict.get();
      const bool of_head = found != nullptr && found->experiment.problem.input.file == call.file &&
                           found->experiment.problem.input.index == head && found->experiment.loaded.index == head;
      verdict_ = input.side.verdict;
      return of_head ? found : nullptr;
    };
    const auto ask = [&] {
      Requests requests;
      requests.side.verdict = verdict_question(session_.experiment);
      explorer_.ask_beside(requests, session_);
    };
    EXPECT_TRUE(eventually([&] { return shown() != nullptr; }, ask));
    const JudgedRow& row = verdict_->call.worst_row();
    const json slip =
        row.slip ? json{{"kind", name(row.slip->kind)}, {"text", row.slip->text}, {"ratio", number_json(row.slip->ratio)}}
                 : json();
    return {row.found.verdict(), number_json(row.found.ratio), row.found.first_row, row.found.worst_col, slip};
  }

 private:
  Session session_ = [] {
    Session session;
    session.device = "cpu";
    return session;
  }();
  Start start_;
  Explorer explorer_{start_, [] {}};
  std::string file_;
  std::shared_ptr<const HeadVerdict> verdict_;
};

/// Verdicts of the Python package on the files of a folder, as JSON.
std::vector<json> python_verdicts(const TemporaryDirectory& folder, const json& asked) {
  folder.write("asked.json", asked.dump());
  const std::string command = "ATTOSCOPE='" ATTOSCOPE_PROGRAM "' python3 tests/python/one_verdict.py '" + (folder / "") + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::vector<json> answers;
  for (const json& answer : json::parse(bytes_of_file(folder / "answers.json"))) answers.push_back(answer);
  return answers;
}

TEST(OneVerdict, FromEveryDoor) {
  const TemporaryDirectory folder;
  Window window;
  json asked = json::array(), tables = json::array();
  int wrong = 0, rounded = 0, named = 0;
  for (int number = 0; number < calls; ++number) {
    const Call call = written(folder, number);
    SCOPED_TRACE(call.file);
    const std::string report = folder / "report.html";
    const json found = judged(call, {"--report", report});
    const std::string html = bytes_of_file(report);
    EXPECT_THAT(html, HasSubstr(html_escaped(found["sentences"][0].get<std::string>())));
    const json of_heads = json::parse(
        attoscope({"heads", call.file, "--kernel", call.file, "--mask", call.mask, "--no-cache", "--json", "-"}).out);
    for (const json& row : found["table"]) {
      const int head = row["head"];
      const std::string place = ":" + std::to_string(head);
      SCOPED_TRACE(head);
      const json alone = judged(call, {"--head", std::to_string(head)})["table"][0];
      EXPECT_EQ(told(alone), told(row));
      const json run = json_of({"run", "--input", call.file + place, "--kernel", call.file + place, "--mask", call.mask});
      EXPECT_EQ(told(run["verdict"]), told(alone)) << run["verdict"];
      EXPECT_EQ(window.verdict(call, head), told(alone));
      const auto same = std::ranges::find(of_heads["heads"], head, [](const json& x) { return x["head"].get<int>(); });
      json by_heads = told((*same)["verdict"]), without_name = told(alone);
      by_heads.erase(4), without_name.erase(4);
      EXPECT_EQ(by_heads, without_name);
      EXPECT_THAT(html, HasSubstr(html_escaped(row["slip"].is_null() ? row["verdict"].get<std::string>()
                                                                     : row["slip"]["text"].get<std::string>())));
      (row["verdict"] == "wrong" ? wrong : rounded) += 1;
      named += !row["slip"].is_null();
    }
    asked.push_back({{"file", call.file}, {"mask", call.mask}});
    tables.push_back(found["table"]);
  }
  EXPECT_EQ(wrong + rounded, calls * heads);
  EXPECT_GT(wrong, calls);
  EXPECT_GT(rounded, calls / 2);
  EXPECT_GT(named, calls / 2);
  const std::vector<json> python = python_verdicts(folder, asked);
  ASSERT_EQ(python.size(), tables.size());
  for (std::size_t i = 0; i < python.size(); ++i)
    for (std::size_t row = 0; row < heads; ++row) EXPECT_EQ(told(python[i][row]), told(tables[i][row])) << asked[i];
}

}  // namespace
}  // namespace attoscope::testing
