// Exports of the window: pictures, figures for print, whole fields, and the papers' figures from their menu.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/files/files.h"
#include "app/files/paths.h"
#include "app/files/zip.h"
#include "app/plots/window_bundle.h"
#include "app/session/session.h"
#include "imgui_internal.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "tests/support/figure_support.h"
#include "tests/support/temporary_directory.h"
#include "tests/ui/cases.h"
#include "ui/explore.h"

namespace attoscope::testing {
namespace {

/// A window that saves its files into the test's own directory.
struct Kept {
  explicit Kept(Hand& on) : hand(on) {
    hand.stage.exporter = PlotExporter(hand.folder / "pictures");
    hand.resize(1600, 1000);
  }
  ~Kept() { hand.stage.exporter = PlotExporter(""); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  std::string path(const std::string& name) const { return hand.folder / ("pictures/attoscope-" + name); }
  bool has(const std::string& name) const { return std::filesystem::exists(path(name)); }
  /// Opens the menu of a plot at a given place of its window.
  void open_menu(const char* window, const std::string& plot, float x, float y) {
    const ImGuiWindow* const w = ImGui::FindWindowByName(window);
    hand.move({w->Pos.x + x * w->Size.x, w->Pos.y + y * w->Size.y});
    hand.frames(2);
    hand.click("//" + std::string(window) + "/###save " + plot);
    hand.frames(2);
  }
  void open_heat_map(const std::string& plot = "heat map") { open_menu(heatmap_window, plot, 0.5f, 0.5f); }
  /// Saves a plot by an item of its open menu, and expects that the session does not change.
  void save(const char* item = "###keep", Hand::Where where = Hand::Where::current()) {
    hand.leaves(item, [&] { hand.pick(item), wait(); }, where);
  }
  /// Waits for background work and its sentence.
  void wait() {
    hand.await("the work is done", [&] { return !hand.stage.exporter.busy(); });
    hand.frames(1);
  }
  std::string said() const { return hand.error() + hand.notice(); }

  Hand& hand;
};

/// F12 and the button save the window; a part is saved with its numbers; every file gets a new name.
CASE(export, pictures_of_the_window) {
  Kept kept(hand);
  hand.leaves("F12", [&] { hand.key(ImGuiKey_F12), hand.frames(3); });
  hand.check(kept.has("window-1.png") && kept.said().ends_with("attoscope-window-1.png."), "a picture: " + kept.said());
  const std::string png = read_file(kept.path("window-1.png"), 1 << 24);
  const auto number = [&](std::size_t at) { return (png[at] & 255) << 8 | (png[at + 1] & 255); };
  hand.check(png.substr(1, 3) == "PNG" && number(18) == 1600 && number(22) == 1000, "as large as the window");
  hand.leaves("the menu", [&] { hand.click(top_bar + "###view"), hand.click("//$FOCUSED/###save"), hand.frames(3); });
  hand.check(kept.has("window-2.png"), "takes the next name");
  hand.stage.exporter.ask({"a part", 100, 100, 300, 150, "x,y\n1,2\n"});
  hand.frames(3);
  hand.check(kept.has("a-part-1.png") && read_file(kept.path("a-part-1.csv"), 1 << 10) == "x,y\n1,2\n", "a part, its numbers");
  hand.stage.exporter.ask({"nothing", 5000, 5000, 6000, 6000, ""});
  hand.frames(3);
  hand.check(kept.said().starts_with("Nothing of the nothing is on screen"), kept.said());
  hand.stage.explorer().show_error("");
}

/// The menu changes only the settings for saving plots, and disables entries that do not apply.
CASE(export, menu_of_a_plot) {
  Kept kept(hand);
  kept.open_heat_map();
  hand.check(hand.disabled(focused + "columns/two columns") && hand.disabled(focused + "bundle/.zip"),
             "pixels have neither columns nor a bundle");
  const auto as = [](ExportAs kind) { return [kind](Session& s) { s.view.figure.as = kind; }; };
  hand.each({{focused + "keep as/PDF", as(ExportAs::pdf)},
             {focused + "columns/two columns", [](Session& s) { s.view.figure.two_columns = true; }},
             {focused + "columns/slide", [](Session& s) { s.view.figure.two_columns = false, s.view.figure.slide = true; }},
             {focused + "bundle/.zip", [](Session& s) { s.view.figure.zip = true; }},
             {focused + "keep as/TikZ", as(ExportAs::tex)},
             {focused + "keep as/SVG", as(ExportAs::svg)},
             {focused + "keep as/PNG", as(ExportAs::png)},
             {focused + "bundle/folder", [](Session& s) { s.view.figure.zip = false; }},
             {focused + "columns/one column", [](Session& s) { s.view.figure.slide = false; }},
             {focused + "keep as/screen", as(ExportAs::screen)}});
  hand.leaves("save", [&] { hand.pick("###keep"), hand.frames(3); });
  hand.check(kept.has("heat-map-1.png") && kept.has("heat-map-1.csv") && !kept.has("heat-map-1"),
             "pixels and numbers are saved");
  const std::string csv = read_file(kept.path("heat-map-1.csv"), 1 << 24), row = "\n42,";
  hand.check(csv.starts_with("row,0,1,2,") && std::ranges::count(csv, '\n') == 97 && has(csv, row) &&
                 std::stof(csv.substr(csv.find(row) + row.size())) ==
                     static_cast<float>(field_value(*hand.result(), Field::a_error, 42, 0)),
             "the whole matrix, its values");
}

/// A plot, and its place in the window.
struct Place {
  const char *window, *plot;
  float x, y;
  int lines;  ///< of its numbers
  Detail detail = Detail::ulps;
};
constexpr std::array places{
    Place{heatmap_window, "heat map", 0.5f, 0.5f, 97},
    Place{recurrence_window, "running max", 0.08f, 0.5f, 7},
    Place{recurrence_window, "rescales", 0.3f, 0.5f, 7},
    Place{recurrence_window, "row sum", 0.5f, 0.5f, 7},
    Place{recurrence_window, "largest P", 0.7f, 0.5f, 7},
    Place{recurrence_window, "error", 0.92f, 0.5f, 7},
    Place{recurrence_window, "recurrence", 0.99f, 0.95f, 0},
    Place{statistics_window, "ulps", 0.5f, 0.9f, 67},
    Place{statistics_window, "scatter", 0.5f, 0.9f, 96 * 16 + 1, Detail::scatter},
    Place{statistics_window, "why", 0.5f, 0.95f, 0, Detail::why},
    Place{statistics_window, "traffic", 0.5f, 0.9f, 4, Detail::traffic},
};

/// Saves every plot as pixels with its numbers, and as a figure with its data, its script and the JSON that reproduces it.
CASE(export, every_plot) {
  Kept kept(hand);
  hand.view().hidden_curves = 0;
  for (const Place& p : places) {
    hand.view().detail = p.detail;
    hand.settle();
    hand.await("the sources are known", [&] { return p.detail != Detail::why || hand.stage.panel_input().side.why; });
    const auto keep_as = [&](ExportAs kind) {
      hand.view().figure.as = kind;
      hand.leaves(p.plot, [&] {
        kept.open_menu(p.window, p.plot, p.x, p.y);
        hand.pick("###keep");
        kept.wait();
        hand.move({2, 2});
      });
    };
    std::string name = p.plot;
    std::ranges::replace(name, ' ', '-');
    keep_as(ExportAs::screen);
    hand.check(kept.has(name + "-1.png"), name + " is saved: " + kept.said());
    const std::string csv = read_file(kept.path(name + "-1.csv"), 1 << 24);
    hand.check(p.lines == 0 || std::ranges::count(csv, '\n') == p.lines, name + " has its numbers");
    if (!has_gnuplot()) continue;
    keep_as(ExportAs::svg);
    const std::string base = name + "-2/attoscope-" + name + "-2";  // -1 is taken by the pixels
    hand.check(kept.has(base + ".svg") && kept.has(base + ".csv") && kept.has(base + ".gp"), name + ": " + kept.said());
    std::ifstream file(kept.path(base + ".json"));
    const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
    hand.check(json.is_object() && json["session"]["experiment"]["problem"]["n"] == 96, name + " can be made again");
  }
}

/// The save button leaves the title and the names of its plot free; by the keyboard only the button that it reaches is seen.
CASE(export, button_under_the_names) {
  hand.resize(1600, 1000);
  const std::string save = strip + "###save rescales";
  hand.move(hand.place(strip + "rescales", 0.5f));
  hand.frames(2);
  const ImRect button = hand.rect(hand.id(save));
  hand.check(button.Min.y >= hand.rect(hand.id(strip + "legend moved")).Max.y, "the button is under the names");
  const auto pixel = [&] {
    const Picture p = hand.picture();
    const int x = static_cast<int>(button.Min.x) + 6, y = static_cast<int>(button.Min.y) + 6;
    const auto at = p.rgb.begin() + 3 * (static_cast<std::ptrdiff_t>(y) * p.width + x);
    return std::vector(at, at + 3);
  };
  const auto pointed = pixel();
  hand.move({2, 2});
  const auto empty = pixel();
  hand.check(pointed != empty, "it is seen while the mouse is over the plot");
  ImGui::FocusWindow(ImGui::FindWindowByName(recurrence_window));
  ImGui::NavInitWindow(ImGui::FindWindowByName(recurrence_window), true);
  hand.key(ImGuiKey_Tab);
  hand.frames(2);
  const ImGuiID id = hand.id(save);
  hand.check(pixel() == empty, "it is not seen while the keyboard is elsewhere in the panel");
  for (int i = 0; i < 200 && ImGui::GetCurrentContext()->NavId != id; ++i) hand.key(ImGuiKey_Tab);
  hand.check(ImGui::GetCurrentContext()->NavId == id && pixel() != empty, "it is seen once Tab reaches it");
}

/// The command draws a session's plot as the window saves it, byte for byte: picture, data, script, and the JSON with the
/// caption. Width, font and size are chosen once for all figures.
CASE(export, figures_of_the_command_are_the_windows) {
  if (!has_gnuplot()) return;
  Kept kept(hand);
  hand.view().figure = {.font = "Times", .font_size = 9};
  hand.settle();
  const auto same = [&](const std::string& name, const std::string& plot, const std::string& extension) {
    const std::string folder = kept.path(name + "/"), again = hand.folder / "again/", session = hand.folder / "session.json";
    if (!hand.check(std::filesystem::exists(folder), name + " is saved: " + kept.said())) return;
    std::filesystem::create_directory(again);
    write_file(session, session_text(hand.session()));
    FigureArguments typed;
    typed.what = session, typed.plot = plot, typed.out = again + "attoscope-" + name + extension;
    std::ostringstream out;
    draw_plot(typed, out, [](const auto&) {});
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string file = entry.path().filename().string();
      hand.check(read_file(entry.path().string(), 1 << 24) == read_file(again + file, 1 << 24), file + " is the command's");
      ++files;
    }
    hand.check(files == (extension == ".tex" ? 6 : 4), std::to_string(files) + " files");
  };
  int i = 0;
  for (const auto& [kind, extension] : {std::pair{ExportAs::svg, ".svg"}, {ExportAs::pdf, ".pdf"}, {ExportAs::tex, ".tex"}}) {
    hand.view().figure.as = kind;
    kept.open_heat_map();
    kept.save();
    same("heat-map-" + std::to_string(++i), "heat_map", extension);
    kept.open_menu(statistics_window, "ulps", 0.5f, 0.9f);
    kept.save();
    same("ulps-" + std::to_string(i), "ulps", extension);
  }
}

CASE(export, archives_and_fields) {
  Kept kept(hand);
  kept.open_heat_map();
  kept.save("###npy");
  hand.check(kept.has("a_error-1.npy") && std::filesystem::file_size(kept.path("a_error-1.npy")) > 96 * 16 * 8,
             "every element: " + kept.said());
  if (!has_gnuplot()) return;
  hand.view().figure = {.as = ExportAs::pdf, .two_columns = true, .zip = true};
  kept.open_heat_map();
  kept.save();
  if (hand.check(kept.has("heat-map-1.zip"), kept.said()))
    hand.check(zip_member(kept.path("heat-map-1.zip"), ".pdf", 1 << 24).starts_with("%PDF"), "the archive holds the figure");
}

/// Saves a gradient under its name: its whole field, and its figure by keys.
CASE(export, a_gradient) {
  Kept kept(hand);
  Session session = small_session();
  session.experiment.problem.n_k = 80;
  session.experiment = with_backward(session.experiment);
  session.view.tensor = AnswerTensor::dK;
  hand.open(session, 3);
  kept.open_heat_map("dK heat map");
  kept.save("###npy");
  const BackwardResult& r = *hand.result()->backward;
  const std::string bytes = read_file(kept.path("dK_a_error-1.npy"), 1 << 24);
  std::vector<double> values(80 * 16);
  if (!hand.check(bytes.size() > values.size() * sizeof(double), kept.said())) return;
  std::memcpy(values.data(), bytes.data() + bytes.size() - values.size() * sizeof(double), values.size() * sizeof(double));
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!hand.check(values[i] == r.a.dk.values[i] - r.golden->dk.values[i], "the error of a's dK")) return;
  if (!has_gnuplot()) return;
  hand.view().figure = {ExportAs::svg, false, false};
  kept.open_heat_map("dK heat map");
  kept.save();
  const std::string script = kept.path("dK-heat-map-1/attoscope-dK-heat-map-1.gp");
  if (!hand.check(std::filesystem::exists(script), kept.said())) return;
  hand.check(has(read_file(script, 1 << 24), "dK of "), "the figure names the tensor");
}

/// Saves the table of the KV cache as pixels and as the lines of `attoscope kv`.
CASE(export, table_of_the_kv_cache) {
  Kept kept(hand);
  Session session = all_heads(128);
  session.view.heads_show = HeadsShow::kv_cache;
  hand.open(session);
  hand.await("all heads are found", [&] { return hand.stage.state->heads.kv.shown.size() == 8; });
  hand.leaves("saved", [&] {
    kept.open_menu(heatmap_window, "KV cache", 0.5f, 0.5f);
    hand.pick("###keep");
    hand.frames(3);
  });
  const std::string text = bytes_of_file(kept.path("KV-cache-1.csv"));
  hand.check(text.starts_with("head,name,layer,bf16,fp8_tensor,"), "the lines of attoscope kv: " + kept.said());
  hand.check(std::ranges::count(text, '\n') == 9 && kept.has("KV-cache-1.png"), "a line for each head, and pixels");
}

/// The table of the heads is saved while they are on show: a drawn input has one head.
CASE(export, table_of_the_heads) {
  hand.open(all_heads(128));
  hand.await("all heads are found", [&] { return hand.stage.state->heads.outputs.shown.size() == 8; });
  const auto is_offered = [&] {
    const ImGuiWindow* const window = ImGui::FindWindowByName(heatmap_window);
    hand.move({window->Pos.x + window->Size.x / 2, window->Pos.y + window->Size.y / 2});
    hand.frames(2);
    return hand.exists("//" + std::string(heatmap_window) + "/###save heads");
  };
  hand.check(is_offered(), "the heads of a file");
  hand.experiment().problem.input.kind = InputKind::normal;
  hand.settle();
  hand.check(!is_offered(), "a drawn input");
}

/// Failures of drawing or writing are reported, the data are kept, and the window continues.
CASE(export, failures) {
  Kept kept(hand);
  hand.view().figure = {ExportAs::svg, false, false};
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);
  kept.open_heat_map();
  kept.save();
  ::setenv("PATH", path.c_str(), 1);
  hand.check(has(kept.said(), "package gnuplot-nox"), kept.said());
  hand.check(kept.has("heat-map-1/attoscope-heat-map-1.csv") && !kept.has("heat-map-1/attoscope-heat-map-1.svg"),
             "the data are saved, no picture");
  hand.stage.explorer().show_error("");
  PanelInput known = hand.stage.panel_input();
  known.sweep.progress.done = 3;
  known.sweep.progress.points = 8;
  ExportRequest sweep;
  sweep.name = "sweep";
  sweep.plot = Plot::sweep;
  hand.stage.exporter.ask(sweep, hand.stage.session, known);
  kept.wait();
  hand.check(has(kept.said(), "Only 3 of 8 points are known yet") && !kept.has("sweep-1"), kept.said());
  hand.stage.explorer().show_error("");
  hand.stage.exporter = PlotExporter("/dev/null/no");
  kept.open_heat_map();
  kept.save();
  hand.check(has(kept.said(), "/dev/null"), kept.said());
  hand.stage.explorer().show_error("");
  hand.leaves("F12", [&] { hand.key(ImGuiKey_F12), hand.frames(3); });
  hand.check(has(kept.said(), "/dev/null"), kept.said());
  hand.stage.explorer().show_error("");
}

