"""One small addition of each kind that "Contributing" lists: the edits of a copy of the tree, and the check that the program has it."""
from dataclasses import dataclass, field
from typing import Callable

import checks


@dataclass
class Addition:
    task: str  # the first cell of its row, or the words of the list's entry
    page: str  # the page with that row
    edits: dict[str, list[tuple[str, str]]]  # by file: a text that stands there once, and what stands there afterwards
    check: Callable
    files: dict[str, str] = field(default_factory=dict)  # new ones

    def touched(self):
        return [*self.edits, *self.files]


def behind(anchor, text):
    return anchor, anchor + text


def before(anchor, text):
    return anchor, text + anchor


ADDITIONS = [
    Addition(
        "a format", "README.md",
        {"kernels/arithmetic/format.h": [
            before("});\n\n/// Limits of the bit sliders", '    {"fp24", Format{7, 16}, "24 bits: 7 exponent bits, 16 mantissa bits."},\n')]},
        checks.named_format),
    Addition(
        "a rounding step", "kernels/README.md",
        {"kernels/arithmetic/precision.h": [
            ("  O,\n  output\n};", "  O,\n  output,\n  denominator\n};"),
            behind('     "out = round(O / l)   three passes: out = round(O)", "lines 12 and 14"},\n',
                   '    {Step::denominator, "denominator", "l where it divides O at the end", "The row sum, once, before O / l.",\n'
                   '     "l = round(l)", "within line 12"},\n')],
         "kernels/lanes/attention_lanes.h": [
             ("    const auto o = vec(state_.O), l = vec(state_.l);\n    this->enter(0, 0, rows_.any.first, rows_.any.end);\n    if (divides && !job_",
              "    const bool rounds_l = divides && this->rounds(Step::denominator);\n"
              "    const auto o = vec(state_.O), l = vec(rounds_l ? scratch_.m_tile : state_.l);\n"
              "    this->enter(0, 0, rows_.any.first, rows_.any.end);\n"
              "    if (rounds_l) fill_rows(scratch_.m_tile, Step::denominator, [this](int r) { return vec(state_.l)[r]; });\n"
              "    if (divides && !job_")],
         "kernels/recurrence/row_steps.h": [
             ("return with_sink(l, m, merged); }",
              "\n    const T sum = with_sink(l, m, merged);\n"
              "    return divides_at_the_end(job_.method.algorithm) ? rounded(Step::denominator, sum, 0, 0) : sum;\n  }")],
         "kernels/questions/recorded_steps.h": [before("      case Step::output:\n        return", "      case Step::denominator:\n")],
         "tests/reference/plain.cpp": [
             ("    const T l = steps_.with_sink(state.l, state.m, merged);\n    std::vector<double> out;",
              "    const T sum = steps_.with_sink(state.l, state.m, merged);\n"
              "    const T l = method_.algorithm == Algorithm::flash1 ? sum : rounded(Step::denominator, sum);\n"
              "    std::vector<double> out;")]},
        checks.rounding_step),
    Addition(
        "an algorithm", "README.md",
        {"kernels/experiment/algorithm.h": [
            ("hardware, loaded };", "first_max, hardware, loaded };"),
            before("    {.algorithm = Algorithm::hardware,\n",
                   "    {.algorithm = Algorithm::first_max,\n"
                   '     .name = "first_max",\n'
                   '     .what = "flash2 that keeps the max of the first tile.",\n'
                   '     .formula = "m = max S of the first tile\\nl = l + sum e; O = O + P V",\n'
                   "     .divides_at_the_end = true},\n")],
         "kernels/lanes/attention_lanes.h": [
             ("      case Algorithm::flash4:\n", "      case Algorithm::flash4:\n      case Algorithm::first_max:\n"),
             behind("      this->running_max();\n",
                    "      for (int r = 0; job_.method.algorithm == Algorithm::first_max && r < vectors; ++r)\n"
                    "        vec(state_.m)[r] = vec(state_.started)[r] == splat<V>(1) ? vec(scratch_.m_old)[r] : vec(state_.m)[r];\n")],
         "tests/reference/plain.cpp": [
             behind("    if (stale) m = old;\n",
                    "    if (method_.algorithm == Algorithm::first_max && state.started) m = old;\n")]},
        checks.algorithm),
    Addition(
        "a measure", "README.md",
        {"kernels/experiment/measures.h": [
            behind("  double wasserstein = 0;  ///< Wasserstein-1: mean |sorted x - sorted y|\n",
                   "  double crest = 0;        ///< max_abs / rms\n"),
            ("wasserstein = 0, max_ulp = 0;\n  double nonfinite", "wasserstein = 0, max_ulp = 0, crest = 0;\n  double nonfinite"),
            behind("          .max_ulp = d.max_ulp,\n", "          .crest = d.crest,\n"),
            before('    {"nonfinite", "NaN and infinite elements"',
                   '    {"crest", "max error / RMS error", "max / rms", "crest", "The largest error over the RMS error.", "max / RMS",\n'
                   "     &DeviationNumbers::crest, DeviationMeasure::Unit::none, DeviationMeasure::Form::magnitude},\n")],
         "kernels/deviation/deviation.cpp": [behind("  d.rms = std::sqrt(s.square / count);\n", "  d.crest = d.max_abs / d.rms;\n")]},
        checks.measure),
    Addition(
        "a slip", "README.md",
        {"kernels/slips/operand_suspects.cpp": [
            behind('  add_across(list, "Q read as d x n", &T::q);\n',
                   '  add_changed(list, "K with every sign flipped", &T::k, [](auto& x, int, int) {\n'
                   "    for (double& value : x) value = -value;\n"
                   "  });\n")]},
        checks.slip),
    Addition(
        "a panel", "README.md",
        {"ui/explore.cpp": [
            before("namespace {\n\nBox rest_of_panel()", "void draw_swatch(const Frame& frame);\n\n"),
            before('    Panel{\n        .name = "Controls"',
                   '    Panel{.name = "Swatch", .dock = Dock::pins, .least = 820, .draw = draw_swatch, .shown = &View::show_swatch},\n')],
         "ui/session/session.h": [behind("  bool show_pins = false;         ///< the list of pins beside the controls\n", "  bool show_swatch = false;\n")],
         "ui/session/session_settings.cpp": [behind('          {"show_pins", &view.show_pins},\n', '          {"show_swatch", &view.show_swatch},\n')]},
        checks.panel,
        {"ui/statistics/swatch.cpp":
         "// A panel of one colour.\n"
         '#include "ui/frame/frame.h"\n'
         '#include "ui/widgets/widgets.h"\n\n'
         "namespace attoscope::ui {\n\n"
         "void draw_swatch(const Frame&) {\n"
         "  const ImVec2 at = ImGui::GetCursorScreenPos();\n"
         "  ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + px(40), at.y + px(40)}, IM_COL32(18, 171, 52, 255));\n"
         "}\n\n"
         "}  // namespace attoscope::ui\n"}),
    Addition(
        "a named figure", "README.md",
        {"assets/figures.json": [
            behind('  "figures": [\n',
                   '    {"name": "two-tiles", "title": "two tiles", "what": "The error with tiles of two sizes.",\n'
                   '     "x": "keys a tile", "vary": ["block_k=16:32:x2"],\n'
                   '     "panels": [{"y": "mean error", "lines": [{"measure": "a.mean_abs", "label": "a"}]}],\n'
                   '     "caption": "With tiles of 16 keys the error is {y0_0_first:.2g}; d = {d}, {version}."},\n')]},
        checks.named_figure),
    Addition(
        "a file format for tensors", "README.md",
        {"app/tensors/readers.cpp": [
            ("torch_reader(), gguf_reader();  // each", "torch_reader(), gguf_reader(), floats_reader();  // each"),
            ("torch_reader(), gguf_reader()};", "torch_reader(), gguf_reader(), floats_reader()};")]},
        checks.reader,
        {"app/tensors/floats.cpp":
         "// Numbers of 32 bits without a header, 16 in a row.\n"
         "#include <stdexcept>\n\n"
         '#include "app/tensors/readers.h"\n\n'
         "namespace attoscope::app {\n"
         "namespace {\n\n"
         "TensorSet list_floats(const std::shared_ptr<const InputFile>& file) {\n"
         "  constexpr std::uint64_t row = 16 * sizeof(float);\n"
         "  if (file->size() == 0 || file->size() % row != 0)\n"
         '    throw std::runtime_error(file->path() + ": " + std::to_string(file->size()) + " bytes, expected rows of 64");\n'
         "  StoredTensor tensor{.label = file->path(), .shape = {file->size() / row, 16}, .tells_format = false};\n"
         "  TensorSet set;\n"
         '  set.tensors.push_back({"", "F32", "", file, std::move(tensor)});\n'
         "  return set;\n"
         "}\n\n"
         "}  // namespace\n\n"
         "Reader floats_reader() {\n"
         '  return {{".floats"}, FileKind::one, list_floats, [](const InputFile& file) { return file.size(); }};\n'
         "}\n\n"
         "}  // namespace attoscope::app\n"}),
    Addition(
        "a command, an option of one", "README.md",
        {"app/commands/judge_command.cpp": [
            behind("  std::string q, k, v, o, input;\n", "  std::string note;\n"),
            ("[&] { return judgement_report(call) +", '[&] { return (x.note.empty() ? "" : x.note + "\\n") + judgement_report(call) +'),
            behind('  c.group("Output");\n', '  c.add("--note", x.note, "a line above the verdict");\n')]},
        checks.option),
    Addition(
        "a lesson, a lesson view", "README.md",
        {"ui/frame/lesson.h": [
            ("sum, exercise };", "sum, exercise, swatch };"),
            ("draw_exercise_view;", "draw_exercise_view, draw_swatch_view;"),
            before("});\nstatic_assert(is_in_order(lesson_views",
                   '    {LessonViewKind::swatch, "swatch", draw_swatch_view, " height ", "A swatch of one colour."},\n')]},
        checks.lesson_view,
        {"ui/learn/views/view_swatch.cpp":
         "// A square of one colour.\n"
         '#include "ui/learn/views/views.h"\n'
         '#include "ui/widgets/widgets.h"\n\n'
         "namespace attoscope::ui {\n\n"
         "std::string draw_swatch_view(LessonScene&) {\n"
         "  const ImVec2 at = ImGui::GetCursorScreenPos();\n"
         "  ImGui::GetWindowDrawList()->AddRectFilled(at, {at.x + px(40), at.y + px(40)}, IM_COL32(171, 18, 52, 255));\n"
         "  ImGui::Dummy({px(40), px(40)});\n"
         '  return "";\n'
         "}\n\n"
         "}  // namespace attoscope::ui\n",
         "assets/lessons/90-swatch.md":
         "# A swatch\n\nNeeds no other lesson. Takes 1 minute.\n\n## Which colour is it?\n\nIt is red.\n\n```swatch\n```\n"}),
]
