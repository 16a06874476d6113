// PyTorch's files: a zip archive of a pickle and storages, or, before 1.6, pickles and storages one after another.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "app/files/zip.h"
#include "app/tensors/pickle.h"
#include "app/tensors/readers.h"
#include "app/tensors/strided_file.h"
#include "app/words/numbers.h"

namespace attoscope::app {
namespace {

constexpr std::size_t most_tensors = 20'000, most_steps = 1'000'000, most_dimensions = 64, longest_text = 64;
constexpr int deepest_value = 64;

/// A dtype with its names in torch: of the dtype, and of its storage class; "": there is none.
struct TorchType {
  std::string_view dtype, name, storage{};
};
constexpr std::array<TorchType, 20> torch_types{{
    {"F64", "float64", "DoubleStorage"},
    {"F32", "float32", "FloatStorage"},
    {"F16", "float16", "HalfStorage"},
    {"BF16", "bfloat16", "BFloat16Storage"},
    {"I64", "int64", "LongStorage"},
    {"I32", "int32", "IntStorage"},
    {"I16", "int16", "ShortStorage"},
    {"I8", "int8", "CharStorage"},
    {"U64", "uint64"},
    {"U32", "uint32"},
    {"U16", "uint16"},
    {"U8", "uint8", "ByteStorage"},
    {"BOOL", "bool", "BoolStorage"},
    {"C64", "complex64", "ComplexFloatStorage"},
    {"C128", "complex128", "ComplexDoubleStorage"},
    {"F8_E4M3", "float8_e4m3fn"},
    {"F8_E5M2", "float8_e5m2"},
    {"F8_E4M3FNUZ", "float8_e4m3fnuz"},
    {"F8_E5M2FNUZ", "float8_e5m2fnuz"},
    {"F8_E8M0", "float8_e8m0fnu"},
}};

/// dtype by the name of a global of `torch`.
std::string dtype_of_torch(std::string_view global) {
  constexpr std::string_view home = "torch.";
  if (global == "torch.storage.UntypedStorage") return "U8";
  if (!global.starts_with(home) || global == home) return "";
  global.remove_prefix(home.size());
  const auto is_called = [&](const TorchType& type) { return type.name == global || type.storage == global; };
  const auto* const found = std::ranges::find_if(torch_types, is_called);
  return found == torch_types.end() ? "" : std::string(found->dtype);
}

/// Bytes of a storage.
struct Storage {
  std::shared_ptr<const InputFile> file;
  std::uint64_t begin = 0, bytes = 0;
};

/// A storage as a tensor names it.
struct StorageName {
  std::string key, dtype;
  std::uint64_t elements = 0, first = 0;  ///< first: of a view of the storage, in files before 1.6
};

/// Collects the tensors of a pickled value, named by their path from the top: keys of dicts and indices in lists, joined by
/// dots.
class TensorFinder {
 public:
  /// `storage` finds the bytes of a storage by its name.
  using FindStorage = std::function<Storage(const StorageName&)>;
  TensorFinder(const Pickle& pickle, std::shared_ptr<const InputFile> file, bool big_endian, FindStorage storage)
      : pickle_(pickle), file_(std::move(file)), path_(file_->path()), big_endian_(big_endian), storage_(std::move(storage)) {}

  TensorSet find() {
    visit(pickle_.top, "", 0);
    return std::move(set_);
  }

 private:
  /// Counts a step. Adds a value that is nested too deep as an object that is not read, and returns true.
  bool is_too_deep(const std::string& name, int depth) {
    if (++steps_ > most_steps) throw std::runtime_error(path_ + ": holds more than " + std::to_string(most_steps) + " values");
    if (depth > deepest_value) add_opaque(name, "nested deeper than " + std::to_string(deepest_value) + " values");
    return depth > deepest_value;
  }