/// The menu of the papers' figures changes their settings, and draws them.
CASE(export, figures_of_papers) {
  Kept kept(hand);
  hand.click(top_bar + "###figures");
  hand.click(focused + "##all policies", [](Session& s) { s.view.named_figure.all_policies = true; });
  hand.choose(focused + "##figure policy", "tile", [](Session& s) { s.view.named_figure.policy = "tile"; });
  for (const auto& [what, number] :
       {std::pair{"seeds", &FigureSettings::seeds}, {"N", &FigureSettings::n}, {"d", &FigureSettings::d}})
    hand.type(focused + "##" + what, "3", [number = number](Session& s) { s.view.named_figure.*number = 3; });
  const auto left = [&](const char* name) { return hand.place("//$FOCUSED/##" + std::string(name), 0).x; };
  hand.check(std::abs(left("N") - left("d")) < 1 && left("d") - hand.place("//$FOCUSED/##seeds", 1).x > 90,
             "the sliders form two columns, and d does not cover the value of seeds");
  hand.view().named_figure = {.policy = "hw", .n = 48, .d = 8, .seeds = 2};
  hand.frames(2);
  hand.check(hand.stage.exporter.busy() == false, "no figure is drawn yet");
  if (!has_gnuplot()) return;
  hand.leaves("bias", [&] { hand.pick("##bias"), kept.wait(); });
  hand.check(kept.has("bias-1/attoscope-bias-1.pdf") && kept.has("bias-1/attoscope-bias-1.json"), kept.said());
  hand.view().named_figure = {.policy = "hw", .n = 16384, .d = 64, .seeds = 500};
  hand.leaves("a long one, stopped", [&] {
    hand.pick("##sequence-length");
    hand.frames(20);
    hand.check(hand.exists("//$FOCUSED/###cancel figure"), "progress is shown");
    hand.pick("###cancel figure");
    kept.wait();
  });
  hand.check(has(kept.said(), "stopped before the figure was complete"), kept.said());
  hand.stage.explorer().show_error("");
}

}  // namespace

}  // namespace attoscope::testing
