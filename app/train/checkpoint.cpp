#include "app/train/checkpoint.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/files/files.h"
#include "app/json/json_place.h"
#include "app/train/train_tables.h"
#include "app/words/numbers.h"

namespace attoscope::app {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view family = "attoscope.checkpoint/", magic = "attoscope.checkpoint/1\n";
constexpr std::uint64_t word = sizeof(std::uint64_t), header_size = magic.size() + 2 * word,
                        longest_json = std::uint64_t{1} << 30;
constexpr int deepest = 8;
/// Larger files are read to their end only if their JSON states that size.
constexpr std::uint64_t largest_unasked = std::uint64_t{1} << 28;
/// Limit of values in the JSON: each takes at least three bytes in a long training.
constexpr std::size_t most_values = longest_json / 3;

template <class T>
void append(std::string& bytes, const T* x, std::size_t count) {
  bytes.append(reinterpret_cast<const char*>(x), count * sizeof(T));
}

Json state_json(const PairedTrainingState& state) {
  Json runs = Json::array();
  for (const TrainState& s : state.runs)
    runs.push_back({{"step", s.step},
                    {"loss_scale", number_json(s.loss_scale)},
                    {"steps_since_overflow", s.steps_since_overflow},
                    {"updates", s.updates},
                    {"first_loss", number_json(s.first_loss)}});
  return {{"step", state.step}, {"runs", std::move(runs)}};
}

TrainState run_state_of(const JsonPlace& json, int last_step, std::size_t size) {
  json.expect_keys({"step", "loss_scale", "steps_since_overflow", "updates", "first_loss"});
  TrainState s;
  s.step = json.at("step").whole(0, last_step);
  s.loss_scale = json.at("loss_scale").number();
  if (!(s.loss_scale > 0) || std::isinf(s.loss_scale)) json.at("loss_scale").refuse("a finite number above 0");
  s.steps_since_overflow = json.at("steps_since_overflow").whole(0, last_step);
  s.updates = json.at("updates").whole(0, last_step);
  s.first_loss = json.at("first_loss").number();
  for (std::vector<float>* const x : {&s.weights, &s.m, &s.v}) x->resize(size);
  return s;
}

/// The bytes of the arrays that follow the JSON.
std::uint64_t array_bytes(const TrainRecord& record) {
  return record.runs.size() * 3 * record.parameters.size * sizeof(float) +
         record.pairs.size() * record.parameters.tensors.size() * sizeof(double);
}

/// Reads the states' scalars, and sizes their arrays.
PairedTrainingState empty_state(const JsonPlace& json, const TrainRecord& record) {
  json.expect_keys({"step", "runs"});
  PairedTrainingState state;
  state.step = json.at("step").whole(record.step, record.step);
  const JsonPlace runs = json.at("runs");
  runs.expect_size(record.runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i)
    state.runs.push_back(run_state_of(runs.at(i), record.step, record.parameters.size));
  state.paths.assign(record.pairs.size(), std::vector<double>(record.parameters.tensors.size()));
  return state;
}

/// Reads a file from its beginning to its end.
class Reader {
 public:
  explicit Reader(const InputFile& file) : file_(file) {}
  std::string text(std::uint64_t size) {
    std::string bytes(size, '\0');
    read(bytes);
    return bytes;
  }
  std::uint64_t number() {
    std::uint64_t x = 0;
    read({reinterpret_cast<char*>(&x), word});
    return x;
  }
  template <class T>
  void fill(std::vector<T>& x) {
    read({reinterpret_cast<char*>(x.data()), x.size() * sizeof(T)});
  }

