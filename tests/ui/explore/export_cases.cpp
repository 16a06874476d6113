// Plots that leave the window: pixels, figures for print, whole fields; and the papers' figures from their menu.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "app/files/paths.h"
#include "app/files/zip.h"
#include "imgui_internal.h"
#include "tests/support/figure_support.h"
#include "tests/support/temporary_directory.h"
#include "tests/ui/cases.h"
#include "ui/layout.h"

namespace attoscope::testing {
namespace {

/// A window whose files go into a directory of its own.
struct Kept {
  explicit Kept(Hand& on) : hand(on) {
    hand.stage.exporter = PlotExporter(scratch / "pictures");
    hand.stage.resize(1600, 1000);
    hand.frames(3);
  }
  ~Kept() { hand.stage.exporter = PlotExporter(""); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  std::string path(const std::string& name) const { return scratch / ("pictures/attoscope-" + name); }
  bool has(const std::string& name) const { return std::filesystem::exists(path(name)); }
  /// Opens the menu of a plot at a given place of its window.
  void open_menu(const char* window, const std::string& plot, float x, float y) {
    const ImGuiWindow* const w = ImGui::FindWindowByName(window);
    hand.move({w->Pos.x + x * w->Size.x, w->Pos.y + y * w->Size.y});
    hand.frames(2);
    hand.click("//" + std::string(window) + "/###save " + plot);
    hand.frames(2);
  }
  void open_heat_map() { open_menu(heatmap_window, "heat map", 0.5f, 0.5f); }
  /// Waits for background work, and until its sentence is there.
  void wait() {
    for (int i = 0; i < 20000 && hand.stage.exporter.busy(); ++i) hand.frames(1);
    hand.frames(3);
  }
  std::string said() const {
    const PanelInput input = hand.stage.panel_input();
    return input.messages.error + input.messages.notice;
  }

  Hand& hand;
  const TemporaryDirectory scratch;
};

/// Writes the screen to $ATTOSCOPE_PICTURES, for inspection.
void show(Hand& hand, const std::string& name) {
  const char* const directory = std::getenv("ATTOSCOPE_PICTURES");
  if (directory != nullptr) write_png(std::string(directory) + "/" + name + ".png", hand.picture());
}

/// The menu changes the way plots are kept and nothing else, and disables entries that do not apply.
void choosing(Hand& hand) {
  Kept kept(hand);
  kept.open_heat_map();
  hand.check(hand.disabled("//$FOCUSED/columns/two columns") && hand.disabled("//$FOCUSED/bundle/.zip"),
             "pixels have neither columns nor a bundle");
  hand.changes("PDF", [&] { hand.pick("keep as/PDF"); }, [](Session& s) { s.view.figure.as = ExportAs::pdf; });
  hand.changes("two columns", [&] { hand.pick("columns/two columns"); }, [](Session& s) { s.view.figure.two_columns = true; });
  hand.changes("zip", [&] { hand.pick("bundle/.zip"); }, [](Session& s) { s.view.figure.zip = true; });
  hand.changes("SVG", [&] { hand.pick("keep as/SVG"); }, [](Session& s) { s.view.figure.as = ExportAs::svg; });
  hand.changes("PNG", [&] { hand.pick("keep as/PNG"); }, [](Session& s) { s.view.figure.as = ExportAs::png; });
  hand.changes("folder", [&] { hand.pick("bundle/folder"); }, [](Session& s) { s.view.figure.zip = false; });
  hand.changes("one column", [&] { hand.pick("columns/one column"); }, [](Session& s) { s.view.figure.two_columns = false; });
  hand.changes("screen", [&] { hand.pick("keep as/screen"); }, [](Session& s) { s.view.figure.as = ExportAs::screen; });
  show(hand, "menu");
  hand.leaves("save", [&] { hand.pick("###keep"), hand.frames(3); });
  hand.check(kept.has("heat-map-1.png") && kept.has("heat-map-1.csv") && !kept.has("heat-map-1"),
             "pixels and numbers are there");
  hand.changes("undo", [&] { hand.click(top_bar + "###undo"); }, [](Session& s) { s.view.figure.as = ExportAs::png; });
}

/// A plot, and its place in the window.
struct Place {
  const char *window, *plot;
  float x, y;
  Detail detail = Detail::ulps;
};
constexpr std::array places{
    Place{heatmap_window, "heat map", 0.5f, 0.5f},
    Place{recurrence_window, "running max", 0.08f, 0.5f},
    Place{recurrence_window, "rescales", 0.3f, 0.5f},
    Place{recurrence_window, "row sum", 0.5f, 0.5f},
    Place{recurrence_window, "largest P", 0.7f, 0.5f},
    Place{recurrence_window, "error", 0.92f, 0.5f},
    Place{recurrence_window, "recurrence", 0.99f, 0.95f},
    Place{statistics_window, "ulps", 0.5f, 0.9f},
    Place{statistics_window, "scatter", 0.5f, 0.9f, Detail::scatter},
    Place{statistics_window, "why", 0.5f, 0.95f, Detail::why},
    Place{statistics_window, "traffic", 0.5f, 0.9f, Detail::traffic},
};

/// Every plot leaves as a figure with its data, its script and the JSON that makes it again.
void figures_of_plots(Hand& hand) {
  if (!has_gnuplot()) return;
  Kept kept(hand);
  hand.view().figure.as = ExportAs::svg;
  hand.view().hidden_curves = 0;
  for (const Place& p : places) {
    hand.view().detail = p.detail;
    hand.settle();
    for (int i = 0; i < 2000 && p.detail == Detail::why && !hand.stage.panel_input().side.why; ++i) hand.frames(1);
    hand.frames(2);
    hand.leaves(p.plot, [&] {
      kept.open_menu(p.window, p.plot, p.x, p.y);
      hand.pick("###keep");
      kept.wait();
      hand.move({2, 2});
    });
    std::string name = p.plot;
    std::ranges::replace(name, ' ', '-');
    const std::string base = name + "-1/attoscope-" + name + "-1";
    hand.check(kept.has(base + ".svg") && kept.has(base + ".csv") && kept.has(base + ".gp"), name + ": " + kept.said());
    hand.check(kept.said().ends_with("attoscope-" + name + "-1.svg."), kept.said());
    std::ifstream file(kept.path(base + ".json"));
    const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
    hand.check(json.is_object() && json["session"]["experiment"]["problem"]["n"] == 96, name + " can be made again");
  }
}

void archives_and_fields(Hand& hand) {
  Kept kept(hand);
  kept.open_heat_map();
  hand.leaves("the whole field", [&] { hand.pick("###npy"), kept.wait(); });
  hand.check(kept.has("a_error-1.npy") && std::filesystem::file_size(kept.path("a_error-1.npy")) > 96 * 16 * 8,
             "every element: " + kept.said());
  if (!has_gnuplot()) return;
  hand.view().figure = {ExportAs::pdf, true, true};
  kept.open_heat_map();
  hand.leaves("a .zip", [&] { hand.pick("###keep"), kept.wait(); });
  if (hand.check(kept.has("heat-map-1.zip"), kept.said()))
    hand.check(zip_member(kept.path("heat-map-1.zip"), ".pdf", 1 << 24).starts_with("%PDF"), "which holds the figure");
}

/// The table of the KV cache leaves as its pixels and as the lines of `attoscope kv`, in the order on screen.
void kv_table(Hand& hand) {
  Kept kept(hand);
  Session session = all_heads(128);
  session.view.heads_show = HeadsShow::kv_cache;
  hand.open(session);
  for (int i = 0; i < 20000 && hand.stage.state->heads.kv.shown.size() < 8; ++i) hand.frames(1);
  hand.leaves("saved", [&] {
    kept.open_menu(heatmap_window, "KV cache", 0.5f, 0.5f);
    hand.pick("###keep");
    hand.frames(3);
  });
  std::ifstream file(kept.path("KV-cache-1.csv"));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  hand.check(text.starts_with("head,name,layer,bf16,fp8_tensor,"), "the lines of attoscope kv: " + kept.said());
  hand.check(std::ranges::count(text, '\n') == 9 && kept.has("KV-cache-1.png"), "one for each head, and the pixels");
  const std::vector<const KvRow*>& shown = hand.stage.state->heads.kv.shown;
  hand.check(
      text.find("\n" + std::to_string(shown.front()->head) + ",") < text.find("\n" + std::to_string(shown.back()->head) + ","),
      "in the order on screen");
}

/// Failures of drawing or writing are reported, the data are kept, and the window continues.
void failures(Hand& hand) {
  Kept kept(hand);
  hand.view().figure = {ExportAs::svg, false, false};
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);
  kept.open_heat_map();
  hand.leaves("without gnuplot", [&] { hand.pick("###keep"), kept.wait(); });
  ::setenv("PATH", path.c_str(), 1);
  hand.check(kept.said().find("package gnuplot-nox") != std::string::npos, kept.said());
  hand.check(kept.has("heat-map-1/attoscope-heat-map-1.csv") && !kept.has("heat-map-1/attoscope-heat-map-1.svg"),
             "the data are there");
  hand.stage.explorer().show_error("");
  PanelInput known = hand.stage.panel_input();
  known.sweep.progress.done = 3;
  known.sweep.progress.points = 8;
  ExportRequest sweep;
  sweep.name = "sweep";
  sweep.plot = Plot::sweep;
  hand.stage.exporter.ask(sweep, hand.stage.session, known);
  kept.wait();
  hand.check(kept.said().find("Only 3 of 8 points are known yet") != std::string::npos && !kept.has("sweep-1"), kept.said());
  hand.stage.explorer().show_error("");
  hand.stage.exporter = PlotExporter("/dev/null/no");
  kept.open_heat_map();
  hand.leaves("where nothing can be written", [&] { hand.pick("###keep"), kept.wait(); });
  hand.check(kept.said().find("/dev/null") != std::string::npos, kept.said());
  hand.stage.explorer().show_error("");
}

/// The menu of the papers' figures changes their settings, and draws them.
void papers(Hand& hand) {
  Kept kept(hand);
  hand.click(top_bar + "###figures");
  hand.changes(
      "all policies", [&] { hand.pick("##all policies"); }, [](Session& s) { s.view.named_figure.all_policies = true; });
  hand.changes(
      "policy", [&] { hand.pick("##figure policy"), hand.pick("tile"); },
      [](Session& s) { s.view.named_figure.policy = "tile"; });
  for (const auto& [what, number] :
       {std::pair{"seeds", &FigureSettings::seeds}, std::pair{"N", &FigureSettings::n}, std::pair{"d", &FigureSettings::d}})
    hand.changes(
        what, [&, what = what] { hand.type("//$FOCUSED/##" + std::string(what), "3"); },
        [number = number](Session& s) { s.view.named_figure.*number = 3; });
  hand.view().named_figure = {.policy = "hw", .n = 48, .d = 8, .seeds = 2};
  hand.frames(2);
  hand.check(hand.stage.exporter.busy() == false, "nothing is drawn unasked");
  if (!has_gnuplot()) return;
  hand.leaves("bias", [&] { hand.pick("##bias"), kept.wait(); });
  hand.check(kept.has("bias-1/attoscope-bias-1.pdf") && kept.has("bias-1/attoscope-bias-1.json"), kept.said());
  hand.view().named_figure = {.policy = "hw", .n = 16384, .d = 64, .seeds = 500};
  hand.leaves("a long one, stopped", [&] {
    hand.pick("##sequence-length");
    hand.frames(20);
    hand.check(hand.exists("//$FOCUSED/###cancel figure"), "progress is on show");
    show(hand, "papers");
    hand.pick("###cancel figure");
    kept.wait();
  });
  hand.check(kept.said().find("stopped before the figure was complete") != std::string::npos, kept.said());
  hand.stage.explorer().show_error("");
}

constexpr std::array cases{
    Case{"export", "choosing", choosing},
    Case{"export", "figures of plots", figures_of_plots},
    Case{"export", "archives and fields", archives_and_fields},
    Case{"export", "KV table", kv_table},
    Case{"export", "failures", failures},
    Case{"export", "papers", papers},
};

}  // namespace

std::span<const Case> export_cases() { return cases; }

}  // namespace attoscope::testing
