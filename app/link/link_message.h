/// Messages of programs to a running window: which files to open, and what their problem is, or which session to show.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope {

/// The settings of a problem that can come with files.
inline constexpr std::string_view link_settings[]{"mask", "scale", "softcap", "alibi", "sink", "format"};

struct LinkMessage {
  std::vector<std::string> files;                              ///< absolute paths
  std::map<std::string, std::string, std::less<>> settings{};  ///< by the keys of `link_settings`, as they are typed
  std::string session{};  ///< text of a session that is shown instead of files and settings; empty: none
};

/// Bytes that a message may have.
inline constexpr std::size_t longest_message = 1 << 16;
/// Bytes that the text of a session in it may have: pages name what differs from a new session, some hundred bytes.
inline constexpr std::size_t longest_session = 1 << 14;

/// The message as one line of JSON, and back. Throws std::runtime_error with half a sentence where the bytes are no message.
std::string message_text(const LinkMessage& message);
LinkMessage parse_message(std::string_view bytes);

/// The answer to a message: "" is that it was taken, else a sentence that says why not.
std::string answer_text(const std::string& sentence);
std::string parse_answer(std::string_view bytes);

}  // namespace attoscope
