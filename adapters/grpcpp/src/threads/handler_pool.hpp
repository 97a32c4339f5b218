// handler_pool: the threads that run the handlers of a server, and callbacks.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace grpc::internal {

// A handler may block for as long as its call lasts, and may wait for another one, so each is given a thread.
// To wake a thread costs more than a short handler. If as many handlers run as there are cores, and handlers
// end at a good rate, a new one therefore waits for the next thread that is free. A watch, which runs at such
// times only, gives threads to those that have waited for one to two of its periods: then handlers block.
// Threads that have had nothing to do for limit::idle_time end, but for as many as there are cores.
//
// Handlers with large replies outrun the loops, which count the replies for the memory of their connection:
// while replies of made_max bytes wait for their loops, no further handler begins.
//
// A client whose handlers all block must not take the threads of the others: where clients share the pool,
// each may have as many handlers as are free. One alone thus gets half of them, two get a third each, and a
// newcomer finds as many. Clients are told apart by a hash of their address.
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
    std::uint16_t client_ = 0;
  };
  // A large reply that a handler has made, until it is destroyed: when the loop of the call has taken the
  // reply.
  class made_reply {
   public:
    made_reply() noexcept = default;
    made_reply(made_reply&& other) noexcept : of_(std::exchange(other.of_, nullptr)), bytes_(other.bytes_) {}
    made_reply& operator=(made_reply&& other) noexcept {
      std::swap(of_, other.of_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~made_reply() {
      if (of_) of_->made_bytes_.fetch_sub(bytes_, std::memory_order_relaxed);
    }

   private:
    friend class handler_pool;
    made_reply(handler_pool& of, std::size_t bytes) noexcept : of_(&of), bytes_(bytes) {}
    handler_pool* of_ = nullptr;
    std::size_t bytes_ = 0;
  };
  static constexpr std::size_t large_bytes = std::size_t{64} << 10;
  static constexpr std::size_t made_max = std::size_t{32} << 20;
  // Any thread; `bytes` of less than large_bytes are not counted.
  [[nodiscard]] made_reply made(std::size_t bytes) noexcept {
    if (bytes < large_bytes) [[likely]]
      return {};
    made_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    return {*this, bytes};
  }

  // How many handlers may run or wait, whether clients share them, and how long a thread may be idle.
  struct limit {
    std::size_t handlers;
    bool shared = false;
    std::chrono::milliseconds idle_time = std::chrono::seconds(5);
  };
  // Handlers that block for the length of a stream are what the synchronous API is made of, and a thread
  // takes little but the part of its stack that was used: 16,384, or half of the threads that the system
  // permits.
  [[nodiscard]] static limit default_limit();
  enum class outcome : std::uint8_t { accepted, above_share, above_limit, no_thread };

  // thread_name: at most 15 characters, which outlive the pool.
  explicit handler_pool(limit most, const char* thread_name = "grpcpp-handler");
  handler_pool(const handler_pool&) = delete;
  handler_pool& operator=(const handler_pool&) = delete;
  ~handler_pool() { stop(); }

  // client: a hash of whose handler it is; 0: the program's own, which has no share.
  [[nodiscard]] outcome run(std::shared_ptr<job> next, std::size_t client = 0);
  [[nodiscard]] std::size_t handlers_max() const noexcept { return most_.handlers; }
  // For tests.
  [[nodiscard]] std::size_t threads() {
    const std::lock_guard lock(changing_);
    return workers_.size();
  }
  // Waits for the handlers that run, and ends the threads. run() must not be called any more, but a thread
  // may not have returned from it.
  void stop() noexcept;

 private:
  struct worker {
    std::condition_variable woken;
    bool wake = false;
    std::thread thread;
    std::list<worker>::iterator place;
  };
  using held_lock = std::unique_lock<std::mutex>;
  void work(worker& self) noexcept;
  // Waits for work. False: the thread ends.
  [[nodiscard]] bool wait_idle(worker& self, held_lock& lock);
  // The worker is gone then.
  void end(worker& self, held_lock& lock) noexcept;
  void watch() noexcept;
  [[nodiscard]] bool loops_lag() const noexcept {
    return made_bytes_.load(std::memory_order_relaxed) > made_max;
  }
  // With the lock: whether a new handler waits for a thread that will be free soon.
  [[nodiscard]] bool may_defer() const noexcept;
  // With the lock: an idle thread to wake, or a new one, which needs no waking. False: there is none.
  [[nodiscard]] bool find_thread(worker*& to_wake);
  // With the lock. Does nothing if the system refuses a thread.
  void begin_watch();
  void append(std::shared_ptr<job> next) noexcept;

  const limit most_;
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
  std::list<worker> workers_;
  std::thread ended_thread_;  // the one that ended last; the next one joins it
  std::atomic<std::size_t> made_bytes_{0};  // of replies that wait for their loops
  // The handlers of each client, by hash. Clients whose hashes collide have one share.
  static constexpr std::size_t places = 4'096;
  const std::unique_ptr<std::uint32_t[]> held_;

  // The watch:
  bool watching_ = false;
  bool deferred_ = false;  // in this period
  bool lagged_ = false;  // the loops have lagged since there were no jobs in the queue
  std::size_t ended_ = 0;  // handlers, in this period
  std::size_t ended_before_ = 0;  // and in the one before
  std::size_t old_ = 0;  // jobs at the front of the queue that were there at the end of the last period
  std::condition_variable watch_changed_;
  std::thread watch_;
};

}  // namespace grpc::internal
