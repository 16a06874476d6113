#include "app/session/session_pack.h"

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/files/zip.h"
#include "app/judge/lse_verdict.h"
#include "app/session/session.h"
#include "app/session/session_places.h"
#include "app/tensors/call_files.h"
#include "app/tensors/exact_tensors.h"
#include "app/tensors/head_numbers.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/tensor_set.h"
#include "app/words/numbers.h"
#include "kernels/experiment/rules.h"

namespace attoscope::app {
namespace {

constexpr int all_heads = -1;
constexpr std::uint64_t largest_text = std::uint64_t{1} << 30;

std::uint64_t size(int x) { return static_cast<std::uint64_t>(x); }

ExactTensor matrix(std::string name, int rows, int columns, std::vector<double> values, std::string type = {}) {
  return {std::move(name), {size(rows), size(columns)}, std::move(values), std::move(type)};
}

/// The mask as terms that are added to scores.
std::vector<double> terms_of(const MaskTensor& mask) {
  if (!mask.terms.empty()) return mask.terms;
  std::vector<double> terms(size(mask.n) * size(mask.n_k), -std::numeric_limits<double>::infinity());
  for (int row = 0; row < mask.n; ++row) {
    const Keys keys = mask.rows[size(row)];
    for (int key = keys.first; key < keys.end; ++key) terms[size(row) * size(mask.n_k) + size(key)] = 0;
  }
  return terms;
}

/// Names of heads in the form of the metadata "heads" of a file.
std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  for (std::string name : names) {
    for (std::size_t at; (at = name.find(", ")) != std::string::npos;) name.replace(at, 2, ".");
    std::ranges::replace(name, ',', ' ');
    text += (text.empty() ? "" : ",") + name;
  }
  return text;
}

/// True if the session shows, sweeps or scales by other heads than the experiment's.
bool needs_all_heads(const ui::Session& s) {
  const auto is_head = [](const ui::VariedParameter& varied) { return varied.key == "head"; };
  return s.view.picture == ui::PictureKind::heads || s.sweep.over == ui::SweepOver::head ||
         s.sweep.over == ui::SweepOver::layer || is_head(s.sweep.first) || is_head(s.sweep.second) ||
         depends_on_other_heads(s.experiment);
}

/// The tensors of all heads of a call, layer by layer: all heads of Q, and of K and V one for each group, and the numbers of
/// each head beside them.
class WholeCall {
 public:
  WholeCall(const CallFiles& files, const ReadWatch& watch) : files_(files), watch_(watch), numbers_({}, files) {
    for (std::size_t i = 0; i < files.layers().size(); ++i) add_layer(i);
  }
  std::vector<ExactTensor> tensors;
  bool has_mask = false;

