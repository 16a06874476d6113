#include "app/model/tokenizer.h"

#include <algorithm>
#include <array>
#include <functional>
#include <queue>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "app/words/numbers.h"

namespace attoscope::app {
namespace {

/// A text's characters; a byte that is not UTF-8 is a character of its own, of no class.
class Characters {
 public:
  explicit Characters(std::string_view text) : text_(text) {
    for (std::size_t at = 0; at < text.size();) {
      const auto c = decoded(text, at);
      starts_.push_back(at);
      codes_.push_back(c ? c->character : U'\uFFFD');
      at += c ? c->bytes : 1;
    }
    starts_.push_back(text.size());
  }
  std::size_t size() const { return codes_.size(); }
  /// The character at i; 0 behind the end.
  char32_t operator[](std::size_t i) const { return i < size() ? codes_[i] : 0; }
  std::string_view piece(std::size_t first, std::size_t end) const {
    return text_.substr(starts_[first], starts_[end] - starts_[first]);
  }
  template <class Is>
  std::size_t run(std::size_t i, Is is) const {
    while (i < size() && is(codes_[i])) ++i;
    return i;
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;
  std::vector<char32_t> codes_;
};

bool is_other(char32_t c) { return !is_space(c) && !is_letter(c) && !is_number(c); }
bool is_line_end(char32_t c) { return c == '\r' || c == '\n'; }
char32_t lower(char32_t c) { return c >= 'A' && c <= 'Z' ? c + 32 : c == 0x17f ? U's' : c; }

/// End of the contraction 's 't 're 've 'm 'll 'd at i; i: there is none.
std::size_t contraction(const Characters& c, std::size_t i, bool any_case) {
  if (c[i] != '\'') return i;
  const char32_t x = any_case ? lower(c[i + 1]) : c[i + 1], y = any_case ? lower(c[i + 2]) : c[i + 2];
  if (x == 's' || x == 't' || x == 'm' || x == 'd') return i + 2;
  return (x == 'r' && y == 'e') || (x == 'v' && y == 'e') || (x == 'l' && y == 'l') ? i + 3 : i;
}

/// End of \s+(?!\S)|\s+ at i: several spaces before another character leave the last one out.
std::size_t spaces(const Characters& c, std::size_t i) {
  const std::size_t end = c.run(i, is_space);
  return end == c.size() || end - i == 1 ? end : end - 1;
}

/// End of the word at i: 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
std::size_t gpt2_word(const Characters& c, std::size_t i) {
  if (const std::size_t end = contraction(c, i, false); end > i) return end;
  const std::size_t from = c[i] == ' ' && i + 1 < c.size() ? i + 1 : i;
  for (bool (*const is)(char32_t) : {is_letter, is_number, is_other})
    if (from < c.size() && is(c[from])) return c.run(from, is);
  return spaces(c, i);
}

/// End of the word at i: (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|
/// \s*[\r\n]+|\s+(?!\S)|\s+
std::size_t llama3_word(const Characters& c, std::size_t i, std::size_t digits) {
  if (const std::size_t end = contraction(c, i, true); end > i) return end;
  const std::size_t letters = is_letter(c[i]) || is_number(c[i]) || is_line_end(c[i]) ? i : i + 1;
  if (letters < c.size() && is_letter(c[letters])) return c.run(letters, is_letter);
  if (is_number(c[i])) return std::min(c.run(i, is_number), i + digits);
  const std::size_t from = c[i] == ' ' ? i + 1 : i;
  if (from < c.size() && is_other(c[from])) return c.run(c.run(from, is_other), is_line_end);
  const std::size_t end = c.run(i, is_space);
  for (std::size_t last = end; last > i; --last)
    if (is_line_end(c[last - 1])) return last;
  return spaces(c, i);
}

template <class End>
void add_words(std::string_view text, std::vector<std::string_view>& words, End end_of) {
  const Characters c(text);
  for (std::size_t i = 0; i < c.size();) {
    const std::size_t end = end_of(c, i);
    words.push_back(c.piece(i, end));
    i = end;
  }
}

/// Each number alone, gpt2 between them.
void add_single_digits(std::string_view text, std::vector<std::string_view>& words) {
  const Characters c(text);
  for (std::size_t i = 0; i < c.size();) {
    const std::size_t end = is_number(c[i]) ? i + 1 : c.run(i, [](char32_t x) { return !is_number(x); });
    add_words(c.piece(i, end), words, gpt2_word);
    i = end;
  }
}

/// Words of a text, one after the other without gaps.
std::vector<std::string_view> words_of(std::string_view text, WordRule rule) {
  std::vector<std::string_view> words;
  if (rule == WordRule::gpt2)
    add_words(text, words, gpt2_word);
  else if (rule == WordRule::single_digits)
    add_single_digits(text, words);
  else
    add_words(text, words,
              [&](const Characters& c, std::size_t i) { return llama3_word(c, i, rule == WordRule::llama3 ? 3 : 1); });
  return words;
}

/// GPT-2's character for each byte: the byte itself if printable, else a character from U+0100 on.
std::array<std::string, 256> byte_characters() {
  const auto utf8 = [](unsigned c) {
    return c < 128 ? std::string{static_cast<char>(c)}
                   : std::string{static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
  };
  std::array<std::string, 256> all;
  unsigned next = 256;
  for (unsigned b = 0; b < 256; ++b) {
    const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    all[b] = utf8(printable ? b : next++);
  }
  return all;
}

/// Adds the tokens of a word: joins the two neighbours of the least rank, the first ones of equal rank, until no two have one.
void add_word(const Tokenizer& t, std::string_view word, std::vector<int>& tokens) {
  static const std::array<std::string, 256> characters = byte_characters();
  std::string whole;
  std::vector<std::size_t> starts{0}, next, before;  // of each part, by its first byte
  for (const char b : word) {
    whole += characters[static_cast<unsigned char>(b)];
    before.push_back(next.size() - 1);
    starts.push_back(whole.size());
    next.push_back(starts.size() - 1);
  }
  const std::size_t end = word.size();
  next.push_back(0);  // nothing follows the end
  if (const auto found = t.vocabulary.find(whole); t.whole_words && found != t.vocabulary.end())
    return tokens.push_back(found->second);
  const auto part = [&](std::size_t i) { return whole.substr(starts[i], starts[next[i]] - starts[i]); };
  using Pair = std::tuple<int, std::size_t, std::size_t>;  // its rank, where it begins, where it ends
  std::priority_queue<Pair, std::vector<Pair>, std::greater<>> pairs;
  const auto add_pair = [&](std::size_t i) {
    if (next[i] == end) return;
    const auto rank = t.ranks.find(part(i) + " " + part(next[i]));
    if (rank != t.ranks.end()) pairs.emplace(rank->second, i, next[next[i]]);
  };
  for (std::size_t i = 0; i < end; ++i) add_pair(i);
  while (!pairs.empty()) {
    const auto [rank, i, behind] = pairs.top();
    pairs.pop();
    if (next[next[i]] != behind) continue;  // one of the two was joined to another
    next[std::exchange(next[i], behind)] = end;
    if (behind < end) {
      before[behind] = i;
      add_pair(i);
    }
    if (i > 0) add_pair(before[i]);
  }
  for (std::size_t i = 0; i < end; i = next[i]) {
    const auto found = t.vocabulary.find(part(i));
    if (found == t.vocabulary.end())
      throw std::runtime_error("has no token " + in_quotes(part(i)) + ", expected a file of tokens");
    tokens.push_back(found->second);
  }
}

/// Refuses text that is not UTF-8 and, where it must be `composed` (NFC), characters that NFC may change.
void check_text(std::string_view text, bool composed) {
  for (std::size_t at = 0; at < text.size();) {
    const auto c = decoded(text, at);
    if (!c)
      throw std::runtime_error("the text is not UTF-8: its byte " + std::to_string(at) +
                               ", counted from 0, begins no character");
    if (composed && !is_composed(c->character))
      throw std::runtime_error("the text has " + in_quotes(text.substr(at, c->bytes)) + " at byte " + std::to_string(at) +
                               ", which may need composition (NFC), and that is not done here: expected a file of tokens");
    at += c->bytes;
  }
}

}  // namespace

std::vector<std::string> Tokenizer::texts() const {
  const std::array<std::string, 256> characters = byte_characters();
  std::unordered_map<std::string_view, char> bytes;
  for (std::size_t b = 0; b < characters.size(); ++b) bytes[characters[b]] = static_cast<char>(b);
  std::vector<std::string> all;
  const auto place = [&](int token) -> std::string& {
    if (static_cast<std::size_t>(token) >= all.size()) all.resize(static_cast<std::size_t>(token) + 1);
    return all[static_cast<std::size_t>(token)];
  };
  for (const auto& [name, token] : vocabulary) {
    std::string& text = place(token);
    for (std::size_t at = 0; at < name.size();) {
      const auto c = decoded(name, at);
      const std::string_view character = std::string_view(name).substr(at, c ? c->bytes : 1);
      const auto byte = bytes.find(character);
      byte == bytes.end() ? text.append(character) : text.append(1, byte->second);
      at += character.size();
    }
  }
  for (const auto& [name, token] : added) place(token) = name;
  return all;
}

std::vector<int> Tokenizer::tokens(std::string_view text) const {
  check_text(text, composed);
  std::vector<int> found;
  const auto add_plain = [&](std::string_view piece) {
    for (const std::string_view word : words_of(piece, rule)) add_word(*this, word, found);
  };
  std::size_t plain = 0;
  std::array<bool, 256> begins{};
  for (const auto& [name, id] : added) begins[static_cast<unsigned char>(name[0])] = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::pair<const std::string, int>* longest = nullptr;
    if (begins[static_cast<unsigned char>(text[at])])
      for (const auto& token : added)
        if (text.substr(at).starts_with(token.first) && (!longest || token.first.size() > longest->first.size()))
          longest = &token;
    if (longest == nullptr) {
      ++at;
      continue;
    }
    add_plain(text.substr(plain, at - plain));
    found.push_back(longest->second);
    plain = at += longest->first.size();
  }
  add_plain(text.substr(plain));
  return found;
}

}  // namespace attoscope::app
