#include "app/judge/keyless.h"

#include <cmath>
#include <functional>
#include <set>
#include <vector>

#include "app/judge/judge_report.h"

namespace attoscope::app {
namespace {

/// The first number in the first `columns` columns that is not right; none: all are right.
std::optional<double> first_wrong(const CallFiles::Output& numbers, int columns, const std::function<bool(double)>& is_right) {
  for (int head = 0; head < numbers.shape.heads; ++head) {
    const std::vector<double> x = read_scaled_head(numbers.part, numbers.shape, head);
    for (std::size_t i = 0; i < x.size(); ++i)
      if (static_cast<int>(i % static_cast<std::size_t>(numbers.shape.d)) < columns && !is_right(x[i])) return x[i];
  }
  return {};
}

/// The clause on all sequences that hold a wrong number of O or L, called `letter`; "": there are none.
std::string wrong_in(const std::vector<CallFiles::Keyless>& all, int columns, const std::string& letter,
                     const std::string& expected, const std::function<bool(double)>& is_right) {
  std::set<int> wrong;
  std::string held;
  for (const auto& [sequence, numbers] : all)
    if (const std::optional<double> x = first_wrong(numbers, columns, is_right)) {
      if (wrong.empty()) held = number_text(*x, 6);
      wrong.insert(sequence);
    }
  if (wrong.empty()) return "";
  return keyless_text({wrong.begin(), wrong.end()}) + (wrong.size() == 1 ? ", and its " : ", and their ") + letter + " holds " +
         held + ", expected " + expected;
}

}  // namespace

std::string wrong_without_keys(const JudgedFiles& files, const std::optional<RowNumbers>& lse, EmptyRule rule) {
  const CallFiles& call = files.files();
  const bool nan = rule == EmptyRule::nan;
  const std::string of_o = wrong_in(call.outputs_without_keys(), call.layers().front().v.d, "O", nan ? "NaN" : "0",
                                    [nan](double x) { return nan ? std::isnan(x) : x == 0; });
  std::vector<CallFiles::Keyless> all_lse;
  for (std::size_t i = 0; lse && i < lse->without_keys.size(); ++i)
    all_lse.push_back({call.sequences_without_keys()[i], lse->without_keys[i]});
  const std::string of_lse = wrong_in(all_lse, 1, "L", "-infinity", [](double x) { return std::isinf(x); });
  return of_o + (of_o.empty() || of_lse.empty() ? "" : "; ") + of_lse;
}

std::array<std::string, 3> with_wrong_without_keys(std::array<std::string, 3> s, const std::string& wrong, bool rounded) {
  if (!rounded) {
    s[0] += " " + as_sentence(wrong);
    return s;
  }
  return {"Wrong: " + wrong + ". The rest is rounded.",
          "Attention over no keys is 0, or NaN with --empty-rows nan, and its log-sum-exp is -infinity or infinity.",
          "Look for it in the kernel: it must write O and L of a sequence without keys, too."};
}

}  // namespace attoscope::app
