#include <nlohmann/json.hpp>

#include "app/judge/judge_report.h"
#include "app/words/numbers.h"

namespace attoscope::app {
namespace {

Json slip_json(const std::optional<Slip>& slip) {
  if (!slip) return nullptr;
  return {{"kind", name(slip->kind)}, {"text", slip->text}, {"ratio", number_json(slip->ratio)}};
}

/// A mistake of a gradient or of the log-sum-exp.
template <class Mistake>
Json mistake_json(const std::optional<Mistake>& slip) {
  return slip ? Json{{"kind", slip->kind}, {"text", slip->text}} : Json(nullptr);
}

/// First and last of each run.
Json keys_json(const std::optional<Slip>& slip) {
  Json runs = Json::array();
  if (slip)
    for (const Keys& run : slip->keys) runs.push_back({run.first, run.end - 1});
  return runs;
}

Json row_json(const JudgedRow& row) {
  const HeadJudgement& h = row.found;
  Json json{{"head", row.head},
            {"verdict", h.rounded ? "rounded" : "wrong"},
            {"as", h.as},
            {"ratio", number_json(h.ratio)},
            {"suspects", h.suspects},
            {"elements", h.elements},
            {"nonfinite", h.nonfinite},
            {"max_abs", h.max_abs},
            {"rms", h.rms},
            {"where", h.where},
            {"keys", keys_json(row.slip)},
            {"first_row", h.first_row},
            {"worst_column", h.worst_col},
            {"slip", slip_json(row.slip)}};
  if (h.due > 0) json["nonfinite_expected"] = h.due;
  if (row.sequence >= 0) json["sequence"] = row.sequence;
  return json;
}

Json also_json(const std::optional<AlsoJudged>& also) {
  if (!also) return nullptr;
  return {
      {"format", name(also->format)}, {"verdict", also->rounded ? "rounded" : "wrong"}, {"ratio", number_json(also->ratio)}};
}

Json gradients_json(const CallGradients& gradients) {
  Json all = Json::array();
  for (const CallTensor& t : gradients.tensors) {
    Json by_heads = Json::array();
    for (const WrongGroups& w : t.wrong)
      by_heads.push_back({{"heads", head_runs(gradients, w.groups)}, {"slip", mistake_json(w.slip)}});
    Json told{{"tensor", name(t.tensor)},           {"verdict", t.rounded ? "rounded" : "wrong"},
              {"ratio", number_json(t.ratio)},      {"suspects", t.worst.found.suspects},
              {"where", t.worst.found.where},       {"head", t.head},
              {"slip", mistake_json(t.worst.slip)}, {"by_heads", std::move(by_heads)}};
    if (const int sequence = sequence_of(gradients, t.head); sequence >= 0) told["sequence"] = sequence;
    all.push_back(std::move(told));
  }
  return all;
}

Json lse_json(const CallLse& lse) {
  const LseJudgement& worst = lse.worst;
  Json json{{"verdict", lse.rounded() ? "rounded" : "wrong"},
            {"base", name(lse.base)},
            {"ratio", number_json(worst.ratio)},
            {"as", worst.as},
            {"suspects", worst.suspects},
            {"where", worst.where},
            {"head", lse.head},
            {"row", worst.worst_row},
            {"slip", mistake_json(lse.slip)}};
  if (lse.sequence >= 0) json["sequence"] = lse.sequence;
  return json;
}

}  // namespace

Json judgement_json(const CallJudgement& call, const SeenAgain& again, const std::optional<CallGradients>& gradients,
                    const std::optional<CallLse>& lse) {
  Json family = Json::array(), table = Json::array();
  for (const RivalError& r : call.family) family.push_back({{"rival", r.name}, {"max_abs", r.max_abs}, {"rms", r.rms}});
  for (const JudgedRow& row : call.table) table.push_back(row_json(row));
  Json told{{"schema", "attoscope.judgement/1"},
            {"attoscope", ATTOSCOPE_VERSION},
            {"verdict", call.verdict()},
            {"ok", call.rounded()},
            {"sentences", call.sentences},
            {"derivation", call.derivation},
            {"format", name(call.claim.format)},
            {"stored", stored_text(call.claim)},
            {"also", also_json(call.also)},
            {"n", call.shape.n},
            {"n_k", call.shape.n_k},
            {"d", call.shape.d},
            {"d_v", call.shape.d_v},
            {"heads", call.heads},
            {"elements", call.sum_of(&HeadJudgement::elements)},
            {"suspects", call.sum_of(&HeadJudgement::suspects)},
            {"command", json_string(again.command)},
            {"link", again.link},
            {"family", std::move(family)},
            {"table", std::move(table)}};
  if (gradients) told["gradients"] = gradients_json(*gradients);
  if (lse) told["lse"] = lse_json(*lse);
  if ((gradients && !gradients->rounded()) || (lse && !lse->rounded())) {
    told["verdict"] = "wrong";
    told["ok"] = false;
  }
  return told;
}

Json verdict_json(const CallJudgement& call) {
  const JudgedRow& row = call.worst_row();
  return {{"verdict", call.verdict()},         {"ratio", number_json(row.found.ratio)}, {"where", row.found.where},
          {"first_row", row.found.first_row},  {"worst_column", row.found.worst_col},   {"as", row.found.as},
          {"format", name(call.claim.format)}, {"slip", slip_json(row.slip)},           {"sentence", verdict_text(call)}};
}

}  // namespace attoscope::app
