// Loaders of files: tensors, archives, checkpoints. The files are in memory.
#include <algorithm>
#include <string>
#include <vector>

#include "app/files/files.h"
#include "app/files/zip.h"
#include "app/judge/gradient_files.h"
#include "app/judge/judged_call.h"
#include "app/judge/row_numbers.h"
#include "app/session/session.h"
#include "app/session/session_pack.h"
#include "app/session/session_places.h"
#include "app/tensors/call_files.h"
#include "app/tensors/changed_tensors.h"
#include "app/tensors/head_numbers.h"
#include "app/tensors/kernel_output.h"
#include "app/tensors/npy.h"
#include "app/tensors/readers.h"
#include "app/tensors/tensor_list.h"
#include "app/tensors/tensor_set.h"
#include "app/tensors/tensors.h"
#include "app/train/checkpoint.h"
#include "kernels/experiment/rules.h"
#include "tests/fuzz/loaders.h"
#include "tests/fuzz/memory_file.h"
#include "tests/support/support.h"
#include "tests/tensors/saved_dict.h"
#include "tests/tensors/tensor_files.h"
#include "tests/train/made_up_training.h"

namespace attoscope::testing {
namespace {

/// A memory file with one name per ending that selects a reader.
const MemoryFile& file() {
  static const MemoryFile only([] {
    std::vector<std::string> names{"x", "x.zip", "x.attoscope.zip"};
    for (const std::string& ending : tensor_endings()) names.push_back("x" + ending);
    return names;
  }());
  return only;
}

bool is_npy(std::string_view bytes) { return bytes.starts_with("\x93"); }

/// The file with the right length of its header, so that changes of the header reach its parser.
std::string with_right_length(std::string_view bytes) {
  const std::size_t magic = is_npy(bytes) ? 8 : 0, width = magic == 0 ? 8 : bytes.starts_with("\x93NUMPY\1") ? 2 : 4;
  const std::size_t end = magic == 0 ? bytes.rfind('}') : bytes.find('\n', magic + width);
  if (end == std::string_view::npos || end < magic + width) return std::string(bytes);
  const std::string length = little_endian(end + 1 - magic - width, static_cast<int>(width));
  return std::string(bytes.substr(0, magic)) + length + std::string(bytes.substr(magic + width));
}

/// Reads Q, K and V. Inputs of an odd size first get the right length of their header.
void load_tensor_files(std::string_view bytes) {
  std::string path = file().holding(bytes.size() % 2 == 0 ? std::string(bytes) : with_right_length(bytes),
                                    is_npy(bytes) ? "x.npy" : "x.safetensors");
  if (is_npy(bytes)) path += "," + path + "," + path;
  Input input = parse_input(path + ":1");
  const TensorFileInfo info = describe_tensors(input.file);
  input.index = info.heads - 1;
  load_tensors(input);
  const AttentionShape& shape = info.layers.back().shape;
  expect_that(input.tensors->q.size() == static_cast<std::size_t>(shape.n) * static_cast<std::size_t>(shape.d),
              "tensors of another size than the file says");
  input = parse_input(path + ",k_scale=" + path.substr(0, path.find(',')) + (is_npy(bytes) ? ":0" : ":k_scale:0"));
  load_tensors(input);
  if (is_npy(bytes)) return;
  for (const char* const part : {"mask", "document_ids"}) {
    input = parse_input(path + "," + part + "=" + path);
    load_tensors(input);
  }
}

/// Q, K and V of eight bits, 48 bytes each, and a scale of K with this type, shape and number of bytes.
std::string scaled_file(const std::string& dtype, const std::string& shape, std::size_t bytes) {
  const std::string zeros(48, '\0');
  return safetensors({{"q", "F8_E4M3", "[2,6,4]", zeros},
                      {"k", "I8", "[2,6,4]", zeros},
                      {"v", "U8", "[2,6,4]", zeros},
                      {"k_scale", dtype, shape, std::string(bytes, '\x3f')}});
}

/// Two sequences of one query each; their keys are in pages of two tokens.
std::string paged_file() {
  const std::vector<std::int32_t> table{2, 0, 1, -1}, keys{3, 2};
  return safetensors({{"q", "F32", "[2,1,2]", std::string(16, '\0')},
                      {"kv_cache", "F16", "[2,3,2,1,2]", std::string(48, '\0')},
                      {"block_table", "I32", "[2,2]", raw(table)},
                      {"cache_seqlens", "I32", "[2]", raw(keys)}});
}

std::string masked_file() {
  return safetensors(
      good_header(entry("mask", "BOOL", "[2,2]", 72, 76) + "," + entry("document_ids", "I32", "[2]", 76, 84) + ","), 84);
}

std::string packed_file() {
  const std::string zeros(24, '\0');
  return safetensors({{"q", "F32", "[3,1,2]", zeros},
                      {"k", "F32", "[3,1,2]", zeros},
                      {"v", "F32", "[3,1,2]", zeros},
                      {"cu_seqlens_q", "I64", "[3]", raw(std::vector<std::int64_t>{0, 1, 3})}});
}

std::vector<std::string> tensor_files() {
  const std::string pairs = raw(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8});
  return {safetensors(good_header(), 72),
          safetensors(good_header("\"__metadata__\":{\"heads\":\"layer7.head1\"},"), 72),
          safetensors("{" + entry("query", "BF16", "[1,2,1,2]", 0, 8) + "," + entry("key", "F16", "[1,2,1,2]", 8, 16) + "," +
                          entry("value", "F64", "[1,2,1,2]", 16, 48) + "}",
                      48),
          scaled_file("F32", "[2]", 8),
          scaled_file("BF16", "[2,6,1]", 24),
          scaled_file("F8_E8M0", "[6,2]", 12),
          scaled_file("F8_E4M3", "[2,3]", 6),
          scaled_file("F8_E8M0", "[2,6,2]", 24),
          paged_file(),
          packed_file(),
          masked_file(),
          npy(npy_header("<f8", "(2, 2, 2)"), pairs),
          npy(npy_header("|i1", "(2, 2, 2)"), pairs.substr(0, 8)),
          npy(npy_header(">f4", "(4, 4)"), pairs, 2),
          npy(npy_header("<f2", "(2, 2, 4, 2)", "True"), pairs.substr(0, 64), 3)};
}

void load_kernel_outputs(std::string_view bytes) {
  const std::string path = file().holding(bytes, is_npy(bytes) ? "x.npy" : "x.safetensors");
  is_kernel_output(path);
  holds_kernel_output(path);
  for (const int n : {0, 2}) {
    KernelOutput output = parse_kernel_output(path);
    load_kernel_output(output, {.n = n, .d = n});
    expect_that(output.values->size() == static_cast<std::size_t>(output.n) * static_cast<std::size_t>(output.d),
                "an output of another size than the file says");
  }
}

std::vector<std::string> kernel_outputs() {
  const std::string bytes = raw(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8});
  return {safetensors("{" + entry("o", "F32", "[2,2]", 0, 16) + "}", 16),
          safetensors("{" + entry("attn_out", "BF16", "[1,2,3,2]", 0, 24) + "," + entry("x", "I8", "[1]", 24, 25) + "}", 25),
          npy(npy_header("<f8", "(2, 2, 2)"), bytes), npy(npy_header("<f8", "(1, 2, 2, 2)", "True"), bytes),
          npy(npy_header("<f4", "(2, 4, 2)"), bytes)};
}

