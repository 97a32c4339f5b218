#include "tools/repl/interrupts.hpp"

#include <coracle/runtime/sync_wait.hpp>

#include <utility>

namespace coracle::tools {

interrupts::interrupts(runtime& on) : on_(on) { sync_wait(on_, open()); }

interrupts::~interrupts() { sync_wait(on_, close()); }

task<> interrupts::open() {
  result<net::signal_watch> opened = net::signal_watch::open({process_signal::interrupt});
  if (!opened) co_return;
  watch_.emplace(std::move(*opened));
  following_.emplace();
  following_->spawn(follow());
}

task<> interrupts::close() {
  if (!following_) co_return;
  following_->request_stop();
  co_await following_->join();
  following_.reset();
  watch_.reset();
}

task<> interrupts::follow() {
  for (;;) {
    const result<process_signal> signal = co_await watch_->next();
    if (!signal) co_return;
    if (running_) running_->cancel();
  }
}

}  // namespace coracle::tools
