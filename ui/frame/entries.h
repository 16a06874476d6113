/// What the app lists for the panels: tensor files, devices, figures of the papers, session files.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/experiment/shape.h"

namespace attoscope {

/// A layer of a tensor file, or one call.
struct LayerEntry {
  std::string name;          ///< "layer 7"; empty where the file has one
  int first = 0, heads = 0;  ///< its heads among those of the file
  int kv_heads = 0;
  AttentionShape shape;  ///< of a head
  std::string scales{};  ///< what its tensors are multiplied by: "k per head, v per token"; "" nothing
};

/// What a tensor file offers, for the head picker.
struct TensorFileInfo {
  std::string file;
  int heads = 0;
  AttentionShape shape;                   ///< of the first layer's heads; n is 0 where it is not known
  std::vector<std::string> head_names{};  ///< "layer 7, head 7"
  bool has_output = false;                ///< it holds a kernel's output, too
  std::vector<LayerEntry> layers{};       ///< one or more
  std::vector<std::string> left_out{};    ///< a sentence for each layer that fits nothing, and for scales that are not used
};

/// What lies in a file of a kernel's output, for its head picker.
struct OutputFileInfo {
  std::string file;
  int heads = 0;
};

/// What lies in a file, or in several, that somebody is about to open.
struct FileContent {
  std::string files;                 ///< as typed
  std::vector<std::string> tensors;  ///< "q: [8, 1024, 64] F16"
};

/// A device that a question can be computed on, or why not.
struct DeviceEntry {
  std::string spec;    ///< "cpu", "cuda:0"
  std::string name;    ///< "NVIDIA H200"
  std::string reason;  ///< one sentence that says why it cannot be chosen; empty: it can
};

/// An experiment of the papers that can be drawn.
struct FigureEntry {
  std::string name, title, what;
};

/// A figure of the papers on its way.
struct FigureProgress {
  std::string title;
  std::size_t done = 0, all = 0;  ///< points, or steps of a training; all 0: not begun
  double seconds_left = -1;       ///< negative: unknown
  bool trains = false;            ///< they are steps
};

/// A session file that was open before.
struct RecentSession {
  std::string file;
  std::string reason;  ///< one sentence that says why it cannot be opened; empty: it can
};

/// Where sessions are kept.
struct SessionFiles {
  std::string file;                   ///< that is open; empty: none yet
  bool unsaved = false;               ///< the session is no longer what this file, or a new session, held
  std::vector<RecentSession> recent;  ///< newest first
  bool has_dialogs = false;           ///< the desktop has a program that asks for files
  bool asking = false;                ///< and it is doing so
};

}  // namespace attoscope
