#include "app/session.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "app/files.h"
#include "app/numbers.h"
#include "app/paths.h"
#include "app/precision_text.h"
#include "app/session_fields.h"

namespace attoscope {
namespace {

using Parsed = nlohmann::json;

constexpr std::string_view schema = "attoscope.session/1";
constexpr std::uint64_t largest_session = 1 << 20;

/// Writes fields into an object.
class Writer {
 public:
  explicit Writer(Json& json) : json_(json) {}
  template <class T>
  void integer(std::string_view key, const T& x, T, T) {
    put(key, x);
  }
  void real(std::string_view key, double x, double, double) { put(key, x); }
  void flag(std::string_view key, bool x) { put(key, x); }
  void text(std::string_view key, const std::string& x) { put(key, x); }
  void hex(std::string_view key, std::uint64_t x) { put(key, hex16(x)); }
  template <class E, std::size_t N>
  void choice(std::string_view key, E x, const std::array<std::string_view, N>& names) {
    put(key, names[static_cast<std::size_t>(x)]);
  }
  void field(std::string_view key, Field x) { put(key, attoscope::text(x).name); }
  void format(std::string_view key, const Format& x) { put(key, name(x)); }
  void rounding(std::string_view key, const Rounding& x) { put(key, rounding_text(x)); }
  void policy(std::string_view, const Precision&) {}  // all its steps are written
  template <class F>
  void object(std::string_view key, F visit) {
    Json inner = Json::object();
    Writer writer(inner);
    visit(writer);
    put(key, std::move(inner));
  }

 private:
  void put(std::string_view key, Json value) { json_[std::string(key)] = std::move(value); }
  Json& json_;
};

/// Reads fields from an object, and remarks on what it cannot use.
class Reader {
 public:
  Reader(const Parsed& json, std::string path, std::vector<std::string>& remarks)
      : json_(json), path_(std::move(path)), remarks_(remarks) {}

  template <class T>
  void integer(std::string_view key, T& x, T min, T max) {
    const Parsed* const value = find(key);
    if (value == nullptr) return;
    if (const auto read = whole<T>(*value); read && *read >= min && *read <= max) {
      x = *read;
    } else {
      remark(key, *value, "a whole number from " + std::to_string(min) + " to " + std::to_string(max));
    }
  }

  void real(std::string_view key, double& x, double min, double max) {
    const Parsed* const value = find(key);
    if (value == nullptr) return;
    if (value->is_number() && value->get<double>() >= min && value->get<double>() <= max) {
      x = value->get<double>();
    } else {
      remark(key, *value, "a number from " + shortest(min) + " to " + shortest(max));
    }
  }

  void flag(std::string_view key, bool& x) {
    const Parsed* const value = find(key);
    if (value == nullptr) return;
    if (value->is_boolean()) {
      x = value->get<bool>();
    } else {
      remark(key, *value, "true or false");
    }
  }

  void text(std::string_view key, std::string& x) {
    parse(key, "a text", [&](const std::string& read) { x = read; });
  }

  void hex(std::string_view key, std::uint64_t& x) {
    parse(key, "16 hexadecimal digits", [&](const std::string& read) { x = from_hex16(read).value(); });
  }

  template <class E, std::size_t N>
  void choice(std::string_view key, E& x, const std::array<std::string_view, N>& names) {
    parse(key, listed(names), [&](const std::string& read) {
      const auto found = std::find(names.begin(), names.end(), read);
      if (found == names.end()) throw std::invalid_argument("no such name");
      x = static_cast<E>(found - names.begin());
    });
  }

  void field(std::string_view key, Field& x) {
    std::array<std::string_view, field_count> names;
    for (int i = 0; i < field_count; ++i) names[static_cast<std::size_t>(i)] = attoscope::text(static_cast<Field>(i)).name;
    choice(key, x, names);
  }

  void format(std::string_view key, Format& x) {
    parse(key, "a format such as bf16 or e5m7", [&](const std::string& read) { x = parse_format(read); });
  }

  void rounding(std::string_view key, Rounding& x) {
    parse(key, "exact, main or a format", [&](const std::string& read) { x = parse_rounding(read); });
  }

  void policy(std::string_view key, Precision& x) {
    parse(key, "a policy that `attoscope presets` lists",
          [&](const std::string& read) { x = attoscope::policy(read).precision; });
  }

  template <class F>
  void object(std::string_view key, F visit) {
    const Parsed* const value = find(key);
    if (value == nullptr) return;
    if (!value->is_object()) return remark(key, *value, "an object");
    Reader reader(*value, path_of(key), remarks_);
    visit(reader);
    reader.remark_unknown();
  }

