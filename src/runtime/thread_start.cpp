#include "runtime/thread_start.hpp"

#include <pthread.h>
#include <signal.h>

#include <utility>

namespace coracle::runtime_internal {

std::thread start_thread(const std::string& name, std::function<void()> body) {
  sigset_t blocked;
  sigset_t before;
  sigfillset(&blocked);
  for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS, SIGPROF})
    sigdelset(&blocked, own);
  pthread_sigmask(SIG_SETMASK, &blocked, &before);  // inherited by the thread
  struct restore {
    const sigset_t& mask;
    ~restore() { pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } on_return{before};
  std::thread t(std::move(body));
  pthread_setname_np(t.native_handle(), name.substr(0, 15).c_str());
  return t;
}

}  // namespace coracle::runtime_internal
