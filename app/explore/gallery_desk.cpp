#include "app/explore/gallery_desk.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "app/tensors/tensors.h"
#include "kernels/experiment/result.h"
#include "kernels/experiment/rules.h"
#include "ui/picture/thumbnail.h"

namespace attoscope {
namespace {

/// Rows in a small picture.
constexpr int most_rows = 128;

using Pictures = std::vector<GalleryPicture>;

bool is_known(const Pictures& pictures, const GalleryQuestion& q) {
  return std::ranges::find(pictures, q.key, &GalleryPicture::key) != pictures.end();
}

}  // namespace

GalleryPicture gallery_picture(const GalleryQuestion& question, const Cancelled& cancelled) {
  GalleryPicture picture{.key = question.key};
  Experiment e = question.experiment;
  int& rows = e.problem.rows;
  rows = std::min(rows > 0 ? rows : e.problem.n, most_rows);
  try {
    load_tensors(e.problem.input);
    const Result r = compute(e, {.cancelled = cancelled});
    picture.a_mean = r.a_error.mean_abs;
    picture.b_mean = r.b_error.mean_abs;
    picture.thumbnail = thumbnail_of(r);
  } catch (const Stopped&) {
    throw;
  } catch (const std::exception& error) {
    picture.problem = error.what();
  }
  return picture;
}

GalleryDesk::GalleryDesk(std::function<void()> published)
    : worker_(
          [](const Asked& asked, const auto& cancelled, const auto& publish) -> Found {
            Found found = asked.known ? asked.known : std::make_shared<const Pictures>();
            for (const GalleryQuestion& q : asked.questions) {
              if (is_known(*found, q)) continue;
              Pictures more = *found;
              more.push_back(gallery_picture(q, cancelled));
              publish(found = std::make_shared<const Pictures>(std::move(more)));
            }
            return found;
          },
          std::move(published)) {}

void GalleryDesk::ask(const std::vector<GalleryQuestion>& questions) {
  if (questions == asked_) return;
  asked_ = questions;
  worker_.submit({questions, found_});
}

void GalleryDesk::update() {
  if (std::optional<Found> found = worker_.take()) found_ = std::move(*found);
}

}  // namespace attoscope