  /// To be called last: what was never asked for is unknown.
  void remark_unknown() {
    for (const auto& [key, value] : json_.items()) {
      if (!known_.contains(key)) remarks_.push_back(path_of(key) + " is not a known key");
    }
  }

  void know(std::string_view key) { known_.emplace(key); }

 private:
  const Parsed* find(std::string_view key) {
    know(key);
    const auto found = json_.find(std::string(key));
    return found == json_.end() ? nullptr : &*found;
  }

  template <class T>
  static std::optional<T> whole(const Parsed& value) {
    if (value.is_number_unsigned()) {
      const auto x = value.get<std::uint64_t>();
      return std::in_range<T>(x) ? std::optional<T>(static_cast<T>(x)) : std::nullopt;
    }
    if (!value.is_number_integer()) return std::nullopt;
    const auto x = value.get<std::int64_t>();
    return std::in_range<T>(x) ? std::optional<T>(static_cast<T>(x)) : std::nullopt;
  }

  /// Gives a text to `take`, which throws where it cannot use it.
  template <class F>
  void parse(std::string_view key, const std::string& expected, F take) {
    const Parsed* const value = find(key);
    if (value == nullptr) return;
    try {
      if (!value->is_string()) throw std::invalid_argument("no text");
      take(value->get<std::string>());
    } catch (const std::exception&) {
      remark(key, *value, expected);
    }
  }

  std::string path_of(std::string_view key) const { return path_.empty() ? std::string(key) : path_ + "." + std::string(key); }

  void remark(std::string_view key, const Parsed& value, const std::string& expected) {
    remarks_.push_back(path_of(key) + " is " + in_quotes(value.dump(-1, ' ', false, Parsed::error_handler_t::replace)) +
                       ", expected " + expected + "; the default is kept");
  }

  const Parsed& json_;
  std::string path_;
  std::vector<std::string>& remarks_;
  std::set<std::string, std::less<>> known_;
};

/// What no single field can tell: that the experiment as a whole makes sense.
void check_whole(Experiment& experiment, std::vector<std::string>& remarks) {
  Input& input = experiment.problem.input;
  if (input.kind == InputKind::tensors && input.file.empty()) {
    remarks.push_back("experiment.problem.input.file is missing, expected the file of tensors; the default input is kept");
    input = Input{};
  }
}

}  // namespace

Session parse_session(std::string_view text, std::vector<std::string>& remarks) {
  const Parsed json = parse_json(text, 8);
  const auto found = json.is_object() ? json.find("schema") : json.end();
  if (found == json.end()) throw std::runtime_error("has no key 'schema', expected '" + std::string(schema) + "'");
  if (*found != schema)
    throw std::runtime_error("has schema " + in_quotes(found->dump(-1, ' ', false, Parsed::error_handler_t::replace)) +
                             ", expected '" + std::string(schema) + "'");
  Session session;
  Reader reader(json, "", remarks);
  reader.know("schema");
  reader.know("version");
  visit_session(reader, session);
  reader.remark_unknown();
  check_whole(session.experiment, remarks);
  return session;
}

std::string session_text(const Session& session) {
  Json json{{"schema", schema}, {"version", ATTOSCOPE_VERSION}};
  Writer writer(json);
  visit_session(writer, session);
  return json_text(json);
}

Session read_session(const std::string& path, std::vector<std::string>& remarks) {
  const std::string text = read_file(path, largest_session);
  const std::size_t earlier = remarks.size();
  try {
    Session session = parse_session(text, remarks);
    for (std::size_t i = earlier; i < remarks.size(); ++i) remarks[i].insert(0, path + ": ");
    return session;
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

void write_session(const std::string& path, const Session& session) {
  StagedFiles files;
  files.make_directory(std::filesystem::path(path).parent_path().string());
  files.add(path, session_text(session));
  files.commit();
}

Session first_session() {
  Session session;
  const std::string example = example_file();
  if (example.empty()) return session;
  session.experiment.problem.input.kind = InputKind::tensors;
  session.experiment.problem.input.file = example;
  session.experiment.problem.input.index = 1;
  session.experiment.problem.mask.kind = Mask::Kind::causal;
  return session;
}

Session last_session(std::vector<std::string>& remarks) {
  const std::string path = default_session_file();
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) return first_session();
  try {
    return read_session(path, remarks);
  } catch (const std::exception& unreadable) {
    remarks.emplace_back(unreadable.what());
    return first_session();
  }
}

Json experiment_json(const Experiment& experiment) {
  Json json = Json::object();
  Writer writer(json);
  visit_experiment(writer, experiment);
  return json;
}

}  // namespace attoscope