/// Reads a call to judge. The first byte selects a layout of the heads or derives it from the shapes.
void load_judged_calls(std::string_view bytes) {
  if (bytes.empty()) return;
  const bool is_list = is_npy(bytes.substr(1));
  const std::string file_path = file().holding(bytes.substr(1), is_list ? "x.npy" : "x.safetensors"),
                    path = is_list ? "" : file_path, each = is_list ? file_path : "";
  const std::optional<HeadLayout> layout = parse_layout(bytes[0] == 't' ? "bnhd" : bytes[0] == 's' ? "n(2d)" : "");
  const JudgedFiles files({path, each, each, each, each, layout});
  const auto elements = [](int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  };
  const AttentionShape x = files.shape();
  const int last = files.heads() - 1;
  const std::shared_ptr<const Tensors> inputs = files.inputs(last);
  expect_that(inputs->q.size() == elements(x.n, x.d) && inputs->k.size() == elements(x.n_k, x.d) &&
                  inputs->v.size() == elements(x.n_k, x.d_v) && files.output(last)->size() == elements(x.n, x.d_v),
              "tensors of another size than the file says");
  files.files_for_window(last);
}

std::vector<std::string> judged_calls() {
  const auto call = [](const std::string& dtype, const std::string& shape, const std::string& of_k, int size, int size_of_k) {
    std::string header = "{";
    int at = 0;
    for (const char* const name : {"q", "k", "v", "o"}) {
      const bool grouped = *name == 'k' || *name == 'v';
      const int bytes = grouped ? size_of_k : size;
      header += std::string(at > 0 ? "," : "") + entry(name, dtype, grouped ? of_k : shape, at, at + bytes);
      at += bytes;
    }
    return safetensors(header + "}", static_cast<std::size_t>(at));
  };
  const std::string scaled = safetensors("{" + entry("q", "F8_E4M3", "[2,3]", 0, 6) + "," + entry("k", "I8", "[2,3]", 6, 12) +
                                             "," + entry("v", "I8", "[2,3]", 12, 18) + "," + entry("o", "I8", "[2,3]", 18, 24) +
                                             "," + entry("o_scale", "F32", "[2,1]", 24, 32) + "}",
                                         24) +
                             std::string(8, '\x3f');
  return {"h" + scaled, "h" + call("F32", "[2,3]", "[2,3]", 24, 24), "h" + call("F8_E4M3", "[4,2,3]", "[2,2,3]", 24, 12),
          "t" + call("BF16", "[1,2,4,3]", "[1,2,1,3]", 48, 12),
          "h" + npy(npy_header("<f8", "(2, 2, 2)"), raw(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}))};
}

