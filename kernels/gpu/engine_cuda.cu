// The engine of GPUs: divides rows among them, launches in slices, keeps inputs and outputs on the GPU.
#include <algorithm>
#include <array>
#include <functional>
#include <future>
#include <limits>
#include <optional>
#include <span>

#include "kernels/experiment/matrix.h"
#include "kernels/gpu/deviation_cuda.h"
#include "kernels/gpu/device_matrices.h"
#include "kernels/gpu/engine.h"
#include "kernels/gpu/gradients_cuda.h"
#include "kernels/gpu/one_gpu.h"

namespace attoscope {
namespace {

/// Longest time that a launch may occupy a GPU. A GPU that drives a screen is needed for the next frame; any other only has to
/// react to cancelling.
constexpr float display_limit_ms = 5, other_limit_ms = 40;

float limit_ms(int device) {
  const auto known = std::ranges::find(cuda_devices(), device, &DeviceInfo::index);
  return known != cuda_devices().end() && known->draws ? display_limit_ms : other_limit_ms;
}

/// Calls work(i) for 0 .. count - 1, each in its own thread; rethrows the first exception.
void side_by_side(std::size_t count, const std::function<void(std::size_t)>& work) {
  if (count == 1) return work(0);
  std::vector<std::future<void>> parts;
  for (std::size_t i = 0; i < count; ++i) parts.push_back(std::async(std::launch::async, std::cref(work), i));
  for (std::future<void>& part : parts) part.get();  // if one throws, the destructors wait for the others
}

/// Backward passes on one GPU. Loads kernels and allocates memory at first use.
class OneGpuGradients final : public GradientDevice {
 public:
  explicit OneGpuGradients(int device) : device_(device) {}

  void forward(const Job<float>& job, int queries, Matrix& output, RowStates<float>& states, const StopSign& stop) override {
    in_float().forward(job, queries, output, states, stop);
  }
  void forward(const Job<double>& job, int queries, Matrix& output, RowStates<double>& states, const StopSign& stop) override {
    in_double().forward(job, queries, output, states, stop);
  }
  void run(const GradientPass<float>& pass, Gradients& g, const StopSign& stop) override { in_float().run(pass, g, stop); }
  void run(const GradientPass<double>& pass, Gradients& g, const StopSign& stop) override { in_double().run(pass, g, stop); }

 private:
  GpuGradients<float>& in_float() {
    use_device(device_);
    if (!single_) single_ = gpu_gradients_in_float(limit_ms(device_));
    return *single_;
  }
  GpuGradients<double>& in_double() {
    use_device(device_);
    if (!twice_) twice_ = gpu_gradients_in_double(limit_ms(device_));
    return *twice_;
  }

  int device_;
  std::unique_ptr<GpuGradients<float>> single_;
  std::unique_ptr<GpuGradients<double>> twice_;
};

class GpuEngine final : public Engine {
 public:
  explicit GpuEngine(const std::vector<int>& devices) {
    for (const int device : devices) {
      use_device(device);
      gpus_.push_back(std::make_unique<OneGpu>(device, limit_ms(device)));
    }
    use_device(devices.front());
    meter_.emplace(first().stream(), first().staging());
    gradients_.emplace(devices.front());
  }
  ~GpuEngine() override {
    for (std::unique_ptr<OneGpu>& gpu : gpus_) {
      ignore(cudaSetDevice(gpu->device()));
      ignore(cudaStreamSynchronize(gpu->stream().get()));  // copies to its page-locked memory may still run
    }
    shares_.clear();
    meter_.reset();
    gradients_.reset();
    outputs_ = {};
    for (std::unique_ptr<OneGpu>& gpu : gpus_) gpu.reset();
  }

  std::string name() const override {
    std::string text;
    for (const auto& gpu : gpus_) text += (text.empty() ? "cuda:" : ",cuda:") + std::to_string(gpu->device());
    const auto found = std::ranges::find(cuda_devices(), first().device(), &DeviceInfo::index);
    return found == cuda_devices().end() ? text : text + " " + found->name;
  }

  void begin() override {
    for (const auto& gpu : gpus_) {
      use_device(gpu->device());
      gpu->begin();
    }
    shares_.clear();
    meter_->begin();
    answers_ = {};
    late_.clear();
    for (OnGpu& x : outputs_) x.staged = nullptr;
  }
  void wait(const StopSign& stop) override {
    for (const auto& gpu : gpus_) {
      use_device(gpu->device());
      gpu->wait();
    }
    shares_.clear();
    stop.check();
    meter_->collect(answers_);
    for (const std::function<void()>& hand_over : std::exchange(late_, {})) hand_over();
  }

