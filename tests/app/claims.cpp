#include "tests/app/claims.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "app/files/files.h"
#include "app/files/paths.h"
#include "kernels/experiment/kernel_presets.h"
#include "tests/support/rooms.h"

namespace attoscope::testing {
namespace {
namespace fs = std::filesystem;

constexpr std::uint64_t largest_text = 1 << 20;

std::string text_of(const nlohmann::json& entry, const char* key) {
  if (!entry.contains(key) || !entry[key].is_string() || entry[key].get<std::string>().empty())
    throw std::runtime_error("claims: " + entry.dump() + " has no '" + key + "', expected a text");
  return entry[key];
}

constexpr double far = std::numeric_limits<double>::infinity();

/// Throws if `entry` has a key that no claim has, or no bounds for its claim.
void check_claim(const nlohmann::json& entry, const Claim& c) {
  constexpr std::array known{"in",      "says", "of",      "over",         "at_least",         "at_most",
                             "seeds",   "mean", "without", "without_over", "without_at_least", "without_at_most",
                             "controls"};
  for (const auto& [key, value] : entry.items())
    if (std::ranges::find(known, key) == known.end())
      throw std::runtime_error("claims: " + entry.dump() + " has the unknown key '" + key + "'");
  if (!c.controls.empty()) return;
  if (c.at_least == -far && c.at_most == far)
    throw std::runtime_error("claims: " + entry.dump() + " claims nothing, expected at_least or at_most");
  if (!c.without.empty() && c.without_at_least == -far && c.without_at_most == far)
    throw std::runtime_error("claims: " + entry.dump() + " says nothing of what is without the cause");
}

Claim claim_of(const nlohmann::json& entry) {
  Claim c{.in = text_of(entry, "in"),
          .says = text_of(entry, "says"),
          .of = entry.contains("controls") ? "" : text_of(entry, "of"),
          .over = entry.value("over", ""),
          .at_least = entry.value("at_least", -far),
          .at_most = entry.value("at_most", far),
          .seeds = entry.value("seeds", 20),
          .mean = entry.value("mean", false),
          .without = entry.value("without", ""),
          .without_over = entry.value("without_over", ""),
          .without_at_least = entry.value("without_at_least", -far),
          .without_at_most = entry.value("without_at_most", far),
          .controls = entry.value("controls", "")};
  check_claim(entry, c);
  return c;
}

/// `text` with every match of `pattern` replaced.
std::string replaced(const std::string& text, const char* pattern, const char* by) {
  return std::regex_replace(text, std::regex(pattern), by);
}

/// The prose lines of a lesson: no code, tables or headings; from an exercise the question, the explanation and the sentences
/// about mistakes.
std::string prose_of_lesson(const std::string& text) {
  std::string prose;
  bool in_fence = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("**Sources**")) break;
    if (line.starts_with("```")) {
      in_fence = !in_fence;
    } else if (in_fence) {
      for (const std::string key : {"question: ", "explanation: "})
        if (line.starts_with(key)) prose += line.substr(key.size()) + "\n\n";
      if (const std::size_t bar = line.find(" | "); line.starts_with("mistake: ") && bar != std::string::npos)
        prose += line.substr(bar + 3) + "\n\n";
    } else {
      prose += line.starts_with("|") || line.starts_with("#") ? "\n" : line + "\n";
    }
  }
  return prose;
}

Place place_of(std::string name, const std::string& markdown) { return {std::move(name), sentences_of(markdown)}; }

std::vector<fs::path> files_in(const fs::path& folder, const char* extension) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == extension) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

std::vector<fs::path> files_of(const std::string& folder, const char* extension) {
  return files_in(fs::path(assets_directory()) / folder, extension);
}

/// Markdown without fenced blocks.
std::string without_code(const std::string& text) {
  std::string prose;
  bool in_fence = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) in_fence = !in_fence, prose += "\n";
    if (!in_fence && !line.starts_with("```") && !line.starts_with("#")) prose += line + "\n";
  }
  return prose;
}

/// The READMEs of the tree, sorted by path; READMEs of data folders (licences) are left out.
std::vector<Place> readmes() {
  std::vector<std::string> names{"README.md"};
  for (const char* const top : {"app", "assets", "kernels", "tests", "ui"})
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(top))
      if (entry.path().filename() == "README.md" &&
          entry.path().generic_string().find("/data/") == std::string::npos)  // licences
        names.push_back(entry.path().generic_string());
  std::ranges::sort(names);
  std::vector<Place> all;
  for (const std::string& name : names) all.push_back(place_of(name, without_code(read_file(name, largest_text))));
  return all;
}

