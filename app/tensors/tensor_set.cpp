#include "app/tensors/tensor_set.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <stdexcept>

#include "app/files/zip.h"
#include "app/tensors/npy.h"
#include "app/tensors/safetensors.h"
#include "app/tensors/scale_names.h"
#include "app/words/numbers.h"

namespace attoscope {
namespace fs = std::filesystem;
namespace {

constexpr std::array<std::string_view, 3> endings{".npy", ".safetensors", ".npz"};
constexpr std::size_t most_files = 4096, most_entries = 50'000, most_open = 256;
constexpr int deepest_folder = 3;

std::string_view ending_of(std::string_view path) {
  const auto found = std::ranges::find_if(endings, [&](std::string_view e) { return path.ends_with(e); });
  return found == endings.end() ? std::string_view() : *found;
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// Name of a file in a folder without its ending: "call_1/q.npy" as "call_1.q".
std::string stem_of(const std::string& path) {
  std::string stem = path.substr(0, path.size() - ending_of(path).size());
  std::ranges::replace(stem, '/', '.');
  return stem;
}

/// Prefix of the names in a file; "inputs" and "outputs", the file names of dumps, are dropped.
std::string prefix_of(const std::string& stem) {
  const std::string last = stem.substr(stem.find_last_of('.') + 1);
  if (last != "inputs" && last != "outputs") return stem;
  return stem.size() == last.size() ? "" : stem.substr(0, stem.size() - last.size() - 1);
}

std::string joined(const std::string& prefix, const std::string& name) {
  return prefix.empty() || name.empty() ? prefix + name : prefix + "." + name;
}

void add_npy(TensorSet& set, const std::shared_ptr<const InputFile>& file, const std::string& name) {
  const StoredTensor t = read_npy(*file);
  set.tensors.push_back({name, std::string(type_name(t.type)), "", file, t});
}

void add_safetensors(TensorSet& set, const std::shared_ptr<const InputFile>& file, const std::string& prefix) {
  for (ListedTensor& t : list_safetensors(*file, set.metadata))
    set.tensors.push_back({joined(prefix, t.name), t.dtype, t.refusal, file, std::move(t.tensor)});
}

void add_npz(TensorSet& set, const std::string& path, const std::string& prefix) {
  for (const auto& file : files_in_zip(path, ".npy"))
    add_npy(set, file, joined(prefix, stem_of(file->path().substr(path.size() + 2))));
}

/// A file that is opened for each read, as there may be thousands.
std::shared_ptr<const InputFile> reopened(const std::string& path, InputFile::Links links) {
  const auto read = [path, links](std::uint64_t offset, std::span<char> bytes) {
    InputFile(path, links).read_at(offset, bytes);
  };
  return std::make_shared<const InputFile>(path, InputFile(path, links).size(), read);
}

void add_file(TensorSet& set, const std::string& path, const std::string& stem, InputFile::Links links) {
  if (path.ends_with(".npz")) {
    const InputFile checked(path, links);
    return add_npz(set, path, stem);
  }
  const bool few = set.tensors.size() < most_open;
  const auto file = few ? std::make_shared<const InputFile>(path, links) : reopened(path, links);
  if (path.ends_with(".npy")) return add_npy(set, file, stem);
  add_safetensors(set, file, prefix_of(stem));
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
    if (ending_of(path).empty()) continue;
    if (fs::is_symlink(status)) ++links;
    if (fs::is_regular_file(status)) files.push_back(path);
  }
  if (error) throw std::runtime_error(folder + ": cannot be listed: " + error.message());
  if (files.empty())
    throw std::runtime_error(folder + ": holds no .npy, .safetensors or .npz file" +
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
    set.is_dump |= path.ends_with("inputs.safetensors");
  }
  set.metadata.clear();  // files have different ones
  return set;
}

TensorSet set_of_list(const std::vector<std::string>& files) {
  TensorSet set;
  const bool qkv = files.size() == 3 && std::ranges::all_of(files, [](const std::string& f) { return f.ends_with(".npy"); });
  constexpr std::array<const char*, 3> parts{"q", "k", "v"};
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string name = files[i].substr(files[i].find_last_of('/') + 1);
    add_file(set, files[i], qkv ? parts[i] : stem_of(name), InputFile::Links::followed);
  }
  if (files.size() > 1) set.metadata.clear();
  return set;
}

constexpr std::array<std::string_view, 4> scale_keys{",q_scale=", ",k_scale=", ",v_scale=", ",o_scale="};

/// The text before a layout in brackets, which is stored in `layout`.
std::string_view without_layout(std::string_view text, std::optional<HeadLayout>& layout) {
  const std::size_t open = text.rfind('[');
  if (!text.ends_with(']') || open == std::string_view::npos) return text;
  layout = parse_layout(text.substr(open + 1, text.size() - open - 2));
  return layout ? text.substr(0, open) : text;
}

/// Position and part of the first scale that is not in `known`; at the end: none.
struct ScalePlace {
  std::size_t at = 0, part = 0;
};

ScalePlace first_scale(std::string_view text, const ScaleSpecs& known) {
  ScalePlace first{text.size(), 0};
  for (std::size_t part = 0; part < known.size(); ++part)
    if (const std::size_t at = text.find(scale_keys[part]); known[part].empty() && at < first.at) first = {at, part};
  return first;
}

/// Stores the text after each key, up to the next one; `text` begins with a key.
void take_scales(std::string_view text, ScaleSpecs& scales) {
  while (!text.empty()) {
    const std::size_t part = first_scale(text, scales).part;
    text.remove_prefix(scale_keys[part].size());
    scales[part] = " ";  // a second key of this part is text
    const std::size_t end = first_scale(text, scales).at;
    if (end > 0) scales[part] = text.substr(0, end);
    text.remove_prefix(end);
  }
}

}  // namespace

