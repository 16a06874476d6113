/// Side questions, which panels ask besides the experiment, in one list: requests, answers and threads are generated from it.
#pragma once

#include <string>
#include <vector>

namespace attoscope {
struct Attribution;
struct Clipping;
struct Experiment;
struct GpuCheck;
struct GradAttribution;
struct GradientTrace;
struct GradientTraceQuestion;
struct GradientWindow;
struct Invariance;
struct KvRow;
struct OrderSpread;
struct ProductSum;
struct ProductSumQuestion;
struct SameBits;
struct ScoreQuestion;
struct ScoreWindow;
}  // namespace attoscope

namespace attoscope::ui {

template <class Row>
struct FoundHeads;
struct FollowedRow;
struct GalleryPicture;
struct GalleryQuestion;
struct HeadRow;
struct HeadsOfFile;
struct HeadVerdict;
struct JudgedHead;
struct KernelGradientsAnswer;
struct KernelGradientsQuestion;
struct SlipOutput;
struct SlipQuestion;
struct TensorList;
struct TensorStatistics;

/// One Part<Question, Answer> for each side question. To add one: a member here, a line in `for_each_side`, and a function in
/// app/explore/side_answers.cpp.
template <template <class Question, class Answer> class Part>
struct SideList {
  Part<Experiment, Attribution> why;
  Part<ScoreQuestion, ScoreWindow> scores;
  Part<ProductSumQuestion, ProductSum> sum;  ///< sum of the pinned cell
  Part<Experiment, Clipping> clipping;
  Part<Experiment, SameBits> same_bits;
  Part<Experiment, Invariance> invariance;  ///< answer to an `invariance_question`
  Part<Experiment, GradAttribution> gradient_why;
  Part<ScoreQuestion, GradientWindow> gradient_window;
  Part<GradientTraceQuestion, GradientTrace> gradient_trace;
  Part<Experiment, OrderSpread> order_spread;
  Part<KernelGradientsQuestion, KernelGradientsAnswer> kernel_gradients;
  Part<std::string, TensorList> tensors;                  ///< tensors of a file
  Part<std::string, TensorStatistics> tensor_statistics;  ///< numbers of a `TensorEntry::spec`
  Part<std::string, GpuCheck> gpu_check;                  ///< check of the session's device; independent of the experiment
  Part<Experiment, HeadVerdict> verdict;                  ///< answer to a `verdict_question`, after it is complete
  Part<SlipQuestion, SlipOutput> slip_output;
  Part<Experiment, FollowedRow> followed;                                   ///< row of a `followed_beside`
  Part<HeadsOfFile, FoundHeads<HeadRow>> heads;                             ///< heads found so far; also in kv and judged
  Part<HeadsOfFile, FoundHeads<KvRow>> kv;                                  ///< answer to a `kv_question`
  Part<HeadsOfFile, FoundHeads<JudgedHead>> judged;                         ///< answer to a `verdict_question`
  Part<std::vector<GalleryQuestion>, std::vector<GalleryPicture>> gallery;  ///< in any order
};

/// Calls f once for each question, with its part of every list.
template <class F, class... Lists>
void for_each_side(F f, Lists&&... lists) {
  f(lists.why...);
  f(lists.scores...);
  f(lists.sum...);
  f(lists.clipping...);
  f(lists.same_bits...);
  f(lists.invariance...);
  f(lists.gradient_why...);
  f(lists.gradient_window...);
  f(lists.gradient_trace...);
  f(lists.order_spread...);
  f(lists.kernel_gradients...);
  f(lists.tensors...);
  f(lists.tensor_statistics...);
  f(lists.gpu_check...);
  f(lists.verdict...);
  f(lists.slip_output...);
  f(lists.followed...);
  f(lists.heads...);
  f(lists.kv...);
  f(lists.judged...);
  f(lists.gallery...);
}

}  // namespace attoscope::ui
