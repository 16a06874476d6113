/// The socket on which a running window is told what to open.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "app/files/files.h"
#include "app/link/link_message.h"

namespace attoscope {

/// attoscope/link.socket in the user's runtime directory, $XDG_RUNTIME_DIR or else a folder of the user's own in the temporary
/// directory; empty: there is no such folder that belongs to the user alone, or its path is too long for a socket.
std::string link_path();

/// Listens until it is destroyed. Only programs of the same user are heard; each may send one message within a second.
class LiveLink {
 public:
  /// Listens at `path`, where no other window does; `published` is called from another thread whenever `take` has something.
  LiveLink(std::string path, std::function<void()> published);
  ~LiveLink();
  LiveLink(const LiveLink&) = delete;
  LiveLink& operator=(const LiveLink&) = delete;

  /// False where another window listens there already, or the socket cannot be made.
  bool listening() const { return socket_.valid(); }
  /// The newest message since the last call; `published` is called again and again until it is taken.
  std::optional<LinkMessage> take();

 private:
  void run(const std::stop_token& stop);
  bool waiting();
  std::string heard(int connection);

  std::string path_;
  std::function<void()> published_;
  Descriptor lock_, socket_, ended_;
  std::mutex mutex_;
  std::optional<LinkMessage> newest_;
  std::jthread thread_;  ///< last, so it joins before anything it uses goes away
};

/// Sends a message to the window that listens at `path`. Returns false where none does. Throws std::runtime_error in a
/// sentence where the window refuses it or does not answer.
bool send_to_window(const std::string& path, const LinkMessage& message);

}  // namespace attoscope
