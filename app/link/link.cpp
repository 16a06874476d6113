#include "app/link/link.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <utility>

#include "app/words/base64.h"
#include "app/words/numbers.h"

namespace attoscope::app {
namespace {

constexpr std::string_view beginning = "attoscope:open?";
constexpr std::size_t most_files = 4;

[[noreturn]] void refuse(const std::string& half_sentence) { throw std::runtime_error(half_sentence); }

std::string encoded(std::string_view text) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/:";
  std::string url;
  for (const char c : text)
    url += plain.find(c) != std::string_view::npos ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return url;
}

std::string decoded(std::string_view url) {
  std::string text;
  for (std::size_t i = 0; i < url.size(); ++i) {
    if (url[i] != '%') {
      text += url[i];
      continue;
    }
    const std::string_view digits = url.substr(i + 1, 2);
    const auto byte = to_number<unsigned>(digits, 16);
    if (digits.size() < 2 || !byte) refuse("has a % without two hexadecimal digits behind it");
    text += static_cast<char>(*byte);
    i += 2;
  }
  return text;
}

const Bytef* bytes_at(const std::string_view& text) { return reinterpret_cast<const Bytef*>(text.data()); }

std::string bytes_of_base64url(std::string_view text) {
  if (const std::size_t bad = text.find_first_not_of(base64url_digits); bad != text.npos)
    throw std::runtime_error("has " + in_quotes(text.substr(bad, 1)) + " as character " + std::to_string(bad + 1) +
                             " of its session, expected base64url: letters, digits, - and _");
  const std::string bytes = bytes_of_base64(text, base64url_digits);
  if (base64(bytes, base64url_digits) != text)
    throw std::runtime_error("has a session that ends within a byte after " + std::to_string(bytes.size()) +
                             " bytes, expected the whole of it");
  return bytes;
}

/// Unpacks the text of a session. Throws std::runtime_error with half a sentence about it.
std::string unpacked_text(std::string_view packed) {
  const std::string bytes = bytes_of_base64url(packed);
  std::string text(longest_session, '\0');
  uLongf size = longest_session, read = bytes.size();
  const int outcome = uncompress2(reinterpret_cast<Bytef*>(text.data()), &size, bytes_at(bytes), &read);
  if (outcome == Z_MEM_ERROR) throw std::bad_alloc();
  if (outcome == Z_BUF_ERROR)
    throw std::runtime_error("has a session that unpacks to more than " + std::to_string(longest_session) +
                             " bytes, expected at most that");
  if (outcome != Z_OK || read != bytes.size())
    throw std::runtime_error("has a session that is damaged at byte " + std::to_string(read) + " of " +
                             std::to_string(bytes.size()) + ", expected one that zlib deflated");
  text.resize(size);
  return text;
}

void add_session(LinkMessage& message, std::string_view packed) {
  if (!message.session.empty()) refuse("has two sessions, expected one");
  message.session = unpacked_text(packed);
  if (message.session.empty()) refuse("has an empty session, expected its text");
}

void add_field(LinkMessage& message, const std::string& key, const std::string& value) {
  if (value.find('\0') != std::string::npos) refuse("has the field " + in_quotes(key) + " with a zero byte");
  if (key == "session") return add_session(message, value);
  const bool is_gradient = std::ranges::find(link_gradients, key) != std::end(link_gradients);
  if (key == "file" || key == "do" || is_gradient) {
    if (!value.starts_with('/')) refuse("names the file " + in_quotes(value) + ", expected a path from / on");
    if (is_gradient)
      message.gradients[key] = value;
    else if (key == "do")
      message.d_o = value;
    else
      message.files.push_back(value);
  } else if (std::ranges::find(link_settings, key) != std::end(link_settings)) {
    message.settings[key] = value;
  } else {
    refuse("has the unknown setting " + in_quotes(key));
  }
}

void check(const LinkMessage& message) {
  const bool plain = message.session.empty();
  if (!plain && !(message.files.empty() && message.settings.empty() && message.d_o.empty() && message.gradients.empty()))
    refuse("has a session beside files or settings, expected a session alone");
  if (plain && (message.files.empty() || message.files.size() > most_files))
    refuse("names " + std::to_string(message.files.size()) + " files, expected 1 to " + std::to_string(most_files));
}

}  // namespace

std::string link_url(const LinkMessage& message) {
  std::string url(beginning);
  const auto add = [&](std::string_view key, std::string_view value) {
    if (url.size() > beginning.size()) url += '&';
    url += std::string(key) + "=" + encoded(value);
  };
  for (const std::string& file : message.files) add("file", file);
  if (!message.d_o.empty()) add("do", message.d_o);
  for (const auto& [key, path] : message.gradients) add(key, path);
  for (const auto& [key, value] : message.settings) add(key, value);
  if (!message.session.empty()) add("session", packed_text(message.session));
  return url;
}

std::string session_link(const std::string& text) {
  const char* const page = std::getenv("ATTOSCOPE_PAGE");
  const std::string url = link_url({.files = {}, .session = text});
  const std::string link = page == nullptr || *page == '\0' ? url : page + ("#" + url.substr(beginning.size()));
  if (link.size() > longest_session_link || text.size() > longest_session)
    throw std::runtime_error("A link to this session would have " + std::to_string(link.size()) + " bytes, and its text " +
                             std::to_string(text.size()) + ": expected at most " + std::to_string(longest_session_link) +
                             " and " + std::to_string(longest_session) + "; saved as a file it can be sent.");
  return link;
}

LinkMessage parse_link_url(std::string_view url) {
  const std::string start(beginning);
  if (!url.starts_with(beginning)) refuse("is not understood, expected " + start + "file=FILE or " + start + "session=SESSION");
  if (url.size() > longest_link)
    refuse("has " + std::to_string(url.size()) + " bytes, expected at most " + std::to_string(longest_link));
  LinkMessage message;
  for (std::string_view rest = url.substr(beginning.size()); !rest.empty();) {
    const std::string_view field = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), field.size() + 1));
    const std::size_t equals = field.find('=');
    if (equals == std::string_view::npos) refuse("has the field " + in_quotes(field) + " without a value");
    add_field(message, std::string(field.substr(0, equals)), decoded(field.substr(equals + 1)));
  }
  check(message);
  return message;
}

std::string packed_text(std::string_view text) {
  uLongf size = compressBound(text.size());
  std::string bytes(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(bytes.data()), &size, bytes_at(text), text.size(), Z_BEST_COMPRESSION) != Z_OK)
    throw std::bad_alloc();
  return base64(std::string_view(bytes).substr(0, size), base64url_digits);
}

}  // namespace attoscope::app
