#include "ui/session/settings.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "kernels/arithmetic/named_formats.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/text.h"
#include "kernels/train/plan/train_fields.h"
#include "ui/session/train_look_fields.h"
#include "ui/session/view_fields.h"
#include "ui/words/numbers.h"

namespace attoscope {

namespace {

template <class Names>
std::vector<std::string> all_of(const Names& names) {
  return {names.begin(), names.end()};
}

std::array<std::string_view, field_count> field_names() {
  std::array<std::string_view, field_count> names;
  for (int i = 0; i < field_count; ++i) names[static_cast<std::size_t>(i)] = attoscope::text(static_cast<Field>(i)).name;
  return names;
}

/// Lists all fields as settings.
class Lister {
 public:
  Lister(std::vector<Setting>& all, std::string prefix) : all_(all), prefix_(std::move(prefix)) {}

  template <class T>
  void integer(std::string_view key, T x, T min, T max) {
    add(key, std::to_string(x), {}, whole_range_text(min, max));
  }
  void real(std::string_view key, double x, const RealRange& range) { add(key, in_full(x), {}, attoscope::text(range)); }
  void optional_real(std::string_view key, const std::optional<double>& x, const RealRange& range) {
    add(key, x ? in_full(*x) : "none", {}, attoscope::text(range) + ", or none");
  }
  void flag(std::string_view key, bool x) { add(key, x ? "true" : "false", {"true", "false"}); }
  void text(std::string_view key, const std::string& x) { add(key, x, {}, "a text"); }
  void hex(std::string_view, std::uint64_t) {}
  template <class E, std::size_t N>
  void choice(std::string_view key, E x, const std::array<std::string_view, N>& names) {
    add(key, std::string(names[static_cast<std::size_t>(x)]), all_of(names));
  }
  void field(std::string_view key, Field x) { choice(key, x, field_names()); }
  void format(std::string_view key, const Format& x) {
    std::vector<std::string> names;
    for (const NamedFormat& f : named_formats) names.emplace_back(f.name);
    add(key, name(x), std::move(names), "a format such as bf16 or e5m7");
  }
  void rounding(std::string_view key, const Rounding& x) {
    add(key, rounding_text(x), {"exact", "main"}, "exact, main or a format");
  }
  void scaling(std::string_view key, const Scaling& x) { add(key, scaling_text(x), {"off"}, std::string(scalings_expected)); }
  void policy(std::string_view, const Precision&) {}
  template <class V, class F>
  void list(std::string_view, const V&, int, F) {}
  template <class F>
  void object(std::string_view key, F visit) {
    Lister inner(all_, prefix_ + std::string(key) + ".");
    visit(inner);
  }

 private:
  void add(std::string_view key, std::string value, std::vector<std::string> choices, std::string expected = {}) {
    all_.push_back({prefix_ + std::string(key), std::move(value), std::move(choices), std::move(expected)});
  }
  std::vector<Setting>& all_;
  std::string prefix_;
};

/// Sets the field at one path. Throws std::invalid_argument with the expected values.
class Setter {
 public:
  Setter(std::string_view path, std::string_view value, bool& found) : path_(path), value_(value), found_(found) {}

