// handler_pool: the threads that run the handlers of a server, and callbacks.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace grpc::internal {

// A handler may block for as long as its call lasts, and may wait for another one, so each is given a thread.
// To wake a thread costs more than a short handler. If as many handlers run as there are cores, and handlers
// end at a good rate, a new one therefore waits for the next thread that is free. A watch, which runs at such
// times only, gives threads to those that have waited for one to two of its periods: then handlers block.
//
// Threads: run() is for any thread; stop() and the destructor, for none of the pool.
class handler_pool {
 public:
  class job {
   public:
    virtual ~job() = default;
    virtual void run() noexcept = 0;

   private:
    friend class handler_pool;
    std::shared_ptr<job> next_;
  };

  // threads_max: how many handlers may run or wait. thread_name: at most 15 characters, which outlive the pool.
  explicit handler_pool(std::size_t threads_max, const char* thread_name = "grpcpp-handler");
  handler_pool(const handler_pool&) = delete;
  handler_pool& operator=(const handler_pool&) = delete;
  ~handler_pool() { stop(); }

  // False: there are as many handlers as may be, or the system refuses a thread.
  [[nodiscard]] bool run(std::shared_ptr<job> next);
  // Waits for the handlers that run, and ends the threads. run() must not be called any more, but a thread may
  // not have returned from it.
  void stop() noexcept;

 private:
  struct worker {
    std::condition_variable woken;
    bool wake = false;
    std::thread thread;
  };
  void work(worker& self) noexcept;
  void watch() noexcept;
  // With the lock: whether a new handler waits for a thread that will be free soon.
  [[nodiscard]] bool may_defer() const noexcept;
  // With the lock: an idle thread to wake, or a new one, which needs no waking. False: there is none.
  [[nodiscard]] bool find_thread(worker*& to_wake);
  // With the lock. Does nothing if the system refuses a thread.
  void begin_watch();
  void append(std::shared_ptr<job> next) noexcept;

  const std::size_t max_;
  const char* const thread_name_;
  const std::size_t cores_;
  std::mutex changing_;
  std::shared_ptr<job> first_;
  job* last_ = nullptr;
  std::size_t waiting_ = 0;  // jobs in the queue
  std::size_t called_ = 0;  // threads that were woken or made, and have not come yet
  std::size_t running_ = 0;
  std::vector<worker*> idle_;  // the one that worked last is at the end, and is woken first
  bool stopping_ = false;
  std::vector<std::unique_ptr<worker>> workers_;

  // The watch:
  bool watching_ = false;
  bool deferred_ = false;  // in this period
  std::size_t ended_ = 0;  // handlers, in this period
  std::size_t ended_before_ = 0;  // and in the one before
  std::size_t old_ = 0;  // jobs at the front of the queue that were there at the end of the last period
  std::condition_variable watch_changed_;
  std::thread watch_;
};

}  // namespace grpc::internal
