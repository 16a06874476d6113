#include <emscripten.h>

#include "app/explore/explorer.h"
#include "app/explore/model_controller.h"
#include "app/files/paths.h"
#include "app/papers/figure_maker.h"
#include "app/sweep/sweeper.h"
#include "app/train/train_controller.h"

/// Makes the objects that answer questions, in a Web Worker.
extern "C" EMSCRIPTEN_KEEPALIVE void attoscope_serve() {
  using namespace attoscope::app;
  static const MainAnswer main_answer({}, attoscope::compute);
  static const SideAnswers side_answers({});
  static const LessonAnswerer lessons({});
  static const ModelController model({}, data_directory());
  static const TrainController train({}, {data_directory()});
  static const Sweeper sweeper({}, default_point_cache());
  static const FigureMaker figures(pictures_directory(), default_point_cache(), {});
}