 private:
  void add_layer(std::size_t i) {
    const CallFiles::Layer& layer = files_.layers()[i];
    const int group = layer.q.heads / layer.k.heads;
    ExactTensor q = part(i, 0, layer.q), k = part(i, 1, layer.k), v = part(i, 2, layer.v), o = part(i, 3, layer.output_shape());
    for (int head = 0; head < layer.q.count(); ++head) {
      const Tensors t = files_.inputs(layer.first + head, watch_);
      append(q, t.q);
      if (head % layer.q.heads % group == 0) {
        append(k, t.k);
        append(v, t.v);
      }
      if (layer.has_output) append(o, files_.output(layer.first + head, watch_));
      if (i == 0 && t.mask) masks_.push_back(t.mask);
    }
    for (ExactTensor* const x : {&q, &k, &v}) tensors.push_back(std::move(*x));
    if (layer.has_output) tensors.push_back(std::move(o));
    if (i == 0 && !masks_.empty()) add_mask(layer.q);
    add_numbers(layer, before(i));
  }
  /// Adds the numbers of a layer's heads, and its mask, under the names by which HeadNumbers finds them.
  void add_numbers(const CallFiles::Layer& layer, const std::string& before) {
    constexpr std::array<std::pair<const char*, const char*>, 4> names{
        {{"scale", "scale"}, {"softcap", "softcap"}, {"alibi", "alibi_slopes"}, {"sink", "sinks"}}};
    for (const auto& [key, name] : names) {
      ExactTensor numbers{before + name, {size(layer.q.count())}, {}};
      for (int head = layer.first; head < layer.first + layer.q.count(); ++head)
        if (const auto x = to_number<double>(numbers_.text(key, head))) numbers.values.push_back(*x);
      if (numbers.values.size() == numbers.shape[0]) tensors.push_back(std::move(numbers));
    }
    if (numbers_.text("mask", layer.first).empty()) return;
    const Mask mask = numbers_.of_head({}, layer.first).mask;
    const bool is_window = mask.kind == Mask::Kind::window;
    const double left = is_window ? mask.window - 1 : -1, right = mask.kind != Mask::Kind::none ? mask.right : -1;
    tensors.push_back({before + "window_size", {2}, {left, right}});
    if (mask.top_left) tensors.push_back({before + "is_causal", {1}, {1}});
  }
  std::string before(std::size_t i) const { return files_.layers().size() == 1 ? "" : "layers." + std::to_string(i) + "."; }
  ExactTensor part(std::size_t i, int of, const HeadShape& s) const {
    ExactTensor t{before(i) + part_names[size(of)],
                  {size(s.heads), size(s.n), size(s.d)},
                  {},
                  files_.tensor(files_.layers()[i], of).dtype};
    if (s.batch > 1) t.shape.insert(t.shape.begin(), size(s.batch));
    return t;
  }
  void add_mask(const HeadShape& q) {
    const bool shared = std::ranges::all_of(masks_, [&](const auto& mask) { return mask == masks_.front(); });
    const MaskTensor& first = *masks_.front();
    ExactTensor mask{"mask", {size(q.batch), size(q.heads), size(first.n), size(first.n_k)}, {}};
    if (shared) {
      mask.shape = {size(first.n), size(first.n_k)};
      masks_.resize(1);
    }
    for (const auto& one : masks_) append(mask, terms_of(*one));
    tensors.push_back(std::move(mask));
    has_mask = true;
    masks_.clear();
  }
  static void append(ExactTensor& t, const std::vector<double>& values) {
    t.values.insert(t.values.end(), values.begin(), values.end());
  }

  const CallFiles& files_;
  const ReadWatch& watch_;
  const HeadNumbers numbers_;
  std::vector<std::shared_ptr<const MaskTensor>> masks_;
};

/// Packs the experiments of a session one after the other; a tensor that several of them use is stored once.
class Packer {
 public:
  Packer(const ui::Session& session, const ReadWatch& watch) : session_(session), watch_(watch) {}

  SessionPack pack() {
    std::vector<KernelGradient> gradients = kernel_gradients();
    const bool all = needs_all_heads(session_) || std::ranges::any_of(gradients, &KernelGradient::is_of_group);
    for (KernelGradient& gradient : gradients) pack_kernel_gradient(gradient, all);
    pack_experiment(session_.experiment, all);
    for (ui::Pin& pin : session_.pins) pack_experiment(pin.experiment, all || depends_on_other_heads(pin.experiment));
    pack_text(session_.train.text.file);
    pack_model(session_.model);
    session_.view.listed_file.clear();
    members_.insert(members_.begin(), {packed_session, session_text(session_), false});
    return {zip_bytes(members_), heads_, std::move(remarks_)};
  }

 private:
  /// One head of a file, or all of them.
  struct Heads {
    std::string file;
    int head = all_heads;
    auto operator<=>(const Heads&) const = default;
  };
  /// Heads of a layer or sequence.
  struct LayerHeads {
    int batch = 1, heads = 1;
    int count() const { return batch * heads; }
  };
  using ReadOutput = std::function<void(KernelOutput&)>;
  /// A gradient of the user's kernel, and the session's text for it.
  struct KernelGradient {
    std::string* spec;
    AnswerTensor tensor;
    const char* name;
    KernelOutput read;
    /// True if it has sums over the heads that share K and V, which are judged with all heads.
    bool is_of_group() const { return !read.values; }
  };

