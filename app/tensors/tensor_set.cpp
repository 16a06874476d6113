#include "app/tensors/tensor_set.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <span>
#include <stdexcept>

#include "app/tensors/call_scales.h"
#include "app/tensors/mask_files.h"
#include "app/tensors/name_words.h"
#include "app/words/numbers.h"

namespace attoscope::app {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t most_files = 4096, most_entries = 50'000, most_open = 256;
constexpr int deepest_folder = 3;

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// Name of a file in a folder without its ending: "call_1/q.npy" as "call_1.q".
std::string stem_of(const std::string& path) {
  std::string stem = without_ending(path);
  std::ranges::replace(stem, '/', '.');
  return stem;
}

std::string file_name(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

/// Prefix of the names in a file; "inputs" and "outputs", the file names of dumps, are dropped.
std::string prefix_of(const std::string& stem) {
  const std::string_view last = last_name(stem);
  if (last != "inputs" && last != "outputs") return stem;
  return stem.size() == last.size() ? "" : stem.substr(0, stem.size() - last.size() - 1);
}

std::string joined(const std::string& prefix, const std::string& name) {
  return prefix.empty() || name.empty() ? prefix + name : prefix + "." + name;
}

/// Adds the tensors of a file, with `prefix` before their names.
void add(TensorSet& set, TensorSet of_file, const std::string& prefix) {
  for (NamedTensor& t : of_file.tensors) {
    t.name = joined(prefix, t.name);
    set.tensors.push_back(std::move(t));
  }
  for (StoredValue& v : of_file.values) {
    v.name = joined(prefix, v.name);
    set.values.push_back(std::move(v));
  }
  set.metadata = std::move(of_file.metadata);
}

/// A file that is reopened for each read, as a folder may hold thousands.
std::shared_ptr<const InputFile> reopened(const std::string& path, InputFile::Links links) {
  const auto read = [path, links](std::uint64_t offset, std::span<char> bytes) {
    InputFile(path, links).read_at(offset, bytes);
  };
  return std::make_shared<const InputFile>(path, InputFile(path, links).size(), read);
}

void add_file(TensorSet& set, const std::string& path, const std::string& stem, InputFile::Links links) {
  const Reader& reader = *reader_of(path);
  const bool few = set.tensors.size() < most_open;
  const auto file = few ? std::make_shared<const InputFile>(path, links) : reopened(path, links);
  add(set, reader.list(file), reader.kind == FileKind::named ? prefix_of(stem) : stem);
}

/// Tensor files and folders in a folder, as paths within it.
std::vector<std::string> files_in(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> files;
  std::size_t entries = 0, links = 0;
  fs::recursive_directory_iterator at(folder, error), end;  // does not follow links
  for (; !error && at != end; at.increment(error)) {
    if (++entries > most_entries)
      throw std::runtime_error(folder + ": holds more than " + std::to_string(most_entries) + " files");
    if (at.depth() + 1 >= deepest_folder) at.disable_recursion_pending();
    const fs::file_status status = at->symlink_status(error);
    const std::string path = at->path().lexically_relative(folder).string();
    if (reader_of(path) == nullptr) continue;
    if (fs::is_symlink(status)) ++links;
    if (fs::is_regular_file(status)) files.push_back(path);
  }
  if (error) throw std::runtime_error(folder + ": cannot be listed: " + error.message());
  if (files.empty())
    throw std::runtime_error(folder + ": holds no " + reader_endings() + " file" +
                             (links > 0 ? ", and links in folders are not followed" : ""));
  if (files.size() > most_files)
    throw std::runtime_error(folder + ": holds " + std::to_string(files.size()) + " tensor files, expected at most " +
                             std::to_string(most_files));
  std::ranges::sort(files, natural_less);
  return files;
}

std::vector<std::string> paths_in(const std::string& folder) {
  std::vector<std::string> paths;
  for (const std::string& path : files_in(folder)) paths.push_back((fs::path(folder) / path).string());
  return paths;
}

TensorSet set_of_folder(const std::string& folder) {
  TensorSet set;
  for (const std::string& path : files_in(folder)) {
    add_file(set, (fs::path(folder) / path).string(), stem_of(path), InputFile::Links::refused);
    set.is_dump |= holds(FileKind::named, path) && without_ending(path).ends_with("inputs");
  }
  set.metadata.clear();  // each file has its own
  return set;
}

/// True for Q, K, V and perhaps O, each FILE:TENSOR or a file of one tensor, at least one of them FILE:TENSOR. False if a head
/// index follows the last tensor.
bool are_tensors(const std::vector<std::string>& list) {
  const auto is_tensor = [](const std::string& text) {
    const TensorRef ref = tensor_ref(text);
    return holds(FileKind::one, text) || (!ref.tensor.empty() && reader_of(ref.file) != nullptr);
  };
  const std::string last = tensor_ref(list.back()).tensor;
  const bool has_head = last.find(':') != std::string::npos && without_head(last) != last;
  return (list.size() == 3 || list.size() == 4) && std::ranges::all_of(list, is_tensor) && !has_head &&
         std::ranges::any_of(list, [](const std::string& text) { return !holds(FileKind::one, text); });
}

bool are_of_one_tensor(const std::vector<std::string>& files) {
  return std::ranges::all_of(files, [](const std::string& file) { return holds(FileKind::one, file); });
}

/// Adds the tensor of FILE:TENSOR, or of a file with one tensor, as `name`.
void add_tensor(TensorSet& set, const std::string& text, const char* name) {
  const TensorRef ref = tensor_ref(text);
  const TensorSet of_file = list_file(ref.file);
  set.tensors.push_back(tensor_in(of_file, ref));
  set.tensors.back().name = name;
}

TensorSet set_of_list(const std::vector<std::string>& files) {
  TensorSet set;
  if (are_tensors(files)) {
    for (std::size_t i = 0; i < files.size(); ++i) add_tensor(set, files[i], part_names[i]);
    return set;
  }
  const bool qkv = files.size() == 3 && are_of_one_tensor(files);
  for (std::size_t i = 0; i < files.size(); ++i)
    add_file(set, files[i], qkv ? part_names[i] : stem_of(file_name(files[i])), InputFile::Links::followed);
  if (files.size() > 1) set.metadata.clear();
  return set;
}

}  // namespace

bool has_head_behind_scale(const std::string& text) {
  const std::string file = without_head(text);
  const TensorSpec spec = file;
  return file.size() < text.size() && (spec.scales() != ScaleSpecs{} || spec.packed().any());
}

int HeadSpec::index(const std::string& subject) const {
  if (!head) return 0;
  const auto number = to_number<int>(*head);
  if (number && *number >= 0) return *number;
  throw std::invalid_argument(subject + " has head index " + in_quotes(*head) + ", expected a whole number from 0 on");
}

std::optional<HeadSpec> head_spec(const std::string& text, bool (*names)(const TensorSpec& spec)) {
  TensorSpec whole(text);
  if (!has_head_behind_scale(text) && names(whole)) return HeadSpec{std::move(whole)};
  const std::size_t colon = text.rfind(':');
  TensorSpec before(text.substr(0, colon));
  if (colon == std::string::npos || !names(before)) return std::nullopt;
  return HeadSpec{std::move(before), text.substr(colon + 1)};
}

bool lists_tensors(const std::string& files) { return are_tensors(files_in_list(files)); }

std::string without_head(const std::string& text) {
  if (text.find(',') != std::string::npos && lists_tensors(text)) return text;
  const std::size_t colon = text.rfind(':');
  const bool names_head = colon != std::string::npos && to_number<int>(std::string_view(text).substr(colon + 1));
  return names_head ? text.substr(0, colon) : text;
}

TensorRef scale_file(const ScaleSpec& scale) {
  TensorRef ref = tensor_ref(scale.tensor);
  if (is_tensor_file(ref.file)) return ref;
  throw std::invalid_argument("scale " + in_quotes(scale_spec_text(scale)) + " is not understood, expected " + tensor_specs() +
                              ", with [" + std::string(scale_groups) + "] behind it or not");
}

std::string file_of_part(const ScaleSpec& spec, std::size_t part) {
  return part < mask_part ? scale_file(spec).file : mask_spec(spec.tensor).ref.file;
}

std::vector<std::string> files_in_list(const std::string& files) {
  std::vector<std::string> list;
  std::size_t begin = 0;
  for (std::size_t comma = files.find(','); comma != std::string::npos; comma = files.find(',', comma + 1)) {
    const std::string_view name = std::string_view(files).substr(begin, comma - begin);
    if (reader_of(name) == nullptr && tensor_ref(std::string(name)).tensor.empty()) continue;  // a comma in a folder's name
    list.emplace_back(name);
    begin = comma + 1;
  }
  list.push_back(files.substr(begin));
  return list;
}

bool is_single_file(const std::string& files) { return is_tensor_file(files) && names_one_file(files); }
bool names_one_file(const std::string& files) { return reader_of(files) != nullptr && files_in_list(files).size() == 1; }

bool names_tensor_files(const TensorSpec& spec) {
  const std::vector<std::string> list = files_in_list(spec.files());
  if (are_tensors(list)) return true;
  const Reader* const last = reader_of(list.back());
  if (list.size() == 1) return (last != nullptr && last->kind != FileKind::one) || is_folder(list[0]);
  if (last == nullptr) return false;
  if (!are_of_one_tensor(list) || list.size() == 3) return true;
  std::vector<TensorName> names;
  for (const std::string& file : list) names.push_back({stem_of(file_name(file))});
  const CallNames found = calls_in(names);
  const auto with_outputs = [](const NamedCall& c) { return c.o >= 0; };
  const auto outputs = static_cast<std::size_t>(std::ranges::count_if(found.calls, with_outputs));
  const auto scales = static_cast<std::size_t>(std::ranges::count_if(names, is_called_scale, &TensorName::name));
  return !found.calls.empty() && found.calls.size() * 3 + outputs + scales == list.size();
}

std::vector<std::string> single_files_of(const TensorSpec& spec) {
  std::vector<std::string> paths = is_folder(spec.files()) ? paths_in(spec.files()) : files_in_list(spec.files());
  if (lists_tensors(spec.files())) {
    for (std::string& path : paths) path = tensor_ref(path).file;
    std::ranges::sort(paths);
    paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  }
  const auto add = [&](std::string file) {
    if (std::ranges::find(paths, file) == paths.end()) paths.push_back(std::move(file));
  };
  for (std::size_t part = 0; part < spec.scales().size(); ++part)
    if (spec.scales()[part]) add(file_of_part(*spec.scales()[part], part));
  for (const PackedPart part : packed_tensors)
    if (const std::string& text = spec.packed()[part]; !text.empty()) add(tensor_ref(text).file);
  return paths;
}

std::string with_paths(const std::string& text, const std::function<std::string(const std::string&)>& place) {
  const std::optional<HeadSpec> typed = head_spec(text, names_tensor_files);
  const int head = typed && typed->head ? to_number<int>(*typed->head).value_or(-1) : -1;
  const bool names_head = head >= 0;
  const TensorSpec spec = names_head ? typed->file : TensorSpec(text);
  std::string files;
  for (const std::string& file : files_in_list(spec.files())) {
    const std::string path = tensor_ref(file).file;
    files += (files.empty() ? "" : ",") + place(path) + file.substr(path.size());
  }
  ScaleSpecs scales = spec.scales();
  for (std::size_t part = 0; part < scales.size(); ++part)
    if (const std::string file = scales[part] ? file_of_part(*scales[part], part) : ""; !file.empty())
      scales[part]->tensor = place(file) + scales[part]->tensor.substr(file.size());
  PackedSpecs packed = spec.packed();
  for (const PackedPart part : packed_tensors)
    if (const std::string file = tensor_ref(packed[part]).file; !file.empty())
      packed[part] = place(file) + packed[part].substr(file.size());
  return TensorSpec(files, spec.layout(), scales, packed).text() + (names_head ? ":" + std::to_string(head) : "");
}

std::vector<std::string> paths_of(const std::string& spec) {
  std::vector<std::string> paths;
  with_paths(spec, [&](const std::string& path) {
    if (!path.empty() && std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
    return path;
  });
  return paths;
}

std::string absolute_spec(const std::string& text) {
  return with_paths(text, [](const std::string& path) { return fs::absolute(path).lexically_normal().string(); });
}

TensorSet open_tensor_set(const std::string& files) {
  const std::vector<std::string> list = files_in_list(files);
  if (are_tensors(list)) return set_of_list(list);
  const Reader* const last = reader_of(list.back());
  if (is_folder(files) && reader_of(files) == nullptr) return set_of_folder(files);
  if (last == nullptr || (list.size() > 1 && !names_tensor_files({files, std::nullopt})))
    throw std::runtime_error("input file " + in_quotes(files) + " is not understood, expected " + tensor_file_specs());
  if (list.size() > 1) return set_of_list(list);
  TensorSet set;
  add(set, list_file(files), last->kind == FileKind::one ? stem_of(file_name(files)) : "");
  return set;
}

std::vector<TensorName> names_of(const TensorSet& set) {
  std::vector<TensorName> names;
  for (const NamedTensor& t : set.tensors) names.push_back({t.name, t.refusal.empty()});
  return names;
}

void check_nameless(const TensorSet& set) {
  if (set.tensors.size() == 1 && set.tensors.front().name.empty()) readable(set.tensors.front());
}

std::string tensor_list(const TensorSet& set) {
  std::string held;
  for (const NamedTensor& t : std::span(set.tensors).first(std::min<std::size_t>(set.tensors.size(), 12)))
    held += (held.empty() ? "" : ", ") + in_quotes(t.name);
  return held.empty() ? "other objects" : held + (set.tensors.size() > 12 ? ", ..." : "");
}

const NamedTensor& tensor_in(const TensorSet& set, const TensorRef& ref, std::span<const std::string_view> usual,
                             const std::string& option) {
  const std::array<std::string_view, 1> asked{ref.tensor};
  const bool named = !ref.tensor.empty();
  std::string wanted;
  for (const std::string_view name : named ? asked : usual) {
    if (const auto t = std::ranges::find(set.tensors, name, &NamedTensor::name); t != set.tensors.end()) return *t;
    wanted += (wanted.empty() ? " " : ", ") + in_quotes(name);
  }
  if (!named && option.empty() && set.tensors.size() == 1) return set.tensors.front();
  check_nameless(set);
  throw std::runtime_error(ref.file + (wanted.empty() ? ": names no single tensor" : ": has no tensor" + wanted) + ", only " +
                           tensor_list(set) +
                           (option.empty() ? "" : "; " + option + " " + in_quotes(ref.file + ":NAME") + " names one"));
}

NamedTensor open_tensor(const TensorRef& ref, std::span<const std::string_view> usual) {
  return tensor_in(list_file(ref.file), ref, usual);
}

TensorRef ref_of_option(const std::string& option, const std::string& text) {
  TensorRef ref = tensor_ref(text);
  if (is_tensor_file(ref.file) || (!ref.tensor.empty() && reader_of(ref.file) != nullptr)) return ref;
  throw std::runtime_error(option + " " + in_quotes(text) + " is not understood, expected " + tensor_specs());
}

MatrixNumbers read_numbers(const std::string& option, const std::string& text, std::size_t rank) {
  const NamedTensor found = numeric(open_tensor(ref_of_option(option, text)));
  StoredTensor t = found.tensor;
  const auto fits = [](std::uint64_t size) { return size >= 1 && size <= std::numeric_limits<int>::max(); };
  if (t.shape.size() != rank) refuse_shape(t, rank == 2 ? "[rows, K]" : "[rows]");
  if (!std::ranges::all_of(t.shape, fits)) refuse_shape(t, "sizes from 1 to 2147483647");
  t.shape.resize(2, 1);
  MatrixNumbers x{static_cast<int>(t.shape[0]), static_cast<int>(t.shape[1]), {}};
  check_memory(found.file->path(), 2, x.rows, x.columns);
  x.values = read_matrix(*found.file, t, {1, x.rows, x.columns}, 0);
  return x;
}

}  // namespace attoscope::app
