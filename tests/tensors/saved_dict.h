/// Files of torch.save made by hand: a dict of tensors and plain values.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "app/files/zip.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope::testing {

/// A pickled dict, its entries in the order in which they are added.
class SavedDict {
 public:
  /// Adds a value that is already pickled.
  SavedDict& value(const std::string& name, const std::string& pickled) {
    entries_ += text(name) + pickled;
    return *this;
  }
  /// Adds a contiguous tensor with a storage class such as "BFloat16Storage".
  SavedDict& tensor(const std::string& name, const std::string& storage, const std::vector<int>& shape,
                    const std::string& bytes) {
    int elements = 1;
    for (const int size : shape) elements *= size;
    const std::string key = std::to_string(storages_.size());
    std::string sizes = "(", strides = "(";
    for (std::size_t i = 0, step = static_cast<std::size_t>(elements); i < shape.size(); ++i) {
      step /= static_cast<std::size_t>(shape[i] == 0 ? 1 : shape[i]);
      sizes += integer(shape[i]), strides += integer(static_cast<int>(step));
    }
    storages_.push_back({"call/data/" + key, bytes});
    return value(name, view(storage, key, elements, 0, sizes + "t", strides + "t"));
  }
  /// Adds a tensor of numbers rounded to bf16, to nearest even.
  SavedDict& bf16s(const std::string& name, const std::vector<int>& shape, const std::vector<double>& x) {
    std::string bytes;
    for (const double number : x) {
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(number));
      bytes += little_endian((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16, 2);
    }
    return tensor(name, "BFloat16Storage", shape, bytes);
  }
  SavedDict& floats(const std::string& name, const std::vector<int>& shape, const std::vector<double>& x) {
    return tensor(name, "FloatStorage", shape, raw(std::vector<float>(x.begin(), x.end())));
  }
  SavedDict& ints(const std::string& name, const std::vector<int>& shape, const std::vector<std::int32_t>& x) {
    return tensor(name, "IntStorage", shape, raw(x));
  }
  SavedDict& bools(const std::string& name, const std::vector<int>& shape, const std::string& bits) {
    return tensor(name, "BoolStorage", shape, bits);
  }

  static std::string text(const std::string& s) { return "X" + little_endian(s.size(), 4) + s; }
  static std::string integer(int x) { return "J" + little_endian(static_cast<std::uint32_t>(x), 4); }
  static std::string boolean(bool x) { return x ? "\x88" : "\x89"; }
  static std::string nothing() { return "N"; }
  static std::string real(double x) {
    const std::string bytes = little_endian(std::bit_cast<std::uint64_t>(x), 8);
    return "G" + std::string(bytes.rbegin(), bytes.rend());
  }
  static std::string tuple(const std::vector<int>& x) {
    std::string all = "(";
    for (const int number : x) all += integer(number);
    return all + "t";
  }

  /// Pickle of a tensor in a storage of `elements` elements; sizes and strides are pickled tuples.
  static std::string view(const std::string& storage, const std::string& key, int elements, int offset,
                          const std::string& sizes, const std::string& strides) {
    return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + storage + "\n" + text(key) + text("cpu") +
           integer(elements) + "tQ" + integer(offset) + sizes + strides + boolean(false) + "ccollections\nOrderedDict\n)RtR";
  }

  /// The zip archive that torch.save writes.
  std::string bytes() const {
    std::vector<ZipMember> members{{"call/data.pkl", "\x80\x02}(" + entries_ + "u."}, {"call/byteorder", "little"}};
    members.insert(members.end(), storages_.begin(), storages_.end());
    members.push_back({"call/version", "3\n"});
    return zip_bytes(members);
  }

 private:
  std::string entries_;
  std::vector<ZipMember> storages_;
};

}  // namespace attoscope::testing
