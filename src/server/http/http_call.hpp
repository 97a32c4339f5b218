// http_call: a request for a plain route, from its headers to the end of its response.
#pragma once

#include "coracle/coro/event.hpp"
#include "coracle/coro/impl/frame_pool.hpp"
#include "coracle/coro/impl/promise.hpp"
#include "coracle/coro/stop_token.hpp"
#include "coracle/coro/task.hpp"
#include "coracle/rpc/impl/propagated_context.hpp"
#include "coracle/server/http_response.hpp"
#include "server/call/body_watch.hpp"
#include "server/call/call_set.hpp"
#include "server/call/received_metadata.hpp"
#include "server/http/http_request_data.hpp"
#include "server/http/http_routes.hpp"
#include "server/web/web_access.hpp"
#include "transport/exchange.hpp"

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::server_internal {

// Collects the body, runs the handler, and sends its response. Counted among the calls of the loop. Owns
// itself: it is destroyed when the handler and the exchange have both ended, in either order.
//
// It is the context of the handler: calls that the handler makes propagate the trace and the baggage of the
// request.
class http_call final : public transport::exchange_handler,
                        public rpc::propagated_context,
                        public coro::pooled,
                        private body_receiver,
                        private coro::completion {
 public:
  // `match` borrows from the request's path. `permission` may be null.
  http_call(transport::exchange x, const http_routes::plain_route& route,
            const protocol::rest::route_match& match, request_info& r, received_metadata received,
            std::unique_ptr<cross_origin> permission, call_set& set);

  // The headers of the request are complete.
  void begin(bool end_stream);

 private:
  ~http_call();

  // transport::exchange_handler
  void on_headers(transport::header_source& fields, transport::block_kind kind, bool end_stream) override;
  void on_data(bytes_view bytes, bool end_stream) override;
  void on_writable() noexcept override { writable_.set(); }
  void on_uncongested() override { start(); }
  void on_reset(const transport::abnormal_end& end) noexcept override;
  // body_receiver
  void on_slow_body() noexcept override;
  // coro::completion
  std::coroutine_handle<> finished(coro::promise_base& promise,
                                   std::coroutine_handle<> frame) noexcept override;

  // Whether the route takes a body of the request's content-type.
  [[nodiscard]] bool takes_content_type() const;
  // The request has no handler: sends a response, and ends the call.
  void reject(int status, std::string_view text);
  // The request is complete.
  void start();
  task<> serve();
  task<> respond(http_response response);
  task<> send_pieces(http_response& response);
  // The headers of the response, which ends with them if it has no body.
  void write_headers(int status, const http::header_list& fields, std::optional<std::uint64_t> length,
                     bool bodyless);
  void write(std::string_view bytes, bool end_stream);
  // The handler or its response has failed: sends 500, or cuts the response that has begun.
  void fail(std::string_view kind, std::string_view reason) noexcept;
  void fail(const std::exception_ptr& error) noexcept;
  void end_call() noexcept;
  void notify_interceptors() const noexcept;

  transport::exchange exchange_;
  const http_routes::plain_route& route_;
  call_set& set_;
  received_metadata shared_;  // what propagated_context refers to
  std::shared_ptr<http_request_data> request_;
  std::unique_ptr<cross_origin> permission_;
  std::shared_ptr<std::size_t> orphans_of_connection_;  // not null: the call is orphaned
  coro::stop_source stop_;
  coro::environment environment_;
  body_watch watch_;
  event<> writable_;
  const time_point began_;
  std::uint64_t sent_bytes_ = 0;
  int status_ = 0;  // of the response; 0: it has not begun
  const bool headers_only_;  // HEAD
  bool running_ = false;
  bool orphaned_ = false;
  bool complete_ = false;  // the response
};

}  // namespace coracle::server_internal
