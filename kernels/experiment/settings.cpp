#include "kernels/experiment/settings.h"

#include <algorithm>
#include <climits>
#include <stdexcept>

#include "kernels/experiment/grad_kernels.h"
#include "kernels/experiment/presets.h"
#include "kernels/experiment/text.h"

namespace attoscope {
namespace {

Settings settings(Input& i) {
  return {
      Setting{"kind", named(i.kind, input_names)}
          .explained("input", "Q, K, V as --input says",
                     "The numbers of Q, K and V. All draws come from a counter-based generator: a seed gives the same bits on "
                     "every machine.",
                     "", "input")
          .with_option("--input", "normal")
          .swept(8, "problem", "normal,uniform,outliers,ties", false, true)
          .called("input"),
      Setting{"value", &i.value}.explained(
          "value", "of a constant input; of a biased one the mean of V",
          "Constant: the value of every element of Q, K and V. Biased: the mean of V, whose standard deviation is 1; Q and K "
          "are N(0,1). Values the input format cannot hold are rounded first.",
          "constant: Q = K = V = value\nbiased:   V = N(value, 1)"),
      {"file", &i.file},
      Setting{"index", &i.index, {0, INT_MAX}}
          .explained("head", "of a file of tensors", "The head of the file that becomes Q, K, V.", "",
                     "head of the tensor file")
          .swept(10, "problem", "0:1", true, true)
          .called("head"),
      {"digest", HexValue{&i.digest}},
  };
}

Settings settings(Mask& m) {
  return {
      Setting{"kind", named(m.kind, mask_names)}
          .explained("mask", masks_expected, "The keys that a query sees.", "", "mask")
          .with_option("--mask", "none")
          .swept(12, "problem", "none,causal,window:64", false, true)
          .called("mask"),
      Setting{"window", &m.window, {1, max_tile}}.explained("width", "keys of a mask's window, padding, prefix or chunk", "",
                                                            "", "mask width W"),
      Setting{"right", &m.right, {0, max_tile - 1}}.explained(
          "keys behind", "that a window shows behind the query",
          "Keys after the query that a window shows, in addition to the keys before it.", "keys i - width + 1 .. i + right",
          "mask window keys to the right"),
      Setting{"top_left", &m.top_left}.explained("aligned top-left", "masks and ALiBi count from the first query and key",
                                                 "With more or fewer keys than queries: the first query stands at the first "
                                                 "key, instead of the last at the last, as FlashAttention has it since 2.1.",
                                                 "query i stands at key i, not at i + n_k - N",
                                                 "top-left bottom-right alignment causal"),
  };
}

PolicyValue kernel_value(GradMethod& gradient, const Problem& problem) {
  return {[g = &gradient, p = &problem] { return std::string(grad_kernel_name(*g, p->d, p->mask)); },
          [g = &gradient, p = &problem](const std::string& text) { *g = grad_method(text, p->d, p->mask); },
          [] { return names_in(grad_kernels()); }, "a backward pass that `attoscope presets` lists"};
}

/// The settings of a method in an experiment, with its backward pass.
Settings with_gradient(Settings all, GradMethod& gradient, const Problem& problem, bool kept) {
  Settings of_gradient = settings(gradient);
  of_gradient.insert(of_gradient.begin(), {"policy", kernel_value(gradient, problem)});
  all.push_back(Setting{"grad", std::move(of_gradient)}.kept_if(kept));
  return all;
}

/// Parameters that set several settings.
Settings composites() {
  return {
      Setting{"mantissa_bits", {}, {0, max_mantissa_bits}}
          .explained("mantissa bits", "of the main format",
                     "Mantissa bits: the resolution. Each one more halves every rounding error. More than 23 make the "
                     "experiment work in double.",
                     "eps = 2^-M, half an ulp = 2^-(M+1) relative")
          .swept(2, "numbers", "2:12", true, true),
      Setting{"exponent_bits", {}, {min_exponent_bits, max_exponent_bits}}
          .explained("exponent bits", "of the main format",
                     "Exponent bits: the range. Each one more squares the largest number.",
                     "max about 2^(2^(E-1)), min 2^(2 - 2^(E-1))")
          .swept(3, "numbers", "4:8", true, true),
      Setting{"tile", {}}
          .explained("tile", "64, or 16x256: query rows x keys")
          .swept(18, "tiles", "16x256,32x128,64x64,128x32,256x16", false),
      Setting{"tile_square", {}}.explained("tile side", "block_q = block_k").swept(19, "tiles", "16:256:x2"),
      Setting{"tile_area", {}}.explained("tile area", "scores of a tile of block_q rows").swept(20, "tiles", "1024:16384:x2"),
      Setting{"tile_order", {}}
          .explained("tile order", "natural, or swapped: block_q for block_k")
          .swept(21, "tiles", "natural,swapped", false),
      Setting{"baseline", {}}
          .explained("baseline", "policy of b, and with it b's algorithm")
          .with_option("--baseline", "base_eager")
          .swept(24, "methods", "base_eager,base_hw,base_ops,base_all", false),
      Setting{"accumulator", {}}
          .explained("sums", "accumulator of q.k and P.V of a: fma, f64, or a GPU's tensor cores: h100, h100:f16",
                     "The sums of q.k and P.V: a chain of fma, or the tensor cores of a GPU, bit for bit.",
                     "products of a block aligned under the largest, cut, added, rounded once", "tensor core accumulator GPU")
          .with_option("--accumulator", "fma")
          .swept(29, "methods", "fma,a100,h100", false),
      Setting{"gradient", {}}
          .explained("backward pass of a", "a named backward pass of a (see attoscope presets)")
          .with_option("--gradient", "the usual one of a's forward pass")
          .swept(35, "backward", "grad_hw,grad_eager,grad_all", false),
      Setting{"baseline_gradient", {}}
          .explained("backward pass of b", "a named backward pass of b")
          .with_option("--baseline-gradient", "the usual one of b's forward pass")
          .swept(36, "backward", "grad_base_eager,grad_base_exact", false),
      Setting{"gradient_order", {}}
          .explained("order of a's dQ",
                     "the order in which a adds key tiles to dQ: ascending, descending, shuffled[:SEED] or buffers:K")
          .with_option("--gradient-order", "the backward pass's own"),
      Setting{"dlse", {}}
          .explained("dL", "the gradient of the log-sum-exp: FILE.npy or FILE.safetensors[:HEAD]")
          .with_option("--dlse", "0"),
  };
}

/// Name of the parameter at a path: "n" for problem.n, "scaling.Q" for a.scaling.Q.
std::string name_of(const Setting& s, const std::string& path) {
  if (!s.name.empty()) return std::string(s.name);
  return path.starts_with("a.") ? path.substr(2) : std::string(s.key);
}

std::vector<Parameter> all_parameters() {
  static Experiment e = default_experiment();  // the parameters point into it
  std::vector<Parameter> all;
  for_each(settings(e), "", [&](const std::string& path, const Setting& s) {
    if (!s.label.empty() && !path.starts_with("b.")) all.push_back({s, name_of(s, path), path});
  });
  for (const Setting& s : composites()) all.push_back({s, std::string(s.key), s.key == "accumulator" ? "a.accumulator" : ""});
  const auto rank = [](const Parameter& p) { return p.sweep.group.empty() ? INT_MAX : p.sweep.rank; };
  std::ranges::stable_sort(all, {}, rank);
  return all;
}

}  // namespace

Settings settings(Problem& p) {
  return {
      {"input", settings(p.input)},
      Setting{"seed", &p.seed}
          .explained("seed", "of the random inputs and of stochastic rounding",
                     "Starts the generator of Q, K and V, and of stochastic rounding. The same seed gives the same "
                     "bits on every machine.",
                     "Philox4x32-10(seed, element)")
          .with_option("--seed", "1")
          .swept(9, "problem", "1:8", true, true),
      Setting{"n", &p.n, {1, max_n}}
          .explained(
              "N", "tokens",
              "Tokens: rows of Q, K and V, or of Q alone if keys have their own number. Each score row has N entries, so l "
              "sums N of them.",
              "S = scale Q K^T is N x N, never stored", "N tokens sequence length queries n_q")
          .with_option("--n", "1024, or the file's")
          .swept(4, "problem", "64:1024:x2", true, true),
      Setting{"n_k", &p.n_k, {0, max_n}}
          .explained("keys", "rows of K and V; 0: as many as queries",
                     "Keys: rows of K and V, if their number is not N. One query against many keys is a step of "
                     "decoding. The last query stands at the last key, or with a mask that is aligned top-left the first at "
                     "the first.",
                     "S = scale Q K^T is N x n_k", "n_k keys cache decode")
          .with_option("--n-k", "N, or the file's")
          .swept(5, "problem", "64:1024:x2", true, true),
      Setting{"d", &p.d, {1, max_d}}
          .explained("d", "head dimension", "Head dimension: every score is a sum of d products.", "scale = 1/sqrt(d)",
                     "d head dimension")
          .with_option("--d", "64, or the file's")
          .swept(6, "problem", "16:128:x2", true, true),
      Setting{"d_v", &p.d_v, {0, max_d}}
          .explained("d_v", "columns of V and O; 0: d",
                     "Columns of V and of the output, if their number is not d (latent attention: d 576, d_v 512).",
                     "O = P V is N x d_v", "d_v value dimension")
          .with_option("--d-v", "d, or the file's")
          .swept(7, "problem", "16:128:x2", true, true),
      Setting{"scale", &p.scale, {.min = 0, .above_min = true, .zero = "1/sqrt(d)"}}
          .explained("scale", "of the scores; auto is 1/sqrt(d)",
                     "The factor of every score. Larger ones make the softmax sharper, and the absolute rounding errors of S "
                     "matter more. Empty, or 0: 1/sqrt(d), as usual.",
                     "S = scale * q.k", "scale of the scores, 0 for 1/sqrt(d)")
          .with_option("--scale", "auto")
          .swept(11, "problem", "auto,0.05,0.1,0.2", true, true),
      {"mask", settings(p.mask)},
      Setting{"sink", &p.sink}
          .explained("sink", "one extra logit in every denominator",
                     "One extra logit in every denominator, so that a query may attend to no key. It has no part in P.V.",
                     "l = sum_j exp(S_j - m) + exp(sink - m)")
          .with_option("--sink", "none")
          .swept(13, "problem", "0:4:1", true, true),
      Setting{"softcap", &p.softcap, {.min = 1e-6, .max = 1e6, .zero = "off"}}  // above, tanh by exp keeps few bits of S
          .explained("softcap", "S becomes CAP*tanh(S/CAP)", "Bounds the scores, as Gemma 2 does with 50. 0: off.",
                     "S = cap tanh(scale q.k / cap)", "soft cap")
          .with_option("--softcap", "0: off")
          .swept(14, "problem", "10:80:x2", true, true),
      Setting{"alibi", &p.alibi, {-max_alibi, max_alibi}}
          .explained("ALiBi slope", "slope: S loses SLOPE*|row - key|",
                     "Subtracts a term that grows with the distance of query and key from the scores. 0: off.",
                     "S -= slope |i - j|")
          .with_option("--alibi", "0")
          .swept(15, "problem", "0:1:0.25", true, true),
      Setting{"empty_rows", named(p.empty_rows, empty_rule_names)}
          .explained("rows without keys", "O of queries that see no key: zeros or nan",
                     "O of queries that see no key, in golden, in a and in b: zeros, as FlashAttention has them, or the NaN of "
                     "exp(-inf - -inf). Their gradients are 0 under either.",
                     "", "masked rows empty -inf NaN")
          .with_option("--empty-rows", "zeros")
          .kept_if(p.empty_rows != EmptyRule::zeros),
      Setting{"rows", &p.rows, {0, max_n}}
          .explained("rows", "all, or how many query rows, evenly spread",
                     "The number of query rows that are computed, evenly spread. Rows are independent, so a subset is exact "
                     "for its rows and its mean statistics are unbiased; only the largest error may be missed.",
                     "rows floor(i N / rows), i = 0 .. rows - 1", "rows computed, 0 for all")
          .with_option("--rows", "all"),
      Setting{"traced_row", &p.traced_row, {-max_n, max_n - 1}}
          .explained("traced row", "query row to trace; negative counts from the end", "", "", "traced row of the recurrence")
          .with_option("--row", "-1"),
  };
}

Settings settings(KernelOutput& o) {
  return {{"file", &o.file},
          {"index", &o.index, {0, INT_MAX}},
          {"digest", HexValue{&o.digest}},
          Setting{"lse", &o.lse}.kept_if(!o.lse.empty())};
}

Settings settings(Experiment& e) {
  static const std::string formats_in_words = [] {
    std::string text = "main format:";
    for (const NamedFormat& f : named_formats) text.append(" ").append(f.name);
    return text + " eXmY";
  }();
  const bool backward = e.backward != Backward{};
  return {
      {"problem", settings(e.problem)},
      Setting{"format", &e.format}
          .explained("main format", formats_in_words, "The main format D: everything that rounds to D rounds to it.",
                     "x <- round(D, x)", "main format D, exponent and mantissa bits")
          .with_option("--format", "bf16")
          .swept(1, "numbers", "bf16,fp16,tf32,fp32", false, true),
      {"a", with_gradient(settings(e.a), e.backward.a, e.problem, backward)},
      {"b", with_gradient(settings(e.b), e.backward.b, e.problem, backward)},
      {"loaded", settings(e.loaded)},
      Setting{"backward", settings(e.backward)}.kept_if(backward),
  };
}

const std::vector<Parameter>& experiment_parameters() {
  static const std::vector<Parameter> all = all_parameters();
  return all;
}

const Parameter* find_parameter(std::string_view key) {
  for (const Parameter& p : experiment_parameters())
    if (p.key == key) return &p;
  return nullptr;
}

const Parameter& parameter(std::string_view key) {
  if (const Parameter* const found = find_parameter(key)) return *found;
  throw std::logic_error("there is no parameter " + std::string(key));
}

const Parameter* parameter_at(std::string_view path) {
  for (const Parameter& p : experiment_parameters())
    if (!p.path.empty() &&
        (p.path == path || (path.starts_with("b.") && is_of_a_method(p) && p.path.substr(2) == path.substr(2))))
      return &p;
  return nullptr;
}

bool is_of_backward(std::string_view path) {
  if (path.starts_with("a.") || path.starts_with("b.")) path.remove_prefix(2);
  return path.starts_with("grad.") || path.starts_with("backward.") || path == "gradient" || path == "baseline_gradient" ||
         path == "do";
}

bool is_option(const Parameter& p) {
  return is_of_a_method(p) && !is_of_backward(p.path) && p.key != "algorithm" && p.key != "policy" && p.key != "block_q" &&
         p.key != "block_k";
}

std::string help_of(const Parameter& p) {
  return std::string(p.what) + (p.usual.empty() ? "" : " (" + std::string(p.usual) + ")");
}

}  // namespace attoscope
