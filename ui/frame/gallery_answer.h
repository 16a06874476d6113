/// Small pictures of experiments, for the gallery.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/experiment/experiment.h"

namespace attoscope {

/// An experiment whose small picture is asked for.
struct GalleryQuestion {
  std::string key;  ///< name of the answer
  Experiment experiment;

  friend bool operator==(const GalleryQuestion&, const GalleryQuestion&) = default;
};

/// Small picture of an experiment.
struct GalleryPicture {
  std::string key;
  double a_mean = 0, b_mean = 0;         ///< mean |error| against golden; may be NaN
  std::vector<std::int8_t> thumbnail{};  ///< format of `Pin::thumbnail`
  std::string problem{};                 ///< one sentence why there is none, or empty
};

}  // namespace attoscope
