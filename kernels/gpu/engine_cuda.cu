// The engine of GPUs: rows split among them, launches in slices, inputs and outputs that stay on the GPU.
#include <algorithm>
#include <array>
#include <exception>
#include <functional>
#include <limits>
#include <mutex>
#include <span>
#include <thread>

#include "kernels/experiment/matrix.h"
#include "kernels/gpu/deviation_cuda.h"
#include "kernels/gpu/device_matrices.h"
#include "kernels/gpu/engine.h"
#include "kernels/gpu/input_copies.h"
#include "kernels/gpu/launch_pace.h"
#include "kernels/gpu/simulate_cuda.h"

namespace attoscope {
namespace {

/// How long a launch may hold a GPU: one that draws a screen is needed for the next frame, another only has to react to
/// cancelling.
constexpr float display_limit_ms = 5, other_limit_ms = 40;

float limit_ms(int device) {
  const auto known = std::ranges::find(cuda_devices(), device, &DeviceInfo::index);
  return known != cuda_devices().end() && known->draws ? display_limit_ms : other_limit_ms;
}

int multiprocessors() {
  int device = 0, count = 0;
  check(cudaGetDevice(&device));
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  return count;
}

/// One GPU's share of the work; made, used and destroyed where that GPU is current.
class Gpu {
 public:
  explicit Gpu(int device) : device_(device), multiprocessors_(multiprocessors()), reached_(1) {
    launches_.limit_ms = limit_ms(device);
  }

  int device() const { return device_; }
  const Stream& stream() const { return stream_; }
  const LaunchTimes& launches() const { return launches_; }

  /// Runs [first, first + rows.size()) of the computed rows in launches; `launch(job, slice, notes, stream)` is of `shape`.
  template <class T, class Launch>
  void run(const Job<T>& job, std::uint64_t inputs, std::span<const int> rows, int first, const BlockShape& shape,
           Launch launch, const DeviceNotes& notes, double* out, const StopSign& stop) {
    const CopiedJob<T, Buffer<char>> mine =
        inputs_.of(job, inputs, [&](const char* host, std::size_t bytes) { return uploaded(host, bytes); });
    rows_.reserve(rows.size());
    rows_.upload(rows.data(), rows.size(), stream_);
    const LaunchPace pace(multiprocessors_, shape.held, launches_.limit_ms, shape.work);
    in_launches(static_cast<int>(rows.size()), shape.rows, blocks_that_fit(shape), pace, stop, [&](const LaunchPart& part) {
      if (part.range.from == 0) scratch_.reserve(static_cast<std::size_t>(part.blocks) * shape.scratch_bytes);
      const DeviceSlice slice{rows_.get() + part.first,
                              part.rows,
                              first + part.first,
                              part.range,
                              scratch_.get(),
                              out + static_cast<std::ptrdiff_t>(part.first) * job.d_v,
                              reached_.get()};
      return timed([&] { launch(mine.job, slice, notes, stream_); });
    });
  }

  /// Cleared arrays for what launches record.
  template <class T>
  DeviceNotes notes_for(const RunRecorder<T>& recorder) {
    moved_ = Buffer<unsigned long long>(static_cast<std::size_t>(recorder.tiles()));
    m_ = Buffer<float>(static_cast<std::size_t>(recorder.tiles()) * static_cast<std::size_t>(recorder.held()));
    moved_.clear(stream_);
    check(cudaMemsetAsync(m_.get(), 0xff, m_.bytes(), stream_.get()));  // a NaN that no arithmetic gives
    return {moved_.get(), m_.get(), recorder.row_step(), recorder.held()};
  }
  /// Adds what was recorded to `moved` and `m`.
  void collect_notes(std::vector<std::int64_t>& moved, std::vector<float>& m) const {
    std::vector<unsigned long long> my_moved(moved_.size());
    std::vector<float> my_m(m_.size());
    moved_.download(my_moved.data(), 0, my_moved.size(), stream_);
    m_.download(my_m.data(), 0, my_m.size(), stream_);
    stream_.wait();
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += static_cast<std::int64_t>(my_moved[i]);
    for (std::size_t i = 0; i < m.size(); ++i)
      if (bit_as<std::uint32_t>(my_m[i]) != 0xffffffffu) m[i] = my_m[i];
  }

 private:
  /// The end of the launch, once it is complete.
  template <class Launch>
  LaunchEnd timed(Launch launch) {
    unsigned long long reached = 0;
    reached_.clear(stream_);
    start_.record(stream_);
    launch();
    end_.record(stream_);
    reached_.download(&reached, 0, 1, stream_);
    stream_.wait();
    const float ms = end_.since(start_);
    ++launches_.count;
    launches_.longest_ms = std::max(launches_.longest_ms, ms);
    return {static_cast<std::int64_t>(reached), ms};
  }

  Buffer<char> uploaded(const char* host, std::size_t bytes) const {
    Buffer<char> copy(bytes);
    copy.upload(host, bytes, stream_);
    stream_.wait();  // the owner may free the array if this run is stopped
    return copy;
  }

