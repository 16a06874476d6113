#include "app/tensors/tensors.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "app/tensors/call_files.h"
#include "app/tensors/kernel_output.h"
#include "app/words/numbers.h"
#include "kernels/experiment/rules.h"

namespace attoscope::app {
namespace {

/// Parses "constant:1.5", "biased:0.5".
Input parse_valued(InputKind kind, std::string_view spec) {
  const std::string_view text = spec.substr(spec.find(':') + 1);
  const auto value = to_number<double>(text);
  if (!value || !std::isfinite(*value)) {
    throw std::invalid_argument("input " + in_quotes(spec) + " has value " + in_quotes(text) + ", expected a finite number");
  }
  Input input;
  input.kind = kind;
  input.value = *value;
  return input;
}

std::vector<std::string> tensors_in(const TensorSpec& spec) {
  const std::vector<std::string> list = files_in_list(spec.files());
  std::vector<std::string> texts;
  const auto add = [&](const TensorSet& set, const std::string& file) {
    for (const NamedTensor& t : set.tensors)
      texts.push_back((file.empty() ? t.name : file) + ": " + shape_text(t.tensor.shape) + " " + t.dtype);
  };
  if (std::ranges::all_of(list, [](const std::string& f) { return holds(FileKind::one, f); }))
    for (const std::string& path : list) add(list_file(path), path.substr(path.find_last_of('/') + 1));
  else if (names_tensor_files(spec))
    add(open_tensor_set(spec.files()), "");
  else
    throw std::runtime_error(in_quotes(spec.files()) + " is not understood, expected " + input_specs());
  return texts;
}

/// Adds lines on the scales of calls.
void add_scales(std::vector<std::string>& lines, const TensorSpec& spec) {
  try {
    for (const std::string& text : CallFiles(spec).scale_texts()) lines.push_back("scales: " + text);
  } catch (const std::exception&) {  // no matching calls: reported when the file is opened
  }
}

}  // namespace

Input parse_input(const std::string& spec) {
  for (const InputKind kind : {InputKind::constant, InputKind::biased})
    if (spec.starts_with(std::string(name(kind)) + ":")) return parse_valued(kind, spec);
  Input input;
  for (std::size_t i = 0; i < input_names.size(); ++i) {
    input.kind = static_cast<InputKind>(i);
    if (spec == input_names[i] && input.kind != InputKind::tensors && !has_value(input.kind)) return input;
  }
  const std::optional<HeadSpec> files = head_spec(spec, names_tensor_files);
  if (!files) throw std::invalid_argument("input " + in_quotes(spec) + " is unknown, expected " + input_specs());
  input.kind = InputKind::tensors;
  input.file = files->file.text();
  input.index = files->index("input " + in_quotes(spec));
  return input;
}

std::string input_spec(const Input& input) {
  if (has_value(input.kind)) return std::string(name(input.kind)) + ":" + shortest(input.value);
  if (input.kind == InputKind::tensors) return input.file + ":" + std::to_string(input.index);
  return std::string(name(input.kind));
}

void load_tensors(Input& input, const ReadWatch& watch) {
  if (input.kind != InputKind::tensors || input.tensors) return;
  input = CallFiles(input.file).input(input.index, watch);
}

Input with_layout(Input input, const HeadLayout& layout) {
  const TensorSpec spec = input.file;
  if (input.kind == InputKind::tensors) input.file = TensorSpec(spec.files(), layout, spec.scales(), spec.packed()).text();
  return input;
}

bool quick_to_read(const TensorSpec& files) {
  constexpr std::uint64_t little = 4 << 20;
  std::uint64_t effort = 0;
  try {
    for (const std::string& path : single_files_of(files)) {
      const InputFile file(path);
      const Reader* const reader = reader_of(path);
      effort += reader != nullptr ? reader->effort(file) : file.size();
      if (effort > little) return false;
    }
  } catch (const NotFetched&) {
    return false;
  } catch (const std::exception&) {  // the reader reports the error
  }
  return true;
}

std::vector<std::string> contents_of(const std::string& text) {
  const TensorSpec spec = without_head(text);
  std::vector<std::string> lines = tensors_in(spec);
  add_scales(lines, spec);
  return lines;
}

ui::TensorFileInfo describe_tensors(const TensorSpec& file) { return CallFiles(file).info(); }

Experiment on_head(Experiment e, const CallFiles& files, int head, bool whole) {
  Problem& p = e.problem;
  p.input = files.input(head);
  const Tensors& t = *p.input.tensors;
  p = whole ? with_shape(p, t.shape()) : fitted(p, t.shape());
  p.traced_row = std::min(p.traced_row, p.n - 1);
  if (has_loaded(e)) {
    e.loaded = with_head(e.loaded, head);
    load_kernel_output(e.loaded, p);
  }
  return e;
}

Experiment on_tokens(Experiment e, int first, int count) {
  const Tensors& all = *e.problem.input.tensors;
  if (all.mask) throw std::invalid_argument(e.problem.input.file + ": has a mask tensor, expected none where windows are cut");
  const auto rows = [&](const std::vector<double>& x, int columns) {
    return std::vector<double>(x.begin() + std::ptrdiff_t{first} * columns,
                               x.begin() + std::ptrdiff_t{first + count} * columns);
  };
  Tensors t = Tensors::shaped({count, count, all.d, all.d_v});
  t.q = rows(all.q, all.d);
  t.k = rows(all.k, all.d);
  t.v = rows(all.v, all.d_v);
  t.all_heads = all.all_heads;
  e.problem = with_shape(e.problem, t.shape());
  e.problem.traced_row = std::min(e.problem.traced_row, count - 1);
  take_tensors(e.problem.input, std::move(t));
  return e;
}

}  // namespace attoscope::app
