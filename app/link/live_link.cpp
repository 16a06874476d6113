#include "app/link/live_link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "app/files/paths.h"

namespace attoscope::app {
namespace {

constexpr int limit_of_window = 1, limit_of_program = 5;  ///< seconds that each waits for the other
constexpr std::string_view accepted = "ok";

/// Milliseconds until a message that was not taken is published again; an event that wakes a window can be lost.
constexpr int again_after = 100;

/// A folder only the user can access, created if missing; "" on failure.
std::string own_folder(const std::string& path) {
  ::mkdir(path.c_str(), 0700);
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != ::geteuid()) return "";
  return (info.st_mode & 077) == 0 ? path : "";
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), std::min(path.size(), sizeof address.sun_path - 1));
  return address;
}

/// A socket that sends and receives whole messages.
Descriptor new_socket(int flags) { return Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0)); }

void limit_waiting(int socket, int seconds) {
  const timeval limit{.tv_sec = seconds, .tv_usec = 0};
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) ::setsockopt(socket, SOL_SOCKET, option, &limit, sizeof limit);
}

bool connects(int socket, const std::string& path) {
  const sockaddr_un address = address_of(path);
  return ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

bool is_own_user(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

/// The next message, cut after longest_link + 1 bytes; "" on timeout, or if the other side has closed.
std::string received(int connection) {
  std::string bytes(longest_link + 1, '\0');
  const ssize_t count = TEMP_FAILURE_RETRY(::recv(connection, bytes.data(), bytes.size(), 0));
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return bytes;
}

bool sent(int connection, std::string_view bytes) {
  return TEMP_FAILURE_RETRY(::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL)) == std::ssize(bytes);
}

/// Lock of the listening window, held while the descriptor is open.
Descriptor link_lock(const std::string& path) {
  Descriptor lock(::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (lock.valid() && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  return {};
}

/// A listening socket; replaces the socket of a killed window.
Descriptor listening_socket(const std::string& path) {
  Descriptor socket = new_socket(SOCK_NONBLOCK);
  const sockaddr_un address = address_of(path);
  ::unlink(path.c_str());
  const mode_t mask = ::umask(0177);
  const bool bound = socket.valid() && ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::umask(mask);
  return bound && ::listen(socket.get(), 16) == 0 ? std::move(socket) : Descriptor();
}

}  // namespace

std::string link_path() try {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  std::string folder = runtime != nullptr && *runtime == '/' ? own_folder(std::string(runtime) + "/attoscope") : "";
  if (folder.empty()) folder = own_folder(temporary_directory() + "/attoscope-" + std::to_string(::geteuid()));
  const std::string path = folder + "/link.socket";
  return folder.empty() || path.size() >= sizeof(sockaddr_un::sun_path) ? "" : path;
} catch (const std::runtime_error&) {  // there is no directory for it
  return "";
}

LiveLink::LiveLink(std::string path, std::function<void()> published)
    : path_(std::move(path)), published_(std::move(published)) {
  if (path_.empty()) return;
  lock_ = link_lock(path_);
  if (!lock_.valid()) return;
  ended_ = Descriptor(::eventfd(0, EFD_CLOEXEC));
  socket_ = ended_.valid() ? listening_socket(path_) : Descriptor();
  if (listening()) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

LiveLink::~LiveLink() {
  if (!listening()) return;
  thread_.request_stop();
  ::eventfd_write(ended_.get(), 1);
  thread_.join();
  ::unlink(path_.c_str());
}

std::optional<LinkMessage> LiveLink::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(newest_, std::nullopt);
}

void LiveLink::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (readable(socket_.get(), waiting() ? again_after : -1)) {
      const Descriptor connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!connection.valid() || !is_own_user(connection.get())) continue;
      limit_waiting(connection.get(), limit_of_window);
      const std::string why = heard(connection.get());
      sent(connection.get(), why.empty() ? accepted : why);
    }
    if (waiting()) published_();
  }
}

/// Waits for something to read; false on timeout, or if the link ends.
bool LiveLink::readable(int descriptor, int milliseconds) {
  pollfd polled[2]{{descriptor, POLLIN, 0}, {ended_.get(), POLLIN, 0}};
  return ::poll(polled, 2, milliseconds) > 0 && polled[1].revents == 0;
}

bool LiveLink::waiting() {
  const std::lock_guard lock(mutex_);
  return newest_.has_value();
}

/// Receives a message; returns a sentence if it is invalid.
std::string LiveLink::heard(int connection) {
  if (!readable(connection, 1000 * limit_of_window)) return "no message came within a second";
  try {
    LinkMessage message = parse_link_url(received(connection));
    const std::lock_guard lock(mutex_);
    newest_ = std::move(message);
    return "";
  } catch (const std::exception& error) {
    return std::string("the link ") + error.what();
  }
}

bool send_to_window(const std::string& path, const LinkMessage& message) {
  const Descriptor socket = new_socket(0);
  if (path.empty() || !socket.valid()) return false;
  limit_waiting(socket.get(), limit_of_program);
  const bool connected = connects(socket.get(), path);
  if (!connected && errno != EAGAIN) return false;
  if (connected && !is_own_user(socket.get()))
    throw std::runtime_error(path + ": belongs to another user's program, nothing was sent");
  const std::string answer = connected && sent(socket.get(), link_url(message)) ? received(socket.get()) : "";
  if (answer.empty()) throw std::runtime_error(path + ": the window did not answer within five seconds, it may be stopped");
  if (answer != accepted) throw std::runtime_error("the window refused it: " + answer);
  return true;
}

}  // namespace attoscope::app