/// Calls every function that reads files of many heads.
void read_calls(const std::string& spec) {
  is_kernel_output(spec);
  holds_kernel_output(spec);
  contents_of(spec);
  const CallFiles files(spec);
  const TensorFileInfo info = files.info();
  expect_that(info.heads == static_cast<int>(info.head_names.size()), "heads without names");
  const int last = info.heads - 1;
  const Tensors read = files.inputs(last);
  const auto holds = [](const std::vector<double>& x, int rows, int columns) {
    return x.size() == static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  };
  expect_that(holds(read.q, read.n, read.d) && holds(read.k, read.n_k, read.d) && holds(read.v, read.n_k, read.d_v),
              "tensors of another size than the file says");
  if (!files.layer_of(last).has_output) return;
  KernelOutput output = parse_kernel_output(spec + ":" + std::to_string(last));
  load_kernel_output(output, {.n = read.n, .d = read.d_v});
  expect_that(std::ranges::equal(*output.values, files.output(last), testing::same<double>),
              "two readers give different outputs");
}

constexpr std::array<const char*, 9> folder_files{
    "q.npy", "k.npy",      "v.npy", "o.npy", "1.safetensors", "call/inputs.safetensors", "call/outputs.safetensors",
    "x.npz", "k_scale.npy"};

/// Encodes files: for each its number, two bytes of length, its bytes.
std::string folder_bytes(const std::vector<std::pair<int, std::string>>& files) {
  std::string bytes;
  for (const auto& [which, content] : files) bytes += static_cast<char>(which) + little_endian(content.size(), 2) + content;
  return bytes;
}

void load_archives(std::string_view bytes) { read_calls(file().holding(bytes, "x.npz")); }

std::vector<std::string> archives() {
  const std::string one = npy(npy_header("<f4", "(2, 3)"), std::string(24, '\1')),
                    two = npy(npy_header("<f4", "(3, 2, 2)"), std::string(48, '\2'));
  return {
      zip_bytes({{"q.npy", one}, {"k.npy", one}, {"v.npy", one}, {"o.npy", one}}),
      zip_bytes({{"1_q.npy", two}, {"1_k.npy", two}, {"1_v.npy", two}, {"2_q.npy", one}, {"2_k.npy", one}, {"2_v.npy", one}})};
}

/// Reads a file of torch.save: the call, and its settings, tables, masks, gradients and log-sum-exp.
void load_torch_files(std::string_view bytes) {
  const std::string path = file().holding(bytes, "x.pt");
  read_calls(path);
  const CallFiles call{TensorSpec(path)};
  const HeadNumbers numbers({}, call);
  for (int head = 0; head < std::min(call.heads(), 4); ++head) numbers.of_head({}, head);
  const CallFiles::Layer& layer = call.layers().front();
  if (const std::string lse = lse_beside(path, call); !lse.empty())
    expect_that(open_row_numbers(lse, "--lse", lse_names, call).of(call.heads() - 1).size() ==
                    static_cast<std::size_t>(call.layers().back().q.n),
                "a log-sum-exp of another size than the queries");
  if (const GradientSpecs found = gradients_in(path); !found.d_o.empty() && layer.has_output) {
    const GradientFiles files(GradientSpecs{.d_o = found.d_o, .dq = found.dq, .dk = found.dk, .dv = found.dv}, call);
    const JudgedGradients last = files.group(files.groups() - 1, [](int) { return Problem{}; }, {});
    expect_that(last.d_o.back()->size() == static_cast<std::size_t>(call.layers().back().q.n * call.layers().back().v.d),
                "a gradient of another size than the output");
  }
}

