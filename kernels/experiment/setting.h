/// Settings: named places that hold a value. One list of them is read by session files, the command line, sweeps, the palette,
/// forms and the checks of ranges.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "kernels/arithmetic/precision.h"
#include "kernels/arithmetic/quoted.h"  // IWYU pragma: export
#include "kernels/experiment/method.h"

namespace attoscope {

/// The numbers that a setting may hold: min .. max, without min itself where `above_min`, and also 0 where `zero` gives it a
/// meaning.
struct RealRange {
  double min = std::numeric_limits<double>::lowest(), max = std::numeric_limits<double>::max();
  bool above_min = false;
  std::string_view zero{};  ///< meaning of 0: "off"; empty: nothing special
};
bool contains(const RealRange& range, double x);
/// "a number from 0 to 64", "a whole number from 1 to 1024": the expected value in a message.
std::string text(const RealRange& range);
template <std::integral T>
std::string whole_range_text(T min, T max) {
  return "a whole number from " + std::to_string(min) + " to " + std::to_string(max);
}

/// The names of a list whose items have one.
template <class List>
std::vector<std::string_view> names_in(const List& list) {
  std::vector<std::string_view> names;
  for (const auto& item : list) names.push_back(item.name);
  return names;
}

struct Setting;
using Settings = std::vector<Setting>;

/// A value of an enumeration, by its names.
struct NamedValue {
  std::uint8_t* value;
  std::span<const std::string_view> names;
};
template <class E, std::size_t count>
NamedValue named(E& value, const std::array<std::string_view, count>& names) {
  static_assert(std::is_enum_v<E> && sizeof(E) == 1);
  return {reinterpret_cast<std::uint8_t*>(&value), names};
}
/// Bits in 16 hexadecimal digits; no user sets them.
struct HexValue {
  std::uint64_t* value;
};
/// A picture of `size` pixels, or none.
struct PixelsValue {
  std::vector<std::int8_t>* value;
  int size;
};
/// All roundings of a method by the name of a policy, or its whole backward pass by that of a kernel. Files that are written
/// have its settings one by one instead.
struct PolicyValue {
  std::function<std::string()> name;             ///< "": it has none
  std::function<void(const std::string&)> take;  ///< throws std::invalid_argument where there is no such name
  std::vector<std::string_view> (*names)();
  std::string_view expected;  ///< "a policy that ... lists"
};
/// A list whose items have settings, at most `most`.
struct ListValue {
  std::size_t most;
  std::function<std::size_t()> size;
  std::function<void(std::size_t)> resize;
  std::function<Settings(std::size_t)> item;
};

/// The settings of a part such as the mask; copies share them.
class PartValue {
 public:
  PartValue(Settings settings);  // NOLINT(google-explicit-constructor): {"mask", settings(p.mask)}
  const Settings& operator*() const { return *settings_; }

 private:
  std::shared_ptr<const Settings> settings_;
};

/// The place of a value; monostate: none, the setting changes several places.
using SettingValue =
    std::variant<std::monostate, int*, unsigned*, std::uint64_t*, double*, std::optional<double>*, bool*, std::string*,
                 NamedValue, HexValue, PixelsValue, Format*, Rounding*, Scaling*, PolicyValue, PartValue, ListValue>;

/// A setting as the axis of a sweep.
struct Sweeping {
  int rank = 0;                ///< place in the list of parameters; of two, the one of lower rank is set first
  std::string_view group{};    ///< group that offers the parameter; empty: sweeps do not know it by this name
  std::string_view example{};  ///< values to begin with
  bool numeric = true;         ///< the values are numbers with an order, not names
  bool moves_golden = false;   ///< the golden value changes with it
};

/// A named place of a value, its range and its texts in all front ends. Texts have no full stop but for `sentence`.
struct Setting {
  std::string_view key;         ///< in files, of `--set` and in the palette: "kind" of a part "mask"
  SettingValue value{};         ///< its place
  RealRange range{};            ///< of an int or a double; other whole numbers have all of their type
  std::string_view label{};     ///< in the window and beside an axis; empty: no texts
  std::string_view what{};      ///< in a few words
  std::string_view sentence{};  ///< for a tooltip
  std::string_view formula{};   ///< below it
  std::string_view alias{};     ///< words by which the palette finds it, too
  std::string_view option{};    ///< of `attoscope run`; empty: none
  std::string_view usual{};     ///< default of the option, in its help
  Sweeping sweep{};
  bool (*matters)(const Method&) = nullptr;  ///< true if it has an effect in the method; null: in all
  std::string_view name{};                   ///< of a sweep's axis and of a lesson, where the key alone is none
  bool kept = true;                          ///< files that are written have it

  // These add to the setting, and return it.
  Setting& explained(std::string_view short_label, std::string_view few_words, std::string_view tooltip = {},
                     std::string_view below_it = {}, std::string_view other_words = {}) {
    label = short_label, what = few_words, sentence = tooltip, formula = below_it, alias = other_words;
    return *this;
  }
  Setting& with_option(std::string_view its_option, std::string_view usual_value = {}) {
    option = its_option, usual = usual_value;
    return *this;
  }
  Setting& swept(int rank, std::string_view group, std::string_view example, bool numeric = true, bool moves_golden = false) {
    sweep = {rank, group, example, numeric, moves_golden};
    return *this;
  }
  Setting& where(bool (*has_effect)(const Method&)) {
    matters = has_effect;
    return *this;
  }
  Setting& called(std::string_view its_name) {
    name = its_name;
    return *this;
  }
  Setting& kept_if(bool is_kept) {
    kept = is_kept;
    return *this;
  }
};

inline PartValue::PartValue(Settings settings) : settings_(std::make_shared<const Settings>(std::move(settings))) {}

template <class T>
ListValue list_of(std::vector<T>& items, std::size_t most) {
  return {most, [&items] { return items.size(); }, [&items](std::size_t size) { items.resize(size); },
          [&items](std::size_t i) { return settings(items[i]); }};
}

/// The settings of an object that is only read through them.
template <class T>
Settings settings_to_read(const T& x) {
  return settings(const_cast<T&>(x));
}

/// True if it has a value that a user types or chooses: no bits, pixels, part or list.
bool is_typed(const Setting& s);
/// The value as text: "64", "true", "none", "bf16/stochastic".
std::string text(const Setting& s);
/// The expected value in a message: "a whole number from 1 to 64", "natural or exp2".
std::string expected(const Setting& s);
/// Sets the value from its text. Returns false if it is not as expected; throws std::invalid_argument with one sentence where
/// the text of a format, a rounding, a storage or a policy says more about what is wrong.
bool set(const Setting& s, std::string_view text);

/// The setting at a path such as "mask.kind"; null: there is none, or it is a part.
const Setting* find(const Settings& settings, std::string_view path);
/// Calls visit(path, setting) for every setting and every list, in order.
void for_each(const Settings& settings, const std::string& prefix,
              const std::function<void(const std::string& path, const Setting& s)>& visit);

/// Throws std::invalid_argument with the path, the value and the expected one where a value is out of range.
void check(const Settings& settings, const std::string& path = {});

inline bool is_flag(const Setting& s) { return std::holds_alternative<bool*>(s.value); }
/// True if it has an effect in this method.
inline bool matters(const Setting& s, const Method& m) { return s.matters == nullptr || s.matters(m); }

}  // namespace attoscope
