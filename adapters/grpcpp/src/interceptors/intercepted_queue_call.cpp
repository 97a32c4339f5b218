// The calls of clients in the completion-queue API, and by callbacks, that interceptors see.
#include <grpcpp/channel.h>

#include "adapters/grpcpp/src/client/queue_call_operations.hpp"
#include "adapters/grpcpp/src/interceptors/intercepted_operation.hpp"

#include <mutex>
#include <utility>
#include <vector>

namespace grpc::internal {

namespace {

using hook = experimental::InterceptionHookPoints;
using operation = intercepted_operation;

// A message of the program, and whether it has come.
struct expected_message {
  message_target to;
  bool came = false;

  message_target target() {
    if (!to.decode) return {};
    return {this, [](std::string&& bytes, void* into) {
              auto& self = *static_cast<expected_message*>(into);
              self.came = true;
              return self.to.decode(std::move(bytes), self.to.message);
            }};
  }
};

// The parts of a plain call, whose channel and queue last as long as this.
struct inner_parts {
  explicit inner_parts(const queue_call_parts& from) : outer(from.queue->core()), parts(from) {
    if (Channel* const own = from.channel->origin()) {
      channel = own->shared_from_this();
      parts.channel = own;
    }
    parts.queue = &queue;
  }
  const std::weak_ptr<queue_core> outer;  // that of the program, which owns operations that refer to this
  CompletionQueue queue{operation::inner_queue(outer)};
  queue_call_parts parts;
  std::shared_ptr<Channel> channel;
};

// The end of a call: its status, and its reply if it has one. It is received with the initial metadata if no
// other operation has received these.
std::unique_ptr<operation> end_operation(std::shared_ptr<call_interception> seen,
                                         const std::weak_ptr<queue_core>& queue,
                                         const std::shared_ptr<expected_message>& reply, Status* status,
                                         void* tag) {
  auto op = std::make_unique<operation>(std::move(seen), queue, tag);
  interceptor_batch& b = op->batch;
  b.receives_initial = op->seen->first_receive();
  b.receives_message = reply->to.decode != nullptr;
  b.receives_status = true;
  b.receive(reply->to.message);
  op->received = [reply](operation& of) {
    if (of.batch.receives_initial) of.batch.add(hook::POST_RECV_INITIAL_METADATA);
    if (of.batch.receives_message)
      of.batch.set_received(of.seen->hijacked() ? !of.batch.receive_failed() : reply->came);
    of.batch.add(hook::POST_RECV_STATUS);
    of.set_sent();
  };
  op->give = [status](operation& of) { *status = of.batch.status; };
  return op;
}

// The batch that begins a call.
void send_begin(interceptor_batch& b) {
  b.sends_initial = true;
  b.add(hook::PRE_SEND_INITIAL_METADATA);
}

class seen_stream final : public queue_stream, public std::enable_shared_from_this<seen_stream> {
 public:
  seen_stream(const queue_call_parts& of, std::optional<serialized_message>&& request,
              std::shared_ptr<call_interception> by)
      : of_(of),
        seen_(std::move(by)),
        plain_(make_plain_stream(of_.parts, std::nullopt)),
        request_(std::move(request)) {}

  void start(std::optional<void*> tag) override { begin(tag, false); }
  void start_and_read_initial_metadata(void* tag) override { begin(tag, true); }

  void read_initial_metadata(void* tag) override {
    auto op = make(tag);
    op->batch.receives_initial = seen_->first_receive();
    op->begin = [self = shared_from_this()](operation& o) { self->plain_->read_initial_metadata(&o); };
    op->received = [](operation& o) { received_initial(o); };
    submit(std::move(op));
  }

  [[nodiscard]] bool trailers_only() const noexcept override { return plain_->trailers_only(); }

  void read(const message_target& into, void* tag) override {
    auto op = make(tag);
    op->batch.receives_initial = seen_->first_receive();
    op->batch.receives_message = true;
    op->batch.receive(into.message);
    op->begin = [self = shared_from_this(), into](operation& o) { self->plain_->read(into, &o); };
    op->received = [](operation& o) {
      if (o.seen->hijacked()) o.ok = !o.batch.receive_failed();
      const bool ok = o.ok;
      received_initial(o);
      o.batch.set_received(ok);
    };
    submit(std::move(op));
  }

  void write(serialized_message&& message, const WriteOptions& options, void* tag) override {
    auto op = make(tag);
    op->send(std::move(message));
    if (options.is_last_message()) op->batch.add(hook::PRE_SEND_CLOSE);
    op->begin = [self = shared_from_this(), options](operation& o) {
      self->plain_->write(o.take_sent(), options, &o);
    };
    op->received = [](operation& o) { sent(o); };
    submit(std::move(op));
  }

  void writes_done(void* tag) override {
    auto op = make(tag);
    op->batch.add(hook::PRE_SEND_CLOSE);
    op->begin = [self = shared_from_this()](operation& o) { self->plain_->writes_done(&o); };
    op->received = [](operation&) {};
    submit(std::move(op));
  }