  void visit(int index, const std::string& name, int depth) {
    if (is_too_deep(name, depth)) return;
    const PickleValue& value = pickle_[index];
    switch (value.kind) {
      case PickleKind::dict:
        for (std::size_t i = 0; i + 1 < value.items.size(); i += 2)
          visit(value.items[i + 1], joined(name, key_of(value.items[i], i / 2)), depth + 1);
        return;
      case PickleKind::list:
      case PickleKind::tuple:
        if (add_value(value.items, name)) return;
        for (std::size_t i = 0; i < value.items.size(); ++i) visit(value.items[i], joined(name, std::to_string(i)), depth + 1);
        return;
      case PickleKind::call:
        return visit_call(value, name, depth);
      case PickleKind::persistent:
        return add_opaque(name, "a storage without a tensor");
      default:
        add_value(std::array{index}, name);
    }
  }

  /// The text of a plain number, boolean or short text; none: it is another value.
  std::optional<std::string> plain_text(const PickleValue& value) const {
    switch (value.kind) {
      case PickleKind::boolean:
        return value.integer != 0 ? "true" : "false";
      case PickleKind::integer:
        return value.text.empty() ? std::optional(std::to_string(value.integer)) : std::nullopt;
      case PickleKind::real:
        return shortest(value.real);
      case PickleKind::text:
        return value.text.size() <= longest_text ? std::optional(value.text) : std::nullopt;
      default:
        return std::nullopt;
    }
  }

  /// Adds a value of numbers, booleans and short texts; returns false if `items` has other ones, or is empty.
  bool add_value(std::span<const int> items, const std::string& name) {
    StoredValue value{.name = name, .label = path_ + ": value " + in_quotes(name)};
    for (const int item : items) {
      const std::optional<std::string> text = plain_text(pickle_[item]);
      if (!text || ++steps_ > most_steps) return false;
      value.texts.push_back(*text);
    }
    if (items.empty() || set_.values.size() >= most_tensors) return false;
    set_.values.push_back(std::move(value));
    return true;
  }

  /// Adds the result of a call: a tensor, an object that wraps one, or an object that is not read.
  void visit_call(const PickleValue& call, const std::string& name, int depth) {
    if (is_too_deep(name, depth)) return;
    const std::string& callee = pickle_[call.items[0]].text;
    const PickleValue& arguments = pickle_[call.items[1]];
    const auto argument = [&](std::size_t i) { return i < arguments.items.size() ? arguments.items[i] : -1; };
    if (callee.starts_with("torch._utils._rebuild_parameter") || callee == "torch.nn.parameter.Parameter") {
      if (argument(0) >= 0) return visit(argument(0), name, depth + 1);
    } else if (callee == "torch._tensor._rebuild_from_type_v2") {
      if (argument(2) >= 0) return visit_call({.kind = PickleKind::call, .items = {argument(0), argument(2)}}, name, depth + 1);
    } else if (callee == "torch._utils._rebuild_tensor" || callee == "torch._utils._rebuild_tensor_v2") {
      return is_negated(argument(6)) ? add_opaque(name, negated) : add_tensor(arguments, -1, name);
    } else if (callee == "torch._utils._rebuild_tensor_v3") {
      return is_negated(argument(7)) ? add_opaque(name, negated) : add_tensor(arguments, argument(6), name);
    } else if (callee == "torch.Size") {
      return;
    }
    add_opaque(name, callee.empty() ? "an object without a class" : "an object of " + in_quotes(callee));
  }

  static constexpr const char* negated = "a view with torch's negative bit, which .resolve_neg() writes out";

  /// True if a tensor's metadata say that its numbers have the other sign than in the storage, as those of z.conj().imag.
  bool is_negated(int metadata) const {
    if (metadata < 0 || pickle_[metadata].kind != PickleKind::dict) return false;
    const std::vector<int>& items = pickle_[metadata].items;
    for (std::size_t i = 0; i + 1 < items.size(); i += 2)
      if (pickle_[items[i]].text == "neg" && pickle_[items[i + 1]].integer != 0) return true;
    return false;
  }

