#include "app/session/session_places.h"

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <utility>

#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/files/zip.h"
#include "app/judge/row_numbers.h"
#include "app/tensors/changed_tensors.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/readers.h"
#include "app/tensors/tensor_set.h"
#include "app/tensors/tensors.h"
#include "app/words/numbers.h"
#include "kernels/experiment/rules.h"

namespace attoscope::app {
namespace {
namespace fs = std::filesystem;

using Spec = std::function<void(std::string&)>;

/// Limits of a search: files of one folder, and files that are tried for all missing ones together.
constexpr std::size_t most_entries = 20'000, most_tried = 400;

bool is_there(const std::string& typed) {
  const std::string path = with_home(typed);
  std::error_code error;
  return fs::is_directory(path, error) || can_open(path);
}

/// Texts of a session that name files, beside those of its experiments; names of random weights and tokens are none.
std::vector<std::string*> other_specs(ui::Session& s) {
  ui::KernelGradients& g = s.kernel_gradients;
  std::vector<std::string*> specs{&g.dq,         &g.dk,           &g.dv, &s.train.text.file, &s.model.checkpoint,
                                  &s.model.file, &s.model.against};
  std::erase_if(specs, [](const std::string* spec) { return spec->starts_with(ui::random_name); });
  return specs;
}

/// Calls f on the file of a log-sum-exp, without the tensor and the order behind it.
void with_lse_file(std::string& lse, const Spec& f) {
  std::string file = file_of_row_numbers(lse);
  if (file.empty()) return;
  const std::string behind = lse.substr(file.size());
  f(file);
  lse = file + behind;
}

/// Replaces each path in the text by place(path); unchanged if the text is invalid.
std::string placed(const std::string& spec, const std::function<std::string(const std::string&)>& place) {
  try {
    return with_paths(spec, place);
  } catch (const std::invalid_argument&) {  // told where it is read
    return spec;
  }
}

/// Paths in the text that do not exist.
std::vector<std::string> missing_of(const std::string& spec) {
  std::vector<std::string> missing;
  try {
    missing = paths_of(spec);
  } catch (const std::invalid_argument&) {  // told where it is read
  }
  std::erase_if(missing, is_there);
  return missing;
}

/// New paths of moved files, keyed by their old paths.
using Moved = std::map<std::string, std::string, std::less<>>;
std::string moved_to(const std::string& spec, const Moved& moved) {
  return placed(spec, [&](const std::string& path) {
    const auto found = moved.find(path);
    return found == moved.end() ? path : found->second;
  });
}

/// Index of a path among files of Q, K and V, 3 for a mask; none if the file holds several tensors or others.
std::optional<std::size_t> part_of_path(const TensorSpec& spec, const std::string& path) {
  if (spec.scales()[mask_part] && file_of_part(*spec.scales()[mask_part], mask_part) == path) return 3;
  const std::vector<std::string> list = files_in_list(spec.files());
  const bool named = lists_tensors(spec.files());
  if (list.size() != 3 && !named) return std::nullopt;
  for (std::size_t i = 0; i < std::min<std::size_t>(list.size(), 3); ++i)
    if ((named ? tensor_ref(list[i]).file : list[i]) == path) return i;
  return std::nullopt;
}

std::uint64_t digest_of_part(const Input& input, std::optional<std::size_t> part) {
  constexpr std::array fields{&PartDigests::q, &PartDigests::k, &PartDigests::v, &PartDigests::mask};
  return part && input.parts.*fields[*part] != 0 ? input.parts.*fields[*part] : input.digest;
}

/// A text of an experiment that names files, with its kept digest and a function that digests other files.
struct KeptSpec {
  std::string* spec = nullptr;
  int head = 0;
  /// Kept digest of the tensors in `path`.
  std::function<std::uint64_t(const std::string& path)> kept;
  /// Digest of the same tensors read from `spec`; throws if it cannot be read.
  std::function<std::uint64_t(const std::string& spec, const std::string& path)> read;
};

KeptSpec kept_input(Input& input, const ReadWatch& watch) {
  const Input kept = input;
  const auto part = [kept](const std::string& path) { return part_of_path(kept.file, path); };
  return {&input.file, kept.index, [kept, part](const std::string& path) { return digest_of_part(kept, part(path)); },
          [kept, part, watch](const std::string& spec, const std::string& path) {
            Input other;
            other.kind = InputKind::tensors;
            other.file = spec;
            other.index = kept.index;
            load_tensors(other, watch);
            return kept.parts.q != 0 ? digest_of_part(other, part(path)) : other.digest;
          }};
}

KeptSpec kept_output(KernelOutput& output, const Problem& problem, GivenTensor which, const ReadWatch& watch) {
  const KernelOutput kept = output;
  return {&output.file, kept.index, [kept](const std::string&) { return kept.digest; },
          [kept, &problem, which, watch](const std::string& spec, const std::string&) {
            KernelOutput other;
            other.file = spec;
            other.index = kept.index;
            load_given(other, problem, which, watch);
            return other.digest;
          }};
}

/// The texts of an experiment, the input first: the others are read with the places that the search has found by then.
std::vector<KeptSpec> kept_specs(Experiment& e, const ReadWatch& watch) {
  std::vector<KeptSpec> all;
  if (e.problem.input.kind == InputKind::tensors) all.push_back(kept_input(e.problem.input, watch));
  for (const GivenTensor which : given_tensors(e)) all.push_back(kept_output(given_tensor(e, which), e.problem, which, watch));
  return all;
}

/// Files of `folder` that may be the missing one: first the file of the same name, then files with the same ending.
std::vector<std::string> candidates(const std::string& folder, const std::string& missing) {
  const fs::path name = fs::path(missing).filename();
  if (name.empty()) return {};  // "FOLDER/" has no name to search for
  const Reader* const reader = reader_of(missing);
  std::vector<std::string> others;
  std::error_code error;
  std::size_t entries = 0;
  for (fs::directory_iterator at(folder, error), end; !error && at != end && ++entries < most_entries; at.increment(error)) {
    const std::string path = at->path().string();
    std::error_code ignored;
    if (at->path().filename() != name && reader != nullptr && reader_of(path) == reader && at->is_regular_file(ignored))
      others.push_back(path);
  }
  std::ranges::sort(others);
  std::vector<std::string> all;
  if (const std::string same = (fs::path(folder) / name).string(); is_there(same)) all.push_back(same);
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

/// Finds the missing files of texts, one text after the other.
class Search {
 public:
  Search(std::string folder, ReadWatch watch) : folder_(std::move(folder)), watch_(std::move(watch)) {}

  void find(Experiment& e) {
    for (const KeptSpec& kept : kept_specs(e, watch_)) find(kept);
    with_lse_file(e.loaded.lse, [&](std::string& file) { find_by_name(file); });
  }
  /// Finds the missing files of a text without a kept digest.
  void find_by_name(std::string& spec) {
    if (!spec.empty()) find({&spec, 0, [](const std::string&) { return std::uint64_t{0}; }, {}});
  }
  void find(const KeptSpec& kept) {
    *kept.spec = moved_to(*kept.spec, moved_);
    const std::vector<std::string> missing = missing_of(*kept.spec);
    Moved found;
    for (const std::string& path : missing) {
      const std::optional<std::string> at = place_of(kept, path, missing, found);
      if (at) found[path] = *at;
    }
    moved_.insert(found.begin(), found.end());
    *kept.spec = moved_to(*kept.spec, found);
  }

 private:
  std::optional<std::string> place_of(const KeptSpec& kept, const std::string& path, const std::vector<std::string>& missing,
                                      const Moved& found) {
    const std::uint64_t wanted = kept.kept(path);
    for (const std::string& file : candidates(folder_, path)) {
      if (wanted == 0) return fs::path(file).filename() == fs::path(path).filename() ? std::optional(file) : std::nullopt;
      if (watch_ && watch_(0)) throw std::runtime_error("stopped");
      if (++tried_ > most_tried) return std::nullopt;
      for (const bool by_name : {true, false})  // other missing files: by their names, or also this file
        if (is(kept, path, wanted, trial(path, file, missing, found, by_name))) return file;
    }
    return std::nullopt;
  }
  Moved trial(const std::string& path, const std::string& file, const std::vector<std::string>& missing, const Moved& found,
              bool by_name) const {
    Moved all = found;
    for (const std::string& other : missing)
      if (!all.contains(other)) all[other] = by_name ? (fs::path(folder_) / fs::path(other).filename()).string() : file;
    all[path] = file;
    return all;
  }
  bool is(const KeptSpec& kept, const std::string& path, std::uint64_t wanted, const Moved& places) const try {
    return kept.read(moved_to(*kept.spec, places), path) == wanted;
  } catch (const std::exception&) {  // the file has no such tensors
    if (watch_ && watch_(0)) throw;
    return false;
  }

  std::string folder_;
  ReadWatch watch_;
  Moved moved_;  ///< by the texts before
  std::size_t tried_ = 0;
};

}  // namespace

void for_each_spec(Experiment& e, const Spec& f) {
  for (std::string* const spec :
       {&e.problem.input.file, &e.loaded.file, &e.backward.d_o_file.file, &e.backward.d_lse_file.file})
    if (!spec->empty()) f(*spec);
  with_lse_file(e.loaded.lse, f);
}

void for_each_spec(ui::Session& session, const Spec& f) {
  for_each_spec(session.experiment, f);
  for (ui::Pin& pin : session.pins) for_each_spec(pin.experiment, f);
  for (std::string* const spec : other_specs(session))
    if (!spec->empty()) f(*spec);
}

void place_beside(ui::Session& session, const std::string& file) {
  const bool packed = file.ends_with(pack_ending);
  std::error_code error;
  const fs::path folder = packed ? fs::absolute(file, error) : fs::absolute(file, error).parent_path();
  const auto place = [&](const std::string& path) {
    const fs::path written(path);
    if (packed && (written.is_absolute() || written.has_parent_path()))
      throw std::runtime_error(file + ": its session names " + in_quotes(path) + ", expected a file inside the archive");
    if (path.empty() || written.is_absolute()) return path;
    const std::string beside = (folder / written).lexically_normal().string();
    return packed || is_there(beside) ? beside : path;
  };
  for_each_spec(session, [&](std::string& spec) { spec = placed(spec, place); });
}

std::optional<MissingFile> missing_file(const Experiment& experiment) {
  Experiment e = experiment;
  for (const KeptSpec& kept : kept_specs(e, {}))
    for (const std::string& path : missing_of(*kept.spec)) {
      const std::uint64_t digest = kept.kept(path);
      const std::string of_head = ", whose head " + std::to_string(kept.head) + " has the digest " + hex16(digest) + ",";
      return MissingFile{path, path + (digest == 0 ? "" : of_head) + " is missing"};
    }
  return std::nullopt;
}

std::vector<std::string> load_found(Experiment& e) try { return load_kept(e); } catch (const std::runtime_error&) {
  if (const std::optional<MissingFile> missing = missing_file(e))
    throw std::runtime_error(missing->sentence + ", and no file beside the session has its bits");
  throw;
}

bool misses_files(const ui::Session& session) {
  ui::Session own = session;
  bool misses = false;
  for_each_spec(own, [&](const std::string& spec) { misses = misses || !missing_of(spec).empty(); });
  return misses;
}

void find_files(Experiment& experiment, const std::string& folder, const ReadWatch& watch) {
  Search(folder, watch).find(experiment);
}

void find_files(ui::Session& session, const std::string& folder, const ReadWatch& watch) {
  Search search(folder, watch);
  search.find(session.experiment);
  for (ui::Pin& pin : session.pins) search.find(pin.experiment);
  for (std::string* const spec : other_specs(session)) search.find_by_name(*spec);
}

void take_places(ui::Session& session, ui::Session found) {
  std::vector<std::string> places;
  for_each_spec(found, [&](const std::string& spec) { places.push_back(spec); });
  std::size_t i = 0;
  for_each_spec(session, [&](std::string& spec) {
    if (i < places.size() && !missing_of(spec).empty()) spec = places[i];
    ++i;
  });
}

ui::Session with_file_at(ui::Session session, const std::string& missing, const std::string& found) {
  const fs::path folder = fs::path(found).parent_path();
  for_each_spec(session, [&](std::string& spec) {
    spec = placed(spec, [&](const std::string& path) {
      if (path == missing) return found;
      const std::string beside = (folder / fs::path(path).filename()).string();
      return !is_there(path) && is_there(beside) ? beside : path;
    });
  });
  return session;
}

}  // namespace attoscope::app
