/// A message to the window as a link that can be clicked: "attoscope:open?file=/tmp/o.npy&mask=causal", or
/// "attoscope:open?session=" and the session's text as `packed_text` writes it.
#pragma once

#include <string>
#include <string_view>

#include "app/link/link_message.h"

namespace attoscope {

inline constexpr std::string_view link_scheme = "attoscope:";

std::string link_url(const LinkMessage& message);

/// Throws std::runtime_error with half a sentence where it is no such link.
LinkMessage parse_link_url(std::string_view url);

}  // namespace attoscope
