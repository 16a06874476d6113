/// Python's pickles as torch.save writes them, read into plain values. Nothing is imported or called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope::app {

enum class PickleKind : std::uint8_t { none, boolean, integer, real, text, tuple, list, dict, global, call, persistent };

/// One value. It refers to other values by their index in `Pickle::values`.
struct PickleValue {
  PickleKind kind = PickleKind::none;
  std::int64_t integer = 0;  ///< of a boolean or an integer
  double real = 0;
  std::string text{};        ///< of a text; "module.name" of a global; an integer beyond 64 bits: its bytes, lowest first
  std::vector<int> items{};  ///< of a tuple or a list; keys and values of a dict in turn; of a call the callee and its
                             ///< arguments; of a persistent value its name
};

struct Pickle {
  std::vector<PickleValue> values;
  int top = 0;          ///< the pickled value
  std::size_t end = 0;  ///< byte behind the pickle

  const PickleValue& operator[](int i) const { return values[static_cast<std::size_t>(i)]; }
};
inline constexpr std::size_t longest_pickle = std::size_t{64} << 20, most_pickle_values = std::size_t{1} << 20;

/// Reads the pickle that begins at byte `begin`. OrderedDict() becomes a dict; other calls are kept as calls, and later changes
/// of their results are ignored. Throws std::runtime_error with one sentence that begins with `label`: the pickle is cut, too
/// large, or has an operation that torch.save does not write.
Pickle read_pickle(std::string_view bytes, std::size_t begin, const std::string& label);

}  // namespace attoscope::app