  void run(const Job<float>& job, std::uint64_t inputs, const std::vector<int>& rows, Output output,
           RunRecorder<float>* recorder, RowStates<float>* states, const StopSign& stop) override {
    run_noted(job, inputs, rows, output, KernelKind::in_float, recorder, states, stop);
  }
  void run(const Job<double>& job, std::uint64_t inputs, const std::vector<int>& rows, Output output,
           RunRecorder<double>* recorder, RowStates<double>* states, const StopSign& stop) override {
    run_noted(job, inputs, rows, output, KernelKind::in_double, recorder, states, stop);
  }
  void run_double_double(const Job<double>& job, std::uint64_t inputs, const std::vector<int>& rows,
                         const StopSign& stop) override {
    split(job, rows, Output::golden, [&](OneGpu& gpu, std::span<const int> mine, int first_row, double* out) {
      const BlockShape shape = block_shape_double_double(job);
      const auto launch_slice = [&](const Job<double>& j, const DeviceSlice& slice, const DeviceNotes&, const Stream& stream) {
        launch_double_double(j, shape, slice, stream);
      };
      gpu.run(job, inputs, mine, first_row, Output::golden, KernelKind::in_double_double, shape, launch_slice, {}, out, stop);
    });
  }

  void take(const Matrix& matrix, Output output) override {
    use_device(first().device());
    hold(first().uploaded(matrix.values.data(), matrix.values.size() * sizeof(double)), matrix.rows, matrix.cols, output);
  }

  void send(Output x) override {
    OnGpu& held = at(x);
    const std::size_t bytes = held.count() * sizeof(double);
    if (bytes > Staging::most_bytes) return;
    use_device(first().device());
    char* const staged = first().staging().take(bytes);
    check(cudaMemcpyAsync(staged, held.values.get(), bytes, cudaMemcpyDeviceToHost, first().stream().get()));
    held.staged = reinterpret_cast<const double*>(staged);
  }

  void measure(Output x, const StopSign& stop) override {
    stop.check();
    use_device(first().device());
    meter_->measure(x, at(x).values.get(), at(x).count());
  }
  void compare(Output x, Output y, const Format& main, bool sorts, const StopSign& stop) override {
    stop.check();
    use_device(first().device());
    meter_->compare(x, at(x).values.get(), y, at(y).values.get(), at(x).count(), main, sorts);
  }

  Matrix output(Output x) override {
    const OnGpu& held = at(x);
    Matrix whole{held.rows, held.cols, {}};
    if (held.staged) {
      whole.values.assign(held.staged, held.staged + held.count());
    } else {  // too large to be staged
      whole.values.resize(held.count());
      use_device(first().device());
      check(cudaMemcpyAsync(whole.values.data(), held.values.get(), held.count() * sizeof(double), cudaMemcpyDeviceToHost,
                            first().stream().get()));
      first().stream().wait();
    }
    return whole;
  }
  const Moments& moments(Output x) const override { return answers_.moments[static_cast<std::size_t>(x)]; }
  const ComparisonSums& comparison(Output x, Output y) const override {
    return answers_.comparisons[static_cast<std::size_t>(x)][static_cast<std::size_t>(y)];
  }
  double run_ms(Output x) const override {
    double longest = 0;
    for (const auto& gpu : gpus_) longest = std::max(longest, gpu->run_ms(x));
    return longest;
  }

  LaunchTimes launches() const override {
    LaunchTimes all = gpus_.front()->launches();
    for (std::size_t i = 1; i < gpus_.size(); ++i) {
      all.count += gpus_[i]->launches().count;
      all.longest_ms = std::max(all.longest_ms, gpus_[i]->launches().longest_ms);
    }
    return all;
  }

  GradientDevice& gradients() override { return *gradients_; }

  std::shared_ptr<const DeviceMatrices> matrices(const Format& format, double golden_rms) override {
    auto m = std::make_shared<DeviceMatrices>();
    m->device = first().device();
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
  /// One of the result's matrices on the first GPU. A viewer may keep it longer than the engine lives.
  struct OnGpu {
    std::shared_ptr<const double> values;
    int rows = 0, cols = 0;
    const double* staged = nullptr;  ///< copy on the host, valid after a wait; null if not sent
    std::size_t count() const { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols); }
  };

  OnGpu& at(Output output) { return outputs_[static_cast<std::size_t>(output)]; }
  OneGpu& first() const { return *gpus_.front(); }

  void hold(Pooled values, int rows, int cols, Output output) {
    const auto owner = std::make_shared<Pooled>(std::move(values));
    at(output) = {{owner, reinterpret_cast<const double*>(owner->get())}, rows, cols};
    meter_->changed(output);
  }