  /// Blocks whose scratch takes a quarter of the GPU's free memory; at least 1, for which the allocation may fail.
  int blocks_that_fit(const BlockShape& shape) const {
    std::size_t free = 0, all = 0;
    check(cudaMemGetInfo(&free, &all));
    const std::size_t room = std::max(scratch_.bytes(), free / 4);
    return static_cast<int>(std::clamp<std::size_t>(room / shape.scratch_bytes, 1, 1 << 20));
  }

  int device_, multiprocessors_;
  LaunchTimes launches_;
  Stream stream_;
  Event start_, end_;
  Buffer<unsigned long long> reached_;
  InputCopies<Buffer<char>> inputs_;
  Buffer<int> rows_;
  Buffer<char> scratch_;
  Buffer<unsigned long long> moved_;
  Buffer<float> m_;
};

/// work(i) for 0 .. count - 1, each in its own thread; rethrows the first exception.
void side_by_side(std::size_t count, const std::function<void(std::size_t)>& work) {
  if (count == 1) return work(0);
  std::vector<std::exception_ptr> errors(count);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < count; ++i)
      threads.emplace_back([&, i] {
        try {
          work(i);
        } catch (...) {
          errors[i] = std::current_exception();
        }
      });
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

/// Matrices that are no longer shown. Freeing them waits for all work of their GPU, so that the engine's thread does it and not
/// that of the window.
class Retired {
 public:
  void add(Buffer<double> matrix) {
    const std::scoped_lock lock(mutex_);
    matrices_.push_back(std::move(matrix));
  }
  void free() {
    std::vector<Buffer<double>> matrices;
    const std::scoped_lock lock(mutex_);
    matrices.swap(matrices_);
  }

 private:
  std::mutex mutex_;
  std::vector<Buffer<double>> matrices_;
};

class GpuEngine final : public Engine {
 public:
  explicit GpuEngine(const std::vector<int>& devices) {
    for (const int device : devices) {
      use_device(device);
      gpus_.push_back(std::make_unique<Gpu>(device));
    }
  }
  ~GpuEngine() override {
    for (std::unique_ptr<Gpu>& gpu : gpus_) {
      ignore(cudaSetDevice(gpu->device()));
      gpu.reset();
    }
  }

  std::string name() const override {
    std::string text;
    for (const auto& gpu : gpus_) text += (text.empty() ? "cuda:" : ",cuda:") + std::to_string(gpu->device());
    const auto found = std::ranges::find(cuda_devices(), gpus_.front()->device(), &DeviceInfo::index);
    return found == cuda_devices().end() ? text : text + " " + found->name;
  }

  Matrix run(const Job<float>& job, std::uint64_t inputs, const std::vector<int>& rows, Output output,
             RunRecorder<float>* recorder, const StopSign& stop) override {
    return run_noted(job, inputs, rows, output, recorder, stop);
  }
  Matrix run(const Job<double>& job, std::uint64_t inputs, const std::vector<int>& rows, Output output,
             RunRecorder<double>* recorder, const StopSign& stop) override {
    return run_noted(job, inputs, rows, output, recorder, stop);
  }
  Matrix run_double_double(const Job<double>& job, std::uint64_t inputs, const std::vector<int>& rows,
                           const StopSign& stop) override {
    return split(job, rows, Output::golden, stop, [&](Gpu& gpu, std::span<const int> mine, int first, double* out) {
      const BlockShape shape = block_shape_double_double(job);
      const auto launch_slice = [&](const Job<double>& j, const DeviceSlice& slice, const DeviceNotes&, const Stream& stream) {
        launch_double_double(j, shape, slice, stream);
      };
      gpu.run(job, inputs, mine, first, shape, launch_slice, {}, out, stop);
    });
  }

  void take(const Matrix& matrix, Output output) override {
    use_device(gpus_.front()->device());
    Buffer<double> copy(matrix.values.size());
    copy.upload(matrix.values.data(), matrix.values.size(), stream());
    stream().wait();
    hold(std::move(copy), matrix, output);
  }

  Moments moments(Output x, const StopSign& stop) override {
    stop.check();
    use_device(gpus_.front()->device());
    return meter_.moments(at(x).values.get(), at(x).count, stream());
  }

  std::vector<DeviationSums> sums(Output x, Output y, const DeviationRule& rule, const StopSign& stop) override {
    stop.check();
    use_device(gpus_.front()->device());
    return meter_.sums(at(x).values.get(), at(y).values.get(), at(x).count, rule, stream());
  }

  std::vector<double> gaps(Output x, Output y, const StopSign& stop) override {
    stop.check();
    use_device(gpus_.front()->device());
    for (const Output output : {x, y}) sort(at(output));
    return meter_.gaps(at(x).keys.get(), at(y).keys.get(), at(x).count, stream());
  }

