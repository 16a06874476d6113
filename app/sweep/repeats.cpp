#include "app/sweep/repeats.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "app/tensors/call_files.h"
#include "app/tensors/head_numbers.h"
#include "app/words/numbers.h"
#include "kernels/experiment/rules.h"
#include "kernels/experiment/text.h"

namespace attoscope::app {
namespace {

int windows_of(const CallFiles::Layer& layer, int tokens) {
  if (layer.q.n == layer.k.n) return layer.q.n / tokens;
  throw std::invalid_argument("--over window needs as many keys as queries, but " +
                              (layer.name.empty() ? std::string("the file") : layer.name) + " has " +
                              std::to_string(layer.k.n) + " and " + std::to_string(layer.q.n));
}

void check(const Repeats& repeats, const Experiment& e) {
  const std::string over = "--over " + text(repeats);
  if (e.problem.input.kind != InputKind::tensors)
    throw std::invalid_argument(over + " needs Q, K and V from a file, expected --input FILE");
  if (repeats.kind == ui::SweepOver::window && has_loaded(e))
    throw std::invalid_argument(over + " cuts Q, K and V, not a kernel's output, expected another method than loaded");
  const Tensors* const read = e.problem.input.tensors.get();
  if (repeats.kind == ui::SweepOver::window && read != nullptr && read->mask)
    throw std::invalid_argument(over + " cuts Q, K and V, not a mask tensor, expected a file without one");
  check_gradients(over, e);
}

/// The head of repetition i, and its window.
std::pair<int, int> place_of(const Repeats& repeats, const CallFiles& files, int head, int i) {
  if (repeats.kind == ui::SweepOver::head) return {i, 0};
  if (repeats.kind == ui::SweepOver::layer) {
    const CallFiles::Layer& layer = files.layers().at(static_cast<std::size_t>(i));
    const int at = head - files.layer_of(head).first;
    if (at < layer.q.count()) return {layer.first + at, 0};
    throw std::invalid_argument("--over layer: " + layer.name + " has " + counted(layer.q.count(), "head") +
                                ", expected more than " + std::to_string(at));
  }
  for (const CallFiles::Layer& layer : files.layers()) {
    const int windows = windows_of(layer, repeats.tokens), all = windows * layer.q.count();
    if (i < all) return {layer.first + i / windows, i % windows};
    i -= all;
  }
  throw std::invalid_argument("--over window: the file has fewer windows than the sweep");
}

}  // namespace

Repeats parse_repeats(std::string_view text) {
  const std::string_view kind = text.substr(0, text.find(':'));
  const auto found = std::ranges::find(ui::sweep_over_names, kind);
  Repeats r{static_cast<ui::SweepOver>(found - ui::sweep_over_names.begin())};
  const int tokens = kind.size() == text.size() ? 0 : to_number<int>(text.substr(kind.size() + 1)).value_or(0);
  const bool has_tokens = r.kind == ui::SweepOver::window;
  if (found == ui::sweep_over_names.end() || has_tokens != (tokens > 0) || (!has_tokens && kind.size() != text.size()))
    throw std::invalid_argument(in_quotes(text) + " is unknown, expected " + std::string(repeats_texts));
  r.tokens = tokens;
  return r;
}

std::string text(const Repeats& r) {
  return std::string(name(r.kind)) + (r.kind == ui::SweepOver::window ? ":" + std::to_string(r.tokens) : "");
}

std::string count_text(const Repeats& r, int count) {
  return counted(count, name(r.kind)) + (r.kind == ui::SweepOver::window ? " of " + std::to_string(r.tokens) + " tokens" : "");
}

int repetitions(const Repeats& repeats, const Experiment& base) {
  check(repeats, base);
  const CallFiles files(base.problem.input.file);
  if (repeats.kind == ui::SweepOver::head) return files.heads();
  if (repeats.kind == ui::SweepOver::layer) return static_cast<int>(files.layers().size());
  int count = 0;
  for (const CallFiles::Layer& layer : files.layers()) count += windows_of(layer, repeats.tokens) * layer.q.count();
  if (count > 0) return count;
  throw std::invalid_argument("--over " + text(repeats) + ": no head of the file has so many tokens");
}

std::vector<UsedHead> used_heads(const Repeats& repeats, const Experiment& base) {
  if (repeats.kind == ui::SweepOver::seed) return {};
  const CallFiles files(base.problem.input.file);
  const int count = repetitions(repeats, base);
  std::set<int> used;
  for (int i = 0; i < count; ++i) used.insert(place_of(repeats, files, base.problem.input.index, i).first);
  std::vector<UsedHead> heads;
  for (const int head : used) {
    Experiment e = on_head(base, files, head, true);
    e.problem.input.tensors.reset();
    e.loaded.values.reset();
    heads.push_back({std::move(e.problem.input), std::move(e.loaded)});
  }
  return heads;
}

void check_gradients(const std::string& label, const Experiment& e) {
  if (!e.backward.on) return;
  if (e.backward.d_o == OutputGradient::file)
    throw std::invalid_argument(label + " needs a dO that is drawn, expected --do normal or ones");
  if (!e.backward.d_lse_file.file.empty())
    throw std::invalid_argument(label + " needs a backward pass without a dL from a file, expected no --dlse");
}

void follow_head(Experiment& e, const Problem& before, bool whole) {
  const int head = e.problem.input.index;
  if (head == before.input.index) return;
  const CallFiles files(before.input.file);
  e.problem = numbers_of_head_in(before, files).of_head(std::move(e.problem), head);
  if (whole) e.problem = with_shape(std::move(e.problem), files.layer_of(head).shape());
  if (has_loaded(e)) e.loaded = with_head(std::move(e.loaded), head);
}

void repeat(Experiment& e, const Repeats& repeats, int i) {
  check(repeats, e);
  const CallFiles files(e.problem.input.file);
  const Tensors* const read = e.problem.input.tensors.get();
  const bool whole = repeats.kind == ui::SweepOver::window || (read != nullptr && read->n == e.problem.n);
  const auto [head, window] = place_of(repeats, files, e.problem.input.index, i);
  const HeadNumbers numbers = numbers_of_head_in(e.problem, files);
  e = on_head(std::move(e), files, head, whole);
  e.problem = numbers.of_head(std::move(e.problem), head);
  if (repeats.kind == ui::SweepOver::window) e = on_tokens(std::move(e), window * repeats.tokens, repeats.tokens);
}

}  // namespace attoscope::app
