/// Captions of pictures on lesson pages.
#pragma once

#include <string>

#include "ui/frame/lesson.h"

namespace attoscope {

/// "The plot shows mean |error|, a over block_k. Here n is 1024 and policy is eager."
std::string caption_of(const LessonView& view);

/// The caption and the line of text in the picture, for screen readers.
std::string description_of(const LessonView& view, const std::string& said);

/// The text with an initial capital and a final full stop.
std::string as_sentence(std::string text);

}  // namespace attoscope