/// Seeds: FlashAttention's packed call with gradients, and a batch with a mask.
std::vector<std::string> saved_calls() {
  const std::vector<double> x(24, 0.5), y(16, 0.25);
  SavedDict packed, batched;
  packed.bf16s("q", {3, 4, 2}, x).bf16s("k", {4, 2, 2}, y).bf16s("v", {4, 2, 2}, y).bf16s("out", {3, 4, 2}, x);
  packed.ints("cu_seqlens_q", {3}, {0, 1, 3}).ints("cu_seqlens_k", {3}, {0, 2, 4}).bf16s("dout", {3, 4, 2}, x);
  packed.bf16s("dq", {3, 4, 2}, x).bf16s("dk", {4, 2, 2}, y).floats("lse", {4, 3}, std::vector<double>(12, 1));
  packed.value("causal", SavedDict::boolean(true)).value("window_size", SavedDict::tuple({2, 0}));
  packed.value("softmax_scale", SavedDict::real(0.5)).floats("alibi_slopes", {4}, {1, 0.5, 0.25, 0.125});
  batched.bf16s("q", {1, 3, 4, 2}, x).bf16s("k", {1, 3, 4, 2}, x).bf16s("v", {1, 3, 4, 2}, x).bf16s("o", {1, 3, 4, 2}, x);
  batched.bools("attn_mask", {4, 4}, std::string(16, '\1')).value("is_causal", SavedDict::boolean(false));
  return {packed.bytes(), batched.value("scale", SavedDict::real(2)).bytes()};
}

std::vector<std::string> torch_files() {
  std::vector<std::string> seeds = saved_calls();
  for (const char* const name : {"old.pth", "call.pt", "types.pt", "bare.pt", "parameter.pt"})
    seeds.push_back(read_file(std::string("tests/data/torch_files/") + name, 1 << 20));
  return seeds;
}

/// Reads each small tensor of the file as a matrix, whatever its name.
void load_gguf_files(std::string_view bytes) {
  const std::string path = file().holding(bytes, "x.gguf");
  for (const NamedTensor& t : list_file(path).tensors) {
    const std::uint64_t count = byte_count(t.tensor.shape, 1, "x");
    if (!t.refusal.empty() || count == 0 || count > 1 << 16) continue;
    const auto columns = static_cast<int>(t.tensor.shape.empty() ? 1 : t.tensor.shape.back());
    const int rows = static_cast<int>(count) / columns;
    expect_that(read_matrix(*readable(t).file, t.tensor, {1, rows, columns}, 0).size() == count,
                "tensors of another size than the file says");
  }
  read_calls(path);
}

std::vector<std::string> gguf_files() { return {read_file("tests/data/gguf_files/types.gguf", 1 << 20)}; }

void load_folders(std::string_view bytes) {
  const TemporaryDirectory folder;
  std::filesystem::create_directory(folder / "call");
  while (bytes.size() > 3) {
    const char* const name = folder_files[static_cast<unsigned char>(bytes[0]) % folder_files.size()];
    const std::size_t wanted = static_cast<unsigned char>(bytes[1]) + 256U * static_cast<unsigned char>(bytes[2]),
                      length = std::min(wanted, bytes.size() - 3);
    folder.write(name, bytes.substr(3, length));
    bytes.remove_prefix(3 + length);
  }
  read_calls(folder / ".");
}

std::vector<std::string> folders() {
  const std::string one = npy(npy_header("<f4", "(2, 3)"), std::string(24, '\1'));
  const std::string result = safetensors("{" + entry("result", "F32", "[2,3]", 0, 24) + "}", 24);
  const std::string eight = npy(npy_header("|i1", "(2, 3)"), std::string(6, '\1')),
                    scale = npy(npy_header("<f4", "(2,)"), std::string(8, '\x3f'));
  return {folder_bytes({{0, one}, {1, one}, {2, one}, {3, one}}), folder_bytes({{0, one}, {1, eight}, {2, eight}, {8, scale}}),
          folder_bytes({{5, safetensors(good_header(), 72)}, {6, result}}),
          folder_bytes({{4, safetensors(good_header(), 72)}, {7, archives().front()}})};
}