FileSpec file_spec(std::string_view text) {
  FileSpec spec;
  text = without_layout(text, spec.layout);
  const std::size_t scales = first_scale(text, spec.scales).at;
  take_scales(text.substr(scales), spec.scales);
  std::optional<HeadLayout> of_files;
  spec.files = without_layout(text.substr(0, scales), of_files);
  if (of_files && spec.layout) spec.files = text.substr(0, scales);  // given twice
  if (!spec.layout) spec.layout = of_files;
  return spec;
}

std::string file_spec_text(const FileSpec& spec) {
  std::string text = spec.files;
  for (std::size_t part = 0; part < spec.scales.size(); ++part)
    if (!spec.scales[part].empty()) text += scale_keys[part].data() + spec.scales[part];
  return spec.layout ? text + "[" + layout_text(*spec.layout) + "]" : text;
}

ScaleFile parse_scale_file(const std::string& text) {
  ScaleFile scale{text, "", std::nullopt};
  const std::size_t open = text.rfind('[');
  if (text.ends_with(']') && open != std::string::npos) {
    scale.said = parse_scale_group(std::string_view(text).substr(open + 1, text.size() - open - 2));
    if (scale.said) scale.file.resize(open);
  }
  constexpr std::string_view of_tensor = ".safetensors:";
  if (const std::size_t name = scale.file.rfind(of_tensor); name != std::string::npos) {
    scale.tensor = scale.file.substr(name + of_tensor.size());
    scale.file.resize(name + of_tensor.size() - 1);
  }
  if (scale.file.ends_with(".npy") || scale.file.ends_with(".safetensors")) return scale;
  throw std::invalid_argument("scale " + in_quotes(text) +
                              " is not understood, expected FILE.npy, FILE.safetensors or FILE.safetensors:TENSOR, with [" +
                              std::string(scale_groups) + "] behind it or not");
}

bool has_head_behind_scale(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !to_number<int>(text.substr(colon + 1))) return false;
  return file_spec(text.substr(0, colon)).scales != ScaleSpecs{};
}

std::optional<HeadSpec> head_spec(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const auto index = colon == std::string_view::npos ? std::nullopt : to_number<int>(text.substr(colon + 1));
  if (!has_head_behind_scale(text) && names_tensor_files(file_spec(text).files)) return HeadSpec{std::string(text)};
  if (colon == std::string_view::npos || !names_tensor_files(file_spec(text.substr(0, colon)).files)) return std::nullopt;
  if (!index || *index < 0) return std::nullopt;
  return HeadSpec{std::string(text.substr(0, colon)), *index, true};
}

