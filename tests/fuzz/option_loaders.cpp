// Loaders of files that options add to a call: masks, documents, bounds of sequences, page tables, numbers per row and per
// head.
#include <array>
#include <string>

#include "app/judge/row_numbers.h"
#include "app/tensors/call_files.h"
#include "app/tensors/head_numbers.h"
#include "app/tensors/tensors.h"
#include "tests/fuzz/loaders.h"
#include "tests/fuzz/memory_file.h"
#include "tests/tensors/tensor_files.h"

namespace attoscope::testing {
namespace {

/// A call of two heads, with three queries and four keys per batch or sequence; `tables` are further tensors of the file.
std::string call_file(const std::string& q, const std::string& kv, const std::vector<FileTensor>& tables = {}) {
  const std::string of_q(96, '\0'), of_kv(128, '\0');
  std::vector<FileTensor> all{{"q", "F32", q, of_q}, {"k", "F32", kv, of_kv}, {"v", "F32", kv, of_kv}, {"o", "F32", q, of_q}};
  all.insert(all.end(), tables.begin(), tables.end());
  return safetensors(all);
}
FileTensor stored(const std::string& name, const std::string& shape, const std::vector<std::int32_t>& numbers) {
  return {name, "I32", shape, raw(numbers)};
}

/// Calls with batches, packed sequences, pages in a table, and pages in FlashInfer's lists.
const std::array<std::string, 4>& calls() {
  static const TemporaryDirectory folder;
  static const std::array<std::string, 4> paths{
      folder.write("batch.safetensors", call_file("[2,2,3,2]", "[2,2,4,2]")),
      folder.write("packed.safetensors",
                   call_file("[6,2,2]", "[8,2,2]",
                             {stored("cu_seqlens_q", "[3]", {0, 3, 6}), stored("cu_seqlens_k", "[3]", {0, 4, 8})})),
      folder.write("paged.safetensors",
                   call_file("[2,3,2,2]", "[4,2,2,2]",
                             {stored("block_table", "[2,2]", {3, 1, 0, 2}), stored("cache_seqlens", "[2]", {4, 3})})),
      folder.write("lists.safetensors",
                   call_file("[6,2,2]", "[4,2,2,2]",
                             {stored("qo_indptr", "[3]", {0, 3, 6}), stored("kv_indptr", "[3]", {0, 2, 4}),
                              stored("kv_indices", "[4]", {3, 1, 0, 2}), stored("kv_last_page_len", "[2]", {2, 1})}))};
  return paths;
}

/// Call number `place`; checks once that all calls open without further options.
const std::string& call_at(std::size_t place) {
  static const bool all_open = [] {
    for (const std::string& path : calls()) try {
        CallFiles(TensorSpec(path)).output(0);
      } catch (const std::exception& error) {
        throw std::logic_error(path + " does not open: " + error.what());
      }
    return true;
  }();
  return calls()[all_open ? place % calls().size() : 0];
}

constexpr std::array<const char*, 15> named_parts{
    "mask",        "mask",          "mask",      "mask",       "document_ids",     "cu_seqlens_q", "cu_seqlens_k", "leftpad_k",
    "block_table", "cache_seqlens", "kv_indptr", "kv_indices", "kv_last_page_len", "k_scale",      "v_scale"};
constexpr std::array<const char*, 4> mask_uses{"", ":keep", ":drop", ":add"};
constexpr std::array<const char*, 4> numbers_of_heads{"scale", "softcap", "alibi", "sink"};

std::string path_of(std::string_view bytes) {
  static const MemoryFile file({"x.npy", "x.safetensors", "x.pt"});
  return file.holding(bytes, bytes.starts_with("\x93") ? "x.npy" : bytes.starts_with("PK") ? "x.pt" : "x.safetensors");
}

void load_parts_of_calls(std::string_view bytes) {
  if (bytes.size() < 2) return;
  const std::string call = call_at(static_cast<unsigned char>(bytes[0])), path = path_of(bytes.substr(2));
  const auto which = static_cast<unsigned char>(bytes[1]) % (named_parts.size() + numbers_of_heads.size() + 1);
  if (which < named_parts.size()) {
    const CallFiles files(TensorSpec(call + "," + named_parts[which] + "=" + path + (which < 4 ? mask_uses[which] : "")));
    for (const int head : {0, files.heads() - 1}) files.inputs(head);
    return;
  }
  const CallFiles files{TensorSpec(call)};
  if (which == named_parts.size()) {
    const RowNumbers lse = open_row_numbers(path, "--lse", lse_names, files);
    for (int head = 0; head < files.heads(); ++head)
      expect_that(lse.of(head).size() == 3, "a log-sum-exp of another size than the queries");
    return;
  }
  const HeadNumbers numbers({{numbers_of_heads[which - named_parts.size() - 1], path}}, files);
  for (int head = 0; head < files.heads(); ++head) numbers.of_head({}, head);
}

std::vector<std::string> parts_of_calls() {
  std::vector<std::string> seeds;
  const auto add = [&](char call, std::size_t which, const std::string& type, const std::string& shape,
                       const std::string& data) {
    seeds.push_back(std::string{call, static_cast<char>(which)} + npy(npy_header(type, shape), data));
  };
  const auto ints = [](std::vector<std::int32_t> x) { return raw(x); };
  for (char use = 0; use < 4; ++use) {
    add(use, static_cast<std::size_t>(use), "|b1", "(3, 4)", std::string(12, '\1'));
    add(0, static_cast<std::size_t>(use), "|u1", "(2, 2, 3, 4)", std::string(48, '\1'));
    add(0, static_cast<std::size_t>(use), "<i8", "(2, 4)", raw(std::vector<std::int64_t>{1, 0, 1, 1, 0, 1, 1, 1}));
  }
  add(0, 3, "<f4", "(2, 3, 4)", raw(std::vector<float>(24, std::numeric_limits<float>::lowest())));
  add(0, 4, "<i4", "(4,)", ints({0, 0, 1, 1}));
  add(0, 4, "<u2", "(2, 4)", std::string(16, '\0'));
  add(1, 5, "<i4", "(3,)", ints({0, 2, 6}));
  add(1, 6, "<i8", "(3,)", raw(std::vector<std::int64_t>{0, 1, 8}));
  add(2, 7, "<i4", "(2,)", ints({1, 0}));
  add(2, 8, "<i4", "(2, 3)", ints({3, 1, -1, 0, 2, 9}));
  add(2, 9, "<i4", "(2,)", ints({2, 4}));
  add(3, 10, "<i4", "(3,)", ints({0, 1, 4}));
  add(3, 11, ">i4", "(4,)", std::string("\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\3", 16));
  add(3, 12, "<i4", "(2,)", ints({1, 2}));
  add(0, 13, "<f4", "(2,)", raw(std::vector<float>{1, 2}));
  for (char call = 0; call < 4; ++call) add(call, 15, "<f4", "(2, 6)", raw(std::vector<float>(12, 0.5F)));
  add(0, 15, "<f8", "(2, 2, 3, 1)", raw(std::vector<double>(12, 0.5)));
  for (std::size_t number = 16; number < 20; ++number) add(1, number, "<f4", "(2,)", raw(std::vector<float>{0.5F, 2}));
  return seeds;
}

}  // namespace

std::vector<Loader> option_loaders() { return {{"parts_of_calls", checked<load_parts_of_calls>, parts_of_calls}}; }

}  // namespace attoscope::testing