  void add_tensor(const PickleValue& arguments, int dtype, const std::string& name) {
    const std::string label = label_of(name);
    if (arguments.kind != PickleKind::tuple || arguments.items.size() < 4)
      throw std::runtime_error(label + " is rebuilt from " + std::to_string(arguments.items.size()) +
                               " values, expected a storage, an offset, a shape and strides");
    StorageName storage = storage_name(arguments.items[0], label);
    if (dtype >= 0) {
      storage.elements *= bytes_of_type(storage.dtype, label);
      storage.dtype = dtype_of_torch(pickle_[dtype].text);
      storage.elements /= bytes_of_type(storage.dtype, label);
    }
    StridedView view{.width = static_cast<int>(bytes_of_type(storage.dtype, label)),
                     .shape = whole_numbers(arguments.items[2], label),
                     .strides = whole_numbers(arguments.items[3], label)};
    if (view.shape.size() != view.strides.size())
      throw std::runtime_error(label + " has " + std::to_string(view.strides.size()) + " strides, expected one for each of " +
                               std::to_string(view.shape.size()) + " dimensions");
    place(view, storage, whole_number(arguments.items[1], label), label);
    add(view, storage.dtype, name, label);
  }

  /// Sets the view's file and offset. Throws if the view reaches beyond its storage.
  void place(StridedView& view, const StorageName& name, std::uint64_t offset, const std::string& label) const {
    std::uint64_t last = 0;
    const bool empty = std::ranges::find(view.shape, 0U) != view.shape.end();
    bool fits = !__builtin_add_overflow(offset, name.first, &last);
    const std::uint64_t first = last;
    for (std::size_t i = 0; i < view.shape.size() && !empty; ++i) {
      std::uint64_t reach = 0;
      fits &=
          !__builtin_mul_overflow(view.shape[i] - 1, view.strides[i], &reach) && !__builtin_add_overflow(last, reach, &last);
    }
    if (!fits || (!empty && last >= name.elements))
      throw std::runtime_error(label + " reaches beyond its storage of " + std::to_string(name.elements) + " elements");
    const Storage storage = storage_(name);
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(name.elements, static_cast<std::uint64_t>(view.width), &bytes) || bytes > storage.bytes)
      throw std::runtime_error(label + " has a storage of " + std::to_string(storage.bytes) + " bytes, expected " +
                               std::to_string(name.elements) + " elements of " + name.dtype);
    view.file = storage.file;
    view.offset = storage.begin + (empty ? 0 : first * static_cast<std::uint64_t>(view.width));
  }

  void add(const StridedView& view, const std::string& dtype, const std::string& name, const std::string& label) {
    if (set_.tensors.size() >= most_tensors)
      throw std::runtime_error(path_ + ": holds more than " + std::to_string(most_tensors) + " tensors");
    StoredTensor tensor{.label = label, .big_endian = big_endian_, .shape = view.shape, .offset = view.offset};
    std::shared_ptr<const InputFile> file = view.file;
    const std::uint64_t bytes = byte_count(view.shape, view.width, label);
    if (bytes > 0 && !is_contiguous(view)) {
      file = gathered(view, label, bytes);
      tensor.offset = 0;
    }
    NamedTensor t{name, dtype, "", std::move(file), std::move(tensor)};
    set_type(t);
    set_.tensors.push_back(std::move(t));
  }

  /// Adds an object that is not read as a tensor with a refusal.
  void add_opaque(const std::string& name, const std::string& what) {
    if (set_.tensors.size() >= most_tensors) return;
    const std::string label = label_of(name);
    set_.tensors.push_back({name, "", label + " is " + what + ", expected a tensor", file_, {.label = label, .shape = {}}});
  }

  StorageName storage_name(int index, const std::string& label) const {
    const auto fail = [&]() -> StorageName { throw std::runtime_error(label + " has no storage that torch.save names"); };
    if (pickle_[index].kind != PickleKind::persistent) return fail();
    const PickleValue& id = pickle_[pickle_[index].items[0]];
    if (id.kind != PickleKind::tuple || id.items.size() < 5 || pickle_[id.items[0]].text != "storage") return fail();
    StorageName name{pickle_[id.items[2]].text, dtype_of_torch(pickle_[id.items[1]].text), whole_number(id.items[4], label)};
    if (id.items.size() > 5)
      if (const PickleValue& view = pickle_[id.items[5]]; view.kind == PickleKind::tuple && view.items.size() == 3)
        name.first = whole_number(view.items[1], label);
    if (name.dtype.empty())
      throw std::runtime_error(label + " has a storage of " + in_quotes(pickle_[id.items[1]].text) +
                               ", expected one of torch's types");
    return name;
  }

