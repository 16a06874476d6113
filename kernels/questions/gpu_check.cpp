#include "kernels/questions/gpu_check.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "kernels/experiment/presets.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/setting.h"
#include "kernels/experiment/text.h"
#include "kernels/stop_token.h"

namespace attoscope {
namespace {

/// Instructions per longer sum; each starts from the previous one's result.
constexpr int long_steps = 4;

Experiment small_experiment(Algorithm algorithm, const Format& format, Mask::Kind mask) {
  Experiment e = default_experiment();
  e.problem.n = 97;
  e.problem.d = 32;
  e.problem.mask.kind = mask;
  e.format = format;
  e.a.algorithm = algorithm;
  e.a.block_k = 32;
  e.a.precision = policy(normalises_P(algorithm) ? "base_eager" : "hw").precision;
  return e;
}

std::string text(const Experiment& e) {
  return std::string(name(e.a.algorithm)) + ", " + name(e.format) + ", mask " + std::string(mask_names[e.problem.mask.kind]);
}

DigestsCheck digests_check(const CheckedGpu& gpu, const GpuCheckWatch& watch) {
  DigestsCheck check;
  const Options options{.cancelled = watch.cancelled};
  for (const NamedExperiment& e : digest_experiments()) {
    const std::string differs = differing(compute(e.experiment, options).digests, gpu.digests(e.experiment, options));
    ++check.count;
    if (differs.empty())
      ++check.agree;
    else if (check.first.empty())
      check.first = e.name + ": " + differs;
  }
  return check;
}

ProductsCheck left_out(const ProductKind& kind, const std::string& why) {
  ProductsCheck check = no_products_yet(kind);
  check.left_out = why;
  check.rules.clear();
  return check;
}

ProductsCheck products_check(const GpuCheckQuestion& q, const ProductKind& kind, const CheckedGpu& gpu, const StopSign& stop) {
  if (const std::string why = why_no_products(kind, gpu.info.major, gpu.info.minor); !why.empty()) return left_out(kind, why);
  ProductsCheck check = no_products_yet(kind);
  const auto ask = [&](int steps, int count, ProductCase first) {
    if (count == 0) return;
    stop.check();
    const ProductQuestions questions = product_questions(kind, steps, count, q.seed, first);
    compare(check, questions, gpu.products(questions), stop);
  };
  try {
    ask(1, q.count - q.count / 2, ProductCase::random);
    ask(long_steps, q.count / 2, ProductCase::zeros);
  } catch (const NoProducts& error) {
    return left_out(kind, error.what());
  }
  return check;
}

/// The GPU's failure from a remark, without the sentence that the CPU took over, which is not true here.
std::string failure_in(const std::string& remark) { return remark.substr(0, remark.find(" The CPU took over")); }

Digests digests_on(const std::string& device, const Experiment& e, Options options) {
  options.device = device;
  const Result r = compute(e, options);
  if (r.device.starts_with("cpu")) throw DeviceFailure(failure_in(r.remark));
  return r.digests;
}

using Names = std::vector<std::string>;

std::string bits_text(float x) { return "0x" + hex16(std::bit_cast<std::uint32_t>(x)).substr(8); }

std::string share_text(std::int64_t agree, std::int64_t count) { return grouped(agree) + " of " + grouped(count); }

/// Rules of the format itself (not as fp16) that give every sum.
std::vector<const RuleAgreement*> own_rules(const ProductsCheck& check) {
  std::vector<const RuleAgreement*> rules = check.fitting();
  std::erase_if(rules, [](const RuleAgreement* r) { return r->rule.as_fp16; });
  return rules;
}

/// Names of the fitting rules; only rules of the format itself, if there are any.
std::string names_of(const ProductsCheck& check) {
  std::vector<const RuleAgreement*> rules = own_rules(check);
  if (rules.empty()) rules = check.fitting();
  std::string text;
  for (const RuleAgreement* r : rules) text += (text.empty() ? "" : ", or ") + name(r->rule);
  return text;
}

/// ", the others all in zeros and largest": the cases in which the rule misses sums; "" if there are more than three.
std::string missed_cases(const RuleAgreement& rule, const CaseCounts& count) {
  Names names;
  for (std::size_t i = 0; i < count.size(); ++i)
    if (rule.agree_of[i] < count[i]) names.emplace_back(product_case_names[i]);
  return names.size() > 3 ? "" : ", the others all in " + listed(names, " and ");
}

bool has_gpu(const ProductsCheck& check, TensorCore gpu) {
  const auto rules = check.fitting();
  return std::ranges::any_of(rules, [&](const RuleAgreement* r) { return std::ranges::count(r->rule.gpus, gpu) > 0; });
}

/// Kinds that were compared.
std::vector<const ProductsCheck*> compared(const GpuCheck& check) {
  std::vector<const ProductsCheck*> kinds;
  for (const ProductsCheck& k : check.kinds)
    if (k.left_out.empty() && k.count > 0) kinds.push_back(&k);
  return kinds;
}

/// GPUs that have a fitting rule for every one of these kinds.
Names common_gpus(const std::vector<const ProductsCheck*>& kinds) {
  Names names;
  for (std::size_t i = 0; i < tensor_core_texts.size(); ++i) {
    const auto gpu = static_cast<TensorCore>(i);
    if (std::ranges::all_of(kinds, [&](const ProductsCheck* k) { return has_gpu(*k, gpu); })) names.emplace_back(name(gpu));
  }
  return names;
}

/// Names of the kinds for which `holds`.
template <class Holds>
Names names_where(const std::vector<const ProductsCheck*>& kinds, Holds holds) {
  Names names;
  for (const ProductsCheck* k : kinds)
    if (holds(*k)) names.push_back(name(k->kind));
  return names;
}

/// The sentence if every kind has a rule that gives all its sums.
std::string fitting_sentence(const std::vector<const ProductsCheck*>& kinds) {
  if (const Names gpus = common_gpus(kinds); !gpus.empty()) {
    const Names all = names_where(kinds, [](const ProductsCheck&) { return true; });
    const Names converted = names_where(kinds, [](const ProductsCheck& k) { return own_rules(k).empty(); });
    return "This GPU adds as " + listed(gpus, " and ") + ": " + share_text(kinds[0]->count, kinds[0]->count) + " products of " +
           (all.size() > 1 ? "each of " : "") + listed(all, " and ") +
           (converted.empty() ? "" : "; it multiplies " + listed(converted, " and ") + " as fp16") + ".";
  }
  Names parts;
  for (const ProductsCheck* k : kinds) parts.push_back(name(k->kind) + " as " + names_of(*k));
  return "This GPU adds by written rules, but not by those of one GPU: " + listed(parts, " and ") + ".";
}

std::string products_sentence(const GpuCheck& check) {
  const std::vector<const ProductsCheck*> kinds = compared(check);
  if (kinds.empty()) return "No sums of this GPU's tensor cores were compared.";
  const auto fits = [](const ProductsCheck& k) { return !k.fitting().empty(); };
  const Names unlike = names_where(kinds, [&](const ProductsCheck& k) { return !fits(k); });
  if (unlike.empty()) return fitting_sentence(kinds);
  const Names alike = names_where(kinds, fits);
  const ProductsCheck& worst = **std::ranges::find_if(kinds, [&](const ProductsCheck* k) { return !fits(*k); });
  return "No written rule gives this GPU's sums of " + listed(unlike, " and ") +
         (alike.empty() ? "" : ", though one gives those of " + listed(alike, " and ")) + "; nearest of " + name(worst.kind) +
         " is " + name(worst.best()->rule) + ", " + share_text(worst.best()->agree, worst.count) + ".";
}

}  // namespace

bool GpuCheck::as_written() const {
  return digests.agree == digests.count &&
         std::ranges::all_of(kinds, [](const ProductsCheck& k) { return !k.left_out.empty() || !k.fitting().empty(); });
}

std::vector<NamedExperiment> digest_experiments() {
  std::vector<NamedExperiment> all;
  for (const Algorithm algorithm : emulated_algorithms)
    for (const Format& format : {bf16, fp16, e4m3})
      for (const Mask::Kind mask : {Mask::Kind::none, Mask::Kind::causal}) {
        const Experiment e = small_experiment(algorithm, format, mask);
        all.push_back({text(e), e});
      }
  for (const Accumulator sums : {Accumulator::v100, Accumulator::a100, Accumulator::h100, Accumulator::b200}) {
    Experiment e = small_experiment(Algorithm::flash2, fp16, Mask::Kind::causal);
    e.a.accumulator = {sums, sums};
    all.push_back({text(e) + ", sums of " + std::string(name(sums)), e});
  }
  return all;
}

CheckedGpu checked_gpu(const std::string& device) {
  const std::vector<int> gpus = devices_of(device);
  if (gpus.size() != 1) throw std::invalid_argument("device is " + device + ", expected cuda or cuda:K");
  const int gpu = gpus[0];
  return {.info = *std::ranges::find(cuda_devices(), gpu, &DeviceInfo::index),
          .digests = [spec = "cuda:" + std::to_string(gpu)](const Experiment& e,
                                                            const Options& options) { return digests_on(spec, e, options); },
          .products = [gpu](const ProductQuestions& q) { return device_products(q, gpu); }};
}

GpuCheck gpu_check(const GpuCheckQuestion& question, const CheckedGpu& gpu, const GpuCheckWatch& watch) {
  const StopToken stop(watch.cancelled);
  const auto doing = [&](const std::string& what) {
    stop.check();
    if (watch.doing) watch.doing(what);
  };
  GpuCheck check{.question = question, .gpu = gpu.info, .digests = {}};
  doing("digests");
  check.digests = digests_check(gpu, watch);
  if (watch.known) watch.known(check);
  for (const ProductKind& kind : question.kinds) {
    doing(name(kind));
    check.kinds.push_back(products_check(question, kind, gpu, stop));
    if (watch.known) watch.known(check);
  }
  return check;
}

std::string digests_line(const DigestsCheck& check) {
  return "digests: " + share_text(check.agree, check.count) + " experiments have the CPU's bits" +
         (check.first.empty() ? "" : "; first that differs: " + check.first);
}

std::string difference_text(const RuleAgreement& rule) {
  if (!rule.first) return {};
  const ProductDifference& d = *rule.first;
  return "sum " + std::to_string(d.sum) + " (" + std::string(name(d.of)) + "): c " + bits_text(d.c) + ", expected " +
         bits_text(d.expected) + ", got " + bits_text(d.got);
}

std::string products_line(const ProductsCheck& check) {
  const std::string kind = name(check.kind) + ": ";
  if (!check.left_out.empty()) return kind + "left out. " + check.left_out;
  const RuleAgreement* best = check.best();
  if (best == nullptr) return kind + "no sums were requested";
  if (!check.fitting().empty()) return kind + "adds as " + names_of(check) + ": " + share_text(check.count, check.count);
  return kind + "no rule gives all; nearest is " + name(best->rule) + ", " + share_text(best->agree, check.count) +
         missed_cases(*best, check.count_of) + "; " + difference_text(*best);
}

std::string gpu_check_sentence(const GpuCheck& check) {
  const DigestsCheck& d = check.digests;
  const std::string sentence = products_sentence(check);
  if (d.agree == d.count) return sentence;
  return sentence + " " + grouped(d.count - d.agree) + " of " + grouped(d.count) +
         " experiments have other bits on it than on the CPU, first " + d.first + ".";
}

}  // namespace attoscope
