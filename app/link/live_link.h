/// Socket on which a running window receives messages.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "app/files/files.h"
#include "app/link/link.h"

namespace attoscope::app {

/// Path of attoscope/link.socket in $XDG_RUNTIME_DIR, else in a folder of the user in the temporary directory; empty if no
/// folder is the user's alone, or the path is too long for a socket.
std::string link_path();

/// Listens until it is destroyed. Accepts only programs of the same user, one message each, within a second.
class LiveLink {
 public:
  /// Listens at `path` unless another window does. Another thread calls `published` whenever `take` has something.
  LiveLink(std::string path, std::function<void()> published);
  ~LiveLink();
  LiveLink(LiveLink&&) = delete;

  /// False if another window listens already, or the socket could not be created.
  bool listening() const { return socket_.valid(); }
  /// The newest message since the last call; `published` is repeated until it is taken.
  std::optional<LinkMessage> take();

 private:
  void run(const std::stop_token& stop);
  bool waiting();
  bool readable(int descriptor, int milliseconds);
  std::string heard(int connection);

  std::string path_;
  std::function<void()> published_;
  Descriptor lock_, socket_, ended_;
  std::mutex mutex_;
  std::optional<LinkMessage> newest_;
  std::jthread thread_;  ///< last, so that it joins before anything it uses is destroyed
};

/// Sends a message to the window that listens at `path`; false if none does. Throws std::runtime_error with one sentence if the
/// window refuses it or does not answer.
bool send_to_window(const std::string& path, const LinkMessage& message);

}  // namespace attoscope::app
