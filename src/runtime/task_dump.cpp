#include "runtime/task_dump.hpp"

#include "coracle/runtime/runtime.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace coracle::runtime_internal {

void task_dump::settle_on(loop& home, process_signal when) {
  const std::int64_t events = home.io().open_signals(1u << static_cast<unsigned>(when));
  if (events < 0) {
    home.log().write(log_level::warning,
                     "too many signal watches in this process: a signal cannot dump the tasks");
    return;
  }
  settle(home, std::make_unique<task_dump>(home, static_cast<handle>(events)));
}

task_dump::task_dump(loop& home, handle events) noexcept : home_(home), events_(events) {
  what = kind::poll_in;
  on = events;
  complete = [](operation& o, std::int64_t result) noexcept { static_cast<task_dump&>(o).come(result); };
  home_.io().submit(*this);
}

task_dump::~task_dump() { home_.io().close_signals(events_); }

void task_dump::leave() noexcept {
  leaving_ = true;
  home_.io().cancel(*this);
}

void task_dump::come(std::int64_t result) noexcept {
  if (result >= 0) {
    home_.io().take_signals(events_);
    home_.owner().dump_tasks();
  }
  if (leaving_) left();
  else home_.io().submit(*this);
}

void log_tasks(loop& of) noexcept {
  const std::string tree = of.tasks().describe();
  const std::string name = "loop " + std::to_string(of.index());
  of.log().write(log_level::warning, name + (tree.empty() ? ": no tasks" : ": tasks and their await sites:"));
  for (std::string_view rest = tree; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1))
    of.log().write(log_level::warning, name + ":   " + std::string(rest.substr(0, rest.find('\n'))));
}

}  // namespace coracle::runtime_internal
