#include "app/explore/file_reader.h"

#include <exception>
#include <new>
#include <utility>

#include "app/files/files.h"
#include "app/threads/job.h"

namespace attoscope::app {

void FileReader::work(Task& task, const Cancelled& cancelled) {
  try {
    task.then = task.read([&](double share) {
      task.share = share;
      return cancelled();
    });
  } catch (const NotFetched&) {
    task.early = true;
    return;
  } catch (const std::bad_alloc&) {
    task.failure = "There is not enough memory for this.";
  } catch (const std::exception& error) {
    task.failure = error.what();
  }
  task.done = true;
}

void FileReader::read(Read read, Failed failed) {
  if (tasks_.empty()) since_ = Clock::now();
  auto task = std::make_shared<Task>();
  task->read = std::move(read);
  task->failed = std::move(failed);
  tasks_.push_back(task);
  begin(task);
}

void FileReader::begin(const std::shared_ptr<Task>& task) {
  jobs_.add([task](const Cancelled& cancelled) {
    work(*task, cancelled);
    return std::string();
  });
}

void FileReader::update(ui::Session& session) {
  while (jobs_.take()) {
  }
  for (const std::shared_ptr<Task>& task : tasks_)
    if (task->early.exchange(false)) begin(task);
  while (!tasks_.empty() && tasks_.front()->done) {
    const std::shared_ptr<Task> task = tasks_.front();
    tasks_.pop_front();  // first, as its result may read more
    if (task->failure.empty()) task->failure = failure_of([&] { task->then(session); });
    if (!task->failure.empty()) task->failed(task->failure);
  }
}

void FileReader::cancel() {
  jobs_.stop();
  for (const std::shared_ptr<Task>& task : std::exchange(tasks_, {})) task->failed("Stopped before it was read.");
}

}  // namespace attoscope::app
