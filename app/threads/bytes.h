/// Serializes questions and answers between the modules of a web page. Both modules are the same build: the bytes are no file
/// format.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/experiment/all_heads.h"
#include "kernels/experiment/input.h"
#include "kernels/experiment/mask.h"

namespace attoscope {
class DeviceMatrices;
}  // namespace attoscope

namespace attoscope::app {

namespace fields {

/// Converts to any type, to count the fields of a struct. An optional's own constructor takes it.
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class Whole, std::size_t>
struct Anything {
  template <class T>
    requires(!is_optional<T> && !std::is_same_v<T, Whole>)
  operator T() const;
};

template <class T, std::size_t... i>
constexpr bool takes(std::index_sequence<i...>) {
  return requires { T{Anything<T, i>{}...}; };
}
/// The number of fields of a struct without constructors, which has at least `n`.
template <class T, std::size_t n = 0>
consteval std::size_t count() {
  if constexpr (takes<T>(std::make_index_sequence<n + 1>()))
    return count<T, n + 1>();
  else
    return n;
}

/// Binds the fields to these names if the struct has `n_fields`.
#define ATTOSCOPE_FIELDS(n_fields, ...) \
  if constexpr (number == n_fields) {   \
    auto& [__VA_ARGS__] = whole;        \
    return use(__VA_ARGS__);            \
  }
/// Calls `use` with references to all fields.
template <class T, class Use, std::size_t number = count<std::remove_const_t<T>>()>
void each(T& whole, Use use) {
  static_assert(number <= 32, "a struct of at most 32 fields was expected");
  ATTOSCOPE_FIELDS(32, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, af)
  ATTOSCOPE_FIELDS(31, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae)
  ATTOSCOPE_FIELDS(30, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad)
  ATTOSCOPE_FIELDS(29, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac)
  ATTOSCOPE_FIELDS(28, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, ab)
  ATTOSCOPE_FIELDS(27, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa)
  ATTOSCOPE_FIELDS(26, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z)
  ATTOSCOPE_FIELDS(25, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y)
  ATTOSCOPE_FIELDS(24, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x)
  ATTOSCOPE_FIELDS(23, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w)
  ATTOSCOPE_FIELDS(22, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v)
  ATTOSCOPE_FIELDS(21, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u)
  ATTOSCOPE_FIELDS(20, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
  ATTOSCOPE_FIELDS(19, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s)
  ATTOSCOPE_FIELDS(18, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)
  ATTOSCOPE_FIELDS(17, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)
  ATTOSCOPE_FIELDS(16, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
  ATTOSCOPE_FIELDS(15, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
  ATTOSCOPE_FIELDS(14, a, b, c, d, e, f, g, h, i, j, k, l, m, n)
  ATTOSCOPE_FIELDS(13, a, b, c, d, e, f, g, h, i, j, k, l, m)
  ATTOSCOPE_FIELDS(12, a, b, c, d, e, f, g, h, i, j, k, l)
  ATTOSCOPE_FIELDS(11, a, b, c, d, e, f, g, h, i, j, k)
  ATTOSCOPE_FIELDS(10, a, b, c, d, e, f, g, h, i, j)
  ATTOSCOPE_FIELDS(9, a, b, c, d, e, f, g, h, i)
  ATTOSCOPE_FIELDS(8, a, b, c, d, e, f, g, h)
  ATTOSCOPE_FIELDS(7, a, b, c, d, e, f, g)
  ATTOSCOPE_FIELDS(6, a, b, c, d, e, f)
  ATTOSCOPE_FIELDS(5, a, b, c, d, e)
  ATTOSCOPE_FIELDS(4, a, b, c, d)
  ATTOSCOPE_FIELDS(3, a, b, c)
  ATTOSCOPE_FIELDS(2, a, b)
  ATTOSCOPE_FIELDS(1, a)
}
#undef ATTOSCOPE_FIELDS

}  // namespace fields

/// Shared values that both modules hold: an answer refers to them by index.
using SharedValues = std::vector<std::shared_ptr<const void>>;

/// A function of the other module. It cannot be called here; sent back, it becomes the original function.
struct FarFunction {
  std::size_t number = 0;
  template <class... Arguments>
  bool operator()(Arguments...) const {
    throw std::logic_error("this function is another module's");
  }
};
/// The functions that this module has sent, by their numbers; the oldest are dropped.
template <class Signature>
std::map<std::size_t, std::function<Signature>>& sent_functions() {
  static std::map<std::size_t, std::function<Signature>> sent;
  return sent;
}

/// Computes the largest magnitude over all heads of a tensor in the file that Q, K and V of a head come from.
using LargestOfFile = double (*)(const std::string& file, int head, ScaledTensor, const StopSign&);

/// Appends values to `out`. A shared value is written once.
class ByteWriter {
 public:
  explicit ByteWriter(SharedValues& shared) : shared_(shared) {}
  std::string take() { return std::move(out_); }

  template <class T>
    requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
  void write(const T& x) {
    out_.append(reinterpret_cast<const char*>(&x), sizeof x);
  }
  template <class T, std::size_t n>
  void write(const std::array<T, n>& x) {
    for (const T& element : x) write(element);
  }
  template <class T>
    requires std::is_aggregate_v<T>
  void write(const T& x) {
    fields::each(x, [this](const auto&... field) { (write(field), ...); });
  }
  void write(const std::string_view& x) { write_list(x); }
  void write(const std::string& x) { write_list(x); }
  template <class T>
  void write(const std::vector<T>& x) {
    write_list(x);
  }
  template <class K, class T>
  void write(const std::map<K, T>& x) {
    write_list(x);
  }
  template <class T, class U>
  void write(const std::pair<T, U>& x) {
    write(x.first);
    write(x.second);
  }
  template <class T>
  void write(const std::optional<T>& x) {
    write(x.has_value());
    if (x) write(*x);
  }
  template <class... T>
  void write(const std::variant<T...>& x) {
    write(x.index());
    std::visit([this](const auto& held) { write(held); }, x);
  }
  void write(const std::monostate&) {}
  /// Writes nothing: a matrix on a GPU stays there.
  void write(const std::shared_ptr<const DeviceMatrices>&) {}
  /// Writes a flag: the reader finds the heads again in the file.
  void write(const std::shared_ptr<const AllHeads>& x) { write(x != nullptr); }
  /// Writes a number: the function stays in this module.
  template <class Signature>
  void write(const std::function<Signature>& x) {
    constexpr std::size_t most = 100;
    std::size_t number = 0;
    if (const auto* const far = x.template target<FarFunction>()) {
      number = far->number;
    } else if (x) {
      auto& sent = sent_functions<Signature>();
      number = sent.empty() ? 1 : sent.rbegin()->first + 1;
      sent.emplace(number, x);
      if (sent.size() > most) sent.erase(sent.begin());
    }
    write(number);
  }
  template <class T>
  void write(const std::shared_ptr<const T>& x) {
    std::size_t i = 0;
    while (i < shared_.size() && shared_[i] != x) ++i;
    write(i);
    if (i < shared_.size()) return;
    shared_.push_back(x);
    write(x != nullptr);
    if (x) write(*x);
  }

 private:
  template <class List>
  void write_list(const List& x) {
    using T = typename List::value_type;
    write(x.size());
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
      out_.append(reinterpret_cast<const char*>(x.data()), x.size() * sizeof(T));
    else
      for (const auto& element : x) write(static_cast<const T&>(element));
  }

  std::string out_;
  SharedValues& shared_;
};

/// Reads values that a ByteWriter of the same build wrote. Throws std::runtime_error if bytes are missing.
class ByteReader {
 public:
  /// `largest` reads files; null: no value that is read here needs it.
  ByteReader(std::string_view in, SharedValues& shared, LargestOfFile largest = nullptr)
      : in_(in), shared_(shared), largest_(largest) {}

  template <class T>
  T read() {
    T x{};
    read(x);
    return x;
  }

  template <class T>
    requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
  void read(T& x) {
    std::memcpy(&x, taken(sizeof x).data(), sizeof x);
  }
  template <class T, std::size_t n>
  void read(std::array<T, n>& x) {
    for (T& element : x) read(element);
  }
  template <class T>
    requires std::is_aggregate_v<T>
  void read(T& x) {
    fields::each(x, [this](auto&... field) { (read(field), ...); });
  }
  /// Stores each text once, until the program ends.
  void read(std::string_view& x) {
    static std::set<std::string, std::less<>> texts;
    x = *texts.insert(read<std::string>()).first;
  }
  void read(std::string& x) { x = taken(read<std::size_t>()); }
  template <class T>
  void read(std::vector<T>& x) {
    const auto size = read<std::size_t>();
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      const std::string_view bytes = taken(size * sizeof(T));
      x.resize(size);
      if (size > 0) std::memcpy(x.data(), bytes.data(), bytes.size());
    } else {
      x.clear();
      for (std::size_t i = 0; i < size; ++i) x.push_back(read<T>());
    }
  }
  template <class K, class T>
  void read(std::map<K, T>& x) {
    x.clear();
    for (auto size = read<std::size_t>(); size > 0; --size) {
      K key = read<K>();
      x.emplace(std::move(key), read<T>());
    }
  }
  template <class T, class U>
  void read(std::pair<T, U>& x) {
    read(x.first);
    read(x.second);
  }
  template <class T>
  void read(std::optional<T>& x) {
    x.reset();
    if (read<bool>()) read(x.emplace());
  }
  template <class... T>
  void read(std::variant<T...>& x) {
    const auto held = read<std::size_t>();
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      ((i == held ? read(x.template emplace<i>()) : void()), ...);
    }(std::index_sequence_for<T...>());
  }
  void read(std::monostate&) {}
  void read(std::shared_ptr<const DeviceMatrices>&) {}
  void read(Input& x) {
    input_ = &x;
    fields::each(x, [this](auto&... field) { (read(field), ...); });
  }
  void read(std::shared_ptr<const AllHeads>& x) {
    x.reset();
    if (!read<bool>()) return;
    const auto found = [largest = largest_, file = input_ ? input_->file : "", head = input_ ? input_->index : 0](
                           ScaledTensor t, const StopSign& stop) {
      if (largest == nullptr) throw std::logic_error("the other heads are another module's");
      return largest(file, head, t, stop);
    };
    x = std::make_shared<const AllHeads>(found);
  }
  template <class Signature>
  void read(std::function<Signature>& x) {
    x = nullptr;
    const auto number = read<std::size_t>();
    const auto& sent = sent_functions<Signature>();
    if (const auto own = sent.find(number); own != sent.end())
      x = own->second;
    else if (number > 0)
      x = FarFunction{number};
  }
  template <class T>
  void read(std::shared_ptr<const T>& x) {
    const auto i = read<std::size_t>();
    if (i < shared_.size()) return void(x = std::static_pointer_cast<const T>(shared_[i]));
    shared_.emplace_back();
    std::shared_ptr<T> made;
    if (read<bool>()) read(*(made = std::make_shared<T>()));
    shared_[i] = x = std::move(made);
  }

 private:
  std::string_view taken(std::size_t size) {
    if (size > in_.size()) throw std::runtime_error("an answer has fewer bytes than its parts");
    const std::string_view bytes = in_.substr(0, size);
    in_.remove_prefix(size);
    return bytes;
  }

  std::string_view in_;
  SharedValues& shared_;
  LargestOfFile largest_;
  const Input* input_ = nullptr;  ///< the input whose fields are being read
};

}  // namespace attoscope::app
