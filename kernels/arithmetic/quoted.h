/// Foreign text in messages: always one printable line.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope {

/// A Unicode character and the number of its bytes in UTF-8.
struct Decoded {
  char32_t character = 0;
  std::size_t bytes = 1;
};
/// Decodes the character at `first`; nullopt if the bytes are not valid, shortest UTF-8.
std::optional<Decoded> decoded(std::string_view text, std::size_t first);

/// The whole characters at the beginning of `text` that fit into `most` bytes.
std::string_view first_characters(std::string_view text, std::size_t most);

/// `text` with a question mark for every control character and every invalid byte of UTF-8.
std::string printable(std::string_view text);

/// `text` in single quotes, printable and no longer than a line, for a message.
std::string in_quotes(std::string_view text);

/// `text` with, or without, a full stop at its end; an empty text stays empty.
std::string with_full_stop(std::string text);
std::string without_full_stop(std::string text);

/// Splits `text` at every character of `separators`.
std::vector<std::string_view> split(std::string_view text, std::string_view separators);

/// Joins items to "none, causal or window".
template <class List, class Text = std::identity>
std::string listed(const List& items, const char* before_last = " or ", Text text = {}) {
  std::string all;
  const std::size_t count = std::size(items);
  for (std::size_t i = 0; i < count; ++i)
    all += (i == 0 ? "" : i + 1 == count ? before_last : ", ") + std::string(std::invoke(text, items[i]));
  return all;
}

/// `key` unchanged if it reads as one word, else in quotes.
std::string shown_key(std::string_view key);

}  // namespace attoscope
