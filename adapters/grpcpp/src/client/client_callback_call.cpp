// The calls of clients in the callback API: those of the completion-queue API, with callbacks as tags.
#include <grpcpp/impl/client_callback_call.h>

#include "adapters/grpcpp/src/queue/callback_queue.hpp"

#include <memory>
#include <mutex>
#include <utility>

namespace grpc::internal {

namespace {

void* tag_of(callback_tag& tag) { return &tag; }

}  // namespace

client_callback_call::client_callback_call(ChannelInterface* channel, const RpcMethod& method,
                                           ClientContext* context, const message_target& reply)
    : stream_(channel, &callback_queue(), method, context), reply_(reply) {}
client_callback_call::client_callback_call(ChannelInterface* channel, const RpcMethod& method,
                                           ClientContext* context, serialized_message&& request,
                                           const message_target& reply)
    : stream_(channel, &callback_queue(), method, context, std::move(request)), reply_(reply) {}

void client_callback_call::start_call() {
  outstanding_.fetch_add(2, std::memory_order_relaxed);
  stream_.start_and_read_initial_metadata(tag_of(initial_));
  {
    const std::lock_guard lock(starting_);
    if (first_read_) stream_.read(*first_read_, tag_of(read_));
    if (first_write_) stream_.write(std::move(first_write_->message), first_write_->options, tag_of(write_));
    if (first_writes_done_) stream_.writes_done(tag_of(writes_done_));
    started_.store(true, std::memory_order_release);
  }
  stream_.finish(reply_, &outcome_, tag_of(finish_));
  release(false);
}

template <class Begin>
bool client_callback_call::postponed(Begin&& begin) {
  outstanding_.fetch_add(1, std::memory_order_relaxed);
  if (started_.load(std::memory_order_acquire)) return false;
  const std::lock_guard lock(starting_);
  if (started_.load(std::memory_order_relaxed)) return false;
  begin();
  return true;
}

void client_callback_call::start_read(const message_target& into) {
  if (!postponed([&] { first_read_ = into; })) stream_.read(into, tag_of(read_));
}

void client_callback_call::start_write(serialized_message&& message, const WriteOptions& options) {
  if (!postponed([&] { first_write_.emplace(writing{std::move(message), options}); }))
    stream_.write(std::move(message), options, tag_of(write_));
}

void client_callback_call::start_writes_done() {
  if (!postponed([&] { first_writes_done_ = true; })) stream_.writes_done(tag_of(writes_done_));
}

// A message that comes with the initial metadata waits until the program knows them. As with grpc++, callbacks are
// told of a call without initial metadata, of which a queue is not.
void client_callback_call::end_initial_metadata(bool ok) {
  ok = ok && !stream_.trailers_only();
  call_program([this, ok] { initial_metadata_done(ok); });
  std::optional<bool> read;
  {
    const std::lock_guard lock(starting_);
    knows_initial_.store(true, std::memory_order_release);
    read = std::exchange(early_read_, std::nullopt);
  }
  if (read) end_read(*read);
  release(true);
}

void client_callback_call::end_read(bool ok) {
  if (!knows_initial_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(starting_);
    if (!knows_initial_.load(std::memory_order_relaxed)) return static_cast<void>(early_read_ = ok);
  }
  call_program([this, ok] { read_done(ok); });
  release(true);
}

void client_callback_call::end_write(bool ok) {
  call_program([this, ok] { write_done(ok); });
  release(true);
}

void client_callback_call::end_writes_done(bool ok) {
  call_program([this, ok] { writes_done_done(ok); });
  release(true);
}

void client_callback_call::release(bool in_reaction) {
  if (outstanding_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // The program may hold a lock that its OnDone() takes.
  if (!in_reaction) return post_callback(last_);
  call_program([this] { call_done(true); });
}

namespace {

// The end of a unary call.
class unary_end final : public callback_tag {
 public:
  explicit unary_end(std::function<void(Status)>&& done) : done_(std::move(done)) {}
  Status outcome;

 private:
  void run(bool) override {
    const std::unique_ptr<unary_end> self(this);
    done_(std::move(outcome));
  }
  std::function<void(Status)> done_;
};

}  // namespace

void start_callback_unary(ChannelInterface* channel, const RpcMethod& method, ClientContext* context,
                          serialized_message&& request, const message_target& reply,
                          std::function<void(Status)>&& done) {
  auto end = std::make_unique<unary_end>(std::move(done));
  client_queue_unary call(channel, &callback_queue(), method, context, std::move(request));
  unary_end& tag = *end.release();  // it destroys itself
  call.finish(reply, &tag.outcome, tag_of(tag));
}

}  // namespace grpc::internal
