// The socket through which a running window gets messages: accepted senders, refused messages; the newest message wins.
#include "app/link/live_link.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/files/paths.h"
#include "app/link/link.h"
#include "app/session/session.h"
#include "tests/app/outcome.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/matchers.h"
#include "tests/support/support.h"
#include "tests/support/temporary_directory.h"

namespace attoscope::testing {
namespace {

/// A socket in a folder of its own.
struct Place {
  TemporaryDirectory scratch;
  std::string path = scratch / "link.socket";
};

/// Connects, sends `bytes` if there are any, and returns the link's answer; "": no answer.
std::string answer_to(const std::string& path, const std::optional<std::string>& bytes) {
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  if (bytes) ::send(socket, bytes->data(), bytes->size(), MSG_NOSIGNAL);
  std::string answer(512, '\0');
  answer.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::recv(socket, answer.data(), answer.size(), 0))));
  ::close(socket);
  return answer;
}

TEST(LiveLink, TheNewestMessageWins) {
  const Place place;
  std::atomic<int> published = 0;
  LiveLink link(place.path, [&] { ++published; });
  ASSERT_TRUE(link.listening());
  EXPECT_FALSE(link.take());
  for (int i = 0; i < 50; ++i)
    EXPECT_TRUE(
        send_to_window(place.path, {.files = {"/tmp/" + std::to_string(i) + ".npy"}, .settings = {{"mask", "causal"}}}));
  const std::optional<LinkMessage> newest = link.take();
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->files, std::vector<std::string>{"/tmp/49.npy"});
  EXPECT_EQ(newest->settings.at("mask"), "causal");
  EXPECT_FALSE(link.take());
  EXPECT_GE(published, 49);  // the last message may be taken before it is published
}

/// An event that wakes a window can be lost: a message that was not taken is published again.
TEST(LiveLink, IsToldUntilItIsTaken) {
  const Place place;
  std::atomic<int> published = 0;
  LiveLink link(place.path, [&] { ++published; });
  EXPECT_TRUE(send_to_window(place.path, {.files = {"/a"}}));
  EXPECT_TRUE(eventually([&] { return published >= 3; }));
  EXPECT_TRUE(link.take());
}

TEST(LiveLink, BelongsToItsUserAlone) {
  const Place place;
  const LiveLink link(place.path, [] {});
  struct stat info{};
  ASSERT_EQ(::stat(place.path.c_str(), &info), 0);
  EXPECT_TRUE(S_ISSOCK(info.st_mode));
  EXPECT_EQ(info.st_mode & 0777, 0600U);
}

TEST(LiveLink, OneWindowListensAndAnotherTakesOver) {
  const Place place;
  {
    const LiveLink first(place.path, [] {}), second(place.path, [] {});
    EXPECT_TRUE(first.listening());
    EXPECT_FALSE(second.listening());
    EXPECT_TRUE(send_to_window(place.path, {.files = {"/a"}}));
  }
  EXPECT_FALSE(std::filesystem::exists(place.path));
  EXPECT_FALSE(send_to_window(place.path, {.files = {"/a"}}));
  place.scratch.write("link.socket", "left by something else");
  LiveLink third(place.path, [] {});
  EXPECT_TRUE(third.listening());
  EXPECT_TRUE(send_to_window(place.path, {.files = {"/a"}}));
}

TEST(LiveLink, HostileBytesGetASentence) {
  const Place place;
  LiveLink link(place.path, [] { ADD_FAILURE() << "none of these bytes are a message"; });
  const std::string start = "attoscope:open?";
  for (const std::string& bytes : {std::string(), std::string("\xff\x00{{{", 5), std::string(2 * longest_link, '['), start,
                                   start + "file=a.npy", start + "session=AAAA"})
    EXPECT_THAT(answer_to(place.path, bytes), HasSubstr("the link ")) << bytes.substr(0, 80);
  EXPECT_THAT(answer_to(place.path, start + std::string(longest_link, 'A')), HasSubstr("expected at most 65536"));
  EXPECT_FALSE(link.take());
  Dice dice(3);
  for (int i = 0; i < experiments(400); ++i) {
    std::string noise = link_url({.files = {"/tmp/a.npy"}, .settings = {{"mask", "causal"}}});
    for (int k = 0; k < 3; ++k) noise[dice.bits() % noise.size()] = static_cast<char>(dice.between(0, 255));
    try {
      parse_link_url(noise);
    } catch (const std::runtime_error& refused) {
      EXPECT_THAT(answer_to(place.path, noise), HasSubstr("the link "));
    }
  }
}

/// A program that connects and sends nothing delays the others only briefly.
TEST(LiveLink, ASilentProgramIsLeft) {
  const Place place;
  LiveLink link(place.path, [] {});
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(answer_to(place.path, std::nullopt), "no message came within a second");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_TRUE(send_to_window(place.path, {.files = {"/a"}}));
}

