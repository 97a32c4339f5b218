// reactor: what the reactors of clients and servers share: who keeps one alive, its executor and its waits.
#pragma once

#include "agrpc/default_completion_token.hpp"
#include "agrpc/impl/library.hpp"
#include "agrpc/impl/manual_event.hpp"

#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>

#include <atomic>
#include <optional>
#include <type_traits>
#include <utility>

namespace agrpc::inline CORACLE_ASIO::internal {

class reactor_access;

// Counts what keeps a reactor alive: the user's pointers, grpc++ until OnDone(), and waits.
class reactor_life {
 public:
  reactor_life(const reactor_life&) = delete;
  reactor_life& operator=(const reactor_life&) = delete;

 protected:
  reactor_life() = default;
  virtual ~reactor_life() = default;
  void hold() noexcept { ++holders_; }
  void release() noexcept {
    if (--holders_ == 0) destroy_(*this);
  }

 private:
  friend class reactor_access;
  // The user has no pointer any more.
  virtual void users_gone() = 0;
  void (*destroy_)(reactor_life&) noexcept = nullptr;
  std::atomic<long> users_ = 1;
  std::atomic<long> holders_ = 1;  // all pointers of the user are one
};

template <class Executor>
class reactor_executor {
 public:
  using executor_type = Executor;
  [[nodiscard]] executor_type get_executor() const noexcept { return *executor_; }
  [[nodiscard]] executor_type get_scheduler() const noexcept { return *executor_; }

 protected:
  using token_type = default_token_of<Executor>;
  [[nodiscard]] const Executor& where_waits_complete() const noexcept { return *executor_; }

 private:
  friend class reactor_access;
  std::optional<Executor> executor_;  // set when the user's class is made
};
// A reactor without an executor: its waits are senders, or have handlers with executors.
template <>
class reactor_executor<void> {
 protected:
  using token_type = DefaultCompletionToken;
  [[nodiscard]] static asio::system_executor where_waits_complete() noexcept { return {}; }
};

class reactor_access {
 public:
  template <class Pointer, class Reactor>
  [[nodiscard]] static Pointer own(Reactor* made) noexcept {
    return Pointer(made);
  }
  template <class Reactor, class Executor>
  static void set_executor(Reactor& of, Executor&& executor) {
    of.executor_.emplace(std::forward<Executor>(executor));
  }
  static void set_destroy(reactor_life& of, void (*destroy)(reactor_life&) noexcept) noexcept {
    of.destroy_ = destroy;
  }
  static void add_user(reactor_life& of) noexcept { ++of.users_; }
  static void remove_user(reactor_life& of) {
    if (--of.users_ != 0) return;
    of.users_gone();
    of.release();
  }
  template <class Reactor>
  static void finish_once(Reactor& of, grpc::Status status) {
    of.finish_once(std::move(status));
  }
  static void hold(reactor_life& of) noexcept { of.hold(); }
  static void release(reactor_life& of) noexcept { of.release(); }
};

// Has a wait keep its reactor.
struct reactor_owner {
  class guard {
   public:
    explicit guard(reactor_life& of) noexcept : of_(&of) { reactor_access::hold(of); }
    guard(guard&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    guard& operator=(guard&&) = delete;
    ~guard() {
      if (of_) reactor_access::release(*of_);
    }

   private:
    reactor_life* of_;
  };
  [[nodiscard]] guard hold() const noexcept { return guard(*of); }
  reactor_life* of;
};

template <class Executor>
class reactor : public reactor_life, public reactor_executor<Executor> {
 protected:
  template <class Event, class Token>
  auto wait(Event& event, Token&& token) {
    return event.wait(this->where_waits_complete(), std::forward<Token>(token), reactor_owner{this});
  }
};

// The reads of a reactor, on either side. Reactor: a class that derives from one of grpc++ and from reactor.
template <class Reactor, class Message>
class with_reads : public Reactor {
 public:
  void initiate_read(Message& message) {
    read_.clear();
    this->StartRead(&message);
  }
  template <class Token = typename Reactor::token_type>
  auto wait_for_read(Token&& token = Token()) {
    return this->wait(read_, std::forward<Token>(token));
  }

 private:
  void OnReadDone(bool ok) final { read_.set(ok); }
  manual_event<bool> read_;
};

// The writes of a reactor, on either side.
template <class Reactor, class Message>
class with_writes : public Reactor {
 public:
  /// With options: set_last_message() ends the writes of a client, and has a server send the message together with the
  /// status.
  void initiate_write(const Message& message, grpc::WriteOptions options = {}) {
    write_.clear();
    this->StartWrite(&message, options);
  }
  template <class Token = typename Reactor::token_type>
  auto wait_for_write(Token&& token = Token()) {
    return this->wait(write_, std::forward<Token>(token));
  }

 private:
  void OnWriteDone(bool ok) final { write_.set(ok); }
  manual_event<bool> write_;
};

}  // namespace agrpc::inline CORACLE_ASIO::internal