  /// Member and head of the archive that hold head `head` of `file`; make(name) packs it if it is not in the archive yet.
  template <class Make>
  std::pair<std::string, int> place(const char* kind, const std::string& file, int head, bool all, Make make) {
    for (const int known : {all_heads, all ? all_heads : head})
      if (const auto found = packed_.find({kind + file, known}); found != packed_.end())
        return {found->second, known == all_heads ? head : 0};
    const std::string name = kind + std::to_string(packed_.size()) + ".safetensors";
    const std::string spec = make(name);
    packed_[{kind + file, all ? all_heads : head}] = spec;
    return {spec, all ? head : 0};
  }

  void pack_experiment(Experiment& e, bool all) {
    if (!has_loaded(e)) e.loaded = {};
    if (!e.backward.on) e.backward.d_o_file = e.backward.d_lse_file = {};
    if (e.backward.d_o_file.file.empty() && e.backward.d_o == OutputGradient::file) e.backward.d_o = OutputGradient::normal;
    for (const std::string& sentence : load_found(e)) tell(sentence);
    pack_lse(e, all);
    const Problem read = e.problem;
    if (Input& input = e.problem.input; input.kind == InputKind::tensors)
      std::tie(input.file, input.index) = place("call-", input.file, input.index, all, [&](const std::string& name) {
        return all ? all_of_call(read.input, name) : head_of_call(read.input, name);
      });
    else
      input.file.clear();
    Problem of_output = read;
    if (all) of_output.n = of_output.d = of_output.d_v = 0;  // other sequences have other sizes
    if (all && e.loaded.file == read.input.file && !e.loaded.file.empty())
      e.loaded.file = e.problem.input.file;
    else
      pack_output(e.loaded, "o", all && has_loaded(e) ? heads_of_layers(e.loaded.file, of_output) : std::vector{LayerHeads{}},
                  [&](KernelOutput& o) { load_kernel_output(o, of_output, watch_); });
    for (const GivenTensor which : {GivenTensor::d_o, GivenTensor::d_lse})
      if (KernelOutput& gradient = given_tensor(e, which); !gradient.file.empty()) {
        const bool of_lse = which == GivenTensor::d_lse;
        pack_output(gradient, of_lse ? "dlse" : "do",
                    {all ? in_batch(gradient_heads(gradient.file, read, of_lse), read) : LayerHeads{}},
                    [&](KernelOutput& o) { load_given(o, read, which, watch_); });
      }
  }

  void tell(const std::string& sentence) {
    if (std::ranges::find(remarks_, sentence) == remarks_.end()) remarks_.push_back(sentence);
  }

  std::string head_of_call(const Input& read, const std::string& name) {
    const Tensors& t = *read.tensors;
    std::array<std::string, 3> types;
    FileMetadata metadata;
    try {
      const CallFiles files(read.file);
      const CallFiles::Layer& layer = files.layer_of(read.index);
      for (int part = 0; part < 3; ++part) types[size(part)] = files.tensor(layer, part).dtype;
      metadata = {{"heads", names_text({files.head_names()[size(read.index)]})}};
    } catch (const std::exception&) {  // the file is gone since it was read
    }
    std::vector<ExactTensor> tensors{matrix("q", t.n, t.d, t.q, types[0]), matrix("k", t.n_k, t.d, t.k, types[1]),
                                     matrix("v", t.n_k, t.d_v, t.v, types[2])};
    if (t.mask) tensors.push_back(matrix("mask", t.n, t.n_k, terms_of(*t.mask)));
    ++heads_;
    return added_call(name, tensors, metadata, t.mask != nullptr);
  }
  std::string all_of_call(const Input& read, const std::string& name) {
    const CallFiles files(read.file);
    const WholeCall call(files, watch_);
    heads_ += files.heads();
    return added_call(name, call.tensors, {{"heads", names_text(files.head_names())}}, call.has_mask);
  }
  /// Adds a file of a call, heads before tokens, with its mask. Returns its specification for `Input`.
  std::string added_call(const std::string& name, const std::vector<ExactTensor>& tensors, const FileMetadata& metadata,
                         bool has_mask) {
    members_.push_back({name, safetensors_bytes(tensors, metadata), true});
    ScaleSpecs beside;
    if (has_mask) beside[mask_part] = ScaleSpec{name + ":mask:add"};
    const bool batch = tensors.front().shape.size() == 4;
    return TensorSpec(name, batch || tensors.front().shape.size() == 3 ? parse_layout("h n d") : std::nullopt, beside).text();
  }