/// The string literals of C++ code; adjacent literals are joined.
std::string literals_of(const std::string& code) {
  static const std::regex quoted(R"rx("((?:[^"\\\n]|\\.)*)")rx");
  std::string all;
  std::size_t last = 0;
  for (std::sregex_iterator it(code.begin(), code.end(), quoted); it != std::sregex_iterator(); ++it) {
    const auto at = static_cast<std::size_t>(it->position());
    const bool joined = code.find_first_not_of(" \n\t", last) == at;
    all += (joined ? "" : "\n\n") + (*it)[1].str();
    last = at + static_cast<std::size_t>(it->length());
  }
  return all;
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
  // a link is replaced by its text; paragraphs, list entries and table rows end a sentence
  std::string text = replaced(std::string(markdown), R"(\[([^\]]*)\]\([^)]*\))", "$1");
  text = replaced(text, R"(\n(\s*\n|(?=- )|(?=\| )))", "\x01");
  text = replaced(text, R"([ \t\n]+)", " ");
  text = replaced(text, R"(([.?!]) )", "$1\x01");
  std::vector<std::string> sentences;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, '\x01');) {
    const std::size_t first = part.find_first_not_of(' ');
    if (first != std::string::npos) sentences.push_back(part.substr(first, part.find_last_not_of(' ') + 1 - first));
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
      R"(as large|as far|as often|as good|as much|rises|falls|grows|shrinks|disagrees)\b)");
  return std::regex_search(sentence.begin(), sentence.end(), words);
}

std::vector<Reason> parse_reasons(const std::string& text) {
  constexpr std::array kinds{"proof", "definition", "program", "quoted"};
  const nlohmann::json json = nlohmann::json::parse(text);
  if (json.value("schema", "") != "attoscope.reasons/1")
    throw std::runtime_error("reasons: schema is '" + json.value("schema", "") + "', expected 'attoscope.reasons/1'");
  std::vector<Reason> all;
  for (const auto& [place, entries] : json.at("reasons").items())
    for (const nlohmann::json& entry : entries) {
      all.push_back({place, text_of(entry, "says"), text_of(entry, "kind")});
      if (std::ranges::find(kinds, all.back().kind) == kinds.end())
        throw std::runtime_error("reasons: kind is '" + all.back().kind + "', expected proof, definition, program or quoted");
    }
  return all;
}

const std::vector<Reason>& shipped_reasons() {
  static const std::vector<Reason> all = parse_reasons(read_file("tests/data/reasons.json", largest_text));
  return all;
}

std::vector<Place> places_of_reasons() {
  std::vector<Place> all = readmes();
  for (Place& p : places())
    if (p.name != "README.md") all.push_back(std::move(p));
  std::vector<fs::path> figures = files_in("app/papers", ".cpp");
  for (const char* const file : {"app/train/seed_figures.cpp", "assets/figures.json"}) figures.emplace_back(file);
  for (const fs::path& file : figures)
    all.push_back(place_of(file.generic_string(), literals_of(read_file(file.string(), largest_text))));
  for (const KernelPreset& k : kernel_presets())
    if (k.method.scaling.any()) all.push_back(place_of("--like " + std::string(k.name), std::string(k.what)));
  return all;
}

bool gives_reason(std::string_view sentence) {
  // "so" and "since" only where they join two clauses: "says so" and "since 2.1" give no reason
  static const std::regex words(
      R"(\b(because|causes?|caused|explains?|explained|explanation|therefore|hence|thus|reasons?|due to|comes? from)\b)"
      R"(|(^\W*|[,;:(]\s*(and |but )?)(since|so(?! (far|many|much)\b))\b)",
      std::regex::icase);
  return std::regex_search(sentence.begin(), sentence.end(), words);
}

std::string unmarked(std::string sentence) {
  std::erase_if(sentence, [](char c) { return c == '*' || c == '`'; });
  return sentence;
}

std::vector<std::string> reasons_in(const Place& place) {
  std::vector<std::string> found;
  bool because = false;  // the table has a column "because"
  for (const std::string& sentence : place.sentences) {
    because = sentence.starts_with("|") && (because || sentence.find("| because |") != std::string::npos);
    const bool numbers = sentence.find_first_not_of("|-: ") == std::string::npos;
    if (!numbers && (because || gives_reason(sentence))) found.push_back(unmarked(sentence));
  }
  return found;
}

unsigned first_seed(const Claim& claim) {
  const bool takes_long = claim.of.starts_with("train.") || claim.of.starts_with("sum.");
  unsigned hash = 2166136261U;  // FNV-1a
  for (const char c : takes_long ? claim.in : claim.says) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return 1 + hash % 1000000U;
}

}  // namespace attoscope::testing
