#include "ui/words/step_guide.h"

#include <array>

namespace attoscope {

namespace {

constexpr std::array<StepGuide, step_count> guides{{
    {"Q, K and V before anything else. a's choice rounds them for all, the golden value included, so that it causes no error; "
     "b's own is applied on top.",
     "Q = round(Q), K = round(K), V = round(V)", "what lines 4 and 7 load"},
    {"The accumulator of a score after every fma: d roundings in a row.", "acc = round(fma(q_i, k_i, acc)), i = 1 .. d",
     "within line 8"},
    {"The finished score, one multiplication. Its absolute error becomes a relative one of e: from 8 to 16 half an ulp of "
     "bf16 is 3 %.",
     "S = round(scale * q.k)", "line 8"},
    {"The running max as it is stored. Any m cancels in O / l as long as e, l and O use the same one.",
     "m = round(max(m_old, max S))", "line 9"},
    {"The argument of exp. It is small near the max, where P is large; far from the max its error is large but P is small.",
     "x = round(S - m)", "within line 9"},
    {"The exponential itself, 1 at the max.", "e = round(exp(S - m))", "line 9"},
    {"e as it enters P.V: tensor cores take 16 or 8 bits. Three passes divide by l first. Values that are too small become 0 "
     "here.",
     "P = round(e)   three passes: P = round(e / l)", "line 10"},
    {"The row sum within a tile, after every addition: block_k roundings in a row, and small terms are lost in a large sum.",
     "sum = round(sum + e_j), j = 1 .. block_k", "rowsum of line 9"},
    {"The tile's row sum, once, as it is handed over.", "rowsum = round(sum_j e_j)", "rowsum of line 9"},
    {"Corrects the old state where the max has moved; it is exactly 1 where it has not.", "alpha = round(exp(m_old - m))",
     "lines 9 and 10"},
    {"The old l and the old O, corrected.", "round(alpha * l), round(alpha * O)", "lines 9 and 10"},
    {"The running row sum as it is stored after each tile: N / block_k roundings.", "l = round(alpha * l + rowsum)", "line 9"},
    {"The accumulator of P.V after every fma: block_k roundings in a row for each element.",
     "acc = round(fma(P_j, v_j, acc)), j = 1 .. block_k", "within line 10"},
    {"The tile's P.V, once, before it is added to O. Where P.V continues in O there is no such value.", "PV = round(P V)",
     "within line 10"},
    {"The running output as it is stored after each tile: N / block_k roundings.", "O = round(alpha * O + P V)", "line 10"},
    {"The output that is written. This rounding cannot be avoided: it is the least error in D.",
     "out = round(O / l)   three passes: out = round(O)", "lines 12 and 14"},
}};

}  // namespace

const StepGuide& guide_of(Step step) { return guides[static_cast<std::size_t>(step)]; }

}  // namespace attoscope
