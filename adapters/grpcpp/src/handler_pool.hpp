// handler_pool: the threads that run the handlers of a server.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace grpc::internal {

// A handler may block for as long as its call lasts, and may wait for another one: each gets a thread of its
// own at once, or is refused. Threads that have nothing to do wait for the next handler, those that waited
// longest last.
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

  explicit handler_pool(std::size_t threads_max) noexcept : max_(threads_max) {}
  handler_pool(const handler_pool&) = delete;
  handler_pool& operator=(const handler_pool&) = delete;
  ~handler_pool() { stop(); }

  // False: as many handlers run as may, or the system refuses a thread.
  [[nodiscard]] bool run(std::shared_ptr<job> next);
  // Waits for the handlers that run, and ends the threads. run() must not be called any more.
  void stop() noexcept;

 private:
  void work() noexcept;

  const std::size_t max_;
  std::mutex changing_;
  std::condition_variable changed_;
  std::shared_ptr<job> first_;
  job* last_ = nullptr;
  std::size_t waiting_ = 0;  // jobs that no thread has taken yet
  std::size_t idle_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace grpc::internal
