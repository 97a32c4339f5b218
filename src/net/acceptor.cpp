#include "net/acceptor.hpp"

#include "base/if_memory_allows.hpp"
#include "coracle/base/impl/assert.hpp"
#include "coracle/runtime/loop.hpp"
#include "net/inherited_sockets.hpp"
#include "net/io_error.hpp"
#include "net/listening_socket.hpp"

#include <cerrno>
#include <utility>

namespace coracle::net {

namespace {

// How many connections that wait are passed on at the end: more than a queue has in practice (somaxconn).
constexpr int queued_max = 8192;

class socket_acceptor final : public acceptor, runtime_internal::accept_source, coro::runnable, coro::timer {
 public:
  explicit socket_acceptor(std::unique_ptr<listening_socket> s) noexcept
      : on_(s->on), local_(s->local), socket_(std::move(s)) {
    run = [](coro::runnable& w) noexcept { static_cast<socket_acceptor&>(w).finish(); };
    fire = [](coro::timer& t) noexcept { static_cast<socket_acceptor&>(t).start_again(); };
  }
  ~socket_acceptor() override {
    CORACLE_ASSERT(!sink_ || finished_, "an acceptor was destroyed before closed() was called");
  }

  void start(acceptor_sink& sink) noexcept override {
    CORACLE_ASSERT(!sink_, "an acceptor is started once");
    sink_ = &sink;
    accepting_ = true;
    on_.io().start_accept(socket_->socket, *this);
  }

  bool pause() noexcept override {
    if (closing_ || paused_ || (!accepting_ && !holder)) return false;
    paused_ = true;
    if (accepting_) stop();
    else on_.disarm(*this);
    return accepting_;
  }

  void resume() noexcept override {
    if (closing_ || !std::exchange(paused_, false) || accepting_) return;
    start_again();
  }

  void look_again() noexcept override {
    if (!closing_ && !paused_ && accepting_) stop();
  }

  void close() noexcept override {
    CORACLE_ASSERT(sink_, "an acceptor is closed after start(); before, it is destroyed");
    if (std::exchange(closing_, true)) return;
    if (holder) on_.disarm(*this);
    if (accepting_) stop();
    else on_.post(*this);
  }

  void set_sharing(sharing with_others) noexcept override { socket_->shared = with_others; }
  [[nodiscard]] sharing shared() const noexcept override { return socket_->shared; }
  [[nodiscard]] int descriptor() const noexcept override { return socket_->socket; }
  [[nodiscard]] const address& local_address() const noexcept override { return local_; }
  [[nodiscard]] runtime_internal::socket_options options() const noexcept override {
    return on_.io().options_of(socket_->socket);
  }

 private:
  void accepted(runtime_internal::handle connection) noexcept override { sink_->accepted(connection); }
  void ended(std::int64_t error) noexcept override {
    accepting_ = false;
    stopping_ = false;
    if (closing_) return on_.post(*this);
    if (error != -ECANCELED) sink_->accept_failed(stream_error(error, "accepting"));
    if (paused_) sink_->paused();
    else if (error == -ECANCELED) start_again();
  }
  void stop() noexcept {
    if (!std::exchange(stopping_, true)) on_.io().stop_accept(*this);
  }
  void start_again() noexcept {
    accepting_ = base::if_memory_allows([&] { on_.io().start_accept(socket_->socket, *this); });
    if (!accepting_) on_.arm(*this, deadline_after(on_.now(), runtime_internal::accept_pause_time));
  }
  // What a client has sent over a connection that waits would be lost, although the client knows of no error.
  void finish() noexcept {
    socket_->release_address();
    if (socket_->shared == sharing::exclusive)
      for (int left = queued_max; left > 0; --left) {
        const std::int64_t h = on_.io().accept_now(socket_->socket);
        if (h < 0) break;
        sink_->accepted(static_cast<runtime_internal::handle>(h));
      }
    socket_.reset();
    finished_ = true;
    sink_->closed();  // may destroy *this
  }

  loop& on_;
  const address local_;
  std::unique_ptr<listening_socket> socket_;
  acceptor_sink* sink_ = nullptr;
  bool accepting_ = false;
  bool paused_ = false;  // or about to be
  bool stopping_ = false;  // ended() follows
  bool closing_ = false;
  bool finished_ = false;
};

}  // namespace

result<std::unique_ptr<acceptor>> acceptor::open(loop& on, const address& at, const listen_options& options) {
  result<std::unique_ptr<listening_socket>> opened = listening_socket::open(on, at, options);
  if (!opened) return opened.status();
  return std::unique_ptr<acceptor>(std::make_unique<socket_acceptor>(*std::move(opened)));
}

result<std::unique_ptr<acceptor>> acceptor::adopt(loop& on, const inherited_socket& from) {
  result<std::unique_ptr<listening_socket>> adopted = listening_socket::adopt(on, from);
  if (!adopted) return adopted.status();
  return std::unique_ptr<acceptor>(std::make_unique<socket_acceptor>(*std::move(adopted)));
}

result<std::unique_ptr<acceptor>> acceptor::adopt(loop& on, int descriptor) {
  return adopt(on, inherited_socket{descriptor, "of the predecessor"});
}

}  // namespace coracle::net