 private:
  void read(std::span<char> bytes) {
    file_.read_at(at_, bytes);
    at_ += bytes.size();
  }
  const InputFile& file_;
  std::uint64_t at_ = 0;
};

/// Throws unless the file begins as a checkpoint of this version does.
void check_magic(const InputFile& file) {
  const std::string begin = Reader(file).text(std::min<std::uint64_t>(file.size(), magic.size()));
  if (begin == magic && file.size() >= header_size + word) return;
  if (magic.starts_with(begin) && !begin.empty())
    throw std::runtime_error("ends after " + std::to_string(file.size()) + " bytes, expected a whole checkpoint");
  if (begin.starts_with(family) && begin.size() > family.size() && begin[family.size()] >= '1' && begin[family.size()] <= '9')
    throw std::runtime_error("was written by a newer version of this program, expected " +
                             std::string(magic.substr(0, magic.size() - 1)));
  throw std::runtime_error("is no checkpoint of attoscope train");
}

/// Throws unless the last word is the digest of all bytes before it.
void check_digest(const InputFile& file) {
  constexpr std::uint64_t piece = 1 << 20;
  XXH3_state_t digest;
  XXH3_64bits_reset(&digest);
  Reader reader(file);
  for (std::uint64_t left = file.size() - word; left > 0; left -= std::min(left, piece)) {
    const std::string bytes = reader.text(std::min(left, piece));
    XXH3_64bits_update(&digest, bytes.data(), bytes.size());
  }
  if (const std::uint64_t computed = XXH3_64bits_digest(&digest), stored = reader.number(); computed != stored)
    throw std::runtime_error("is damaged: its digest is " + hex16(computed) + ", expected " + hex16(stored));
}

/// Reads the JSON as text. Throws at the first zero byte: JSON has none, a sparse file has many.
std::string json_text_of(Reader& reader, std::uint64_t size) {
  constexpr std::uint64_t piece = 1 << 20;
  std::string text;
  while (text.size() < size) {
    const std::string part = reader.text(std::min(piece, size - text.size()));
    if (const std::size_t zero = part.find('\0'); zero != std::string::npos)
      throw std::runtime_error("is not JSON at byte " + std::to_string(text.size() + zero + 1));
    text += part;
  }
  return text;
}

/// The part of the file before the arrays.
struct Head {
  nlohmann::json json;
  TrainRecord record;
};
Head read_head(const InputFile& file, Reader& reader) {
  const std::uint64_t json_size = reader.number(), most = std::min(longest_json, file.size() - header_size - word);
  if (json_size > most)
    throw std::runtime_error("states " + std::to_string(json_size) + " bytes of JSON, expected at most " +
                             std::to_string(most));
  Head head;
  head.json = parse_json(json_text_of(reader, json_size), deepest, most_values);
  head.record = train_record(head.json);
  const std::uint64_t there = file.size() - header_size - word - json_size, expected = array_bytes(head.record);
  if (there != expected)
    throw std::runtime_error("holds " + std::to_string(there) + " bytes of weights, expected " + std::to_string(expected) +
                             " for its plan");
  return head;
}

Checkpoint checked(const InputFile& file) {
  check_magic(file);
  Reader reader(file);
  reader.text(magic.size());
  if (const std::uint64_t total = reader.number(); total != file.size())
    throw std::runtime_error("has " + std::to_string(file.size()) + " bytes, expected " + std::to_string(total));
  if (Reader beforehand = reader; file.size() > largest_unasked) read_head(file, beforehand);
  check_digest(file);
  Head head = read_head(file, reader);
  Checkpoint read{std::move(head.record), {}};
  read.state = empty_state(JsonPlace(head.json, "").at("state"), read.record);
  for (TrainState& s : read.state.runs)
    for (std::vector<float>* const x : {&s.weights, &s.m, &s.v}) reader.fill(*x);
  for (std::vector<double>& p : read.state.paths) reader.fill(p);
  return read;
}

}  // namespace

void write_checkpoint(const std::string& path, const TrainRecord& record, const PairedTrainingState& state) {
  Json json = train_json(record);
  json["state"] = state_json(state);
  const std::string text = json_text(json, -1);
  std::string bytes(magic);
  const std::uint64_t text_size = text.size(), total = header_size + text_size + array_bytes(record) + word;
  bytes.reserve(total);
  append(bytes, &total, 1);
  append(bytes, &text_size, 1);
  bytes += text;
  for (const TrainState& s : state.runs)
    for (const std::vector<float>* const x : {&s.weights, &s.m, &s.v}) append(bytes, x->data(), x->size());
  for (const std::vector<double>& p : state.paths) append(bytes, p.data(), p.size());
  const std::uint64_t digest = XXH3_64bits(bytes.data(), bytes.size());
  append(bytes, &digest, 1);
  StagedFiles files(Safety::machine);
  files.add(path, bytes);
  files.commit();
}

Checkpoint read_checkpoint(const std::string& path) {
  const InputFile file(path);
  return named_in_errors(path, [&] { return checked(file); });
}

}  // namespace attoscope::app
