// dQ with its key tiles added in other orders: the elements that move from run to run, and schedules that keep the order.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "kernels/questions/gradient_spread.h"
#include "ui/frame/frame.h"
#include "ui/statistics/statistics.h"
#include "ui/widgets/table_view.h"
#include "ui/widgets/widgets.h"
#include "ui/words/numbers.h"
#include "ui/words/sentences.h"

namespace attoscope::ui {
namespace {

/// The question of the orders: it depends neither on a's own order nor on b.
Experiment spread_question(Experiment e) {
  const GradMethod usual;
  e.backward.a.order = usual.order, e.backward.a.order_seed = usual.order_seed, e.backward.a.buffers = usual.buffers;
  e.b = Method{.algorithm = Algorithm::three_pass};
  e.backward.b = usual;
  return e;
}

/// A sentence on the elements that move from run to run.
std::string spread_words(const OrderSpread& s) {
  if (s.moved == 0) return fmt::format("In these {} orders no element of dQ moves.", s.shuffled.size());
  const double share = 100 * static_cast<double>(s.moved) / static_cast<double>(std::max<std::int64_t>(1, s.elements));
  return fmt::format("{} of {} elements of dQ move, {:.2g} %, by at most {} ulp of {}.", s.moved, s.elements, share,
                     compact(s.max_ulp), name(s.experiment.format));
}

/// The runs of dQ as a table: shuffled orders first, then schedules.
void draw_spread(Session& session, const OrderSpread& spread) {
  const float width = ImGui::GetContentRegionAvail().x;
  wrapped(Face::small, colours().text, spread_words(spread), width);
  wrapped(
      Face::small, colours().secondary,
      fmt::format("Atomic additions add the key tiles in any order; these {} orders are drawn by seeds.",
                  spread.shuffled.size()) +
          (spread.schedules_repeat ? " The schedules below them repeated their bits." : " A schedule did not repeat its bits."),
      width);
  ImGui::Dummy({0, px(4)});
  const std::size_t shuffled = spread.shuffled.size();
  const auto run_at = [&](std::size_t i) -> const OrderRun& {
    return i < shuffled ? spread.shuffled[i] : spread.schedules[i - shuffled];
  };
  GradMethod& a = session.experiment.backward.a;
  const auto row = [&](std::size_t i) {
    const OrderRun& run = run_at(i);
    const bool is_a = a == with_order(a, run);
    return TableRow{.id = "order " + std::to_string(i),
                    .meaning = run.what + (i == 0 ? ": the others are compared with it." : ".") +
                               (is_a ? " It is a's." : " A click makes it a's order; Ctrl+Z comes back."),
                    .formula = fmt::format("{} of {} numbers of dQ move, at most {} ulp of {}\nmean |dQ - golden| {}\n{}",
                                           run.moved, spread.elements, compact(run.max_ulp), name(spread.experiment.format),
                                           scientific(run.mean_abs_error), hex16(run.digest)),
                    .chosen = is_a,
                    .mark = run.moved == 0 ? colours().good : colours().bad};
  };
  if (const auto clicked = draw_table("orders", order_spread_table(spread), {.row = row})) a = with_order(a, run_at(*clicked));
}

}  // namespace

GradMethod with_order(GradMethod m, const OrderRun& run) {
  const std::string& words = run.what;
  const auto number = [&] {
    const std::size_t at = words.find_first_of("0123456789");
    return at == std::string::npos ? 0 : std::stoull(words.substr(at));
  };
  if (words.starts_with("shuffled")) {
    m.order = GradOrder::shuffled;
    m.order_seed = number();
  } else if (words.find("buffer") != std::string::npos) {
    m.order = GradOrder::buffers;
    m.buffers = static_cast<int>(number());
  } else {
    m.order = words == "descending" ? GradOrder::descending : GradOrder::ascending;
  }
  return m;
}

void draw_orders(Session& session, const PanelInput& input, Requests& requests) {
  ImGui::Dummy({0, px(4)});
  if (!is_emulated(session.experiment.a.algorithm))
    return wrapped(Face::label, method_names(session.experiment).a + " has no backward pass whose order could be chosen.",
                   ImGui::GetContentRegionAvail().x);
  if (const OrderSpread* const known = input.side.order_spread.get();
      known != nullptr && answers(known->experiment, spread_question(session.experiment)))
    return draw_spread(session, *known);
  label(Face::label, colours().secondary, "computing dQ in every order ...");
  if (!input.answer.computing && !ImGui::IsAnyMouseDown()) requests.side.order_spread = spread_question(session.experiment);
}

}  // namespace attoscope::ui