  static std::uint64_t bytes_of_type(const std::string& dtype, const std::string& label) {
    const int bytes = element_bytes(dtype);
    if (bytes == 0) throw std::runtime_error(label + " has a dtype that is not known, expected one of torch's");
    return static_cast<std::uint64_t>(bytes);
  }

  std::uint64_t whole_number(int index, const std::string& label) const {
    const PickleValue& value = pickle_[index];
    if (value.kind == PickleKind::integer && value.text.empty() && value.integer >= 0)
      return static_cast<std::uint64_t>(value.integer);
    throw std::runtime_error(label + " has a size, stride or offset that is no whole number from 0 on");
  }

  /// A shape or strides: a tuple, or torch.Size of one.
  std::vector<std::uint64_t> whole_numbers(int index, const std::string& label) const {
    const PickleValue* value = &pickle_[index];
    if (value->kind == PickleKind::call && pickle_[value->items[0]].text == "torch.Size") {
      const PickleValue& arguments = pickle_[value->items[1]];
      if (arguments.items.size() == 1) value = &pickle_[arguments.items[0]];
    }
    if ((value->kind != PickleKind::tuple && value->kind != PickleKind::list) || value->items.size() > most_dimensions)
      throw std::runtime_error(label + " has a shape or strides that are no tuple of at most " +
                               std::to_string(most_dimensions) + " numbers");
    std::vector<std::uint64_t> numbers;
    for (const int item : value->items) numbers.push_back(whole_number(item, label));
    return numbers;
  }

  std::string key_of(int index, std::size_t place) const {
    const PickleValue& key = pickle_[index];
    if (key.kind == PickleKind::text) return key.text;
    if (key.kind == PickleKind::integer && key.text.empty()) return std::to_string(key.integer);
    return "key " + std::to_string(place);
  }
  static std::string joined(const std::string& way, const std::string& key) { return way.empty() ? key : way + "." + key; }
  std::string label_of(const std::string& name) const {
    return name.empty() ? path_ + ": the value" : path_ + ": tensor " + in_quotes(name);
  }

  const Pickle& pickle_;
  const std::shared_ptr<const InputFile> file_;
  const std::string& path_;
  const bool big_endian_;
  const FindStorage storage_;
  TensorSet set_;
  std::size_t steps_ = 0;
};

std::string all_bytes(const InputFile& file) {
  if (file.size() > longest_pickle)
    throw std::runtime_error(file.path() + " has " + std::to_string(file.size()) + " bytes, expected a pickle of at most " +
                             std::to_string(longest_pickle));
  std::string bytes(file.size(), '\0');
  file.read_at(0, bytes);
  return bytes;
}

/// torch.save since 1.6: FOLDER/data.pkl, and FOLDER/data/KEY for each storage.
TensorSet list_archive(const std::shared_ptr<const InputFile>& archive) {
  std::map<std::string, std::shared_ptr<const InputFile>> files;
  std::string folder;
  constexpr std::string_view pickled = "data.pkl";
  for (const auto& file : files_in_zip(archive->path(), "")) {
    std::string name = file->path().substr(archive->path().size() + 2);  // the file's path is "PATH: NAME"
    if (name.ends_with(pickled) && folder.empty()) folder = name.substr(0, name.size() - pickled.size());
    files.emplace(std::move(name), file);
  }
  const auto found = [&](const std::string& name) { return files.contains(folder + name) ? files.at(folder + name) : nullptr; };
  if (!found("data.pkl"))
    throw std::runtime_error(archive->path() + ": is a zip archive without data.pkl, expected one of torch.save");
  if (found("constants.pkl"))
    throw std::runtime_error(archive->path() + ": is a TorchScript program, expected tensors that torch.save wrote");
  const std::shared_ptr<const InputFile> order = found("byteorder");
  const Pickle pickle = read_pickle(all_bytes(*found("data.pkl")), 0, archive->path());
  const auto storage = [&](const StorageName& name) -> Storage {
    const std::shared_ptr<const InputFile> file = found("data/" + name.key);
    if (!file) throw std::runtime_error(archive->path() + ": lacks the storage " + in_quotes(name.key));
    return {file, 0, file->size()};
  };
  return TensorFinder(pickle, archive, order && order->size() == 3 && all_bytes(*order) == "big", storage).find();
}

/// torch.save before 1.6: magic number, version, byte order, value and keys as pickles, then each storage behind its length.
class OldFile {
 public:
  explicit OldFile(std::shared_ptr<const InputFile> file) : file_(std::move(file)) {
    bytes_.resize(std::min<std::uint64_t>(file_->size(), longest_pickle));
    file_->read_at(0, bytes_);
  }

