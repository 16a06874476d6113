/// Lists that the app offers to the panels: tensor files, devices, figures of the papers, session files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/experiment/experiment.h"
#include "kernels/experiment/input.h"
#include "kernels/experiment/rules.h"

namespace attoscope::ui {

/// A layer of a tensor file, or one call.
struct LayerEntry {
  std::string name;          ///< "layer 7"; empty if the file has one layer
  int first = 0, heads = 0;  ///< range of its heads in the file
  int kv_heads = 0;
  AttentionShape shape;  ///< shape of a head
  std::string scales{};  ///< scales of its tensors: "k per head, v per token"; "": none
  int sequence = -1;     ///< index among the sequences of a packed or paged call; -1: neither packed nor paged
};

/// Contents of a tensor file, for the head picker.
struct TensorFileInfo {
  std::string file;
  int heads = 0;
  AttentionShape shape;                   ///< shape of the first layer's heads; n is 0 if unknown
  std::vector<std::string> head_names{};  ///< "layer 7, head 7"
  bool has_output = false;                ///< the file also holds a kernel's output
  std::vector<LayerEntry> layers{};       ///< one or more
  std::vector<std::string> left_out{};    ///< a sentence for each unusable layer and each unused scale
};

/// The layer with this head; null: none.
inline const LayerEntry* layer_of(const TensorFileInfo& info, int head) {
  const auto found =
      std::ranges::find_if(info.layers, [&](const LayerEntry& x) { return head >= x.first && head < x.first + x.heads; });
  return found == info.layers.end() ? nullptr : &*found;
}

/// The problem on another head of its file. If it used all tokens of its head, it uses all of the other one: sequences differ
/// in length.
inline Problem on_head(const Problem& problem, const TensorFileInfo& info, int head) {
  const LayerEntry *const now = layer_of(info, problem.input.index), *const next = layer_of(info, head);
  const bool whole = now != nullptr && now->shape == shape_of(problem);
  return whole ? with_shape(with_head(problem, head), next->shape) : fitted(with_head(problem, head), next->shape);
}

/// Contents of a file with a kernel's output, for its head picker.
struct OutputFileInfo {
  std::string file;
  int heads = 0;
};

/// Contents of one or several files whose path is being typed.
struct FileContent {
  std::string files;                       ///< the typed text
  std::vector<std::string> tensors{};      ///< "q: [8, 1024, 64] F16"
  std::vector<std::string> completions{};  ///< paths that complete it: files of the wanted kind, and folders, ending in '/'
};

/// Parts of a call that a tensor of a file can be used for.
enum class CallPartName : std::uint8_t { q, k, v, o, d_o };
inline constexpr EnumArray<CallPartName> call_part_names{"Q", "K", "V", "O", "dO"};

/// A tensor of a file.
struct TensorEntry {
  std::string name;                     ///< "layers.7.self_attn.q_proj"
  std::string spec;                     ///< "FILE.safetensors:layers.7.self_attn.q_proj", or FILE if it holds one tensor
  std::string shape, type;              ///< "[8, 1024, 64]", "F16"
  std::string refusal{};                ///< one sentence why its numbers cannot be read; empty: they can
  std::optional<CallPartName> taken{};  ///< part of the call that uses it
  std::string why{};                    ///< reason for `taken`; empty: not taken
};
/// All tensors of a file.
struct TensorList {
  std::string file;                  ///< the requested file
  std::string all;                   ///< the files that hold the tensors
  std::vector<TensorEntry> tensors;  ///< sorted by name, numbers in names by value
  std::string problem{};             ///< one sentence why no Q, K and V are taken; empty: they are
};

/// Numbers of a tensor of a file.
struct TensorStatistics {
  std::string spec;  ///< `TensorEntry::spec`
  std::uint64_t count = 0, zeros = 0, nonfinite = 0;
  double least = 0, most = 0, mean = 0, rms = 0;  ///< numbers of the finite elements, if there are any
};

/// A device, and the reason if it cannot be used.
struct DeviceEntry {
  std::string spec;    ///< "cpu", "cuda:0"
  std::string name;    ///< "NVIDIA H200"
  std::string reason;  ///< one sentence why it cannot be chosen; empty: it can
};

/// A figure of the papers.
struct FigureEntry {
  std::string name, title, what;
};

/// Progress of a figure.
struct FigureProgress {
  std::string title;
  std::size_t done = 0, all = 0;  ///< points, or steps of a training; all 0: not begun
  double seconds_left = -1;       ///< negative: unknown
  bool trains = false;            ///< done and all count steps
};

/// A recent session file.
struct RecentSession {
  std::string file;
  std::string reason;  ///< one sentence why it cannot be opened; empty: it can
};

/// Session files: the current one and recent ones.
struct SessionFiles {
  std::string file;                      ///< current file; empty: none yet
  bool unsaved = false;                  ///< the session differs from this file, or from a new session
  std::string proposed{};                ///< proposed path if the session has no file yet
  std::vector<RecentSession> recent;     ///< newest first
  std::vector<RecentSession> tensors{};  ///< recently opened tensor files, newest first
  bool has_dialogs = false;              ///< the desktop has a file dialog
  bool asking = false;                   ///< a file dialog is open
};

/// A shipped experiment that shows one thing.
struct ProbeEntry {
  std::string name;      ///< name of its file
  std::string title;     ///< a few words
  std::string sentence;  ///< the thing to look for, and its effect
  Experiment experiment;
};
using ProbeEntries = std::shared_ptr<const std::vector<ProbeEntry>>;

/// A request for the small picture of an experiment.
struct GalleryQuestion {
  std::string key;  ///< identifies the answer
  Experiment experiment;

  friend bool operator==(const GalleryQuestion&, const GalleryQuestion&) = default;
};

/// Small picture of an experiment.
struct GalleryPicture {
  std::string key;
  double a_mean = 0, b_mean = 0;         ///< mean |error| against golden; may be NaN
  std::vector<std::int8_t> thumbnail{};  ///< format of `Pin::thumbnail`
  std::string problem{};                 ///< one sentence why there is no picture, or empty
};

}  // namespace attoscope::ui
