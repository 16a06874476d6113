/// Messages to a running window: files to open with their settings, or a session to show.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace attoscope {

/// Settings of a problem that may come with files.
inline constexpr std::string_view link_settings[]{"mask", "scale", "softcap", "alibi", "sink", "format"};

struct LinkMessage {
  std::vector<std::string> files;                              ///< absolute paths
  std::map<std::string, std::string, std::less<>> settings{};  ///< by the keys of `link_settings`, as typed
  std::string session{};  ///< text of a session to show instead of files and settings; empty: none
};

/// Limit of a message's bytes.
inline constexpr std::size_t longest_message = 1 << 16;
/// Limit of the bytes of a session's text; pages write only differences from a new session, some hundred bytes.
inline constexpr std::size_t longest_session = 1 << 14;

/// The message as a line of JSON, and back. Throws std::runtime_error with half a sentence on an invalid message.
std::string message_text(const LinkMessage& message);
LinkMessage parse_message(std::string_view bytes);

/// Answer to a message: "" if it was accepted, else a sentence that says why not.
std::string answer_text(const std::string& sentence);
std::string parse_answer(std::string_view bytes);

}  // namespace attoscope