  TensorSet list() {
    const Pickle magic = next(), version = next(), system = next(), value = next(), keys = next();
    if (magic[magic.top].text != "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19" || version[version.top].integer != 1001)
      throw std::runtime_error(file_->path() + ": does not begin as a file of torch.save does");
    find_types(value);
    find_storages(keys);
    const auto storage = [&](const StorageName& name) {
      const auto found = storages_.find(name.key);
      if (found == storages_.end()) throw std::runtime_error(file_->path() + ": lacks the storage " + in_quotes(name.key));
      return found->second;
    };
    return TensorFinder(value, file_, is_big_endian(system), storage).find();
  }

 private:
  Pickle next() {
    Pickle pickle = read_pickle(bytes_, at_, file_->path());
    at_ = pickle.end;
    return pickle;
  }

  static bool is_big_endian(const Pickle& system) {
    const PickleValue& dict = system[system.top];
    for (std::size_t i = 0; dict.kind == PickleKind::dict && i + 1 < dict.items.size(); i += 2)
      if (system[dict.items[i]].text == "little_endian") return system[dict.items[i + 1]].integer == 0;
    return false;
  }

  /// Bytes of an element of each storage, from the names of the storages.
  void find_types(const Pickle& value) {
    for (const PickleValue& v : value.values) {
      if (v.kind != PickleKind::persistent) continue;
      const PickleValue& id = value[v.items[0]];
      if (id.kind == PickleKind::tuple && id.items.size() >= 5)
        types_[value[id.items[2]].text] = element_bytes(dtype_of_torch(value[id.items[1]].text));
    }
  }

  void find_storages(const Pickle& keys) {
    std::uint64_t at = at_;
    for (const int item : keys[keys.top].items) {
      const std::string& key = keys[item].text;
      std::array<char, 8> count{};
      if (file_->size() - at < count.size()) fail(key);
      file_->read_at(at, count);
      const std::uint64_t elements = number_in({count.data(), count.size()});
      std::uint64_t bytes = 0;
      at += count.size();
      if (__builtin_mul_overflow(elements, static_cast<std::uint64_t>(types_[key]), &bytes) || bytes > file_->size() - at)
        fail(key);
      storages_[key] = {file_, at, bytes};
      at += bytes;
    }
  }
  [[noreturn]] void fail(const std::string& key) const {
    throw std::runtime_error(file_->path() + ": ends within the storage " + in_quotes(key));
  }

  std::shared_ptr<const InputFile> file_;
  std::string bytes_;
  std::size_t at_ = 0;
  std::map<std::string, int> types_;
  std::map<std::string, Storage> storages_;
};

TensorSet list_torch(const std::shared_ptr<const InputFile>& file) {
  std::array<char, 4> beginning{};
  file->read_at(0, std::span(beginning).first(std::min<std::uint64_t>(file->size(), beginning.size())));
  const std::string_view start(beginning.data(), beginning.size());
  if (start == "PK\x03\x04") return list_archive(file);
  if (start.starts_with("\x80\x02\x8a\x0a")) return OldFile(file).list();
  throw std::runtime_error(file->path() + ": is no file of torch.save, which is a zip archive or begins with a pickle");
}

std::uint64_t effort_of_torch(const InputFile& file) {
  return file.size() + std::min<std::uint64_t>(file.size() * 16, 1 << 24);
}

}  // namespace

Reader torch_reader() { return {{".pt", ".pth", ".bin"}, FileKind::named, list_torch, effort_of_torch}; }

}  // namespace attoscope::app
