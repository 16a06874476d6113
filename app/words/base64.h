/// Base64 of bytes and of small pictures (RFC 4648).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope::app {

inline constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
                                  base64url_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Base64 of the bytes with these digits, without padding.
std::string base64(std::string_view bytes, std::string_view digits);
/// The whole bytes in a text of these digits.
std::string bytes_of_base64(std::string_view text, std::string_view digits);

/// Base64 of pixels: four characters for three of them.
std::string pixel_text(const std::vector<std::int8_t>& pixels);

/// Parses `size` pixels, a multiple of 3. Throws std::invalid_argument if the text is invalid.
std::vector<std::int8_t> parse_pixels(std::string_view text, int size);

}  // namespace attoscope::app
