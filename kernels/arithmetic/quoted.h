/// Somebody's text in messages: one line, whatever it holds.
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope {

/// A character of UTF-8 and the bytes that it takes.
struct Decoded {
  char32_t character = 0;
  std::size_t bytes = 1;
};
/// The character that starts at `first`; none if there is no Unicode character in its shortest encoding.
std::optional<Decoded> decoded(std::string_view text, std::size_t first);

/// `text` with a question mark for every control character and every byte that is no UTF-8.
std::string printable(std::string_view text);

/// `text` in single quotes, printable and no longer than a line, for a message.
std::string in_quotes(std::string_view text);

/// `text` with a full stop at its end, and without.
std::string with_full_stop(std::string text);
std::string without_full_stop(std::string text);

/// The parts of a text between separators, of which each is one character.
std::vector<std::string_view> split(std::string_view text, std::string_view separators);

/// "none, causal or window": the items of a list, as texts.
template <class List, class Text = std::identity>
std::string listed(const List& items, const char* before_last = " or ", Text text = {}) {
  std::string all;
  const std::size_t count = std::size(items);
  for (std::size_t i = 0; i < count; ++i)
    all += (i == 0 ? "" : i + 1 == count ? before_last : ", ") + std::string(std::invoke(text, items[i]));
  return all;
}

/// A key as it is where it can be read as one word, else in quotes.
std::string shown_key(std::string_view key);

}  // namespace attoscope
