#include "app/session_wishes.h"

#include <exception>
#include <utility>

namespace attoscope {
namespace {

/// Does it, or says why not.
template <class Act>
void attempt(Explorer& explorer, Act act) {
  try {
    act();
  } catch (const std::exception& error) {
    explorer.say(error.what());
  }
}

void open_session(const std::string& file, const SessionDesk& desk) {
  attempt(desk.explorer, [&] {
    std::vector<std::string> remarks;
    Session opened = desk.keeper.open(file, remarks);
    desk.explorer.adopt(desk.session, std::move(opened), std::move(remarks));
  });
}

void save_session(const std::string& file, const SessionDesk& desk) {
  attempt(desk.explorer, [&] {
    desk.explorer.note(desk.keeper.save(desk.session, file));
    desk.explorer.say("");
  });
}

void ask_desktop(FileDialog::Purpose purpose, const SessionDesk& desk) {
  desk.dialog.ask({purpose, desk.keeper.files(desk.session).file});
}

void grant(const SessionWish& wish, const SessionDesk& desk) {
  switch (wish.act) {
    case SessionWish::Act::fresh:
      return attempt(desk.explorer, [&] { desk.explorer.adopt(desk.session, desk.keeper.fresh(desk.session), {}); });
    case SessionWish::Act::open:
      return wish.file.empty() ? ask_desktop(FileDialog::Purpose::open_session, desk) : open_session(wish.file, desk);
    case SessionWish::Act::save:
      if (desk.keeper.has_file(desk.session)) return save_session("", desk);
      [[fallthrough]];
    case SessionWish::Act::save_as:
      return wish.file.empty() ? ask_desktop(FileDialog::Purpose::save_session, desk) : save_session(wish.file, desk);
  }
}

void grant(const TrainWish& wish, const SessionDesk& desk) {
  using Act = TrainWish::Act;
  if (!wish.file.empty() || (wish.act != Act::save && wish.act != Act::open)) return desk.train.grant(wish, desk.session);
  desk.dialog.ask({wish.act == Act::save ? FileDialog::Purpose::save_checkpoint : FileDialog::Purpose::open_checkpoint, ""});
}

void take_chosen(const SessionDesk& desk) {
  attempt(desk.explorer, [&] {
    const std::optional<FileDialog::Answer> answer = desk.dialog.take();
    if (!answer || answer->file.empty()) return;
    switch (answer->purpose) {
      case FileDialog::Purpose::open_session:
        return open_session(answer->file, desk);
      case FileDialog::Purpose::save_session:
        return save_session(answer->file, desk);
      case FileDialog::Purpose::open_checkpoint:
        return grant(TrainWish{.act = TrainWish::Act::open, .file = answer->file}, desk);
      case FileDialog::Purpose::save_checkpoint:
        return grant(TrainWish{.act = TrainWish::Act::save, .file = answer->file}, desk);
    }
  });
}

/// Q, K, V in the place of the session's experiment, which then asks what the trained model's attention did.
void open_captured(const CapturedFile& captured, const SessionDesk& desk) {
  Session opened = desk.session;
  opened.experiment = captured.experiment;
  opened.view.square_tiles &= captured.experiment.a.block_q == captured.experiment.a.block_k;
  desk.explorer.open(opened, captured.file);
  if (opened.experiment.problem.input.kind != InputKind::tensors) return;  // it was said why
  opened.view.workspace = Workspace::explore;
  desk.session = std::move(opened);
  desk.explorer.note("Q, K and V of " + captured.title + ".");
}

}  // namespace

void open_files(const std::vector<std::string>& files, const SessionDesk& desk) {
  if (files.size() == 1 && files.front().ends_with(".json")) return open_session(files.front(), desk);
  desk.explorer.open_dropped(desk.session, files);
}

void take_trained(const SessionDesk& desk) {
  if (std::optional<std::string> note = desk.train.take_note()) desk.explorer.note(std::move(*note));
  if (const std::optional<CapturedFile> captured = desk.train.take_captured()) open_captured(*captured, desk);
}

void grant_sessions(const Wishes& wishes, const SessionDesk& desk) {
  grant(wishes.train, desk);
  if (wishes.session) grant(*wishes.session, desk);
  if (wishes.list_sessions) desk.keeper.look_for_recent();
  if (wishes.remarks_read) desk.explorer.forget_remarks();
  if (!wishes.open_tensors.empty()) open_files({wishes.open_tensors}, desk);
  take_chosen(desk);
}

void autosave(const SessionDesk& desk, double now, bool at_once) {
  attempt(desk.explorer, [&] {
    if (std::string sentence = desk.keeper.autosave(desk.session, now, at_once); !sentence.empty())
      desk.explorer.note(std::move(sentence));
  });
}

SessionFiles session_files(const Session& session, const SessionKeeper& keeper, const FileDialog& dialog) {
  SessionFiles files = keeper.files(session);
  files.has_dialogs = dialog.available();
  files.asking = dialog.asking();
  return files;
}

}  // namespace attoscope