  template <class T>
  void run_noted(const Job<T>& job, std::uint64_t inputs, const std::vector<int>& rows, Output output, KernelKind kind,
                 RunRecorder<T>* recorder, RowStates<T>* states, const StopSign& stop) {
    const std::size_t tiles = recorder ? static_cast<std::size_t>(recorder->tiles()) : 0,
                      count = recorder ? tiles * static_cast<std::size_t>(recorder->held()) : 0;
    std::vector<const double*> arriving(rows.size());  // states of each GPU, at the index of its first row
    split(job, rows, output, [&](OneGpu& gpu, std::span<const int> mine, int first_row, double* out) {
      const BlockShape shape = block_shape(job);
      const auto launch_slice = [&](const Job<T>& j, const DeviceSlice& slice, const DeviceNotes& notes, const Stream& stream) {
        launch(j, shape, slice, notes, stream);
      };
      DeviceNotes notes = recorder ? gpu.notes_for(*recorder) : DeviceNotes{};
      if (states) notes.states = gpu.states_of(output, rows.size());
      gpu.run(job, inputs, mine, first_row, output, kind, shape, launch_slice, notes, out, stop);
      if (recorder) gpu.send_notes(tiles, count);
      const auto first = static_cast<std::size_t>(first_row);
      if (states) arriving[first] = gpu.sent_states(output, first, mine.size());
    });
    if (recorder) late_.push_back([this, recorder, tiles, count] { hand_over(*recorder, tiles, count); });
    if (states) late_.push_back([states, arriving, rows, n = job.queries] { hand_over(*states, n, rows, arriving); });
  }
  template <class T>
  static void hand_over(RowStates<T>& states, int n, const std::vector<int>& rows, const std::vector<const double*>& arriving) {
    for (std::vector<T>* x : {&states.m, &states.l}) x->assign(static_cast<std::size_t>(n), T(0));
    const double* next = nullptr;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (arriving[i] != nullptr) next = arriving[i];
      states.m[static_cast<std::size_t>(rows[i])] = static_cast<T>(*next++);
      states.l[static_cast<std::size_t>(rows[i])] = static_cast<T>(*next++);
    }
  }

  template <class T>
  void hand_over(RunRecorder<T>& recorder, std::size_t tiles, std::size_t count) {
    std::vector<std::int64_t> moved(tiles);
    std::vector<float> m(count, std::numeric_limits<float>::quiet_NaN());
    for (const auto& gpu : gpus_) gpu->add_notes(moved, m);
    recorder.take_in(moved, std::move(m));
  }

  /// Calls part(gpu, rows, index of the first row, output on that GPU) for every GPU's share of the rows. The first GPU keeps
  /// the output; other GPUs' shares are copied to it as soon as they are complete.
  template <class T, class Part>
  void split(const Job<T>& job, const std::vector<int>& rows, Output output, Part part) {
    const std::size_t count = rows.size(), d = static_cast<std::size_t>(job.d_v), per_gpu = (count - 1) / gpus_.size() + 1;
    use_device(first().device());
    Pooled whole = first().matrix(count * d);
    double* const out = reinterpret_cast<double*>(whole.get());
    std::vector<Share> shares(gpus_.size());
    side_by_side(gpus_.size(), [&](std::size_t i) {
      OneGpu& gpu = *gpus_[i];
      const std::size_t from = std::min(count, i * per_gpu), end = std::min(count, from + per_gpu);
      if (from == end) return;
      use_device(gpu.device());
      Share& mine = shares[i];
      if (i > 0) mine = {gpu.matrix((end - from) * d), out + from * d, (end - from) * d};
      part(gpu, std::span(rows).subspan(from, end - from), static_cast<int>(from),
           i > 0 ? reinterpret_cast<double*>(mine.numbers.get()) : out);
      if (i > 0) mine.complete.emplace().record(gpu.stream());
    });
    use_device(first().device());
    for (Share& share : shares) collect(std::move(share));
    hold(std::move(whole), static_cast<int>(count), job.d_v, output);
  }

  /// Output of a GPU other than the first, to be copied to the first GPU.
  struct Share {
    Pooled numbers;
    double* to = nullptr;  ///< on the first GPU
    std::size_t count = 0;
    std::optional<Event> complete{};
  };
  void collect(Share share) {
    if (share.count == 0) return;
    check(cudaStreamWaitEvent(first().stream().get(), share.complete->get(), 0));
    check(cudaMemcpyAsync(share.to, share.numbers.get(), share.count * sizeof(double), cudaMemcpyDeviceToDevice,
                          first().stream().get()));
    shares_.push_back(std::move(share));
  }

  std::vector<std::unique_ptr<OneGpu>> gpus_;
  std::optional<DeviceMeter> meter_;
  std::optional<OneGpuGradients> gradients_;
  std::array<OnGpu, output_count> outputs_;
  std::vector<Share> shares_;  ///< being copied to the first GPU, until a wait
  EngineAnswers answers_;
  std::vector<std::function<void()>> late_;  ///< deliver records and states after a wait
};

}  // namespace

std::unique_ptr<Engine> gpu_engine(const std::vector<int>& devices) { return std::make_unique<GpuEngine>(devices); }

}  // namespace attoscope
