#include <zlib.h>

#include <cstdint>
#include <new>
#include <stdexcept>

#include "app/link/link.h"
#include "app/words/numbers.h"

namespace attoscope::app {
namespace {

constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr int digit_bits = 6;

const Bytef* bytes_at(const std::string_view& text) { return reinterpret_cast<const Bytef*>(text.data()); }

std::string base64url(std::string_view bytes) {
  std::string text;
  std::uint32_t held = 0;
  int bits = 0;
  for (const char c : bytes) {
    held = held << 8 | static_cast<unsigned char>(c);
    for (bits += 8; bits >= digit_bits; bits -= digit_bits) text += digits[held >> (bits - digit_bits) & 63];
  }
  if (bits > 0) text += digits[held << (digit_bits - bits) & 63];
  return text;
}

std::string bytes_of_base64url(std::string_view text) {
  std::string bytes;
  std::uint32_t held = 0;
  int bits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = digits.find(text[i]);
    if (digit == std::string_view::npos)
      throw std::runtime_error("has " + in_quotes(text.substr(i, 1)) + " as character " + std::to_string(i + 1) +
                               " of its session, expected base64url: letters, digits, - and _");
    held = held << digit_bits | static_cast<std::uint32_t>(digit);
    bits += digit_bits;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(held >> bits & 255);
  }
  if (bits == digit_bits || (held & ((1U << bits) - 1)) != 0)
    throw std::runtime_error("has a session that ends within a byte after " + std::to_string(bytes.size()) +
                             " bytes, expected the whole of it");
  return bytes;
}

}  // namespace

std::string packed_text(std::string_view text) {
  uLongf size = compressBound(text.size());
  std::string bytes(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(bytes.data()), &size, bytes_at(text), text.size(), Z_BEST_COMPRESSION) != Z_OK)
    throw std::bad_alloc();
  return base64url(std::string_view(bytes).substr(0, size));
}

std::string unpacked_text(std::string_view packed, std::size_t limit) {
  const std::string bytes = bytes_of_base64url(packed);
  std::string text(limit, '\0');
  uLongf size = limit, read = bytes.size();
  const int outcome = uncompress2(reinterpret_cast<Bytef*>(text.data()), &size, bytes_at(bytes), &read);
  if (outcome == Z_MEM_ERROR) throw std::bad_alloc();
  if (outcome == Z_BUF_ERROR)
    throw std::runtime_error("has a session that unpacks to more than " + std::to_string(limit) +
                             " bytes, expected at most that");
  if (outcome != Z_OK || read != bytes.size())
    throw std::runtime_error("has a session that is damaged at byte " + std::to_string(read) + " of " +
                             std::to_string(bytes.size()) + ", expected one that zlib deflated");
  text.resize(size);
  return text;
}

}  // namespace attoscope::app