  /// Packs the log-sum-exp of an output for its head, or for all.
  void pack_lse(Experiment& e, bool all) {
    if (e.loaded.lse.empty()) return;
    if (all && !opened_lse(e)->layers.empty()) {  // the archive holds them as layers
      tell(e.loaded.lse + ": the log-sum-exp of all sequences is left out, since it is not judged beside several layers");
      return e.loaded.lse.clear();
    }
    const auto make = [&](const std::string& name) {
      const RowNumbers given = *opened_lse(e);
      const int heads = all ? given.shape.count() : 1, head = given.shape.count() == 1 ? 0 : e.loaded.index;
      ExactTensor lse{"lse", {size(heads)}, {}, given.part.tensor.dtype};
      if (all && given.shape.batch > 1) lse.shape = {size(given.shape.batch), size(given.shape.heads)};
      lse.shape.push_back(size(given.queries(head)));
      for (int i = 0; i < heads; ++i) {
        const std::vector<double> values = given.of(all ? i : head);
        lse.values.insert(lse.values.end(), values.begin(), values.end());
      }
      members_.push_back({name, safetensors_bytes({lse}, {}), true});
      return name + "[h n]";
    };
    e.loaded.lse = place("lse-", e.loaded.lse, e.loaded.index, all, make).first;
  }

  /// Numbers of heads of an output's layers and sequences.
  static std::vector<LayerHeads> heads_of_layers(const std::string& file, const Problem& problem) {
    std::vector<LayerHeads> heads;
    for (const CallFiles::Output& layer : outputs_of(file, problem)) heads.push_back({layer.shape.batch, layer.shape.heads});
    return heads;
  }
  /// The heads of a gradient, in the batch of the problem's call if they can be.
  static LayerHeads in_batch(int count, const Problem& problem) {
    if (count < 2 || problem.input.kind != InputKind::tensors) return {1, count};
    const int batch = CallFiles(problem.input.file).layers().front().q.batch;
    return count % batch == 0 ? LayerHeads{batch, count / batch} : LayerHeads{1, count};
  }
  /// Packs the head of an output, or all if it has more, `heads` of each layer; `read` reads what is not read yet.
  void pack_output(KernelOutput& output, const std::string& tensor, const std::vector<LayerHeads>& heads,
                   const ReadOutput& read) {
    if (output.file.empty()) return;
    if (!output.values) read(output);
    const bool all = heads.size() > 1 || heads.front().count() > 1;
    const auto make = [&](const std::string& name) {
      const std::vector<ExactTensor> tensors =
          all ? all_of_output(output.file, tensor, heads, read)
              : std::vector{matrix(tensor, output.n, output.d, *output.values, output.type)};
      members_.push_back({name, safetensors_bytes(tensors, {}), true});
      return name;
    };
    std::tie(output.file, output.index) = place((tensor + "-").c_str(), output.file, output.index, all, make);
    output.digest = output_digest(*output.values, output.n, output.d);
  }
  /// A tensor for each layer, which has the next of `heads`.
  static std::vector<ExactTensor> all_of_output(const std::string& file, const std::string& tensor,
                                                const std::vector<LayerHeads>& heads, const ReadOutput& read) {
    std::vector<ExactTensor> tensors;
    int head = 0;
    for (const LayerHeads& own : heads) {
      const std::string before = heads.size() == 1 ? "" : "layers." + std::to_string(tensors.size()) + ".";
      ExactTensor& layer = tensors.emplace_back(ExactTensor{before + tensor, {}, {}, {}});
      for (const int end = head + own.count(); head < end; ++head) {
        KernelOutput o;
        o.file = file;
        o.index = head;
        read(o);
        layer.shape = {size(own.heads), size(o.n), size(o.d)};
        layer.type = o.type;
        layer.values.insert(layer.values.end(), o.values->begin(), o.values->end());
      }
      if (own.batch > 1) layer.shape.insert(layer.shape.begin(), size(own.batch));
    }
    return tensors;
  }

