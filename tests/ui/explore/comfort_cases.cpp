// Layout, themes, progress and cancelling, saved pictures, and broken files.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "app/session/session.h"
#include "imgui_internal.h"
#include "tests/support/temporary_directory.h"
#include "tests/ui/cases.h"
#include "ui/layout.h"
#include "ui/widgets/colours.h"
#include "ui/widgets/panel_plot.h"

namespace attoscope::testing {
namespace {

ImVec2 size_of(const char* window) { return ImGui::FindWindowByName(window)->Size; }
ImVec2 place_of(const char* window) { return ImGui::FindWindowByName(window)->Pos; }

void resizing(Hand& hand) {
  hand.frames(3);
  hand.check(size_of(controls_window).x == 316 && size_of(statistics_window).x == 348 && size_of(recurrence_window).y == 262,
             "as wide as at first");
  const auto drag_edge = [&](ImVec2 from, float dx, float dy) { hand.drag(from, {from.x + dx, from.y + dy}); };
  hand.changes(
      "the line between controls and picture", [&] { drag_edge({place_of(heatmap_window).x - 0.5f, 300}, 64, 0); },
      [](Session& s) { s.view.panels.left = 380; });
  hand.changes(
      "the line before the statistics", [&] { drag_edge({place_of(statistics_window).x - 0.5f, 200}, -40, 0); },
      [](Session& s) { s.view.panels.right = 388; });
  hand.changes(
      "the line above the strip", [&] { drag_edge({700, place_of(recurrence_window).y - 0.5f}, 0, 30); },
      [](Session& s) { s.view.panels.bottom = 232; });
  hand.frames(3);
  hand.check(size_of(controls_window).x == 380 && size_of(statistics_window).x == 388 && size_of(recurrence_window).y == 232,
             "they are so");
  const Session moved = hand.session();
  hand.view().ui_scale = 1.25;
  hand.frames(4);
  hand.check(std::fabs(size_of(controls_window).x - 475) <= 1 && hand.view().panels == moved.view.panels,
             "and grow with the scale");
  hand.view().ui_scale = 1;
  hand.stage.resize(1920, 1080);
  hand.frames(4);
  hand.check(size_of(controls_window).x == 380 && size_of(recurrence_window).y == 232 && hand.session() == moved,
             "a larger window leaves them");
  std::vector<std::string> remarks;
  hand.open(parse_session(session_text(moved), remarks));
  hand.frames(4);
  hand.check(size_of(controls_window).x == 380 && size_of(statistics_window).x == 388, "so does a restart");
  hand.changes(
      "reset layout",
      [&] {
        hand.key(ImGuiMod_Ctrl | ImGuiKey_P);
        hand.frames(2);
        hand.enter("reset layout");
      },
      [](Session& s) { s.view.panels = {}; });
  hand.frames(3);
  hand.check(size_of(controls_window).x == 316, "as at first");
  hand.changes("undo", [&] { hand.key(ImGuiMod_Ctrl | ImGuiKey_Z); }, [&](Session& s) { s.view.panels = moved.view.panels; });
  for (const double absurd : {64.0, 8192.0}) {
    hand.view().panels = {absurd, absurd, absurd};
    for (const int width : {640, 1280, 1920}) {
      hand.stage.resize(width, 800);
      hand.frames(4);
      hand.check(size_of(heatmap_window).x >= 100, "the picture keeps room at " + std::to_string(width));
    }
  }
}

float linear(float x) { return x <= 0.04045f ? x / 12.92f : std::pow((x + 0.055f) / 1.055f, 2.4f); }
using Rgb = std::array<float, 3>;
Rgb linear_of(Colour c) {
  return {linear(static_cast<float>(c & 255) / 255), linear(static_cast<float>(c >> 8 & 255) / 255),
          linear(static_cast<float>(c >> 16 & 255) / 255)};
}
float luminance(Colour c) {
  const Rgb x = linear_of(c);
  return 0.2126f * x[0] + 0.7152f * x[1] + 0.0722f * x[2];
}
float contrast(Colour x, Colour y) {
  const auto [low, high] = std::minmax({luminance(x), luminance(y)});
  return (high + 0.05f) / (low + 0.05f);
}

void contrasts(Hand& hand) {
  const auto check = [&](Theme theme, Colour Palette::* role, double least, const char* what) {
    const Palette& p = palette(theme);
    const double ratio = contrast(p.*role, p.panel);
    hand.check(ratio >= least,
               std::string(theme_names[static_cast<std::size_t>(theme)]) + " " + what + " " + std::to_string(ratio));
  };
  for (const Theme theme : {Theme::dark, Theme::light, Theme::high_contrast}) {
    const double more = theme == Theme::high_contrast ? 7 : 4.5;
    check(theme, &Palette::text, more + 6, "text");
    check(theme, &Palette::secondary, 7, "secondary");
    for (const auto& [role, what] :
         {std::pair{&Palette::faint, "faint"}, std::pair{&Palette::a, "a"}, std::pair{&Palette::b, "b"},
          std::pair{&Palette::golden, "golden"}, std::pair{&Palette::moved, "moved"}, std::pair{&Palette::bad, "bad"},
          std::pair{&Palette::good, "good"}, std::pair{&Palette::accent, "accent"}})
      check(theme, role, more, what);
  }
  check(Theme::high_contrast, &Palette::line, 3, "lines");
}

/// Curves are legible on the panel in every theme.
void inks(Hand& hand) {
  for (const Theme theme : {Theme::dark, Theme::light, Theme::high_contrast})
    for (int i = 0; i <= static_cast<int>(Ink::text); ++i) {
      const double ratio = contrast(ink_colour(static_cast<Ink>(i), palette(theme)), palette(theme).panel);
      hand.check(ratio >= 3.5, "ink " + std::to_string(i) + " in theme " +
                                   std::string(theme_names[static_cast<std::size_t>(theme)]) + ": " + std::to_string(ratio));
    }
}

/// A colour as seen without one kind of cones (Machado, Oliveira, Fernandes 2009, severity 1), linear.
Rgb seen_by(const std::array<Rgb, 3>& eye, Colour c) {
  const Rgb x = linear_of(c);
  Rgb y{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) y[i] += eye[i][j] * x[j];
  return y;
}

/// Distance in OKLab of two linear colours.
float distance(const Rgb& x, const Rgb& y) {
  const auto lab = [](const Rgb& c) {
    const float l = std::cbrt(0.4122214708f * c[0] + 0.5363325363f * c[1] + 0.0514459929f * c[2]);
    const float m = std::cbrt(0.2119034982f * c[0] + 0.6806995451f * c[1] + 0.1073969566f * c[2]);
    const float s = std::cbrt(0.0883024619f * c[0] + 0.2817188376f * c[1] + 0.6299787005f * c[2]);
    return Rgb{0.2104542553f * l + 0.7936177850f * m - 0.0040720468f * s,
               1.9779984951f * l - 2.4285922050f * m + 0.4505937099f * s,
               0.0259040371f * l + 0.7827717662f * m - 0.8086757660f * s};
  };
  const Rgb u = lab(x), v = lab(y);
  return std::sqrt((u[0] - v[0]) * (u[0] - v[0]) + (u[1] - v[1]) * (u[1] - v[1]) + (u[2] - v[2]) * (u[2] - v[2]));
}

constexpr std::array<std::array<Rgb, 3>, 4> eyes{{
    {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
    {{{0.152286f, 1.052583f, -0.204868f}, {0.114503f, 0.786281f, 0.099216f}, {-0.003882f, -0.048116f, 1.051998f}}},
    {{{0.367322f, 0.860646f, -0.227968f}, {0.280085f, 0.672501f, 0.047413f}, {-0.011820f, 0.042940f, 0.968881f}}},
    {{{1.255528f, -0.076749f, -0.178779f}, {-0.078411f, 0.930809f, 0.147602f}, {0.004733f, 0.691367f, 0.303900f}}},
}};

/// Signs are apart, and so are neighbouring steps, in the diverging map of every theme for each of the four eyes.
void check_signs(Hand& hand, Theme theme) {
  const ColourTable map = colour_table(true, theme);
  const std::string name(theme_names[static_cast<std::size_t>(theme)]);
  constexpr int middle = entry::map_size / 2;
  for (std::size_t eye = 0; eye < eyes.size(); ++eye) {
    const auto seen = [&](int step) { return seen_by(eyes[eye], map[static_cast<std::size_t>(middle + step)]); };
    const std::string who = name + ", eye " + std::to_string(eye);
    for (const double share : {0.2, 0.35, 0.5, 0.65, 0.8, 1.0}) {
      const int step = static_cast<int>(share * middle);
      const float apart = distance(seen(step), seen(-step));
      hand.check(apart > (share < 1 ? 0.07f : 0.04f),
                 who + " tells signs apart at " + std::to_string(share) + ": " + std::to_string(apart));
    }
    for (int i = 1; i <= 8; ++i)
      for (const int sign : {-1, 1})
        hand.check(distance(seen(sign * (i - 1) * middle / 8), seen(sign * i * middle / 8)) > 0.03f,
                   who + " sees every step of the map");
  }
}

void colour_blindness(Hand& hand) {
  hand.check(colour_table(true, Theme::high_contrast)[entry::map_size / 2] == palette(Theme::high_contrast).panel,
             "0 is as black as the panel");
  for (const Theme theme : {Theme::dark, Theme::light, Theme::high_contrast}) check_signs(hand, theme);
  for (const Theme theme : {Theme::dark, Theme::light, Theme::high_contrast})
    for (const bool diverging : {false, true}) {
      const ColourTable table = colour_table(diverging, theme);
      for (const int marker : {entry::nan, entry::plus_infinity, entry::minus_infinity}) {
        float nearest = 9;
        for (int i = 0; i < entry::map_size; ++i)
          nearest = std::min(nearest, distance(linear_of(table[static_cast<std::size_t>(i)]),
                                               linear_of(table[static_cast<std::size_t>(marker)])));
        hand.check(nearest > 0.05f, "marker " + std::to_string(marker) + " is no colour of the map of theme " +
                                        std::string(theme_names[static_cast<std::size_t>(theme)]) + ": " +
                                        std::to_string(nearest));
      }
    }
}

/// In the contrast theme signs are green and purple, and no value looks like a's orange or b's blue.
void signs_in_contrast(Hand& hand) {
  const ColourTable map = colour_table(true, Theme::high_contrast);
  const Palette& colours = palette(Theme::high_contrast);
  constexpr int middle = entry::map_size / 2;
  for (const double share : {0.3, 0.5, 0.7}) {
    const Rgb low = linear_of(map[static_cast<std::size_t>(middle - static_cast<int>(share * middle))]),
              high = linear_of(map[static_cast<std::size_t>(middle + static_cast<int>(share * middle))]);
    hand.check(low[1] > 1.5f * low[0] && low[1] > 1.5f * low[2], "negative is green at " + std::to_string(share));
    hand.check(high[2] > high[0] && high[0] > 1.2f * high[1], "positive is purple at " + std::to_string(share));
  }
  for (const Colour method : {colours.a, colours.b}) {
    float nearest = 9;
    for (int i = 0; i < entry::map_size; ++i)
      nearest = std::min(nearest, distance(linear_of(map[static_cast<std::size_t>(i)]), linear_of(method)));
    hand.check(nearest > 0.1f, "no value has a method's colour: " + std::to_string(nearest));
  }
}

void progress(Hand& hand) {
  PanelInput input = hand.stage.panel_input();
  input.answer.computing = true;
  input.answer.computing_seconds = 0.3;
  input.answer.progress = 0.1;
  hand.stage.told = input;
  hand.frames(3);
  const std::string button = "//Status bar/###cancel";
  hand.check(!hand.exists(button), "half a second shows nothing");
  hand.stage.told->answer.computing_seconds = 0.6;
  hand.frames(3);
  hand.check(hand.exists(button), "then there is a button");
  const ImVec2 place = hand.place(button, 0);
  for (const auto& [share, left] : {std::pair{0.0, -1.0}, std::pair{0.5, 3.4}, std::pair{0.99, 5000.0}, std::pair{1.0, 1e9},
                                    std::pair{std::nan(""), std::nan("")}}) {
    hand.stage.told->answer.progress = share;
    hand.stage.told->answer.seconds_left = left;
    hand.frames(2);
    const ImVec2 now = hand.place(button, 0);
    hand.check(now.x == place.x && now.y == place.y, "it does not move");
  }
  hand.stage.told->answer.computing = false;
  hand.frames(60);
  hand.check(!hand.exists(button), "and goes away");
}

/// Something that takes seconds.
Session slow_session() {
  Session session = small_session();
  session.experiment.problem.n = 32768;
  session.experiment.problem.d = 128;
  session.experiment.a.precision = policy("all_tile").precision;
  return session;
}

void cancelling(Hand& hand) {
  for (const bool by_key : {false, true}) {
    hand.open(small_session());
    const auto old = hand.stage.panel_input().answer.result;
    hand.session() = slow_session();
    double largest = 0;
    for (int i = 0; i < 20000 && !(hand.stage.panel_input().answer.computing_seconds > 0.7 && largest > 0); ++i) {
      hand.frames(1);
      largest = std::max(largest, hand.stage.panel_input().answer.progress);
    }
    hand.check(largest > 0 && largest < 1, "it says how far it is");
    const Session before = hand.session();
    by_key ? hand.key(ImGuiKey_Escape) : hand.click("//Status bar/###cancel");
    for (int i = 0; i < 20000 && hand.stage.panel_input().answer.computing; ++i) hand.frames(1);
    hand.frames(2);
    const PanelInput input = hand.stage.panel_input();
    hand.check(!input.answer.computing && input.messages.error.starts_with("Stopped: "),
               "it stops and says so: " + input.messages.error);
    hand.check(input.answer.result && (input.answer.result == old || input.answer.result->experiment == before.experiment),
               "the picture stays");
    hand.check(hand.session() == before, "nothing else changes");
    hand.experiment() = small_session().experiment;
    hand.settle();
    hand.check(hand.stage.panel_input().messages.error.empty() &&
                   hand.stage.panel_input().answer.result->experiment == hand.experiment(),
               "and it goes on");
  }
}

void saving(Hand& hand) {
  const TemporaryDirectory scratch;
  hand.stage.exporter = PlotExporter(scratch / "pictures");
  const auto files = [&] {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& file : std::filesystem::directory_iterator(scratch / "pictures", error))
      names.push_back(file.path().filename().string());
    std::ranges::sort(names);
    return names;
  };
  hand.leaves("F12", [&] { hand.key(ImGuiKey_F12), hand.frames(3); });
  hand.check(files() == std::vector<std::string>{"attoscope-window-1.png"}, "a picture of the window");
  hand.check(hand.stage.panel_input().messages.notice.ends_with("attoscope-window-1.png."),
             "and a sentence: " + hand.stage.panel_input().messages.notice);
  std::ifstream png(scratch / "pictures/attoscope-window-1.png", std::ios::binary);
  std::string head(24, ' ');
  png.read(head.data(), 24);
  const auto number = [&](std::size_t at) {
    return (static_cast<unsigned char>(head[at]) << 8) + static_cast<unsigned char>(head[at + 1]);
  };
  hand.check(head.substr(1, 3) == "PNG" && number(18) == 1280 && number(22) == 800, "as large as the window");
  hand.leaves("the button", [&] { hand.click(top_bar + "###save"), hand.frames(3); });
  hand.check(files().size() == 2 && files()[1] == "attoscope-window-2.png", "takes the next name");
  hand.stage.exporter.ask({"a part", 100, 100, 300, 150, "x,y\n1,2\n"});
  hand.frames(3);
  hand.check(files().front() == "attoscope-a-part-1.csv" && files()[1] == "attoscope-a-part-1.png",
             "a part has its numbers beside it");
  std::ifstream csv(scratch / "pictures/attoscope-a-part-1.csv");
  hand.check(std::string(std::istreambuf_iterator<char>(csv), {}) == "x,y\n1,2\n", "as they were");
  hand.stage.exporter.ask({"nothing", 5000, 5000, 6000, 6000, ""});
  hand.frames(3);
  hand.check(hand.stage.panel_input().messages.error.find("Nothing of the nothing is on screen") == 0,
             hand.stage.panel_input().messages.error);
  hand.stage.explorer().show_error("");
  hand.stage.exporter = PlotExporter("/dev/null/no");
  hand.leaves("where nothing can be written", [&] { hand.key(ImGuiKey_F12), hand.frames(3); });
  hand.check(hand.stage.panel_input().messages.error.find("/dev/null") != std::string::npos,
             "is said: " + hand.stage.panel_input().messages.error);
  hand.stage.exporter = PlotExporter("");
}

/// The lines of a file.
std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// Every plot has a button under the mouse, which saves its picture and its numbers.
void saving_plots(Hand& hand) {
  const TemporaryDirectory scratch;
  hand.stage.exporter = PlotExporter(scratch / ".");
  hand.stage.resize(1600, 1000);
  hand.frames(3);
  const auto save = [&](const char* window, float x, float y, const std::string& name) {
    const ImVec2 at = place_of(window), size = size_of(window);
    hand.leaves(name, [&] {
      hand.move({at.x + x * size.x, at.y + y * size.y});
      hand.frames(2);
      hand.click("//" + std::string(window) + "/###save " + name);
      hand.pick("###keep");
      hand.frames(3);
    });
    std::string file = name;
    std::ranges::replace(file, ' ', '-');
    hand.check(std::filesystem::exists(scratch / ("attoscope-" + file + "-1.png")), name + " is saved");
    hand.move({2, 2});
    return lines_of(scratch / ("attoscope-" + file + "-1.csv"));
  };
  const Result& r = *hand.stage.panel_input().answer.result;
  const std::vector<std::string> heat = save(heatmap_window, 0.5f, 0.5f, "heat map");
  if (hand.check(heat.size() == 97 && heat[0].starts_with("row,0,1,2,") && heat[0].ends_with(",15"), "the whole matrix")) {
    const std::string value = heat[43].substr(0, heat[43].find(',', 3));
    hand.check(
        value.starts_with("42,") && std::stof(value.substr(3)) == static_cast<float>(field_value(r, Field::a_error, 42, 0)),
        "its values: " + value);
  }
  for (const auto& [x, name] :
       {std::pair{0.1f, "running max"}, std::pair{0.35f, "rescales"}, std::pair{0.6f, "row sum"}, std::pair{0.9f, "error"}}) {
    const std::vector<std::string> lines = save(recurrence_window, x, 0.5f, name);
    hand.check(lines.size() == 7 && lines[0].starts_with("tile,max_true,max_used,alpha") && lines[6].starts_with("5,"),
               std::string(name) + " has its tiles");
  }
  hand.check(save(statistics_window, 0.5f, 0.9f, "ulps").size() == 67, "every bin of the histogram");
  hand.view().detail = Detail::traffic;
  hand.frames(2);
  hand.check(save(statistics_window, 0.5f, 0.9f, "traffic").size() == 4, "three algorithms");
  hand.view().detail = Detail::scatter;
  hand.frames(2);
  hand.check(save(statistics_window, 0.5f, 0.9f, "scatter").size() == 96 * 16 + 1, "every element");
  hand.stage.exporter = PlotExporter("");
}

void tabs(Hand& hand) {
  hand.leaves("the workspace that is open", [&] { hand.click(top_bar + "Explore"); });
  for (const int width : {640, 800, 1280, 1920}) {
    hand.stage.resize(width, 800);
    hand.frames(3);
    const float right = hand.place(top_bar + "Explore", 1).x;
    for (const char* item : {"###undo", "###help"}) {
      if (!hand.check(hand.exists(top_bar + item), std::string(item) + " is there at " + std::to_string(width))) continue;
      hand.check(hand.place(top_bar + item, 0).x > right && hand.place(top_bar + item, 1).x <= static_cast<float>(width),
                 "and in its place");
    }
  }
  for (const char* item : {"###find", "###presets", "###pins", "###session", "###save", "###theme", "###smaller"})
    hand.check(hand.exists(top_bar + item), item);
}

/// Brings a panel to the front of those that share its place.
void bring(Hand& hand, const char* window) {
  ImGui::SetWindowFocus(window);
  hand.frames(3);
}

/// In small windows panels share a place: nothing is squeezed, and everything is still there.
void small_windows(Hand& hand) {
  hand.view().ui_scale = 2;
  hand.frames(6);
  const auto picture_height = [&] { return hand.place(heatmap + "picture", 0, 1).y - hand.place(heatmap + "picture", 0, 0).y; };
  hand.check(picture_height() > 160, "the picture keeps its room: " + std::to_string(picture_height()));
  hand.check(hand.exists(top_bar + "###session") && hand.exists(top_bar + "###undo"), "sessions and undo are in the bar");
  hand.leaves("the strip's tab", [&] { bring(hand, recurrence_window); });
  hand.check(size_of(recurrence_window).y > 600, "the strip has all of that place");
  hand.changes("its buttons", [&] { hand.click(strip + "###previous tile"); }, [](Session& s) { s.view.scrubbed_tile = 4; });
  hand.leaves("the heat map's tab", [&] { bring(hand, heatmap_window); });
  hand.leaves("the statistics' tab", [&] { bring(hand, statistics_window); });
  hand.check(size_of(statistics_window).x == size_of(controls_window).x, "it shares the place of the controls");
  hand.view().ui_scale = 1;
  hand.frames(6);
  hand.check(size_of(recurrence_window).y == 262 && size_of(statistics_window).x == 348,
             "a larger window has them side by side again");
}

void dropped_files(Hand& hand) {
  const TemporaryDirectory scratch;
  const auto dropped = [&](const std::vector<std::string>& files) {
    const Session before = hand.session();
    hand.stage.explorer().show_error("");
    open_files(files, hand.stage.desk());
    hand.frames(2);
    const std::string message = hand.stage.panel_input().messages.error;
    hand.check(hand.session() == before, files.front() + " changes nothing");
    hand.check(!message.empty() && message.find('\n') == std::string::npos && message.size() < 600,
               files.front() + ": " + message);
    return message;
  };
  for (const auto& [name, text] : {std::pair{"photo.png", "\x89PNG"}, std::pair{"notes.txt", "hello"}, std::pair{"empty", ""},
                                   std::pair{"x.safetensors", "no"}, std::pair{"x.npy", "no"}, std::pair{"x.json", "{}"},
                                   std::pair{"y.json", "[1,2"}, std::pair{"z.json", R"({"schema":"attoscope.figure/1"})"}})
    hand.check(dropped({scratch.write(name, text)}).find(name) != std::string::npos, std::string(name) + " is named");
  dropped({scratch / "."});
  dropped({scratch / "missing.safetensors"});
  dropped({scratch.write("a.npy", ""), scratch.write("b.npy", "")});
  const std::string newer =
      scratch.write("newer.json", R"({"schema":"attoscope.session/9","experiment":{"problem":{"n":40,"d":8}},"orbits":3})");
  open_files({newer}, hand.stage.desk());
  hand.frames(2);
  hand.check(hand.experiment().problem.n == 40, "a later program's session opens as far as it is understood");
  hand.check(hand.stage.panel_input().messages.error.find("newer than attoscope.session/1") != std::string::npos,
             hand.stage.panel_input().messages.error);
}

/// All controls are seen without scrolling in windows of usual heights from 960 pixels of scale 1 on.
void controls_fit(Hand& hand) {
  for (const auto& [width, height, scale] :
       {std::tuple{1600, 1000, 1.0}, std::tuple{1920, 1080, 1.0}, std::tuple{2560, 1440, 1.0}, std::tuple{2560, 1440, 1.5}}) {
    hand.stage.resize(width, height);
    hand.view().ui_scale = scale;
    hand.frames(4);
    const float more = ImGui::FindWindowByName("Controls")->ScrollMax.y;
    hand.check(more == 0, fmt::format("{} pixels more at {}x{}, scale {}", more, width, height, scale));
  }
}

constexpr std::array cases{
    Case{"comfort", "controls fit", controls_fit},
    Case{"comfort", "resizing", resizing},
    Case{"comfort", "contrasts", contrasts},
    Case{"comfort", "signs in the contrast theme", signs_in_contrast},
    Case{"comfort", "inks", inks},
    Case{"comfort", "colour blindness", colour_blindness},
    Case{"comfort", "progress", progress},
    Case{"comfort", "cancelling", cancelling},
    Case{"comfort", "saving", saving},
    Case{"comfort", "saving plots", saving_plots},
    Case{"comfort", "tabs", tabs},
    Case{"comfort", "dropped files", dropped_files},
    Case{"comfort", "small windows", small_windows},
};

}  // namespace

std::span<const Case> comfort_cases() { return cases; }

}  // namespace attoscope::testing
