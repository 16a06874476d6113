#include "ui/commands/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "kernels/experiment/accumulators.h"
#include "kernels/experiment/experiment.h"
#include "kernels/experiment/grad_kernels.h"
#include "kernels/experiment/kernel_presets.h"
#include "kernels/experiment/letters.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/settings.h"
#include "ui/commands/bars.h"
#include "ui/controls/controls.h"
#include "ui/learn/lesson_steps.h"
#include "ui/session/settings.h"
#include "ui/sweep/panels.h"
#include "ui/widgets/path_prompt.h"

namespace attoscope::ui {

namespace {

/// Search synonyms of a setting of the view. Synonyms of an experiment's settings are in the table of parameters.
struct Alias {
  std::string_view path, words;
};
constexpr Alias alias_table[] = {
    {"view.field", "picture"},
    {"view.picture", "heat map, rescale map, scores, every head"},
    {"view.detail", "histogram, scatter, attribution, traffic"},
    {"view.on_chip_elements", "M on-chip memory"},
    {"view.ui_scale", "size of text"},
};

std::string_view alias(std::string_view path) {
  for (const Alias& a : alias_table)
    if (a.path == path) return a.words;
  if (const Parameter* const p = parameter_at(path)) return p->alias;
  return {};
}

/// Settings that the palette leaves out: other controls or files set them.
bool is_internal(const SettingText& s) {
  constexpr std::string_view own[] = {"problem.input.file", "loaded.file",        "loaded.index",
                                      "view.workspace",     "view.hidden_curves", "view.named_figure.policy",
                                      "train.text.file",    "train_look.hidden",  "train_look.hidden_runs",
                                      "train_look.step",    "model.checkpoint",   "model.typed",
                                      "model.file",         "model.around"};
  return std::ranges::find(own, s.path) != std::end(own) || s.path.starts_with("view.zoom") ||
         s.path.starts_with("backward.d_o_file.") || s.path.starts_with("backward.d_lse_file.") ||
         s.path.starts_with("view.tiles.") || s.path.starts_with("view.panels") || s.path.starts_with("view.cell_");
}

/// "a: block_k" for a.block_k; the last word of everything else.
std::string title(std::string_view path) {
  const std::string last(path.substr(path.rfind('.') + 1));
  if (path == "problem.n" || path == "problem.mask.kind" || path == "problem.input.kind")
    return std::string(parameter_at(path)->label);
  if (path.substr(std::min<std::size_t>(path.size(), 1)).starts_with(".accumulator."))
    return std::string(path.substr(0, 1)) + ": " + std::string(parameter_at(path)->label);
  if (path.starts_with("view.named_figure.")) return "papers' figures: " + last;
  if (path.starts_with("train.a.")) return "train: a " + last;
  if (path.starts_with("train.b.")) return "train: b " + last;
  if (path.starts_with("train")) return "train: " + last;
  if (path.starts_with("a.grad.") || path.starts_with("b.grad.")) return std::string(path.substr(0, 1)) + ": gradient " + last;
  if (path.starts_with("a.")) return "a: " + last;
  if (path.starts_with("b.")) return "b: " + last;
  std::string words = last;
  std::ranges::replace(words, '_', ' ');
  return words;
}

/// Sets a field; on failure the palette shows the reason.
void set(const Frame& t, const std::string& path, const std::string& value) {
  t.state.popups.palette.complaint = set_setting(t.session, path, value);
}

void add_settings(const std::vector<SettingText>& list, std::vector<PaletteCommand>& all) {
  for (const SettingText& s : list) {
    if (is_internal(s)) continue;
    for (const std::string& choice : s.choices) {
      std::string words = s.path + " " + std::string(alias(s.path)) + (choice == s.text ? " (now)" : "");
      all.push_back(
          {title(s.path) + ": " + choice, std::move(words), [path = s.path, choice](const Frame& t) { set(t, path, choice); }});
    }
    if (!s.expected.empty())
      all.push_back({.name = "set " + title(s.path) + " …",
                     .what = s.path + " " + std::string(alias(s.path)) + ", now " + s.text,
                     .complete = "set " + s.path + " to "});
  }
}

void add_policies(const Method& m, const std::string& method, std::vector<PaletteCommand>& all) {
  for (const Policy& p : policies())
    if (policy_name(p.precision, m.algorithm) == p.name)
      all.push_back({method + ": policy " + std::string(p.name), "preset of " + method + ": " + std::string(p.what),
                     [path = method + ".policy", name = std::string(p.name)](const Frame& t) { set(t, path, name); }});
}

/// Returns an experiment with a kernel as a, or as b.
using Change = Experiment (*)(Experiment, const KernelPreset&);

void add_kernels(std::string_view method, Change change, std::vector<PaletteCommand>& all) {
  for (const KernelPreset& k : kernel_presets())
    all.push_back({std::string(method) + ": kernel " + std::string(k.name),
                   "whole kernel preset: " + std::string(k.what) + ", " + std::string(k.source),
                   [&k, change](const Frame& t) { t.session.experiment = change(t.session.experiment, k); }});
}

/// Adds a command for each accumulator that both products of a method can have.
void add_sums(const Experiment& e, Method Experiment::* method, std::string_view title, std::vector<PaletteCommand>& all) {
  const Method& m = e.*method;
  for (std::size_t i = 0; i < accumulator_names.size(); ++i) {
    const auto accumulator = static_cast<Accumulator>(i);
    if (!is_emulated(m.algorithm) || !why_no_accumulator(e, m, AttentionProduct::qk, accumulator).empty() ||
        !why_no_accumulator(e, m, AttentionProduct::pv, accumulator).empty())
      continue;
    all.push_back(
        {std::string(title) + ": sums " + std::string(name(accumulator)),
         "accumulator of q.k and P.V, " + std::string(parameter("accumulator").alias),
         [method, accumulator](const Frame& t) { (t.session.experiment.*method).accumulator = {accumulator, accumulator}; }});
  }
}

std::string lower(std::string_view text) { return in_small_letters(std::string(text)); }

std::vector<std::string> words_of(std::string_view text) { return listed_words(text, " ="); }

/// Score of a word in a text (negative: not found): whole words above prefixes above infixes above scattered letters.
double word_fitness(const std::string& word, const std::string& text) {
  const auto in_word = [&](std::size_t i) { return i < text.size() && is_letter_or_digit(text[i]); };
  double best = -1;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !in_word(at - 1), ends = !in_word(at + word.size());
    if (!begins && word.size() == 1) continue;  // a single letter inside a word does not match
    best = std::max(
        best, 40.0 + (begins ? 40 : 0) + (begins && ends ? 20 : 0) - 0.1 * static_cast<double>(std::min<std::size_t>(at, 50)));
  }
  if (best >= 0 || word.size() < 2) return best;
  std::size_t at = 0, first = std::string::npos;
  for (const char c : word) {
    at = text.find(c, at);
    if (at == std::string::npos) return -1;
    if (first == std::string::npos) first = at;
    ++at;
  }
  const double spread = static_cast<double>(at - first) / static_cast<double>(word.size());
  return spread > 4 ? -1 : 20 / spread;
}

/// A field and its new value from a query such as "set N to 4096", "block_k 128" or "a.S = fp16".
struct Assignment {
  std::string what, value;
};
std::optional<Assignment> assignment(std::string_view query) {
  std::vector<std::string> words = words_of(query);
  if (!words.empty() && lower(words.front()) == "set") words.erase(words.begin());
  if (words.size() < 2) return std::nullopt;
  Assignment found{.what = {}, .value = words.back()};
  words.pop_back();
  if (words.size() > 1 && lower(words.back()) == "to") words.pop_back();
  for (const std::string& w : words) found.what += (found.what.empty() ? "" : " ") + w;
  return found;
}

/// Sets a tile size of both methods, as the window's sliders do; a square tile stays square.
void set_tile(const Frame& t, const std::string& which, const std::string& value) {
  Session changed = t.session;
  if (std::string why = set_setting(changed, "a." + which, value); !why.empty()) {
    t.state.popups.palette.complaint = std::move(why);
    return;
  }
  const int side = which == "block_k" ? changed.experiment.a.block_k : changed.experiment.a.block_q;
  Experiment& e = t.session.experiment;
  e = t.session.view.square_tiles && has_square_tiles(e.a) ? with_tiles(e, {side, side})
      : which == "block_k"                                 ? with_block_k(e, side)
                                                           : with_block_q(e, side);
}

/// True if the command, tried on copies, leaves no complaint.
bool can(const PaletteCommand& command, const Frame& target) {
  Session session = target.session;
  UiState state;
  Requests requests;
  const Frame trial{session, target.input, state, requests};
  command.act(trial);
  return state.popups.palette.complaint.empty();
}

/// The commands that set a field to the value in the query.
std::vector<PaletteCommand> assignments(std::string_view query, const Frame& target) {
  const std::optional<Assignment> asked = assignment(query);
  if (!asked) return {};
  std::vector<std::pair<double, PaletteCommand>> ranked;
  const auto add = [&](const std::string& path, const std::string& shown, const std::string& words,
                       std::function<void(const Frame&)> act) {
    const double fit = fitness(asked->what, {shown + " " + path, words});
    if (fit >= 0) ranked.push_back({fit, {"set " + shown + " to " + asked->value, words, std::move(act)}});
  };
  for (const char* side : {"block_k", "block_q"})
    add(side, side, target.session.view.square_tiles ? "square tiles of both methods" : "tiles of both methods",
        [which = std::string(side), value = asked->value](const Frame& t) { set_tile(t, which, value); });
  for (const SettingText& s : setting_texts(target.session)) {
    if (is_internal(s) || s.expected.empty()) continue;
    const std::string shorter = s.path.substr(0, s.path.find('.') + 1) + s.path.substr(s.path.rfind('.') + 1);  // "a.S"
    add(s.path + " " + shorter, title(s.path),
        s.path + " " + std::string(alias(s.path)) + ": " + s.expected + ", now " + s.text,
        [path = s.path, value = asked->value](const Frame& t) { set(t, path, value); });
  }
  std::ranges::stable_sort(ranked, std::greater{}, &std::pair<double, PaletteCommand>::first);
  const bool is_gpu = std::ranges::find(accumulator_names, asked->value) != accumulator_names.end();
  const bool has_digit = !is_gpu && std::ranges::any_of(asked->value, is_digit);
  std::vector<PaletteCommand> best;
  for (auto& [fit, command] : ranked)
    if (best.size() < 4 && fit >= 60 && (has_digit || can(command, target))) best.push_back(std::move(command));
  return best;
}

void add_questions(std::vector<PaletteCommand>& all) {
  for (const UserQuestion& q : questions())
    all.push_back({fmt::format("ask: {}", q.words), std::string(q.answer), q.act, "", "", 0});
}

void add_workspaces(std::vector<PaletteCommand>& all) {
  for (std::size_t i = 0; i < workspaces.size(); ++i)
    all.push_back({"workspace: " + std::string(workspaces[i].label), "go to tab: " + std::string(workspaces[i].what),
                   [i](const Frame& t) { t.session.view.workspace = static_cast<Workspace>(i); }});
}

void go_to_lesson(const Frame& t, const Lesson& lesson, int step) {
  t.session.view.workspace = Workspace::learn;
  open_lesson(t.session.lesson, lesson, step);
}

void add_lessons(const LearnInput& learn, std::vector<PaletteCommand>& all) {
  if (!learn.lessons) return;
  int number = 0;
  for (const Lesson& lesson : *learn.lessons) {
    const std::string title = fmt::format("lesson {}", ++number);
    all.push_back({title + ": " + lesson.title, "Learn",
                   [lessons = learn.lessons, &lesson](const Frame& t) { go_to_lesson(t, lesson, 0); }, "", "",
                   1 + 0.01 * number});
    for (int step = 1; step < static_cast<int>(lesson.steps.size()); ++step)
      all.push_back({fmt::format("{}, step {}: {}", title, step + 1, lesson.steps[static_cast<std::size_t>(step)].title),
                     lesson.title, [lessons = learn.lessons, &lesson, step](const Frame& t) { go_to_lesson(t, lesson, step); },
                     "", "", 2 + 0.01 * number});
  }
}

/// Opens the desktop's file dialog, or if there is none the field for a path in the controls.
void ask_file(const Frame& t, FileUse use) {
  t.session.view.workspace = Workspace::explore;
  if (!must_type(use, t.input, t.requests)) return;
  t.state.popups.forward_steps = false;  // the gradients' steps have dO
  t.state.popups.files[use].wanted_for = 3;
}

/// Commands for the loaded output of a kernel.
void add_your_kernel(const Session& session, std::vector<PaletteCommand>& all) {
  constexpr std::string_view words = "loaded output O of your kernel, rounded or wrong? judge, verdict, .npy, .safetensors";
  all.push_back({"your kernel: open its output …", std::string(words), [](const Frame& t) { ask_file(t, FileUse::output); }});
  all.push_back({"session: save with its tensors …", "pack, one file NAME.attoscope.zip that opens anywhere, share, archive",
                 [](const Frame& t) { ask_session(SessionRequest::Act::pack, t.input, t.state, t.requests); }});
  all.push_back(
      {"input: open Q, K, V …", "tensor file, .npy, .safetensors", [](const Frame& t) { ask_file(t, FileUse::tensors); }});
  if (session.experiment.problem.input.kind == InputKind::tensors)
    all.push_back({"input: list its tensors", "names, shapes, types, which are used as Q, K, V and O", [](const Frame& t) {
                     t.session.view.workspace = Workspace::explore;
                     t.session.view.show_tensors = true;
                   }});
  if (session.experiment.loaded.file.empty()) return;
  constexpr std::array<std::pair<LoadedPlace, const char*>, 3> places{
      {{LoadedPlace::a, "a"}, {LoadedPlace::b, "b"}, {LoadedPlace::nowhere, "off"}}};
  for (const auto& [place, text] : places) {
    if (place != LoadedPlace::nowhere && session.experiment.backward.on) continue;  // an output has no backward pass
    all.push_back({std::string("your kernel: ") + text, "replaces a, b, or neither; " + std::string(words),
                   [place = place](const Frame& t) { t.session.experiment = with_loaded(t.session.experiment, place); }});
  }
}

/// Commands for the backward pass while it is on.
void add_backward(const Experiment& e, std::vector<PaletteCommand>& all) {
  if (!e.backward.on) return;
  constexpr std::string_view words = "gradient, backward pass, .npy, .safetensors";
  for (const auto& [title, use] : {std::pair{"dQ", FileUse::dq}, {"dK", FileUse::dk}, {"dV", FileUse::dv}})
    all.push_back({fmt::format("your kernel: open its {} …", title), "rounded or wrong? judge, " + std::string(words),
                   [use = use](const Frame& t) { ask_file(t, use); }});
  for (const auto& [title, use] : {std::pair{"dO", FileUse::d_o}, {"dL", FileUse::d_lse}})
    all.push_back(
        {fmt::format("{}: open a file …", title), std::string(words), [use = use](const Frame& t) { ask_file(t, use); }});
  for (const bool of_b : {false, true})
    for (const GradKernel& k : grad_kernels()) {
      const GradMethod named = grad_method(k.name, e.problem.d, e.problem.mask);
      if (!why_no_gradient(e, of_b ? e.b : e.a, named).empty()) continue;
      all.push_back({fmt::format("{}: {}", of_b ? "b" : "a", k.name),
                     fmt::format("backward pass, whole kernel preset: {}, {}", k.what, k.source),
                     [named, of_b](const Frame& t) {
                       (of_b ? t.session.experiment.backward.b : t.session.experiment.backward.a) = named;
                     }});
    }
}

void add_presets(const ChoicesInput& choices, std::vector<PaletteCommand>& all) {
  if (choices.probes)
    for (const ProbeEntry& p : *choices.probes)
      all.push_back({"preset: " + p.title, p.sentence, [p](const Frame& t) { ask_probe(t.session, t.state, p); }});
  for (const DeviceEntry& d : choices.devices)
    if (d.reason.empty())
      all.push_back({"device: " + d.spec, d.name, [spec = d.spec](const Frame& t) { t.session.device = spec; }});
}

void add_heads(const Session& session, const PanelInput& input, std::vector<PaletteCommand>& all) {
  if (session.experiment.problem.input.kind != InputKind::tensors) return;
  for (std::size_t i = 0; i < input.choices.tensors.head_names.size(); ++i)
    all.push_back({"head: " + input.choices.tensors.head_names[i], "of the tensor file",
                   [i](const Frame& t) { set(t, "problem.input.index", std::to_string(i)); }});
}

void add_kept(const Session& session, const SessionFiles& files, std::vector<PaletteCommand>& all) {
  for (const RecentSession& r : files.recent)
    if (r.reason.empty())
      all.push_back(
          {"open session: " + r.file.substr(r.file.find_last_of('/') + 1), "recent file " + r.file,
           [file = r.file](const Frame& t) { t.requests.files.session = SessionRequest{SessionRequest::Act::open, file}; }});
  for (std::size_t i = 0; i < session.pins.size(); ++i)
    all.push_back({"pin: " + session.pins[i].name, "restore this pin",
                   [i](const Frame& t) { restore_pin(t.session, static_cast<int>(i)); }});
}

void add_plans_and_figures(const PanelInput& input, std::vector<PaletteCommand>& all) {
  for (const ReadyPlan& plan : ready_plans())
    all.push_back(
        {"sweep: " + std::string(plan.title), "ready-made plan: " + std::string(plan.sentence), [&plan](const Frame& t) {
           t.session.view.workspace = Workspace::sweep;
           t.session.sweep = plan_of(plan, t.session.sweep);
         }});
  if (!input.figures.entries) return;
  for (const FigureEntry& f : *input.figures.entries)
    all.push_back({"figure: " + f.title, "draw for print, of a paper: " + f.what,
                   [name = f.name](const Frame& t) { t.requests.exports.figure = name; }});
}

}  // namespace

