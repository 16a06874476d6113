#include "app/papers/named.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "app/papers/paper_figures.h"
#include "app/train/train_figures.h"
#include "app/words/numbers.h"
#include "kernels/experiment/experiment_fields.h"

namespace attoscope {
namespace {

constexpr std::array<NamedFigure, 21> figures{{
    {"format-difference", "difference by format",
     "Difference of Flash Attention from three-pass attention by number format (arXiv 2405.02803, figure 3).",
     papers::format_difference},
    {"format-golden", "errors of both", "Errors of both against the truth by number format (arXiv 2405.02803, figure 4).",
     papers::format_golden},
    {"sequence-length", "over N", "Difference and errors over sequence length (arXiv 2405.02803, figure 5).",
     papers::sequence_length},
    {"tile-area", "over the tile's area", "Difference over the area of a tile (arXiv 2405.02803, figure 6 a).",
     papers::tile_area},
    {"tile-square", "over square tiles", "Difference over the side of a square tile (arXiv 2405.02803, figure 6 b).",
     papers::tile_square},
    {"tile-swap", "tiles swapped", "Difference for rectangular tiles and the same swapped (arXiv 2405.02803, figure 6 c).",
     papers::tile_swap},
    {"paper-region", "where it is ten times",
     "Ratio of the errors over policy, input and tile: where the abstract's factor of ten holds (arXiv 2405.02803).",
     papers::paper_region},
    {"fa3-table3", "outlier mix", "RMS errors on the outlier mix (FlashAttention-3, arXiv 2407.08608, table 3).",
     papers::fa3_table3},
    {"rescales", "rescale counts", "How often the running max moves, beside H_T - 1.", papers::rescales},
    {"lag", "stale max", "Error and rescales over FlashAttention-4's threshold.", papers::lag},
    {"bias", "ties and bias", "Signed error with ties, with and without the beta mitigation (arXiv 2510.04212).", papers::bias},
    {"attribution", "where the error comes from", "Error with one rounding step at a time made exact.", papers::attribution},
    {"accumulator", "tensor cores' sums",
     "Error over the number of keys with the sums of several GPUs' tensor cores, and with an accumulator that is flushed.",
     papers::accumulator},
    {"formats-2026", "storage with scales",
     "Errors of 17 kernels that store Q, K, V or P with scales, in their parts: storage and arithmetic.", papers::formats_2026},
    {"kv-cache", "K and V in fewer bits", "K and V kept in e4m3, int8, int4 and NVFP4, on four heads of a language model.",
     papers::kv_cache},
    {"invariance", "splits and tiles",
     "Whether one query's bits depend on splits and on keys a tile, which serving engines choose by the batch.",
     papers::invariance},
    {"smoothing", "means and rotations",
     "K in int8 with and without its mean (SageAttention); Q and K in e4m3 with and without a rotation (FlashAttention-3).",
     papers::smoothing},
    {"heads", "every head", "Errors of every head of the shipped grouped-query layers, worst first.", papers::heads},
    {"io", "HBM traffic", "HBM bytes of three algorithms over N and over on-chip memory (FlashAttention, arXiv 2205.14135).",
     papers::io},
    {"train-weights", "weights over training",
     "Distance of weights trained with Flash Attention, three-pass attention and exact attention, step by step (arXiv "
     "2405.02803, figure 7).",
     FromTraining{train_weights_figure, weights_trainings, weights_over_seeds}},
    {"train-reference", "training beside references",
     "The same beside another initialisation and other formats: FP16 - FP32, BF16 - FP32, FP16 - BF16 (arXiv 2405.02803, "
     "figure 8).",
     FromTraining{train_reference_figure, reference_trainings, references_over_seeds}},
}};

}  // namespace

std::span<const NamedFigure> named_figures() { return figures; }

const NamedFigure& named_figure(std::string_view name) {
  const auto* const found = std::ranges::find(figures, name, &NamedFigure::name);
  if (found != figures.end()) return *found;
  std::vector<std::string_view> known;
  for (const NamedFigure& f : figures) known.push_back(f.name);
  throw std::invalid_argument("figure " + in_quotes(name) + " is unknown, expected " + listed(known));
}

}  // namespace attoscope