  void finish(const message_target& reply, Status* status, void* tag) override {
    const auto expected = std::make_shared<expected_message>(expected_message{reply});
    auto op = end_operation(seen_, of_.outer, expected, status, tag);
    op->begin = [self = shared_from_this(), expected](operation& o) {
      self->plain_->finish(expected->target(), &o.batch.status, &o);
    };
    submit(std::move(op));
  }

 private:
  std::unique_ptr<operation> make(void* tag) { return std::make_unique<operation>(seen_, of_.outer, tag); }
  static void received_initial(operation& o) {
    if (!o.batch.receives_initial) return;
    o.batch.add(hook::POST_RECV_INITIAL_METADATA);
    if (!o.ok && !o.seen->hijacked()) o.batch.receives_initial = false;  // there are none
  }
  static void sent(operation& o) {
    if (o.seen->hijacked() && o.batch.send_failed()) o.ok = false;
    o.set_sent();
  }

  void begin(std::optional<void*> tag, bool receives_initial) {
    auto op = make(tag.value_or(nullptr));
    op->hidden = !tag;
    send_begin(op->batch);
    if (request_) {
      op->send(std::move(*request_));
      op->batch.add(hook::PRE_SEND_CLOSE);
    }
    if (receives_initial) op->batch.receives_initial = seen_->first_receive();
    op->begin = [self = shared_from_this(), receives_initial](operation& o) {
      std::optional<serialized_message> request;
      if (self->request_) request = o.take_sent();
      self->plain_ = make_plain_stream(self->of_.parts, std::move(request));
      if (receives_initial) self->plain_->start_and_read_initial_metadata(&o);
      else self->plain_->start(&o);
      self->begun();
    };
    op->received = [self = shared_from_this()](operation& o) {
      if (o.seen->hijacked()) self->begun();
      received_initial(o);
      sent(o);
    };
    {
      const std::lock_guard lock(changing_);
      phase_ = phase::begins;
    }
    operation::run(std::move(op));
  }

  void submit(std::unique_ptr<operation> op) {
    {
      const std::lock_guard lock(changing_);
      if (phase_ == phase::begins) return waiting_.push_back(std::move(op));
    }
    operation::run(std::move(op));
  }

  void begun() {
    std::vector<std::unique_ptr<operation>> waiting;
    {
      const std::lock_guard lock(changing_);
      phase_ = phase::runs;
      waiting.swap(waiting_);
    }
    for (auto& op : waiting) operation::run(std::move(op));
  }

  inner_parts of_;
  const std::shared_ptr<call_interception> seen_;
  std::shared_ptr<queue_stream> plain_;  // until the call begins, one whose operations fail
  std::optional<serialized_message> request_;
  enum class phase { prepared, begins, runs };
  std::mutex changing_;
  phase phase_ = phase::prepared;
  std::vector<std::unique_ptr<operation>> waiting_;  // for the interceptors of the first batch
};

class seen_unary final : public queue_unary, public std::enable_shared_from_this<seen_unary> {
 public:
  seen_unary(const queue_call_parts& of, serialized_message&& request, std::shared_ptr<call_interception> by)
      : outer_(of), of_(of), seen_(std::move(by)), request_(std::move(request)) {}

  void read_initial_metadata(void* tag) override {
    stream_ = make_intercepted_stream(outer_, std::move(request_), seen_);
    stream_->start_and_read_initial_metadata(tag);
  }

  void finish(const message_target& reply, Status* status, void* tag) override {
    if (stream_) return stream_->finish(reply, status, tag);
    const auto expected = std::make_shared<expected_message>(expected_message{reply});
    auto op = end_operation(seen_, of_.outer, expected, status, tag);
    send_begin(op->batch);
    op->send(std::move(request_));
    op->batch.add(hook::PRE_SEND_CLOSE);
    op->begin = [self = shared_from_this(), expected](operation& o) {
      make_plain_unary(self->of_.parts, o.take_sent())->finish(expected->target(), &o.batch.status, &o);
    };
    operation::run(std::move(op));
  }

 private:
  const queue_call_parts outer_;
  inner_parts of_;
  const std::shared_ptr<call_interception> seen_;
  serialized_message request_;
  std::shared_ptr<queue_stream> stream_;  // after read_initial_metadata()
};

}  // namespace

std::shared_ptr<queue_stream> make_intercepted_stream(const queue_call_parts& of,
                                                      std::optional<serialized_message>&& request,
                                                      std::shared_ptr<call_interception> by) {
  return std::make_shared<seen_stream>(of, std::move(request), std::move(by));
}

std::shared_ptr<queue_unary> make_intercepted_unary(const queue_call_parts& of, serialized_message&& request,
                                                    std::shared_ptr<call_interception> by) {
  return std::make_shared<seen_unary>(of, std::move(request), std::move(by));
}

}  // namespace grpc::internal