/// Reads a .npy file. The first byte selects a matrix or a vector.
void load_npy_numbers(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::string path = file().holding(bytes.substr(1), "x.npy");
  const MatrixNumbers x = read_numbers("--a", path, bytes[0] == 'v' ? 1 : 2);
  expect_that(x.values.size() == static_cast<std::size_t>(x.rows) * static_cast<std::size_t>(x.columns),
              "numbers of another size than the file says");
}

std::vector<std::string> npy_numbers() {
  const std::string bytes = raw(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8});
  return {"m" + npy(npy_header("<f8", "(2, 4)"), bytes), "m" + npy(npy_header(">f4", "(4, 4)", "True"), bytes, 2),
          "v" + npy(npy_header("<f4", "(16,)"), bytes), "v" + npy(npy_header("<f8", "(8,)"), bytes, 3)};
}

void load_zips(std::string_view bytes) { zip_member(file().holding(bytes, "x.zip"), ".json", 1 << 20); }

std::vector<std::string> zip_archives() {
  return {zip_bytes({{"f.json", "{}"}, {"f.csv", "x,y\n1,2\n"}}), zip_bytes({{"f.json", std::string(5000, ' ')}}),
          zip_bytes({{"a/f.json", "{}"}}), zip_bytes({{"f.json", "{}"}, {"g.json", "{}"}}), zip_bytes({{"f.gp", ""}})};
}

void load_packs(std::string_view bytes) {
  const std::string path = file().holding(bytes, "x.attoscope.zip");
  std::vector<std::string> remarks;
  Session session = read_session(path, remarks);
  for_each_spec(session, [&](const std::string& spec) {
    for (const std::string& inside : paths_of(spec))
      expect_that(!inside.starts_with('/') || inside.starts_with(path + "/"), "a file outside of the archive");
  });
  load_kept(session.experiment);
}

std::vector<std::string> packs() {
  const TemporaryDirectory scratch;
  const std::string call = safetensors(good_header(), 72);
  Session session;
  session.experiment.problem.input = parse_input(scratch.write("x.safetensors", call));
  load_tensors(session.experiment.problem.input);
  session.experiment.problem = fitted(session.experiment.problem, session.experiment.problem.input.tensors->shape());
  const std::string text =
      R"({"schema": "attoscope.session/1", "experiment": {"problem": {"input": {"kind": "tensors", "file": )";
  return {pack_session(session).bytes, zip_bytes({{"session.json", text + R"("q.npy,k.npy,v.npy"}}}})"}, {"q.npy", "x"}}),
          zip_bytes({{"session.json", text + R"("/etc/hostname"}}}})"}}), zip_bytes({{"../session.json", "{}"}})};
}

/// Reads a checkpoint. Half of the inputs get the right size and digest, so that the code after these checks is reached.
void load_checkpoints(std::string_view bytes) {
  constexpr std::size_t least = 23 + 3 * 8;
  std::string whole(bytes);
  if (!bytes.empty() && bytes.back() % 2 == 0 && bytes.size() > least) whole = resealed(whole, true);
  const Checkpoint read = read_checkpoint(file().holding(whole, "x"));
  expect_that(read.state.runs.size() == read.record.runs.size(), "state and record differ in the number of runs");
}

std::vector<std::string> checkpoints() {
  std::vector<std::string> seeds;
  for (const TrainKind kind : {TrainKind::methods, TrainKind::bisect}) {
    const TemporaryDirectory scratch;
    Dice dice(4);
    const TrainRecord record = made_up_record(kind, dice);
    write_checkpoint(scratch / "c", record, made_up_state(record, dice));
    seeds.push_back(bytes_of_file(scratch / "c"));
    seeds.back().back() = '\0';  // even: load_checkpoints corrects size and digest
  }
  return seeds;
}

}  // namespace

std::vector<Loader> file_loaders() {
  return {{"tensors", checked<load_tensor_files>, tensor_files},
          {"kernel_outputs", checked<load_kernel_outputs>, kernel_outputs},
          {"judged_calls", checked<load_judged_calls>, judged_calls},
          {"archives", checked<load_archives>, archives},
          {"torch_files", checked<load_torch_files>, torch_files},
          {"gguf_files", checked<load_gguf_files>, gguf_files},
          {"folders", checked<load_folders>, folders},
          {"npy_numbers", checked<load_npy_numbers>, npy_numbers},
          {"zips", checked<load_zips>, zip_archives},
          {"packs", checked<load_packs>, packs},
          {"checkpoints", checked<load_checkpoints>, checkpoints}};
}

}  // namespace attoscope::testing
