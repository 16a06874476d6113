#include "app/link/live_link.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace attoscope {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto of_window = std::chrono::seconds(1);   ///< time limit of the window for one program
constexpr auto of_program = std::chrono::seconds(5);  ///< time limit of a program for the window

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

Descriptor new_socket() { return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

bool connects(int socket, const std::string& path) {
  const sockaddr_un address = address_of(path);
  return ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

bool is_own_user(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

/// Waits until the descriptor is ready; false on timeout, or if `other` is readable first.
bool ready(int descriptor, short events, Clock::time_point deadline, int other = -1) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
  pollfd polled[2]{{descriptor, events, 0}, {other, POLLIN, 0}};
  const int found = ::poll(polled, other < 0 ? 1 : 2, static_cast<int>(std::max<std::int64_t>(0, left.count())));
  return found > 0 && polled[0].revents != 0 && polled[1].revents == 0;
}

/// Bytes until the other side closes, at most limit + 1; none on timeout.
std::optional<std::string> received(int connection, std::size_t limit, Clock::duration patience, int ended = -1) {
  std::string bytes;
  char chunk[4096];
  const auto deadline = Clock::now() + patience;
  while (bytes.size() <= limit) {
    if (!ready(connection, POLLIN, deadline, ended)) return std::nullopt;
    const ssize_t count = ::recv(connection, chunk, sizeof chunk, 0);
    if (count == 0) return bytes;
    if (count < 0 && errno != EAGAIN && errno != EINTR) return std::nullopt;
    if (count > 0) bytes.append(chunk, static_cast<std::size_t>(count));
  }
  return bytes;
}

bool sent(int connection, std::string_view bytes, Clock::duration patience) {
  const auto deadline = Clock::now() + patience;
  while (!bytes.empty()) {
    if (!ready(connection, POLLOUT, deadline)) return false;
    const ssize_t count = ::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// Lock of the listening window, held while the descriptor is open.
Descriptor link_lock(const std::string& path) {
  Descriptor lock(::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (lock.valid() && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  return {};
}

/// A listening socket; replaces that of a killed window.
Descriptor listening_socket(const std::string& path) {
  Descriptor socket = new_socket();
  const sockaddr_un address = address_of(path);
  ::unlink(path.c_str());
  const mode_t mask = ::umask(0177);
  const bool bound = socket.valid() && ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::umask(mask);
  return bound && ::listen(socket.get(), 16) == 0 ? std::move(socket) : Descriptor();
}

}  // namespace

std::string link_path() {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  std::string folder = runtime != nullptr && *runtime == '/' ? own_folder(std::string(runtime) + "/attoscope") : "";
  std::error_code error;
  if (folder.empty())
    folder = own_folder((std::filesystem::temp_directory_path(error) / ("attoscope-" + std::to_string(::geteuid()))).string());
  const std::string path = folder + "/link.socket";
  return folder.empty() || path.size() >= sizeof(sockaddr_un::sun_path) ? "" : path;
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
    pollfd polled[2]{{socket_.get(), POLLIN, 0}, {ended_.get(), POLLIN, 0}};
    if (::poll(polled, 2, waiting() ? again_after : -1) == 0) published_();
    const Descriptor connection(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection.valid() || !is_own_user(connection.get())) continue;
    const std::string why = heard(connection.get());
    sent(connection.get(), answer_text(why), of_window);
    if (why.empty()) published_();
  }
}

bool LiveLink::waiting() {
  const std::lock_guard lock(mutex_);
  return newest_.has_value();
}

/// Receives a message; returns a sentence if it is invalid.
std::string LiveLink::heard(int connection) {
  const std::optional<std::string> bytes = received(connection, longest_message, of_window, ended_.get());
  if (!bytes) return "the message was not complete within a second";
  try {
    LinkMessage message = parse_message(*bytes);
    const std::lock_guard lock(mutex_);
    newest_ = std::move(message);
    return "";
  } catch (const std::exception& error) {
    return std::string("the message ") + error.what();
  }
}

bool send_to_window(const std::string& path, const LinkMessage& message) {
  const Descriptor socket = new_socket();
  if (path.empty() || !socket.valid() || !connects(socket.get(), path)) return false;
  if (!is_own_user(socket.get())) throw std::runtime_error(path + ": belongs to another user's program, nothing was sent");
  const bool said = sent(socket.get(), message_text(message), of_program);
  ::shutdown(socket.get(), SHUT_WR);
  const std::optional<std::string> answer = said ? received(socket.get(), longest_message, of_program) : std::nullopt;
  if (!answer || answer->empty())
    throw std::runtime_error(path + ": the window did not answer within five seconds, it may be stopped");
  std::string why;
  try {
    why = parse_answer(*answer);
  } catch (const std::exception& error) {
    throw std::runtime_error(path + ": the answer " + error.what());
  }
  if (!why.empty()) throw std::runtime_error("the window refused it: " + why);
  return true;
}

}  // namespace attoscope