  LaunchTimes launches() const override {
    LaunchTimes all = gpus_.front()->launches();
    for (std::size_t i = 1; i < gpus_.size(); ++i) {
      all.count += gpus_[i]->launches().count;
      all.longest_ms = std::max(all.longest_ms, gpus_[i]->launches().longest_ms);
    }
    return all;
  }

  std::shared_ptr<const DeviceMatrices> matrices(const Format& format, double golden_rms) override {
    auto m = std::make_shared<DeviceMatrices>();
    m->device = gpus_.front()->device();
    m->rows = at(Output::golden).rows;
    m->cols = at(Output::golden).cols;
    m->golden = at(Output::golden).values;
    m->a = at(Output::a).values;
    m->b = at(Output::b).values;
    m->golden_rms = golden_rms;
    m->format = format;
    return m;
  }

 private:
  /// One of the result's matrices on the first GPU. A viewer may keep it longer than this engine lives.
  struct OnGpu {
    std::shared_ptr<const double> values;
    std::size_t count = 0;
    int rows = 0, cols = 0;
    Buffer<std::uint64_t> keys;
    bool sorted = false;  ///< keys are of these values
  };

  OnGpu& at(Output output) { return outputs_[static_cast<std::size_t>(output)]; }
  const Stream& stream() const { return gpus_.front()->stream(); }

  void hold(Buffer<double> values, const Matrix& shape, Output output) {
    const auto retire = [retired = std::weak_ptr(retired_)](Buffer<double>* matrix) {
      const std::unique_ptr<Buffer<double>> owned(matrix);
      if (const auto engine = retired.lock()) engine->add(std::move(*owned));
    };
    const std::shared_ptr<Buffer<double>> owner(new Buffer<double>(std::move(values)), retire);
    OnGpu& held = at(output);
    held.values = {owner, owner->get()};
    held.count = shape.values.size();
    held.rows = shape.rows;
    held.cols = shape.cols;
    held.sorted = false;
  }

  void sort(OnGpu& x) {
    if (x.sorted) return;
    meter_.sort(x.values.get(), x.count, x.keys, stream());
    x.sorted = true;
  }

  template <class T>
  Matrix run_noted(const Job<T>& job, std::uint64_t inputs, const std::vector<int>& rows, Output output,
                   RunRecorder<T>* recorder, const StopSign& stop) {
    Matrix m = split(job, rows, output, stop, [&](Gpu& gpu, std::span<const int> mine, int first, double* out) {
      const BlockShape shape = block_shape(job);
      const auto launch_slice = [&](const Job<T>& j, const DeviceSlice& slice, const DeviceNotes& notes, const Stream& stream) {
        launch(j, shape, slice, notes, stream);
      };
      const DeviceNotes notes = recorder ? gpu.notes_for(*recorder) : DeviceNotes{};
      gpu.run(job, inputs, mine, first, shape, launch_slice, notes, out, stop);
    });
    if (recorder) hand_over(*recorder);
    return m;
  }

  template <class T>
  void hand_over(RunRecorder<T>& recorder) {
    std::vector<std::int64_t> moved(static_cast<std::size_t>(recorder.tiles()));
    std::vector<float> m(static_cast<std::size_t>(recorder.tiles()) * static_cast<std::size_t>(recorder.held()),
                         std::numeric_limits<float>::quiet_NaN());
    for (const auto& gpu : gpus_) {
      use_device(gpu->device());
      gpu->collect_notes(moved, m);
    }
    recorder.take_in(moved, std::move(m));
  }

  /// part(gpu, rows, index of the first, output there) for every GPU's rows; all of them together.
  template <class T, class Part>
  Matrix split(const Job<T>& job, const std::vector<int>& rows, Output output, const StopSign& stop, Part part) {
    const std::size_t count = rows.size(), d = static_cast<std::size_t>(job.d_v), per_gpu = (count - 1) / gpus_.size() + 1;
    retired_->free();
    Matrix whole{static_cast<int>(count), job.d_v, zeros<double>(count * d, stop)};
    Buffer<double> first_part;
    side_by_side(gpus_.size(), [&](std::size_t i) {
      const std::size_t first = std::min(count, i * per_gpu), end = std::min(count, first + per_gpu);
      Gpu& gpu = *gpus_[i];
      use_device(gpu.device());
      Buffer<double> out(std::max<std::size_t>(1, (end - first) * d));
      part(gpu, std::span(rows).subspan(first, end - first), static_cast<int>(first), out.get());
      out.download(whole.values.data() + first * d, 0, (end - first) * d, gpu.stream());
      gpu.stream().wait();
      if (gpus_.size() == 1) first_part = std::move(out);
    });
    if (gpus_.size() == 1) {
      hold(std::move(first_part), whole, output);
    } else {
      take(whole, output);
    }
    return whole;
  }

  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::shared_ptr<Retired> retired_ = std::make_shared<Retired>();
  DeviceMeter meter_;
  std::array<OnGpu, output_count> outputs_;
};

}  // namespace

std::unique_ptr<Engine> gpu_engine(const std::vector<int>& devices) { return std::make_unique<GpuEngine>(devices); }

}  // namespace attoscope
