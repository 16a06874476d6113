#include "app/keeper.h"

#include <epoxy/gl.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "app/files.h"

namespace attoscope {
namespace {
namespace fs = std::filesystem;

/// "attoscope-heat-map-3" in the directory, such that neither a PNG nor a CSV of that name is there.
fs::path free_name(const fs::path& directory, std::string name) {
  std::ranges::replace(name, ' ', '-');
  for (int i = 1;; ++i) {
    const fs::path path = directory / ("attoscope-" + name + "-" + std::to_string(i));
    std::error_code error;
    const auto taken = [&](const char* ending) { return fs::exists(path.string() + ending, error); };
    if (!taken(".png") && !taken(".csv")) return path;
  }
}

/// The rectangle of the window, or all of it, in pixels that are there.
Picture picture_of(const Keepsake& wanted) {
  const ImDrawData& data = *ImGui::GetDrawData();
  const ImVec2 scale = data.FramebufferScale;
  const int width = static_cast<int>(data.DisplaySize.x * scale.x), height = static_cast<int>(data.DisplaySize.y * scale.y);
  if (!(wanted.x1 > wanted.x0 && wanted.y1 > wanted.y0)) return read_back(0, 0, width, height);
  const auto pixel = [](float at, float origin, float by, int most) {
    return std::clamp(static_cast<int>(std::lround((at - origin) * by)), 0, most);
  };
  const int x0 = pixel(wanted.x0, data.DisplayPos.x, scale.x, width), x1 = pixel(wanted.x1, data.DisplayPos.x, scale.x, width);
  const int y0 = pixel(wanted.y0, data.DisplayPos.y, scale.y, height), y1 = pixel(wanted.y1, data.DisplayPos.y, scale.y, height);
  if (x1 <= x0 || y1 <= y0) throw std::runtime_error("Nothing of the " + wanted.name + " is on screen, so no picture of it was saved.");
  return read_back(x0, height - y1, x1 - x0, y1 - y0);
}

}  // namespace

Picture read_back(int x, int y, int width, int height) {
  const std::size_t row = static_cast<std::size_t>(width) * 3;
  std::vector<std::uint8_t> upside_down(row * static_cast<std::size_t>(height));
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(x, y, width, height, GL_RGB, GL_UNSIGNED_BYTE, upside_down.data());
  Picture picture{width, height, std::vector<std::uint8_t>(upside_down.size())};
  for (int i = 0; i < height; ++i)
    std::memcpy(&picture.rgb[row * static_cast<std::size_t>(i)], &upside_down[row * static_cast<std::size_t>(height - 1 - i)], row);
  return picture;
}

void Keeper::hide_mouse() {
  if (!wanted_) return;
  mouse_ = std::exchange(ImGui::GetIO().MousePos, ImVec2{-FLT_MAX, -FLT_MAX});
}

void Keeper::take(Explorer& explorer) {
  if (!mouse_) return;
  ImGui::GetIO().MousePos = *std::exchange(mouse_, std::nullopt);
  try {
    explorer.note(save());
  } catch (const std::exception& error) {
    explorer.say(error.what());
  }
  wanted_.reset();
}

std::string Keeper::save() const {
  const fs::path path = free_name(directory_.empty() ? fs::current_path() : fs::path(directory_), wanted_->name);
  StagedFiles files;
  files.make_directory(path.parent_path().string());
  files.add(path.string() + ".png", to_png(picture_of(*wanted_)));
  if (!wanted_->csv.empty()) files.add(path.string() + ".csv", wanted_->csv);
  files.commit();
  return "Saved " + path.string() + (wanted_->csv.empty() ? ".png." : ".png and .csv.");
}

}  // namespace attoscope
