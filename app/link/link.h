/// A message to a running window, written as a link: "attoscope:open?file=/tmp/o.npy&mask=causal", or "attoscope:open?session="
/// and the session's text in `packed_text`.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope::app {

inline constexpr std::string_view link_scheme = "attoscope:";

/// Settings of a problem that may come with files.
inline constexpr std::string_view link_settings[]{"mask", "scale", "softcap", "alibi", "sink", "empty_rows", "format"};

/// Gradients that a kernel computed, which may come with a dO, and its log-sum-exp.
inline constexpr std::string_view link_gradients[]{"dq", "dk", "dv", "lse"};

/// Files to open with their settings, or a session to show.
struct LinkMessage {
  std::vector<std::string> files;                               ///< one to four absolute paths
  std::map<std::string, std::string, std::less<>> settings{};   ///< by the keys of `link_settings`, as typed
  std::string d_o{};                                            ///< absolute path of a dO beside the files; empty: none
  std::map<std::string, std::string, std::less<>> gradients{};  ///< absolute paths by the keys of `link_gradients`
  std::string session{};  ///< text of a session to show instead of files and settings; empty: none
  bool operator==(const LinkMessage&) const = default;
};

/// Limit of a link's bytes.
inline constexpr std::size_t longest_link = 1 << 16;
/// Limit of the bytes of a session's text; pages write only differences from a new session, some hundred bytes.
inline constexpr std::size_t longest_session = 1 << 14;

std::string link_url(const LinkMessage& message);

/// Limit of the bytes of a link that the window makes.
inline constexpr std::size_t longest_session_link = 1 << 13;

/// A link that opens a session's text: in the page at $ATTOSCOPE_PAGE ("https://host/attoscope/"), behind #; or, if that is not
/// set, in a window on the reader's machine. Throws std::runtime_error with one sentence if it is too long.
std::string session_link(const std::string& text);

/// Parses a link. Throws std::runtime_error with half a sentence if it is invalid.
LinkMessage parse_link_url(std::string_view url);

/// Text in a link: deflated (zlib, RFC 1950), then base64url without padding (RFC 4648).
std::string packed_text(std::string_view text);

/// Starts this program's window, which outlives the caller, and sends it the message once it listens at `path`. Throws
/// std::runtime_error with one sentence: the window's error if it ended, or a timeout after ten seconds.
void start_window_with(const std::string& path, const LinkMessage& message);

}  // namespace attoscope::app
