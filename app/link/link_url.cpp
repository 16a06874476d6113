#include "app/link/link_url.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "app/link/packed_text.h"
#include "app/words/numbers.h"

namespace attoscope {
namespace {

constexpr std::string_view beginning = "attoscope:open?", hexadecimal = "0123456789ABCDEF";

std::string encoded(std::string_view text) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/:";
  std::string url;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (plain.find(c) != std::string_view::npos)
      url += c;
    else
      (url += '%').append({hexadecimal[byte >> 4], hexadecimal[byte & 15]});
  }
  return url;
}

int digit(char c) {
  const std::size_t found = hexadecimal.find(c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c);
  if (found == std::string_view::npos) throw std::runtime_error("has a % without two hexadecimal digits behind it");
  return static_cast<int>(found);
}

std::string decoded(std::string_view url) {
  std::string text;
  for (std::size_t i = 0; i < url.size(); ++i) {
    if (url[i] != '%') {
      text += url[i];
      continue;
    }
    if (i + 2 >= url.size()) throw std::runtime_error("has a % without two hexadecimal digits behind it");
    text += static_cast<char>(16 * digit(url[i + 1]) + digit(url[i + 2]));
    i += 2;
  }
  return text;
}

}  // namespace

std::string link_url(const LinkMessage& message) {
  std::string url(beginning);
  const auto add = [&](std::string_view key, std::string_view value) {
    if (url.size() > beginning.size()) url += '&';
    url += std::string(key) + "=" + encoded(value);
  };
  for (const std::string& file : message.files) add("file", file);
  for (const auto& [key, value] : message.settings) add(key, value);
  if (!message.session.empty()) add("session", packed_text(message.session));
  return url;
}

LinkMessage parse_link_url(std::string_view url) {
  const std::string start(beginning);
  if (!url.starts_with(beginning))
    throw std::runtime_error("is not understood, expected " + start + "file=FILE or " + start + "session=SESSION");
  if (url.size() > longest_message)
    throw std::runtime_error("has " + std::to_string(url.size()) + " bytes, expected at most " +
                             std::to_string(longest_message));
  LinkMessage message;
  for (std::string_view rest = url.substr(beginning.size()); !rest.empty();) {
    const std::string_view field = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), field.size() + 1));
    const std::size_t equals = field.find('=');
    if (equals == std::string_view::npos) throw std::runtime_error("has the field " + in_quotes(field) + " without a value");
    const std::string key(field.substr(0, equals)), value = decoded(field.substr(equals + 1));
    if (key == "file") {
      message.files.push_back(value);
    } else if (key == "session") {
      if (!message.session.empty()) throw std::runtime_error("has two sessions, expected one");
      message.session = unpacked_text(value, longest_session);
      if (message.session.empty()) throw std::runtime_error("has an empty session, expected its text");
    } else {
      message.settings[key] = value;
    }
  }
  return parse_message(message_text(message));  // applies the checks of messages
}

}  // namespace attoscope
