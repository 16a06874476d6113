/// The small pictures of the gallery, found one after the other on a thread of their own and kept.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "app/threads/worker.h"
#include "kernels/compute.h"
#include "ui/frame/gallery_answer.h"

namespace attoscope {

/// Some rows of the experiment as a small picture with its errors. Says in a sentence what fails; throws Stopped.
GalleryPicture gallery_picture(const GalleryQuestion& question, const Cancelled& cancelled = {});

class GalleryDesk {
 public:
  /// `published` is called from the thread whenever `update` has something to take.
  explicit GalleryDesk(std::function<void()> published);

  /// Finds the pictures that are not known yet.
  void ask(const std::vector<GalleryQuestion>& questions);
  /// Takes note of what was found.
  void update();
  /// What the panels are told.
  GalleryView view() const { return {found_, worker_.busy()}; }

 private:
  using Found = std::shared_ptr<const std::vector<GalleryPicture>>;
  /// What is asked, and what is known of it.
  struct Asked {
    std::vector<GalleryQuestion> questions;
    Found known;
  };
  std::vector<GalleryQuestion> asked_;
  Found found_;
  Worker<Asked, Found> worker_;  ///< last: its thread joins before anything it uses goes away
};

}  // namespace attoscope