  std::vector<KernelGradient> kernel_gradients() {
    ui::KernelGradients& g = session_.kernel_gradients;
    if (!session_.experiment.backward.on) g = {};
    std::vector<KernelGradient> all{
        {&g.dq, AnswerTensor::dQ, "dq", {}}, {&g.dk, AnswerTensor::dK, "dk", {}}, {&g.dv, AnswerTensor::dV, "dv", {}}};
    std::erase_if(all, [](const KernelGradient& one) { return one.spec->empty(); });
    for (auto& [spec, tensor, name, read] : all)
      read = read_kernel_gradient(*spec, session_.experiment.problem, tensor, watch_);
    return all;
  }
  void pack_kernel_gradient(KernelGradient& gradient, bool all) {
    const Problem& problem = session_.experiment.problem;
    auto& [spec, tensor, name, output] = gradient;
    const bool is_of_group = gradient.is_of_group();
    const int heads = all && output.file == *spec ? gradient_heads(*spec, problem, tensor) : 1;
    if (is_of_group && heads == 0)
      throw std::runtime_error(*spec + ": holds sums of sequences that differ in length, expected sequences of one length");
    pack_output(output, name, {in_batch(heads, problem)}, [&](KernelOutput& o) {
      o = read_kernel_gradient(o.file + ":" + std::to_string(o.index), problem, gradient.tensor, watch_);
    });
    *spec = is_of_group || heads > 1 ? output.file : output.file + ":0";  // one for each head of K or Q, or of one head
  }

  void pack_text(std::string& file) {
    if (file.empty()) return;
    members_.push_back({"text.txt", read_file(file, largest_text), false});
    file = "text.txt";
  }
  void pack_model(ui::ModelPlan& plan) {
    if (plan.text != ui::ModelText::file) plan.file.clear();
    if (std::error_code error; std::filesystem::is_directory(with_home(plan.against), error)) {
      tell(plan.against + ": the captured run is a folder and is left out");
      plan.against.clear();
    }
    for (std::string* const spec : {&plan.file, &plan.against})
      if (!spec->empty() && !spec->starts_with(ui::random_name))
        *spec = with_paths(*spec, [&](const std::string& path) { return added_file(with_home(path)); });
    if (plan.checkpoint.empty() || plan.checkpoint.starts_with(ui::random_name)) return;
    tell("The model " + in_quotes(plan.checkpoint) + " is not in the archive: choose it where the archive is opened");
    plan.checkpoint.clear();
  }
  /// Adds a file as it is; returns its name in the archive.
  std::string added_file(const std::string& path) {
    std::string name = std::filesystem::path(path).filename().string();
    while (name == packed_session || std::ranges::find(members_, name, &ZipMember::name) != members_.end())
      name.insert(0, "other-");
    members_.push_back({name, read_file(path, largest_text), true});
    return name;
  }

  ui::Session session_;
  const ReadWatch& watch_;
  std::vector<ZipMember> members_;
  std::map<Heads, std::string> packed_;  ///< specifications of the packed heads
  int heads_ = 0;
  std::vector<std::string> remarks_;
};

}  // namespace

SessionPack pack_session(const ui::Session& session, const ReadWatch& watch) { return Packer(session, watch).pack(); }

std::string pack_name(const std::string& file) {
  std::string name = file;
  for (const std::string_view ending : {std::string_view(".json"), pack_ending, std::string_view(".attoscope")})
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
  return name + std::string(pack_ending);
}

}  // namespace attoscope::app
