/// Sentences about the pictures of lesson pages.
#pragma once

#include <string>

#include "ui/frame/lesson.h"

namespace attoscope {

/// "The plot shows mean |error|, a over block_k. Here n is 1024 and policy is eager."
std::string caption_of(const LessonView& view);

/// The caption and the line that the picture says about itself, for those who cannot see it.
std::string description_of(const LessonView& view, const std::string& said);

/// The text with a capital at its beginning and a full stop at its end.
std::string as_sentence(std::string text);

}  // namespace attoscope
