/// `attoscope pack`: a session and its tensors as one file.
#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

#include "app/commands/commands.h"
#include "app/files/zip.h"
#include "app/json/settings_json.h"
#include "app/session/session.h"
#include "app/session/session_pack.h"
#include "app/words/field_setter.h"
#include "kernels/experiment/text.h"

namespace attoscope::app {
namespace {

struct PackArguments {
  std::string session, out;
};

void write_pack(const PackArguments& x, const Streams& streams) {
  const std::string out = x.out.empty() ? pack_name(x.session) : x.out;
  if (!out.ends_with(pack_ending)) refuse("--out", out, "a name that ends with " + std::string(pack_ending));
  check_place("--out", out);
  std::error_code error;
  if (std::filesystem::equivalent(out, x.session, error)) refuse("--out", out, "another name than the session's");
  std::vector<std::string> remarks;
  const ui::Session session = read_session(x.session, remarks);
  if (!remarks.empty()) throw std::runtime_error(without_consequence(remarks.front()) + "; so the session is not packed");
  const SessionPack pack = unless_stopped("stopped before everything was packed; nothing was written", [&](const Cancelled& c) {
    return pack_session(session, [&](double) { return c(); });
  });
  tell(pack.remarks, streams);
  write_file(out, pack.bytes);
  streams.out << fmt::format("{}: {} bytes with {}\n", out, pack.bytes.size(), counted(pack.heads, "head"));
}

void declare(OptionList& c, PackArguments& x) {
  c.add("session", x.session, "session file").required();
  c.add("--out", x.out, "NAME.attoscope.zip (beside the session, with its name)");
}

}  // namespace

Command pack_command() {
  return command<PackArguments>("pack", "Put a session and the heads that it uses into one file that opens anywhere", declare,
                                write_pack);
}

}  // namespace attoscope::app
