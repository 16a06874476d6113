/// Small pictures of the gallery, computed one after the other on a thread and kept.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "app/threads/worker.h"
#include "kernels/compute.h"
#include "ui/frame/gallery_answer.h"

namespace attoscope {

/// Errors and small picture of some rows of the experiment. A failure is a sentence in it; throws Stopped.
GalleryPicture gallery_picture(const GalleryQuestion& question, const Cancelled& cancelled = {});

class GalleryDesk {
 public:
  /// The thread calls `published` whenever `update` has something to take.
  explicit GalleryDesk(std::function<void()> published);

  /// Computes the unknown pictures.
  void ask(const std::vector<GalleryQuestion>& questions);
  /// Takes new pictures.
  void update();
  /// Input of the panels.
  GalleryView view() const { return {found_, worker_.busy()}; }

 private:
  using Found = std::shared_ptr<const std::vector<GalleryPicture>>;
  /// Questions, and the pictures known before.
  struct Asked {
    std::vector<GalleryQuestion> questions;
    Found known;
  };
  std::vector<GalleryQuestion> asked_;
  Found found_;
  Worker<Asked, Found> worker_;  ///< last, so that it joins before anything it uses is destroyed
};

}  // namespace attoscope
