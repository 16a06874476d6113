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

/// The range of a number: min .. max, without min itself if `above_min`, and also 0 if `zero` gives a meaning to 0: auto,
/// off.
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

/// An enumeration, set by the names of its values.
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
/// All roundings of a method, set by a policy's name, or its whole backward pass, set by a kernel's name. Written files hold
/// the single settings instead.
struct PolicyValue {
  std::function<std::string()> name;             ///< "" if the roundings have no name
  std::function<void(const std::string&)> take;  ///< throws std::invalid_argument if the name is unknown
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

/// Pointer to a value, or its parts; monostate: the setting changes several values.
using SettingValue =
    std::variant<std::monostate, int*, unsigned*, std::uint64_t*, double*, std::optional<double>*, bool*, std::string*,
                 NamedValue, HexValue, PixelsValue, Format*, Rounding*, Scaling*, PolicyValue, PartValue, ListValue>;

/// A setting as the axis of a sweep.
struct Sweeping {
  int rank = 0;                ///< place in the list of parameters; lower ranks are set first
  std::string_view group{};    ///< group that offers the parameter; empty: no axis has this name
  std::string_view example{};  ///< values to begin with
  bool numeric = true;         ///< the values are numbers with an order, not names
  bool moves_golden = false;   ///< true if the golden value depends on it
};

/// A named value, its range and its texts in all front ends. Only `sentence` ends with a full stop.
struct Setting {
  std::string_view key;         ///< name in files, `--set` and the palette: "kind" of a part "mask"
  SettingValue value{};         ///< pointer to the value
  RealRange range{};            ///< range of an int or a double; other whole numbers have no limits
  std::string_view label{};     ///< name in the window and at an axis; empty: no texts
  std::string_view what{};      ///< meaning in a few words
  std::string_view sentence{};  ///< text of the tooltip
  std::string_view formula{};   ///< formula below the sentence
  std::string_view alias{};     ///< more words by which the palette finds it
  std::string_view option{};    ///< option of `attoscope run`; empty: none
  std::string_view usual{};     ///< default of the option, in its help
  Sweeping sweep{};
  bool (*matters)(const Method&) = nullptr;  ///< true if it has an effect in the method; null: always true
  std::string_view name{};                   ///< name as an axis of sweeps and in lessons, if it is not the key
  bool kept = true;                          ///< true if files are written with it

  // Each sets fields and returns the setting.
  Setting& explained(std::string_view short_label, std::string_view few_words, std::string_view tooltip = {},
                     std::string_view below_it = {}, std::string_view other_words = {}) {
    label = short_label;
    what = few_words;
    sentence = tooltip;
    formula = below_it;
    alias = other_words;
    return *this;
  }
  Setting& with_option(std::string_view its_option, std::string_view usual_value = {}) {
    option = its_option;
    usual = usual_value;
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

/// The settings of a const object; callers only read them.
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
/// Sets the value from its text. Returns false if it is not as expected; throws std::invalid_argument with one sentence if
/// the text of a format, a rounding, a storage or a policy has a fault of its own.
bool set(const Setting& s, std::string_view text);

/// The setting at a path such as "mask.kind"; null: there is none, or it is a part.
const Setting* find(const Settings& settings, std::string_view path);
/// Calls visit(path, setting) for every setting and every list, in order.
void for_each(const Settings& settings, const std::string& prefix,
              const std::function<void(const std::string& path, const Setting& s)>& visit);

/// Throws std::invalid_argument with the path, the value and the expected range if a value is out of range.
void check(const Settings& settings, const std::string& path = {});

inline bool is_flag(const Setting& s) { return std::holds_alternative<bool*>(s.value); }
/// True if it has an effect in this method.
inline bool matters(const Setting& s, const Method& m) { return s.matters == nullptr || s.matters(m); }

}  // namespace attoscope
