// A client's call and its attempts: how one gets its exchange, what it sends of the request, when another is made.
#include "client/client_call.hpp"
#include "client/client_head.hpp"

#include <utility>

namespace coracle::client {

void client_call::attach(transport::exchange x, const call_target& target) noexcept {
  list_hook::unlink();
  exchange_ = x;
  target_ = &target;
  or_end([&] {
    send_client_head(exchange_, target, terms_, 0, watched_attempt_ ? &watched_attempt_->more() : nullptr);
    if (watched_attempt_) watched_attempt_->attached(exchange_);
    send_request();
  });
}

void client_call::record_to(rpc::request_record& r) noexcept {
  record_ = &r;
  or_end([&] { send_request(); });
}

void client_call::adopt(transport::exchange x, std::unique_ptr<attempt_watch> watch) noexcept {
  record_ = nullptr;
  exchange_ = x;
  exchange_.set_handler(this);
  watched_attempt_ = std::move(watch);
  watch_ = watched_attempt_.get();
  tried_again_ = true;  // other attempts are the set's to make
}

void client_call::attempts_failed(attempt_end& last) noexcept {
  trailing_ = std::move(last.trailing);
  end(last.how, false);
}

void client_call::fail(const status& why, refusal) noexcept { end(why, false); }

void client_call::send_request() {
  if (request_) {
    own_side_ = own_side::closed;
    send_single_request();
  } else if (request_body_) {
    own_side_ = own_side::closed;
    send_request_body();
  } else {
    retry_writer();
    if (own_side_ != own_side::open) half_close();
  }
}

// One that was moved in ends its life once it is serialized, where it is large: as an object a message takes several times
// its bytes. These are sent as those of a call with one request and many replies.
void client_call::send_single_request() {
  constexpr std::size_t small_bytes_max = 64u << 10;
  if (!unary_->may_let_go()) {
    send_message(*request_codec_, request_, true, true);
    return;
  }
  const std::size_t bytes = request_codec_->size_bytes(request_);
  if (bytes <= small_bytes_max) {
    send_message(*request_codec_, request_, true, true, bytes);
    return;
  }
  const status how = format_.write(*request_codec_, request_, request_body_.emplace(), bytes);
  if (!how.ok()) return messages_broken(how);
  request_ = nullptr;
  unary_->let_go_(*unary_);
  send_request_body();
}

// Kept until the server says something, for a second attempt, unless that costs too much memory.
void client_call::send_request_body() {
  constexpr std::size_t kept_bytes_max = 256u << 10;
  send_body(as_bytes(*request_body_), true, true);
  if (request_body_->size() <= kept_bytes_max) return;
  request_body_.reset();
  wrote_ = true;
}

// Once, while nothing is lost: one request is still at hand, of a stream nothing was written yet.
bool client_call::try_again(const transport::abnormal_end& e) noexcept {
  if (!e.unprocessed || http_status_ != 0 || wrote_ || std::exchange(tried_again_, true)) return false;
  if (own_side_ == own_side::closed) own_side_ = own_side::closing;
  end_watch(watched_attempt_, end_by_reset(e));
  watched_attempt_ = watch_attempt(watched_.get(), attempt_kind::transparent_retry, 0);
  watch_ = watched_attempt_.get();
  target_->source->begin(*this);
  return true;
}

}  // namespace coracle::client
