/// Names of mistakes that no list holds: what is wrong is fitted as a number, as counts of keys, as places, as steps of the
/// loop over tiles, as roundings, or as factors of rows.
#pragma once

#include <optional>
#include <string>

#include "kernels/judge/judge.h"

namespace attoscope {

/// The first of these with which the exact output explains every element of `output`, by the criterion of `judge`:
/// - place: elements, rows or columns that were never written or hold what belongs elsewhere;
/// - place: pages and sequences whose keys are those of others, bounds that are off by one, padding that is seen;
/// - number: the scale, the sink, the slope, the soft cap, a bound of scores or of P; columns of q.k that count c times;
/// - row_factor: l is off by so many exp(0) in every row, or the output is golden times a number;
/// - key_counts: keys count c times (0: left out, 2: twice; hidden keys may count), in O and in l, or in one of them;
/// - mask: each row sees another run of keys;
/// - a slip that `diagnose` knows, in the wrong rows alone;
/// - place: K or V of a run of keys is that of another, or of no key of the call;
/// - rescale: steps of the online softmax that are skipped, or use another row's numbers;
/// - rounding: a step rounded to another format, or exp by a polynomial;
/// - number: each key's scores are multiplied by a number of its own;
/// - row_factor: each row is a multiple of golden.
/// None where none does. `judged` is the judgement on `output`, `result` the output beside the usual kernel's. `fit` is the one
/// to try, negative for all, and becomes the one that is found. Throws Stopped when cancelled, and what `heads.read` throws.
std::optional<Slip> fitted_slip(const JudgedOutput& output, const Judged& judged, const Result& result, const OtherHeads& heads,
                                const Options& options, int& fit);

/// A name that was found in one head, and by which fit; negative: by the list of `find_slips`, beside a kernel of `policy`.
struct KnownName {
  std::string text;
  int fit = -1;
  const char* policy = "base_hw";
};

/// `slips_of`, and in `known` how the name was found; an empty text where none was.
SlipSearch slips_of(const JudgedOutput& output, const Judged& judged, const OtherHeads& heads, const Options& options,
                    KnownName& known);

/// The same mistake in another head, its numbers fitted to that one; none where it does not explain that head. Throws as
/// `slips_of`.
std::optional<Slip> confirmed_slip(const JudgedOutput& output, const Judged& judged, const OtherHeads& heads,
                                   const Options& options, const KnownName& known);

}  // namespace attoscope
