#include "coracle/runtime/runtime.hpp"

#include "runtime/backend.hpp"
#include "runtime/choose_backend.hpp"
#include "runtime/kernel/recording_output.hpp"
#include "runtime/loop_service.hpp"
#include "runtime/runtime_core.hpp"

#include "coracle/runtime/process_signal.hpp"
#include "coro/post_function.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace coracle {

namespace runtime_internal {
namespace {

// Writes the tasks of all loops to the log when the process receives a signal. Lives on loop 0 of its
// runtime, from the runtime's constructor until the runtime stops.
class task_dump final : public loop_service, runtime_internal::operation {
 public:
  // Logs a message when the signal cannot be watched.
  static void start_on(loop& owner_loop, process_signal when);

  task_dump(loop& owner_loop, handle events) noexcept;
  ~task_dump() override;

 private:
  void begin_shutdown() noexcept override;
  void on_signal(std::int64_t result) noexcept;
  loop& loop_;
  const handle events_;
  bool shutting_down_ = false;
};

void task_dump::start_on(loop& owner_loop, process_signal when) {
  const std::int64_t events = owner_loop.io().open_signals(1u << static_cast<unsigned>(when));
  if (events < 0) {
    owner_loop.log().write(log_room::runtime, log_level::warning,
                           "too many signal watches in this process: a signal cannot dump the tasks");
    return;
  }
  start(owner_loop, std::make_unique<task_dump>(owner_loop, static_cast<handle>(events)));
}

task_dump::task_dump(loop& owner_loop, handle events) noexcept : loop_(owner_loop), events_(events) {
  type = kind::poll_in;
  on = events;
  complete = [](operation& o, std::int64_t result) noexcept { static_cast<task_dump&>(o).on_signal(result); };
  loop_.io().submit(*this);
}

task_dump::~task_dump() { loop_.io().close_signals(events_); }

void task_dump::begin_shutdown() noexcept {
  shutting_down_ = true;
  loop_.io().cancel(*this);
}

void task_dump::on_signal(std::int64_t result) noexcept {
  if (result >= 0) {
    loop_.io().take_signals(events_);
    loop_.owner().dump_tasks();
  }
  if (shutting_down_) shutdown_finished();
  else loop_.io().submit(*this);
}

// Writes the tasks of one loop to the log; call it on the loop's thread.
void log_tasks(loop& of) noexcept {
  const std::string tree = of.tasks().describe();
  const std::string name = "loop " + std::to_string(of.index());
  of.log().write(log_room::runtime, log_level::warning,
                 name + (tree.empty() ? ": no tasks" : ": tasks and their await sites:"));
  for (std::string_view rest = tree; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1))
    of.log().write(log_room::runtime, log_level::warning,
                   name + ":   " + std::string(rest.substr(0, rest.find('\n'))));
}

// CORACLE_RECORDING=FILE: see record_crashes(). The first runtime of the process reads it, so that a program
// can decide otherwise afterwards.
void record_crashes_if_requested(logger& log) {
  static constinit std::atomic<bool> read{false};
  if (read.exchange(true, std::memory_order_relaxed)) return;
  const char* const file = std::getenv("CORACLE_RECORDING");
  if (!file || !*file) return;
  if (const int error = record_on_signals(file, std::nullopt))
    log.write(log_level::warning, std::string("CORACLE_RECORDING has no effect: ") + std::strerror(error));
}

}  // namespace
}  // namespace runtime_internal

runtime::runtime() : runtime(runtime_options{}) {}
runtime::runtime(std::size_t loops) : runtime(runtime_options{.loops = loops}) {}

runtime::runtime(const runtime_options& options)
    : runtime(std::make_unique<coracle::runtime_internal::runtime_core>(
          coracle::runtime_internal::make_backends(options), options.log ? *options.log : stderr_logger(),
          options.blocking_threads, nullptr, options.own_threads)) {
  coracle::runtime_internal::record_crashes_if_requested(log());
  if (options.memory) core_->use_memory_resource(*options.memory);
  if (options.report_stalls > duration::zero())
    for (std::size_t i = 0; i < size(); ++i) core_->loop_at(i).report_stalls(options.report_stalls);
  if (options.dump_tasks_on) coracle::runtime_internal::task_dump::start_on(at(0), *options.dump_tasks_on);
}

runtime::runtime(std::unique_ptr<coracle::runtime_internal::runtime_core> core) noexcept
    : core_(std::move(core)) {
  core_->set_owner(*this);
}

runtime::~runtime() { core_->shut_down(); }

std::size_t runtime::size() const noexcept { return core_->size(); }
loop& runtime::at(std::size_t i) {
  CORACLE_REQUIRE(i < core_->size(), "loop index out of range: a runtime has size() loops, numbered from 0");
  return core_->loop_at(i);
}
loop& runtime::next() noexcept { return core_->next(); }
logger& runtime::log() const noexcept { return core_->log(); }
std::string_view runtime::backend_name() const noexcept { return core_->loop_at(0).backend_name(); }

void runtime::spawn_on(loop& where, task<> t) {
  CORACLE_REQUIRE(&where.owner() == this, "the loop belongs to another runtime");
  core_->spawn(static_cast<coracle::runtime_internal::driven_loop&>(where), std::move(t));
}

void runtime::spawn_and_wait(loop& where, task<> t) {
  coro::require_no_executor();
  CORACLE_REQUIRE(&where.owner() == this, "the loop belongs to another runtime");
  core_->spawn_and_wait(static_cast<coracle::runtime_internal::driven_loop&>(where), std::move(t));
}

void runtime::run() { core_->run(never, nullptr); }
bool runtime::run_until(time_point when) { return core_->run(when, nullptr); }
bool runtime::run_while(const std::function<bool()>& keep_going) { return core_->run(never, &keep_going); }
void runtime::run_loop(loop& which, const std::function<bool()>& keep_going) {
  CORACLE_REQUIRE(&which.owner() == this, "the loop belongs to another runtime");
  core_->run_loop(static_cast<coracle::runtime_internal::driven_loop&>(which), keep_going);
}
bool runtime::poll() { return core_->poll(); }
int runtime::pollable() { return core_->pollable(); }
void runtime::release_loop() { core_->release_loop(); }
void runtime::start() {
  coro::require_no_executor();
  core_->start();
}
void runtime::stop() noexcept { core_->stop(); }
void runtime::dump_tasks() {
  for (std::size_t i = 0; i < size(); ++i)
    coro::post_function(at(i), [&of = at(i)] { coracle::runtime_internal::log_tasks(of); });
}
bool runtime::stopping() const noexcept { return core_->stopping(); }
void runtime::restart() { core_->restart(); }
time_point runtime::now() const noexcept { return core_->loop_at(0).io().now(); }

runtime::work_guard::work_guard(runtime& of) noexcept : of_(&of) { of.core().hold(); }
void runtime::work_guard::release() noexcept {
  if (runtime* of = std::exchange(of_, nullptr)) of->core().release();
}

namespace runtime_internal {

std::unique_ptr<runtime> make_driven_runtime(std::vector<std::unique_ptr<backend>> backends, logger& log,
                                             driver& by) {
  return std::make_unique<runtime>(std::make_unique<runtime_core>(std::move(backends), log, 1, &by));
}

}  // namespace runtime_internal
}  // namespace coracle
