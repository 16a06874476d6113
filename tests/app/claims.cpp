#include "tests/app/claims.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>

#include "app/files/files.h"
#include "app/files/paths.h"

namespace attoscope::testing {
namespace {
namespace fs = std::filesystem;

constexpr std::uint64_t largest_text = 1 << 20;

std::string text_of(const nlohmann::json& entry, const char* key) {
  if (!entry.contains(key) || !entry[key].is_string() || entry[key].get<std::string>().empty())
    throw std::runtime_error("claims: " + entry.dump() + " has no '" + key + "', expected a text");
  return entry[key];
}

Claim claim_of(const nlohmann::json& entry) {
  constexpr double far = std::numeric_limits<double>::infinity();
  Claim c{.in = text_of(entry, "in"),
          .says = text_of(entry, "says"),
          .of = text_of(entry, "of"),
          .over = entry.value("over", ""),
          .at_least = entry.value("at_least", -far),
          .at_most = entry.value("at_most", far),
          .seeds = entry.value("seeds", 20),
          .mean = entry.value("mean", false)};
  constexpr std::array known{"in", "says", "of", "over", "at_least", "at_most", "seeds", "mean"};
  for (const auto& [key, value] : entry.items())
    if (std::ranges::find(known, key) == known.end())
      throw std::runtime_error("claims: " + entry.dump() + " has the unknown key '" + key + "'");
  if (c.at_least == -far && c.at_most == far)
    throw std::runtime_error("claims: " + entry.dump() + " claims nothing, expected at_least or at_most");
  return c;
}

/// `text` with every match of `pattern` replaced.
std::string replaced(const std::string& text, const char* pattern, const char* by) {
  return std::regex_replace(text, std::regex(pattern), by);
}

/// The lines of a lesson that are prose: no code, no tables, no headings; of quizzes question and explanation.
std::string prose_of_lesson(const std::string& text) {
  std::string prose;
  bool in_fence = false;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("**Sources**")) break;
    if (line.starts_with("```")) {
      in_fence = !in_fence;
    } else if (in_fence) {
      for (const std::string key : {"question: ", "explanation: "})
        if (line.starts_with(key)) prose += line.substr(key.size()) + "\n\n";
    } else {
      prose += line.starts_with("|") || line.starts_with("#") ? "\n" : line + "\n";
    }
  }
  return prose;
}

Place place_of(std::string name, const std::string& markdown) { return {std::move(name), sentences_of(markdown)}; }

std::vector<fs::path> files_of(const std::string& folder, const char* extension) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(assets_directory()) / folder))
    if (entry.path().extension() == extension) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace

Claims parse_claims(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text);
  if (json.value("schema", "") != "attoscope.claims/1")
    throw std::runtime_error("claims: schema is '" + json.value("schema", "") + "', expected 'attoscope.claims/1'");
  Claims all;
  for (const nlohmann::json& entry : json.at("claims")) all.claims.push_back(claim_of(entry));
  for (const nlohmann::json& entry : json.at("exceptions"))
    all.exceptions.push_back({text_of(entry, "in"), text_of(entry, "says"), text_of(entry, "why")});
  return all;
}

const Claims& shipped_claims() {
  static const Claims all =
      parse_claims(read_file((fs::path(assets_directory()) / "lessons" / "claims.json").string(), largest_text));
  return all;
}

std::string Place::text() const {
  std::string all;
  for (const std::string& s : sentences) all += s + " ";
  return all;
}

std::vector<std::string> sentences_of(std::string_view markdown) {
  // a link says its words; paragraphs, entries of lists and rows of tables end a sentence
  std::string text = replaced(std::string(markdown), R"(\[([^\]]*)\]\([^)]*\))", "$1");
  text = replaced(text, R"(\n(\s*\n|(?=- )|(?=\| )))", "\x01");
  text = replaced(text, R"([ \t\n]+)", " ");
  text = replaced(text, R"(([.?!]) )", "$1\x01");
  std::vector<std::string> sentences;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\x01', at), text.size());
    std::size_t first = text.find_first_not_of(' ', at), last = end;
    while (last > at && text[last - 1] == ' ') --last;
    if (first < last) sentences.push_back(text.substr(first, last - first));
    at = end + 1;
  }
  return sentences;
}

std::vector<Place> places() {
  std::vector<Place> all;
  for (const fs::path& file : files_of("lessons", ".md"))
    all.push_back(place_of("lessons/" + file.filename().string(), prose_of_lesson(read_file(file.string(), largest_text))));
  for (const fs::path& file : files_of("presets", ".json"))
    all.push_back(place_of("presets/" + file.filename().string(),
                           nlohmann::json::parse(read_file(file.string(), largest_text)).at("sentence").get<std::string>()));
  const std::string readme = read_file("README.md", largest_text);
  all.push_back(place_of("README.md", readme.substr(0, readme.find("\n## Limits"))));
  return all;
}

bool compares(std::string_view sentence) {
  static const std::regex words(
      R"(\b(times|twice|half|larger|smaller|worse|better|fewer|greater|higher|lower|more than|less than|below|above|closer|)"
      R"(as large|as far|as often|as good|rises|falls|grows|shrinks|disagrees)\b)");
  return std::regex_search(sentence.begin(), sentence.end(), words);
}

unsigned first_seed(const Claim& claim) {
  unsigned hash = 2166136261U;  // FNV-1a
  for (const char c : claim.says) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return 1 + hash % 1000000U;
}

}  // namespace attoscope::testing
