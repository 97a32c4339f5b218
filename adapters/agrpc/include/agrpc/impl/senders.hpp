// senders: senders that user code returns, where there is a provider of senders.
#pragma once

#include "agrpc/impl/library.hpp"
#include "agrpc/impl/provider.hpp"

#if defined(AGRPC_HAS_SENDERS)

#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace agrpc::inline CORACLE_ASIO::internal {

template <class T>
inline constexpr bool is_sender = ::coracle::senders::provider::sender<T>;

// Runs `make(*kept)`, a sender, and keeps both until it has completed. `done(error)` follows, with the exception of a
// sender that has ended with an error.
template <class Sender, class Kept, class Make, class Done>
class detached_sender {
  struct receiver {
    using receiver_concept = ::coracle::senders::provider::receiver_t;
    detached_sender* of;
    template <class... Ts>
    void set_value(Ts&&...) noexcept {
      of->end(nullptr);
    }
    void set_error(std::exception_ptr error) noexcept { of->end(std::move(error)); }
    template <class Error>
    void set_error(Error&& error) noexcept {
      of->end(std::make_exception_ptr(std::forward<Error>(error)));
    }
    void set_stopped() noexcept { of->end(nullptr); }
    struct environment {};
    [[nodiscard]] environment get_env() const noexcept { return {}; }
  };
  using state_type = ::coracle::senders::provider::connect_result_t<Sender, receiver>;
  struct connected {
    template <class F>
    explicit connected(F&& connect) : state(std::forward<F>(connect)()) {}
    state_type state;
  };

 public:
  static void start(Kept kept, Make make, Done done) {
    auto* const self = new detached_sender(std::move(kept), std::move(make), std::move(done));
    try {
      self->running_.emplace([self] {
        return ::coracle::senders::provider::connect(self->make_(*self->kept_), receiver{self});
      });
    } catch (...) {
      self->end(std::current_exception());
      return;
    }
    ::coracle::senders::provider::start(self->running_->state);
  }

 private:
  detached_sender(Kept kept, Make make, Done done)
      : kept_(std::move(kept)), make_(std::move(make)), done_(std::move(done)) {}
  void end(std::exception_ptr error) noexcept {
    Done done(std::move(done_));
    delete this;
    done(std::move(error));
  }
  Kept kept_;
  Make make_;
  Done done_;
  std::optional<connected> running_;
};

template <class Sender, class Kept, class Make>
void start_detached(Kept kept, Make make) {
  auto ignore = [](const std::exception_ptr&) {};
  detached_sender<Sender, Kept, Make, decltype(ignore)>::start(std::move(kept), std::move(make), ignore);
}

}  // namespace agrpc::inline CORACLE_ASIO::internal

#else

namespace agrpc::inline CORACLE_ASIO::internal {

template <class T>
inline constexpr bool is_sender = false;
template <class Sender, class Kept, class Make>
void start_detached(Kept, Make) {}

}  // namespace agrpc::inline CORACLE_ASIO::internal

#endif
