#include "net/acceptor.hpp"

#include "coracle/runtime/loop.hpp"
#include "net/io_error.hpp"
#include "net/listening_socket.hpp"

namespace coracle::net {

namespace {

class socket_acceptor final : public acceptor, runtime_internal::accept_source, coro::runnable {
 public:
  explicit socket_acceptor(std::unique_ptr<listening_socket> s) noexcept
      : on_(s->on), local_(s->local), socket_(std::move(s)) {
    run = [](coro::runnable& w) noexcept { static_cast<socket_acceptor&>(w).finish(); };
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

  void close() noexcept override {
    CORACLE_ASSERT(sink_, "an acceptor is closed after start(); before, it is destroyed");
    if (std::exchange(closing_, true)) return;
    if (accepting_) on_.io().stop_accept(*this);
    else on_.post(*this);
  }

  [[nodiscard]] const address& local_address() const noexcept override { return local_; }
  [[nodiscard]] runtime_internal::socket_options options() const noexcept override {
    return on_.io().options_of(socket_->socket);
  }

 private:
  void accepted(runtime_internal::handle connection) noexcept override {
    if (closing_) on_.io().close(connection);
    else sink_->accepted(connection);
  }
  void ended(std::int64_t error) noexcept override {
    accepting_ = false;
    if (closing_) on_.post(*this);
    else sink_->accept_failed(stream_error(error, "accepting"));
  }
  void finish() noexcept {
    socket_.reset();
    finished_ = true;
    sink_->closed();  // may destroy *this
  }

  loop& on_;
  const address local_;
  std::unique_ptr<listening_socket> socket_;
  acceptor_sink* sink_ = nullptr;
  bool accepting_ = false;
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

}  // namespace coracle::net
