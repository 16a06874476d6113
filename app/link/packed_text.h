/// Text in a link: deflated (zlib, RFC 1950), then base64url without padding (RFC 4648).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace attoscope {

std::string packed_text(std::string_view text);

/// Unpacks text of at most `limit` bytes. Throws std::runtime_error with half a sentence about a session.
std::string unpacked_text(std::string_view packed, std::size_t limit);

}  // namespace attoscope