std::vector<PaletteCommand> commands(const Frame& target) {
  std::vector<PaletteCommand> all;
  for (const Key& key : keys())
    if (key.act != nullptr) all.push_back({std::string(key.what), "", key.act, std::string(key.keys)});
  all.push_back({"reset layout", "panels in their default sizes", [](const Frame& t) { t.session.view.panels = {}; }});
  all.push_back({"UI scale 100 %", "size of text and controls", [](const Frame& t) { t.session.view.ui_scale = 1; }});
  add_questions(all);
  add_workspaces(all);
  add_your_kernel(target.session, all);
  add_backward(target.session.experiment, all);
  add_presets(target.input.choices, all);
  add_heads(target.session, target.input, all);
  add_kept(target.session, target.input.sessions, all);
  add_lessons(target.input.learn, all);
  add_plans_and_figures(target.input, all);
  add_policies(target.session.experiment.a, "a", all);
  add_policies(target.session.experiment.b, "b", all);
  add_kernels("a", with_kernel, all);
  add_kernels("b", with_kernel_as_b, all);
  add_sums(target.session.experiment, &Experiment::a, "a", all);
  add_sums(target.session.experiment, &Experiment::b, "b", all);
  add_settings(setting_texts(target.session), all);
  return all;
}

double fitness(std::string_view query, const PaletteCommand& command) {
  const std::string name = lower(command.name), what = lower(command.what);
  double sum = 0;
  for (const std::string& typed : words_of(query)) {
    const std::string word = lower(typed);
    const double in_name = word_fitness(word, name), in_what = 0.6 * word_fitness(word, what);
    if (in_name < 0 && in_what < 0) return -1;
    sum += std::max(in_name, in_what);
  }
  return sum - (command.behind >= 0 ? command.behind : 0.05 * static_cast<double>(std::min<std::size_t>(name.size(), 60)));
}

std::vector<PaletteCommand> found(std::string_view query, const std::vector<PaletteCommand>& all, const Frame& target,
                                  std::size_t most) {
  std::vector<PaletteCommand> best = assignments(query, target);
  const std::optional<Assignment> asked = assignment(query);
  const std::string wanted = asked ? asked->what + " " + asked->value : std::string(query);
  const bool anything = words_of(wanted).empty();
  std::vector<std::pair<double, std::size_t>> ranked;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (const double fit = fitness(wanted, all[i]); fit >= 0 || anything) ranked.emplace_back(fit, i);
  if (!anything) std::ranges::stable_sort(ranked, std::greater{}, &std::pair<double, std::size_t>::first);
  for (const auto& [fit, i] : ranked)
    if (best.size() < most) best.push_back(all[i]);
  return best;
}

}  // namespace attoscope::ui