  template <class T>
  void integer(std::string_view key, T& x, T min, T max) {
    if (is(key)) x = in_range(to_number<T>(value_), whole_range_text(min, max), [&](T v) { return v >= min && v <= max; });
  }
  void real(std::string_view key, double& x, const RealRange& range) {
    if (is(key)) x = in_range(to_number<double>(value_), attoscope::text(range), [&](double v) { return contains(range, v); });
  }
  void optional_real(std::string_view key, std::optional<double>& x, const RealRange& range) {
    if (!is(key)) return;
    if (value_ == "none") return x.reset();
    x = in_range(to_number<double>(value_), attoscope::text(range) + ", or none", [&](double v) { return contains(range, v); });
  }
  void flag(std::string_view key, bool& x) {
    if (is(key)) x = index_in(std::array<std::string_view, 2>{"false", "true"}) == 1;
  }
  void text(std::string_view key, std::string& x) {
    if (is(key)) x = value_;
  }
  void hex(std::string_view, std::uint64_t) {}
  template <class E, std::size_t N>
  void choice(std::string_view key, E& x, const std::array<std::string_view, N>& names) {
    if (is(key)) x = static_cast<E>(index_in(names));
  }
  void field(std::string_view key, Field& x) { choice(key, x, field_names()); }
  void format(std::string_view key, Format& x) {
    if (is(key)) x = parse_format(value_);
  }
  void rounding(std::string_view key, Rounding& x) {
    if (is(key)) x = parse_rounding(value_);
  }
  void scaling(std::string_view key, Scaling& x) {
    if (is(key)) x = parse_scaling(value_);
  }
  void policy(std::string_view key, Precision& x) {
    if (is(key)) x = attoscope::policy(value_).precision;
  }
  template <class V, class F>
  void list(std::string_view, const V&, int, F) {}
  template <class F>
  void object(std::string_view key, F visit) {
    if (!path_.starts_with(key) || path_.size() <= key.size() || path_[key.size()] != '.') return;
    Setter inner(path_.substr(key.size() + 1), value_, found_);
    visit(inner);
  }

 private:
  bool is(std::string_view key) {
    found_ |= key == path_;
    return key == path_;
  }
  template <class T, class F>
  static T in_range(const std::optional<T>& x, const std::string& expected, F fits) {
    if (!x || !fits(*x)) throw std::invalid_argument("expected " + expected);
    return *x;
  }
  template <class Names>
  std::size_t index_in(const Names& names) const {
    const auto at = std::find(names.begin(), names.end(), value_);
    if (at == names.end()) throw std::invalid_argument("expected " + listed(names));
    return static_cast<std::size_t>(at - names.begin());
  }
  std::string_view path_, value_;
  bool& found_;
};

}  // namespace

std::vector<Setting> settings(const Experiment& experiment) {
  std::vector<Setting> all;
  Lister lister(all, "");
  visit_experiment(lister, experiment);
  return all;
}

std::vector<Setting> settings(const View& view) {
  std::vector<Setting> all;
  Lister lister(all, "view.");
  visit_view(lister, view);
  return all;
}

std::vector<Setting> settings(const TrainPlan& plan, const TrainLook& look) {
  std::vector<Setting> all;
  Lister of_plan(all, "train."), of_look(all, "train_look.");
  visit_train_plan(of_plan, plan);
  visit_train_look(of_look, look);
  return all;
}

std::string set_setting(Session& session, std::string_view path, std::string_view value) {
  constexpr std::string_view view = "view.", train = "train.", look = "train_look.";
  bool found = false;
  Session changed = session;
  try {
    if (path.starts_with(view)) {
      Setter setter(path.substr(view.size()), value, found);
      visit_view(setter, changed.view);
    } else if (path.starts_with(train)) {
      Setter setter(path.substr(train.size()), value, found);
      visit_train_plan(setter, changed.train);
    } else if (path.starts_with(look)) {
      Setter setter(path.substr(look.size()), value, found);
      visit_train_look(setter, changed.train_look);
    } else {
      Setter setter(path, value, found);
      visit_experiment(setter, changed.experiment);
      changed.experiment = following(session.experiment, changed.experiment, path, value);
    }
  } catch (const std::invalid_argument& error) {
    return std::string(path) + " cannot be " + std::string(value.substr(0, 40)) + ": " + error.what() + ".";
  }
  if (!found) return "There is no field " + std::string(path) + ".";
  session = std::move(changed);
  return {};
}

std::vector<Difference> differences(const Experiment& x, const Experiment& y) {
  const std::vector<Setting> of_x = settings(x), of_y = settings(y);
  std::vector<Difference> found;
  for (std::size_t i = 0; i < of_x.size(); ++i)
    if (of_x[i].text != of_y[i].text && of_x[i].path != "problem.traced_row")
      found.push_back({of_x[i].path, of_x[i].text, of_y[i].text});
  return found;
}

}  // namespace attoscope
