/// A message to the window as a clickable link: "attoscope:open?file=/tmp/o.npy&mask=causal", or "attoscope:open?session=" and
/// the session's text in `packed_text`.
#pragma once

#include <string>
#include <string_view>

#include "app/link/link_message.h"

namespace attoscope {

inline constexpr std::string_view link_scheme = "attoscope:";

std::string link_url(const LinkMessage& message);

/// Parses a link. Throws std::runtime_error with half a sentence if it is invalid.
LinkMessage parse_link_url(std::string_view url);

}  // namespace attoscope