/// Closing the window does not wait for a program that is still sending.
TEST(LiveLink, EndsWhileAProgramSpeaks) {
  const Place place;
  std::thread speaking;
  {
    LiveLink link(place.path, [] {});
    speaking = std::thread([&] { answer_to(place.path, std::nullopt); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  speaking.join();
}

TEST(LiveLink, TheFolderIsTheUsersAlone) {
  const TemporaryDirectory scratch;
  const Environment at_scratch("XDG_RUNTIME_DIR", scratch / "");
  EXPECT_EQ(std::filesystem::path(link_path()).lexically_normal(), std::filesystem::path(scratch / "attoscope/link.socket"));
  std::filesystem::permissions(scratch / "attoscope", std::filesystem::perms::all);
  EXPECT_NE(std::filesystem::path(link_path()).lexically_normal(), std::filesystem::path(scratch / "attoscope/link.socket"));
}

TEST(LinkUrl, IsReadBack) {
  const LinkMessage message{.files = {"/tmp/a b&c=%.npy", "/tmp/\xff\xc3\xa9.npy"},
                            .settings = {{"mask", "window:7"}, {"scale", "0.5"}},
                            .d_o = "/tmp/d o.safetensors:3",
                            .gradients = {{"dk", "/tmp/dk.npy"}, {"dv", "/tmp/g.pt:1"}}};
  const std::string url = link_url(message);
  EXPECT_THAT(url, ::testing::StartsWith("attoscope:open?file=/tmp/a%20b%26c%3D%25.npy&file=/tmp/%FF%C3%A9.npy&do=/tmp/"
                                         "d%20o.safetensors:3&dk=/tmp/dk.npy&dv=/tmp/g.pt:1&mask=window:7"));
  EXPECT_TRUE(parse_link_url(url) == message);
  for (const char* const broken :
       {"attoscope:open?", "attoscope:open?file=a.npy", "attoscope:open?file", "attoscope:open?file=/a%",
        "attoscope:open?file=/a%4", "attoscope:open?file=/a%4x", "attoscope:open?file=/a%+1", "attoscope:open?file=/a%0x",
        "attoscope:open?file=/a%-1b", "attoscope:run?file=/a", "http:open?file=/a", "attoscope:open?file=/a&problem.n=5",
        "attoscope:open?file=/a%00b", "attoscope:open?mask=causal", "attoscope:open?file=/a&file=/b&file=/c&file=/d&file=/e",
        "attoscope:open?file=/a&do=b.npy", "attoscope:open?do=/b.npy", "attoscope:open?file=/a&dq=b.npy"})
    EXPECT_NE(sentence_of([&] { parse_link_url(broken); }), "") << broken;
}

TEST(LinkUrl, OfASessionIsReadBack) {
  Session session;
  session.experiment.problem.n = 77;
  Input& input = session.experiment.problem.input;
  input.kind = InputKind::tensors;
  input.file = example_file();
  input.index = 3;
  const std::string text = short_session_text(session);
  EXPECT_THAT(text, HasSubstr("\"shipped:examples/"));
  const std::string url = link_url({.files = {}, .settings = {}, .session = text});
  EXPECT_THAT(url, ::testing::MatchesRegex("attoscope:open[?]session=[-_A-Za-z0-9]+"));
  EXPECT_LT(url.size(), 400u);
  const LinkMessage message = parse_link_url(url);
  EXPECT_TRUE(message.files.empty());
  std::vector<std::string> remarks;
  EXPECT_TRUE(parse_session(message.session, remarks) == session);
  EXPECT_THAT(remarks, ::testing::IsEmpty());
}

TEST(LinkUrl, OfThePageOrAWindowOpensTheSession) {
  Session session;
  session.experiment.problem.n = 96;
  const std::string text = short_session_text(session), of_window = session_link(text);
  EXPECT_EQ(parse_link_url(of_window).session, text);
  const Environment at_page("ATTOSCOPE_PAGE", "https://host/attoscope/");
  const std::string of_page = session_link(text);
  std::string noise;
  for (unsigned i = 0, x = 1; i < longest_session; ++i) noise += static_cast<char>('!' + (x = x * 1664525 + 1013904223) % 89);
  for (const std::string& large : {std::string(longest_session + 1, ' '), noise})
    EXPECT_THAT(sentence_of([&] { session_link(large); }), HasSubstr("expected at most 8192 and 16384"));
  const std::string page = "https://host/attoscope/#";
  ASSERT_TRUE(of_page.starts_with(page + "session="));
  EXPECT_EQ("attoscope:open?" + of_page.substr(page.size()), of_window);
}

TEST(LinkUrl, OfABrokenSessionSaysWhatIsWrongAndWhere) {
  const std::string start = "attoscope:open?session=", good = link_url({.files = {}, .settings = {}, .session = "{}"});
  std::string damaged = good;
  damaged[start.size() + 5] = damaged[start.size() + 5] == 'A' ? 'B' : 'A';
  for (const auto& [url, words] : std::vector<std::pair<std::string, std::string>>{
           {start, "is damaged at byte 0 of 0, expected one that zlib deflated"},
           {start + "ab*d", "has '*' as character 3 of its session, expected base64url"},
           {good.substr(0, good.size() - 1), "expected the whole of it"},
           {good.substr(0, good.size() - 4), "expected the whole of it"},
           {damaged, "is damaged at byte"},
           {good + "AAAA", "is damaged at byte"},
           {good + "&session=" + good.substr(start.size()), "has two sessions, expected one"},
           {good + "&file=/a", "has a session beside files or settings, expected a session alone"},
           {good + "&mask=causal", "has a session beside files or settings"},
           {start + packed_text(std::string(longest_session + 1, ' ')), "unpacks to more than 16384 bytes, expected at most"},
           {start + std::string(longest_link, 'A'), "expected at most 65536"},
           {"attoscope:open", "expected attoscope:open?file=FILE or attoscope:open?session=SESSION"}})
    EXPECT_THAT(sentence_of([&, &url = url] { parse_link_url(url); }), HasSubstr(words)) << url.substr(0, 99);
}

TEST(OpenCommand, SendsTheSessionOfALink) {
  const TemporaryDirectory scratch;
  const Environment at_scratch("XDG_RUNTIME_DIR", scratch / "");
  LiveLink link(link_path(), [] {});
  const auto url = [](const std::string& text) { return link_url({.files = {}, .settings = {}, .session = text}); };
  const std::string text = short_session_text(Session{});
  succeed({"open", url(text)});
  const std::optional<LinkMessage> message = link.take();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->session, text);
  const auto refused = [](const std::string& broken, const std::string& sentence) {
    expect_refused({"open", broken}, 2, sentence);
    EXPECT_LT(attoscope({"open", broken}).err.size(), 400u);
  };
  refused(url("{"), "has a session that is not JSON at byte");
  refused(url("{}"), "has a session that");
  refused(url(text) + "*", "as character");
  EXPECT_FALSE(link.take());
}

TEST(OpenCommand, SendsWholePathsAndSettings) {
  const TemporaryDirectory scratch;
  const Environment at_scratch("XDG_RUNTIME_DIR", scratch / "");
  LiveLink link(link_path(), [] {});
  ASSERT_TRUE(link.listening());
  const std::string file = scratch.write("o.npy", "x");
  succeed({"open", file, "--mask", "window:7", "--scale", "0.5"});
  const std::optional<LinkMessage> message = link.take();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->files, std::vector<std::string>{std::filesystem::path(file).lexically_normal().string()});
  EXPECT_EQ(message->settings.at("mask"), "window:7");
  EXPECT_EQ(message->settings.at("scale"), "0.5");
  EXPECT_EQ(attoscope({"open", link_url(*message)}).code, 0);
  const std::optional<LinkMessage> clicked = link.take();
  ASSERT_TRUE(clicked);
  EXPECT_TRUE(*clicked == *message);
  EXPECT_EQ(attoscope({"open", "attoscope:open?file=o.npy"}).code, 2);
  EXPECT_EQ(attoscope({"open", "attoscope:open?file=/tmp/o.npy&mask=sideways"}).code, 2);
  EXPECT_EQ(attoscope({"open", scratch / "none.npy"}).code, 1);
  EXPECT_EQ(attoscope({"open", file, "--do", scratch / "none.npy"}).code, 1);
  EXPECT_EQ(attoscope({"open", file, "--do", "d_o.txt"}).code, 2);
  EXPECT_EQ(attoscope({"open", file, "--do", file + ":2"}).code, 0);
  const std::optional<LinkMessage> with_d_o = link.take();
  ASSERT_TRUE(with_d_o);
  EXPECT_EQ(with_d_o->d_o, message->files[0] + ":2");
  succeed({"open", file, "--lse", file + "[h n]"});
  const std::optional<LinkMessage> with_lse = link.take();
  ASSERT_TRUE(with_lse);
  EXPECT_EQ(with_lse->gradients.at("lse"), message->files[0] + "[h n]");
  EXPECT_EQ(attoscope({"open", file, file}).code, 2);
  EXPECT_EQ(attoscope({"open", file, "--mask", "sideways"}).code, 2);
  EXPECT_FALSE(link.take());
}

}  // namespace
}  // namespace attoscope::testing
