/// Numbers of a result by name, for the checks of probes and the facts of lessons.
#pragma once

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/probes.h"
#include "app/session/result_json.h"
#include "app/words/numbers.h"
#include "kernels/deviation/fields.h"
#include "kernels/experiment/result.h"
#include "tests/support/rooms.h"

namespace attoscope::testing {

[[noreturn]] inline void fail_to_measure(std::string_view what, const std::string& expected) {
  throw std::runtime_error("a check measures " + in_quotes(what) + ", expected " + expected);
}

/// Appends the numbers at `path` below `json`.
inline void collect(const Json& json, std::string_view path, std::vector<double>& numbers) {
  if (path.empty()) {
    if (!json.is_number()) fail_to_measure(path, "the path of a number");
    return numbers.push_back(json.get<double>());
  }
  const std::size_t dot = path.find('.');
  const std::string key(path.substr(0, dot));
  const std::string_view rest = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  if (json.is_array() && key == "*") {
    for (const Json& item : json) collect(item, rest, numbers);
  } else if (const auto index = to_number<std::size_t>(key); json.is_array() && index && *index < json.size()) {
    collect(json[*index], rest, numbers);
  } else if (json.is_object() && json.contains(key)) {
    collect(json[key], rest, numbers);
  } else {
    fail_to_measure(path, "a key of the result");
  }
}

/// The elements of "golden.dq" .. "b.dv", or the rows' "golden.lse" and "a.delta".
inline std::vector<double> gradients_at(const Result& result, std::string_view path) {
  constexpr std::string_view expected = "golden., a. or b., then dq, dk, dv, delta or lse, of a result with a backward pass";
  const std::size_t dot = std::min(path.find('.'), path.size());
  const std::string_view who = path.substr(0, dot), what = path.substr(std::min(dot + 1, path.size()));
  if (!result.backward || (who != "golden" && who != "a" && who != "b")) fail_to_measure(path, std::string(expected));
  const BackwardResult& b = *result.backward;
  const Gradients& g = who == "golden" ? *b.golden : who == "a" ? b.a : b.b;
  if (what == "dq") return g.dq.values;
  if (what == "dk") return g.dk.values;
  if (what == "dv") return g.dv.values;
  if (what == "delta") return g.delta;
  if (what == "lse") return g.lse;
  fail_to_measure(path, std::string(expected));
}

inline std::vector<double> numbers_at(const Result& result, std::string_view path) {
  constexpr std::string_view fields = "fields.", gradients = "gradients.";
  if (path.starts_with(gradients)) return gradients_at(result, path.substr(gradients.size()));
  std::vector<double> numbers;
  if (!path.starts_with(fields)) {
    collect(result_json(result), path, numbers);
    return numbers;
  }
  for (int i = 0; i < field_count; ++i) {
    const auto field = static_cast<Field>(i);
    if (text(field).name != path.substr(fields.size())) continue;
    for (int row = 0; row < result.a.rows; ++row)
      for (int col = 0; col < result.a.cols; ++col) numbers.push_back(field_value(result, field, row, col));
    return numbers;
  }
  fail_to_measure(path, "the name of a field");
}

inline double total_of(const std::vector<double>& x) { return std::accumulate(x.begin(), x.end(), 0.0); }

inline double median_magnitude(std::vector<double> x) {
  for (double& value : x) value = std::fabs(value);
  const auto middle = x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2);
  std::nth_element(x.begin(), middle, x.end());
  return *middle;
}

inline double largest_magnitude(const std::vector<double>& x) {
  double most = 0;
  for (const double value : x) most = std::isnan(value) || std::fabs(value) > most ? std::fabs(value) : most;
  return most;
}

inline double nonzero_share(const std::vector<double>& x) {
  return 1 - static_cast<double>(std::count(x.begin(), x.end(), 0.0)) / static_cast<double>(x.size());
}

/// "max fields.a_relative", "a.rms"
inline double measured_term(const Result& result, std::string_view what) {
  const std::size_t space = what.find(' ');
  const std::string_view word = space == std::string_view::npos ? std::string_view() : what.substr(0, space);
  const std::vector<double> x = numbers_at(result, space == std::string_view::npos ? what : what.substr(space + 1));
  if (x.empty()) fail_to_measure(what, "at least one number");
  if (word == "sum") return total_of(x);
  if (word == "mean") return total_of(x) / static_cast<double>(x.size());
  if (word == "max") return largest_magnitude(x);
  if (word == "median") return median_magnitude(x);
  if (word == "share") return nonzero_share(x);
  if (!word.empty()) fail_to_measure(what, "sum, mean, max, median or share in front of a path");
  if (x.size() != 1) fail_to_measure(what, "one number, or a word such as max in front of the path of several");
  return x.front();
}

/// The number of `result` named by `what`: "a.mean_abs", or a quotient, "a.mean_abs/b.mean_abs". A name is the path of a number
/// in result.json, with * for every item of a list ("trace.tiles.*.saturated"); "fields.FIELD" is every cell of a field of the
/// heat map; "gradients.golden.dq" is every element of golden dQ (also a, b; dk, dv, delta, lse). A word before the name
/// reduces a list to one number: "sum", "mean", "max" and "median" of magnitudes, "share" of nonzero elements. Throws
/// std::runtime_error with one sentence if `what` names no number.
inline double measure(const Result& result, std::string_view what) {
  const std::size_t slash = what.find('/');
  const double first = measured_term(result, what.substr(0, slash));
  return slash == std::string_view::npos ? first : first / measured_term(result, what.substr(slash + 1));
}

/// True if `value` is in the check's range; false for NaN.
inline bool holds(const Check& check, double value) { return value >= check.at_least && value <= check.at_most; }

}  // namespace attoscope::testing