std::vector<std::string> files_in_list(const std::string& files) {
  std::vector<std::string> list;
  std::size_t begin = 0;
  for (std::size_t comma = files.find(','); comma != std::string::npos; comma = files.find(',', comma + 1)) {
    const std::string_view name = std::string_view(files).substr(begin, comma - begin);
    if (ending_of(name).empty()) continue;  // a comma in a folder's name
    list.emplace_back(name);
    begin = comma + 1;
  }
  list.push_back(files.substr(begin));
  return list;
}

bool names_tensor_files(std::string_view files) {
  const std::vector<std::string> list = files_in_list(std::string(files));
  const auto is_npy = [](const std::string& f) { return f.ends_with(".npy"); };
  if (list.size() == 1) return files.ends_with(".safetensors") || files.ends_with(".npz") || is_folder(list[0]);
  if (ending_of(list.back()).empty()) return false;
  if (!std::ranges::all_of(list, is_npy) || list.size() == 3) return true;
  std::vector<TensorName> names;
  for (const std::string& file : list) names.push_back({stem_of(file.substr(file.find_last_of('/') + 1))});
  const CallNames found = calls_in(names);
  const auto with_outputs = [](const NamedCall& c) { return c.o >= 0; };
  const auto outputs = static_cast<std::size_t>(std::ranges::count_if(found.calls, with_outputs));
  const auto scales = static_cast<std::size_t>(std::ranges::count_if(names, is_called_scale, &TensorName::name));
  return !found.calls.empty() && found.calls.size() * 3 + outputs + scales == list.size();
}

std::vector<std::string> single_files_of(const std::string& text) {
  const FileSpec spec = file_spec(text);
  std::vector<std::string> paths = is_folder(spec.files) ? paths_in(spec.files) : files_in_list(spec.files);
  for (const std::string& scale : spec.scales) {
    if (scale.empty()) continue;
    std::string file = parse_scale_file(scale).file;
    if (std::ranges::find(paths, file) == paths.end()) paths.push_back(std::move(file));
  }
  return paths;
}

std::string absolute_spec(const std::string& spec) {
  const auto absolute = [](const std::string& path) { return fs::absolute(path).lexically_normal().string(); };
  const auto head = head_spec(spec);
  const std::string behind = head && head->says_index ? ":" + std::to_string(head->index) : "";
  FileSpec named = file_spec(head ? head->files : spec);
  std::string files;
  for (const std::string& file : files_in_list(named.files)) files += (files.empty() ? "" : ",") + absolute(file);
  named.files = files;
  for (std::string& scale : named.scales)
    if (const std::string file = scale.empty() ? "" : parse_scale_file(scale).file; !file.empty())
      scale = absolute(file) + scale.substr(file.size());
  return file_spec_text(named) + behind;
}

TensorSet open_tensor_set(const std::string& files) {
  if (is_folder(files) && ending_of(files).empty()) return set_of_folder(files);
  const std::vector<std::string> list = files_in_list(files);
  if (ending_of(list.back()).empty() || (list.size() > 1 && !names_tensor_files(files)))
    throw std::runtime_error("input file " + in_quotes(files) + " is not understood, expected " +
                             std::string(tensor_file_specs));
  if (list.size() > 1) return set_of_list(list);
  TensorSet set;
  if (files.ends_with(".npz"))
    add_npz(set, files, "");
  else if (files.ends_with(".npy"))
    add_npy(set, std::make_shared<const InputFile>(files), stem_of(files.substr(files.find_last_of('/') + 1)));
  else
    add_safetensors(set, std::make_shared<const InputFile>(files), "");
  return set;
}

std::vector<TensorName> names_of(const TensorSet& set) {
  std::vector<TensorName> names;
  for (const NamedTensor& t : set.tensors) names.push_back({t.name, t.refusal.empty()});
  return names;
}

const NamedTensor& readable(const NamedTensor& tensor) {
  if (!tensor.refusal.empty()) throw std::runtime_error(tensor.refusal);
  return tensor;
}

}  // namespace attoscope
