// The Sweep workspace: every control of the plan, running, pausing, opening a point, and every state.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "imgui_internal.h"
#include "tests/ui/cases.h"
#include "ui/frame/ui_state.h"
#include "ui/sweep/panels.h"
#include "ui/widgets/plot.h"
#include "ui/widgets/table_view.h"
#include "ui/widgets/widgets.h"

namespace attoscope::testing {
namespace {

const std::string plan_panel = "//Sweep plan/", picture = "//Sweep picture/", rows_panel = "//Sweep rows/**/";

Session sweep_session() {
  Session s = small_session(Workspace::sweep);
  s.experiment.problem.n = 32;
  s.sweep.first = {"block_k", "8:32:x2"};
  s.sweep.seeds = 2;
  return s;
}

/// Draws frames until the sweep is `ready`.
void wait(Hand& hand, const std::function<bool(const SweepView&)>& ready, const std::string& what) {
  hand.await(what, [&] { return ready(hand.stage.panel_input().sweep); });
}

bool complete(const SweepView& v) {
  return v.progress.state == SweepProgress::State::done && !v.progress.stale && v.table &&
         std::ranges::all_of(v.table->cells, [&](const SweepCell& c) { return c.count == v.table->seeds || c.error >= 0; });
}

void run_all(Hand& hand) {
  hand.click_at_rest(picture + "###run sweep");
  wait(hand, complete, "every point is computed");
}

CASE(sweep, parameters) {
  hand.open(sweep_session());
  const std::string first = plan_panel + "first/##parameter", second = plan_panel + "second/##parameter";
  hand.choose(first, "##format", [](Session& s) { s.sweep.first = {"format", "bf16,fp16,tf32,fp32"}; });
  hand.choose(second, "##n", [](Session& s) { s.sweep.second = {"n", "64:1024:x2"}; });
  hand.choose(second, "##b.O", [](Session& s) { s.sweep.second = {"b.O", "exact,fp32,bf16,fp16"}; });
  hand.click(plan_panel + "###swap parameters", [](Session& s) { std::swap(s.sweep.first, s.sweep.second); });
  hand.choose(second, "none", [](Session& s) { s.sweep.second = {}; });
  hand.changes(
      "found by typing",
      [&] {
        hand.click(first);
        hand.frames(2);
        hand.enter("keys of a t");
      },
      [](Session& s) { s.sweep.first = {"block_k", "16:1024:x2"}; });
  hand.changes("undone", [&] { hand.key(undo_key); }, [](Session& s) { s.sweep.first = {"b.O", "exact,fp32,bf16,fp16"}; });
  hand.leaves("one Esc closes the list", [&] {
    hand.click(first);
    hand.frames(2);
    hand.key(ImGuiKey_Escape);
  });
  hand.frames(2);
  hand.check(!hand.has_popup(), "while its search field had the keyboard");
}

CASE(sweep, values) {
  hand.open(sweep_session());
  hand.each({{plan_panel + "first/##values", [](Session& s) { s.sweep.first.values = "8,16,24"; }, "8,16,24"},
             {plan_panel + "first/form/linear", [](Session& s) { s.sweep.first.values = "8:24:8"; }},
             {plan_panel + "first/form/×2", [](Session& s) { s.sweep.first.values = "8:24:x2"; }},
             {plan_panel + "first/form/list", [](Session& s) { s.sweep.first.values = "8,16"; }},
             {plan_panel + "first/##8", [](Session& s) { s.sweep.first.values = "16"; }}});
  hand.leaves("the last one stays", [&] { hand.click(plan_panel + "first/##16"); });
  hand.fill(plan_panel + "first/##values", "0:x", [](Session& s) { s.sweep.first.values = "0:x"; });
  hand.check(has(hand.stage.panel_input().sweep.progress.wrong_values[0], "0:x"), "a wrong value gives a sentence");
  hand.check(hand.disabled(picture + "###run sweep") && hand.disabled(plan_panel + "first/form/list"), "and it cannot be run");
  hand.changes("undone", [&] { hand.key(undo_key); }, [](Session& s) { s.sweep.first.values = "16"; });
  hand.choose(plan_panel + "first/##parameter", "##policy",
              [](Session& s) { s.sweep.first = {"policy", "hw,tile,eager,all_tile,all_direct"}; });
  hand.check(!hand.exists(plan_panel + "first/form/list"), "names have no control for ranges");
}

CASE(sweep, value_forms) {
  hand.check(
      form_of("1:8:x2") == ValueForm::doubling && form_of("1:8") == ValueForm::linear && form_of("1,8") == ValueForm::list,
      "each text has its form");
  hand.check(in_form(ValueForm::linear, {"16", "32", "64"}) == "16:64:24", "a range of as many steps");
  hand.check(in_form(ValueForm::linear, {"0", "0.5"}) == "0:0.5:0.5", "of fractions too");
  hand.check(in_form(ValueForm::doubling, {"0", "8"}) == "1:8:x2", "0 cannot be doubled");
  hand.check(in_form(ValueForm::list, {"q.npy,k.npy", "normal"}) == "q.npy,k.npy;normal", "commas within values");
  hand.check(without({"a,b", "c"}, 1) == "a,b;", "one value with a comma");
}

CASE(sweep, measures) {
  hand.open(sweep_session());
  run_all(hand);
  hand.each({{plan_panel + "##measure", [](Session& s) { s.sweep.measure = "max_abs"; }, {}, "###max_abs"},
             {plan_panel + "subject/b", [](Session& s) { s.sweep.subject = SweepSubject::b; }},
             {plan_panel + "relation/\\/ golden", [](Session& s) { s.sweep.relation = SweepRelation::golden; }},
             {plan_panel + "relation/a \\/ b", [](Session& s) { s.sweep.relation = SweepRelation::ratio; }}});
  hand.check(hand.disabled(plan_panel + "subject/a"), "a ratio has no subject");
  wait(hand, [](const SweepView& v) { return complete(v) && v.table->of == "ratio"; }, "nothing is computed anew");
  hand.choose(plan_panel + "##measure", "###rescales", [](Session& s) { s.sweep.measure = "rescales"; });
  hand.check(hand.disabled(plan_panel + "relation/absolute"), "rescales belong to no method");
  hand.changes("seeds", [&] { hand.type(plan_panel + "##seeds", "5"); }, [](Session& s) { s.sweep.seeds = 5; });
  hand.each({{plan_panel + "spread/min–max", [](Session& s) { s.sweep.spread = SeedSpread::min_max; }},
             {plan_panel + "##log x", [](Session& s) { s.sweep.log_x = false; }},
             {plan_panel + "##log y", [](Session& s) { s.sweep.log_y = false; }}});
  hand.check(hand.disabled(plan_panel + "shape/heat map"), "a heat map needs two");
  const VariedParameter numbers = hand.session().sweep.first;
  hand.session().sweep.first = {"policy", "hw,eager"};
  hand.frames(3);
  hand.check(hand.disabled(plan_panel + "##log x"), "names have no logarithmic axis");
  hand.session().sweep.first = numbers;
  hand.frames(3);
  hand.check(!hand.disabled(plan_panel + "##log x"), "numbers have a logarithmic axis");
  hand.choose(plan_panel + "second/##parameter", "##d");
  hand.changes("heat map", [&] { hand.click(plan_panel + "shape/heat map"); }, [](Session& s) { s.sweep.heat_map = true; });
}

CASE(sweep, ready_made) {
  hand.open(sweep_session());
  hand.changes(
      "which format",
      [&] {
        hand.click(plan_panel + "###ready plans");
        hand.pick("##format");
      },
      [](Session& s) {
        s.sweep = SweepPlan{};
        s.sweep.first = {"format", "e4m3,e5m2,fp16,bf16,tf32,fp32"};
        s.sweep.relation = SweepRelation::golden;
      });
  for (const char* name :
       {"tile size", "bits", "statement", "length", "tile shape", "bits and length", "one step", "stale max"}) {
    hand.click(plan_panel + "###ready plans");
    hand.pick(std::string("##") + name);
    hand.frames(2);
    const SweepProgress p = hand.stage.panel_input().sweep.progress;
    hand.check(p.points > 0 && p.wrong.empty() && p.wrong_values[0].empty() && p.wrong_values[1].empty(),
               std::string(name) + " can be run");
  }
}

CASE(sweep, runs) {
  hand.open(sweep_session());
  hand.leaves("running", [&] { run_all(hand); });
  const SweepTable& t = *hand.stage.panel_input().sweep.table;
  hand.check(t.cells.size() == 3 && t.cells[2].mean > 0 && t.cells[2].min < t.cells[2].max, "three means over two seeds");
  hand.check(hand.disabled(picture + "###run sweep") && hand.disabled(picture + "###cancel sweep"),
             "there is nothing left to do");
  const auto opened = [](Session& s) {
    s.experiment.a.block_k = s.experiment.b.block_k = 16;
    s.view.workspace = Workspace::explore;
  };
  hand.click(rows_panel + "##row 1", opened);
  hand.changes("undone", [&] { hand.key(undo_key); }, [](Session& s) { s = sweep_session(); });
  wait(hand, complete, "the sweep is there again");
  hand.leaves("nothing is near", [&] { hand.press(hand.on_plot("//Sweep picture/points", 11, 0.02f)); });
  hand.changes(
      "a point is opened",
      [&] {
        for (float y = 0.98f; y > 0 && hand.view().workspace == Workspace::sweep; y -= 0.05f)
          hand.press(hand.on_plot("//Sweep picture/points", 16, y));
      },
      opened);
  Session two = sweep_session();
  two.sweep.second = {"format", "bf16,fp16"};
  two.sweep.heat_map = true;
  hand.open(two);
  run_all(hand);
  hand.press(hand.place(picture + "points", 0.99f, 0.01f), [](Session& s) {
    s.experiment.a.block_k = s.experiment.b.block_k = 32;
    s.experiment.format = fp16;
    s.view.workspace = Workspace::explore;
    s.view.square_tiles = false;
  });
}

/// The lowest picture that a window with large text has.
CASE(sweep, heat_map_at_225_percent) {
  hand.resize(1280, 800);
  Session two = sweep_session();
  two.sweep.second = {"format", "bf16,fp16"};
  two.sweep.heat_map = true;
  two.view.ui_scale = 2.25;
  hand.open(two);
  run_all(hand);
  hand.frames(3);
  if (!hand.check(hand.exists(picture + "points"), "the map is drawn")) return;
  const ImRect map = hand.rect(hand.id(picture + "points"));
  hand.check(map.GetHeight() >= px(10) && map.Max.y <= 800, "the map is " + std::to_string(map.GetHeight()) + " pixels high");
  hand.move({2, 2});
  const Picture shown = hand.picture();
  const ImRect run = hand.rect(hand.id(picture + "###run sweep"));
  int strong = 0;  // pixels in the colour of the headline, which the sentence has not
  for (int y = static_cast<int>(run.Min.y - line_height(Face::headline)); y < static_cast<int>(run.Min.y); ++y)
    for (int x = static_cast<int>(run.Min.x); x < shown.width; ++x)
      strong += shown.rgb[static_cast<std::size_t>(y * shown.width + x) * 3] > 0xd0 ? 1 : 0;
  hand.check(strong > 0, "the headline has a second line");
}

CASE(sweep, keys) {
  Session s = sweep_session();
  s.experiment.problem.n = 256;
  s.sweep.seeds = 2000;
  hand.open(s);
  const auto state_is = [](SweepProgress::State state) {
    return [state](const SweepView& v) { return v.progress.state == state; };
  };
  hand.leaves("R runs", [&] { hand.key(ImGuiKey_R); });
  wait(
      hand, [](const SweepView& v) { return v.progress.done > 3 && v.progress.seconds_left > 0; },
      "points and the remaining time are shown");
  hand.key(ImGuiKey_R);
  wait(hand, state_is(SweepProgress::State::paused), "R pauses");
  hand.click_at_rest(picture + "###run sweep");
  wait(hand, state_is(SweepProgress::State::running), "the button goes on");
  hand.key(ImGuiKey_Escape);
  wait(hand, state_is(SweepProgress::State::idle), "Esc cancels");
  hand.click(plan_panel + "###edit experiment", [](Session& x) { x.view.workspace = Workspace::explore; });
  hand.leaves("R does nothing there", [&] { hand.key(ImGuiKey_R); });
  hand.check(hand.stage.panel_input().sweep.progress.state == SweepProgress::State::idle, "no sweep runs");
}

/// Keys of Explore change nothing here.
CASE(sweep, keys_of_explore) {
  hand.open(sweep_session());
  for (const ImGuiKey key : {ImGuiKey_1, ImGuiKey_9, ImGuiKey_L, ImGuiKey_P, ImGuiKey_G, ImGuiKey_0, ImGuiKey_M, ImGuiKey_V,
                             ImGuiKey_B, ImGuiKey_X, ImGuiKey_Comma, ImGuiKey_Period, ImGuiKey_J})
    hand.leaves(std::string("key ") + ImGui::GetKeyName(key), [&] { hand.key(key); });
}

/// Means of moderate size are written without exponent, with equal decimals in all lines; others with exponents.
CASE(sweep, means_in_digits) {
  const auto texts = [](std::initializer_list<double> means, std::initializer_list<double> shown, int more = 0) {
    SweepTable t;
    t.axes = {{"n", "N", {}, {}}};
    for (const double m : means) t.cells.push_back({1, m, 0, m, m, 0, -1}), t.axes[0].names.push_back("1");
    std::string text;
    for (const double x : shown) text.append(mean_text(extremes(t), x, more)).append(" ");
    return text;
  };
  const auto is = [&](const std::string& found, const char* expected) { hand.expect_text(found, expected); };
  is(texts({0.511, 6.13}, {0.511, 6.13, 0.0221, 0.0001}), "0.511 6.130 0.022 1.0e-4 ");
  is(texts({0.511, 6.13}, {0.51234, 0}, 1), "0.5123 0.0000 ");
  is(texts({12, 3456}, {12, 3456, 0.2}), "12 3456 2.0e-1 ");
  is(texts({-48, 0, 7}, {-48, 0}), "-48.00 0.00 ");
  is(texts({0.004, 2}, {0.004, 2}), "4.00e-3 2.00e0 ");
  is(texts({2, 1e4}, {2}), "2.00e0 ");
  is(texts({0, 0}, {0}), "0 ");
  is(texts({std::nan("")}, {std::nan("")}), "NaN ");
}

/// The numbers of a table's column have one notation, trailing zeros, and no decimals if all are whole.
CASE(sweep, columns_in_digits) {
  const auto is = [&](std::initializer_list<double> numbers, const char* expected) {
    Table table{.columns = {{.key = "x", .digits = 3}}, .rows = {}};
    for (const double x : numbers) table.rows.emplace_back(1, x);
    std::string text;
    for (const std::vector<TableCell>& row : table.rows)
      text.append(cell_text(table.columns[0], column_numbers(table, 0), row[0])).append(" ");
    hand.expect_text(text, expected);
  };
  is({std::nan(""), 0.51234, 12, 0}, "NaN 0.512 12.0 0 ");
  is({1.78e-5, 0.00012}, "1.78e-5 1.20e-4 ");
  is({0.05, 0.0498, 7.39e-5}, "5.00e-2 4.98e-2 7.39e-5 ");
  is({999.6, 0.9996, -0.00025}, "1000 1.00 -0.000250 ");
  is({3, 40}, "3 40 ");
  is({3, 123456}, "3.00e0 1.23e5 ");
}

/// A table of made-up numbers.
PanelInput told_input(const PanelInput& like, std::size_t first, std::size_t second, double (*mean)(std::size_t), bool names) {
  auto t = std::make_shared<SweepTable>();
  const auto axis = [&](const char* key, std::size_t count) {
    SweepValues v{key, key, {}, {}};
    for (std::size_t i = 0; i < count; ++i) {
      v.names.push_back(names ? "some_policy_" + std::to_string(i) : std::to_string(i + 1));
      if (!names) v.numbers.push_back(static_cast<double>(i + 1));
    }
    return v;
  };
  t->axes.push_back(axis("n", first));
  if (second > 0) t->axes.push_back(axis("d", second));
  t->measure = t->quantity = "mean |error|";
  t->of.push_back('a');
  t->seeds = 3;
  for (std::size_t i = 0; i < first * std::max<std::size_t>(1, second); ++i) {
    const double m = mean(i);
    t->cells.push_back({3, m, std::abs(m) / 4, m * 0.8, m * 1.3, std::numeric_limits<double>::quiet_NaN(), -1});
  }
  PanelInput input = like;
  input.sweep.table = t;
  input.sweep.progress = SweepProgress();
  input.sweep.progress.state = SweepProgress::State::done;
  input.sweep.progress.points = input.sweep.progress.done = t->cells.size() * 3;
  return input;
}

CASE(sweep, strange_states) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  hand.open(sweep_session());
  const PanelInput like = hand.stage.panel_input();
  const std::array<double (*)(std::size_t), 8> numbers{[](std::size_t i) { return 1e-3 / double(i + 1); },
                                                       [](std::size_t) { return nan; },
                                                       [](std::size_t) { return 0.0; },
                                                       [](std::size_t i) { return i % 2 == 0 ? 1e-300 : 1e300; },
                                                       [](std::size_t i) { return i % 3 == 0 ? inf : -1.0 * double(i); },
                                                       [](std::size_t i) { return i % 2 == 0 ? 5e-324 : -1e308; },
                                                       [](std::size_t) { return -2.5; },
                                                       [](std::size_t i) { return i == 0 ? nan : 1.0; }};
  for (const auto& [width, height, scale] :
       std::vector<std::tuple<int, int, double>>{{1280, 800, 1}, {1280, 800, 2}, {640, 400, 1}, {1920, 1080, 1.5}})
    for (const auto mean : numbers)
      for (const std::size_t first : {1u, 2u, 17u})
        for (const std::size_t second : {0u, 1u, 9u})
          for (const bool names : {false, true}) {
            hand.stage.resize(width, height);
            hand.view().ui_scale = scale;
            hand.session().sweep.heat_map = second > 1 && first > 1;
            hand.session().sweep.log_y = !names || first > 2;
            hand.stage.told = told_input(like, first, second, mean, names);
            hand.frames(1);
          }
  PanelInput failed = told_input(like, 3, 0, numbers[0], false);
  auto table = std::make_shared<SweepTable>(*failed.sweep.table);
  table->errors = {"problem.n is 70000000, expected at most 1048576"};
  for (SweepCell& c : table->cells) c = {0, nan, nan, nan, nan, nan, 0};
  failed.sweep.table = table;
  failed.sweep.progress.failed = failed.sweep.progress.done;
  hand.stage.told = failed;
  hand.frames(2);
  hand.check(sweep_words(failed.sweep, hand.session().sweep, extremes(*table)).headline == "No point could be computed",
             "a sweep without points has a headline");
  const auto called_n = std::ranges::count(hand.stage.state->sweep->rows.columns, std::string("n"), &ColumnHeading::key);
  hand.check(called_n == 1, "only the first parameter is called n");
  hand.check(hand.stage.state->sweep->row_numbers.size() == hand.stage.state->sweep->rows.columns.size(),
             "the columns' numbers are kept beside the table");
  hand.leaves("a failed row is not opened", [&] { hand.click(rows_panel + "##row 1"); });
}

CASE(sweep, drawings) {
  hand.open(sweep_session());
  const PanelInput f = told_input(hand.stage.panel_input(), 5, 0, [](std::size_t i) { return 1e-3 * double(i + 1); }, false);
  SweepDrawing d;
  SweepPlan plan;
  hand.check(refresh(d, f.sweep.table, plan) && !refresh(d, f.sweep.table, plan), "a drawing is made once");
  const auto line = [&]() -> const Series& { return d.panel.series[0]; };
  hand.check(d.places.size() == 1 && line().y[4] == 5e-3 && std::abs(line().high[4] - 5e-3 * 1.25) < 1e-12,
             "mean and standard deviation");
  plan.spread = SeedSpread::min_max;
  refresh(d, f.sweep.table, plan);
  hand.check(std::abs(line().low[0] - 0.8e-3) < 1e-12 && std::abs(line().high[0] - 1.3e-3) < 1e-12, "least and largest");
  hand.check(spread_ends({2, 1.0, 3.0, 0.5, 2.0, 0, -1}, SeedSpread::std).low == 0.5, "a bar never crosses 0");
  hand.check(d.panel.y.log, "all means are above 0");
  plan.log_y = false;
  refresh(d, f.sweep.table, plan);
  hand.check(!d.panel.y.log, "a linear axis");
  hand.check(axis_ticks(0.43, 10.3, true, 11) == std::vector<double>{0.5, 1, 2, 5, 10},
             "more than two powers of ten on less than two decades");
  hand.check(tick_text(1.25e-4) == "1.25e-4" && tick_text(5e-4) == "5e-4" && tick_text(10) == "10", "a tick shows its number");
  const PanelInput many = told_input(hand.stage.panel_input(), 3, 500, [](std::size_t i) { return double(i + 1); }, false);
  refresh(d, many.sweep.table, plan);
  hand.check(d.places.size() == most_lines && d.left_out == 500 - most_lines && d.places.back()[0][1] == 499,
             "very many lines are thinned");
  hand.check(sweep_csv(*f.sweep.table).starts_with("n,mean,std,min,max,seeds,error\n1,0.001,0.00025"),
             sweep_csv(*f.sweep.table));
}

CASE(sweep, headlines) {
  hand.open(sweep_session());
  const SweepPlan plan;
  const auto headline = [&](double (*mean)(std::size_t), bool names = true) {
    const PanelInput named = told_input(hand.stage.panel_input(), 3, 0, mean, names);
    return sweep_words(named.sweep, plan, extremes(*named.sweep.table)).headline;
  };
  hand.expect_text(headline([](std::size_t i) { return 1.5 + double(i); }), "The mean |error| of a: 1.500 … 3.500");
  hand.check(headline([](std::size_t) { return 1.5; }) == "The mean |error| of a: 1.500", "equal means are written once");
  hand.expect_text(headline([](std::size_t i) { return 1 + 2e-4 * double(i); }, false),
                   "The mean |error| of a stays the same from n 1 to 3");
  const PanelInput f = told_input(hand.stage.panel_input(), 5, 0, [](std::size_t i) { return 1e-3 * double(i + 1); }, false);
  hand.expect_text(sweep_words(f.sweep, plan, extremes(*f.sweep.table)).headline,
                   "The mean |error| of a grows 5.00× from n 1 to 5");
  SweepTable ulps = *f.sweep.table;
  ulps.quantity = "max error, ulps";
  SweepView of_ulps = f.sweep;
  of_ulps.table = std::make_shared<SweepTable>(ulps);
  hand.expect_text(sweep_words(of_ulps, plan, extremes(ulps)).headline, "The max error of a, ulps grows 5.00× from n 1 to 5");
  SweepTable counts = *f.sweep.table;
  counts.quantity = "NaN and infinite elements";
  SweepView of_counts = f.sweep;
  of_counts.table = std::make_shared<SweepTable>(counts);
  hand.expect_text(sweep_words(of_counts, plan, extremes(counts)).headline,
                   "The number of NaN and infinite elements of a grows 5.00× from n 1 to 5");
  const auto compared = [&](double (*mean)(std::size_t)) {
    const PanelInput told = told_input(hand.stage.panel_input(), 3, 0, mean, true);
    SweepTable ratios = *told.sweep.table;
    ratios.of = "ratio", ratios.methods = {"x", "y"};
    SweepView view = told.sweep;
    view.table = std::make_shared<SweepTable>(ratios);
    return sweep_words(view, plan, extremes(ratios)).headline;
  };
  hand.expect_text(compared([](std::size_t) { return 1.0; }), "x is 1.00× y: the same");
  hand.check(compared([](std::size_t i) { return 1 + double(i); }).ends_with(": more at 2 of 3"), "one ratio is 1");
  hand.check(compared([](std::size_t i) { return 2 + double(i); }).ends_with(": more, everywhere"), "all are above 1");
  hand.check(compared([](std::size_t i) { return 0.5 + double(i); }).ends_with(": less at 1 of 3"), "one is below 1");
}

CASE(sweep, words_of_one_point) {
  SweepView one;
  one.progress.points = 1;
  hand.expect_text(sweep_words(one, {}, {}).headline, "Run it: 1 point");
  hand.expect_text(progress_text(one.progress), "0 of 1 point");
}

CASE(sweep, fixed_words) {
  Experiment e = small_session().experiment;
  SweepPlan plan;
  plan.first.key = "n";
  e.a.precision[Step::S] = to_main;
  e.problem.input = {.kind = InputKind::tensors, .file = "calls.safetensors", .index = 1, .tensors = nullptr};
  const TensorFileInfo file{
      .file = "calls.safetensors", .heads = 2, .shape = {}, .head_names = {"layer 0, head 0", "layer 18, head 7"}};
  const std::string text = fixed_text(e, plan, file);
  hand.check(has(text, "a: flash2 hw +1, b: ") && has(text, "tiles 16×16") && !has(text, "N 96"), text);
  hand.check(text.ends_with("calls.safetensors, layer 18, head 7"), text);
  hand.check(fixed_text(e, plan, {}).ends_with("calls.safetensors, head 1"), "a file that is not read has no names");
}

/// Q, K, V of a file have no seeds: the plan says so, and each combination is computed once.
CASE(sweep, captured_input) {
  Session s = all_heads(64);
  s.view.workspace = Workspace::sweep;
  s.sweep.first = {"block_k", "8:32:x2"};
  s.sweep.seeds = 5;
  hand.open(s, 3);
  hand.check(hand.disabled(plan_panel + "##seeds"), "the number of seeds cannot be changed");
  hand.check(has(hand.stage.panel_input().sweep.progress.no_seeds, "seeds change nothing"), "the plan says why");
  run_all(hand);
  const SweepView view = hand.stage.panel_input().sweep;
  hand.check(view.progress.points == 3 && view.table->seeds == 1, "three points");
  hand.check(has(sweep_words(view, hand.session().sweep, extremes(*view.table)).sentence, "captured input"),
             "the picture says so, too");
  hand.changes("heads", [&] { hand.click(plan_panel + "over/heads"); }, [](Session& x) { x.sweep.over = SweepOver::head; });
  hand.check(hand.stage.panel_input().sweep.progress.repeats.ends_with(" heads"), "all heads are repeated");
  hand.each({{plan_panel + "over/layers", [](Session& x) { x.sweep.over = SweepOver::layer; }},
             {plan_panel + "over/windows", [](Session& x) { x.sweep.over = SweepOver::window; }}});
  hand.changes("tokens", [&] { hand.type(plan_panel + "##window", "64"); }, [](Session& x) { x.sweep.window = 64; });
  hand.check(hand.stage.panel_input().sweep.progress.repeats.ends_with(" windows of 64 tokens"), "windows of all heads");
  s.experiment.problem.input.kind = InputKind::normal;
  hand.open(s, 3);
  hand.check(!hand.disabled(plan_panel + "##seeds") && hand.stage.panel_input().sweep.progress.points == 15,
             "drawn inputs have seeds");
}

}  // namespace

}  // namespace attoscope::testing
