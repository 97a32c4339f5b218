#include "tools/repl/interrupts.hpp"

#include <coracle/runtime/sync_wait.hpp>

#include <csignal>
#include <utility>

namespace coracle::tools {

std::thread start_without_interrupts(std::function<void()> body) {
  sigset_t interrupt;
  sigset_t before;
  ::sigemptyset(&interrupt);
  ::sigaddset(&interrupt, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &interrupt, &before);  // the thread inherits it
  struct restore {
    const sigset_t& mask;
    ~restore() { ::pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } const on_return{before};
  return std::thread(std::move(body));
}

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
