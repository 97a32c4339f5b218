// Channels, and calls from the client's side.
#include "coracle/client/channel.hpp"
#include "coracle/client/generic_stub.hpp"
#include "coracle/client/start.hpp"
#include "coracle/coro/when_all.hpp"

#include "handles.hpp"
#include "options.hpp"
#include "streams.hpp"

#include <limits>
#include <optional>
#include <string>

namespace coracle::c_abi {
namespace {

class channel_object {
 public:
  static constexpr handle_kind kind_of_handle = handle_kind::channel;
  channel_object(std::shared_ptr<shared_runtime> of, const char* target, channel_settings settings)
      : owner(std::move(of)), stub(made(*owner, target, std::move(settings))) {}

  const std::shared_ptr<shared_runtime> owner;
  channel handle;
  const generic_stub stub;

 private:
  generic_stub made(shared_runtime& of, const char* target, channel_settings settings) {
    const shared_runtime::use using_runtime(of);
    handle =
        channel(using_runtime.get(), target, std::move(settings.credentials), std::move(settings.options));
    if (const status why = handle.invalid_reason(); !why.ok()) invalid(std::string(why.message()));
    return generic_stub(handle);
  }
};

void require_path(const char* path) {
  if (method_path(require_text(path, "path")).is_valid()) return;
  std::string shown;  // of any bytes
  for (const char* c = path; *c && shown.size() < 200; ++c) shown += *c >= ' ' && *c <= '~' ? *c : '?';
  invalid("the path \"" + shown +
          "\" is not valid in HTTP: write \"/package.Service/Method\" in printable ASCII without spaces and "
          "\"#\"");
}

void add_pairs(metadata& to, const coracle_pair* pairs, std::size_t count) {
  if (!pairs && count) invalid("metadata is a null pointer, but metadata_count is not 0");
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view key = text_of(pairs[i].key, pairs[i].key_size, "coracle_pair::key");
    if (!to.add(key, text_of(pairs[i].value, pairs[i].value_size, "coracle_pair::value")))
      invalid(
          "the pair '" + std::string(key) +
          "' is not valid metadata: keys are lower-case and not reserved, values printable unless the key "
          "ends in -bin");
  }
}

// The options of a call, and when it must have ended.
struct call_settings {
  call_options options;
  std::optional<time_point> deadline;

  call_settings(const coracle_call_options* from, const runtime& on) {
    const auto read = read_struct(from, sizeof(coracle_call_options), "coracle_call_options");
    if (read.flags & ~std::uint32_t{CORACLE_WAIT_FOR_READY})
      invalid("coracle_call_options::flags has unknown bits");
    if (read.flags & CORACLE_WAIT_FOR_READY) options.wait_for_ready = true;
    if (read.timeout_ns == std::numeric_limits<std::int64_t>::max()) options.timeout = duration::max();
    else if (read.timeout_ns != 0) deadline = deadline_after(on.now(), duration(read.timeout_ns));
    add_pairs(options.metadata, read.metadata, read.metadata_count);
    if (read.max_receive_bytes) options.max_receive_bytes = read.max_receive_bytes;
    if (read.max_send_bytes) options.max_send_bytes = read.max_send_bytes;
    if (read.bearer_token) options.credentials = call_credentials::bearer(read.bearer_token);
    if (read.compression) options.compression = parse_compression(read.compression);
    if (read.content_subtype) options.content_subtype = read.content_subtype;
  }
  // When the call begins: what is left of the time.
  [[nodiscard]] call_options& at(time_point now) {
    if (deadline) options.timeout = *deadline - now;
    return options;
  }
};

// --- unary calls

class unary_object;

class unary_operation : public completion {
 public:
  unary_operation(const destination& to, std::shared_ptr<channel_object> by, const char* path,
                  bytes_message request, call_settings settings)
      : completion(CORACLE_EVENT_UNARY, to),
        by_(std::move(by)),
        path_(path),
        request_(std::move(request)),
        settings_(std::move(settings)) {}

  static task<> run(std::unique_ptr<unary_operation> self) {
    try {
      co_await self->make();
    } catch (const coro::cancelled&) {
      self->outcome = status::cancelled("the runtime or the call was stopped");
    } catch (const std::exception& e) {
      self->outcome = status::internal(e.what());
    }
    mark_ended(*self);
    self->by_.reset();  // an event that is not taken must not keep the channel with its connections
    completion::finish(std::move(self));
  }
  // Of a call with a handle.
  std::shared_ptr<unary_object> handle;
  [[nodiscard]] const std::string& path() const noexcept override { return path_; }

 private:
  static void mark_ended(unary_operation& self) noexcept;
  task<> make() {
    call_options& options = settings_.at(loop::current()->now());
    auto made = by_->stub.unary<bytes_message>(path_.c_str(), std::move(request_), options);
    auto reply = co_await made;
    outcome = reply.status();
    initial = made.initial_metadata();
    trailing = made.trailing_metadata();
    if (!reply) co_return;
    message = *std::move(reply);
    has_message = true;
  }
  std::shared_ptr<channel_object> by_;  // until the end of the call
  const std::string path_;
  bytes_message request_;
  call_settings settings_;
};

// The handle of a unary call.
class unary_object : public call_object {
 public:
  unary_object(std::shared_ptr<shared_runtime> of, std::string path) noexcept
      : owner_(std::move(of)), path_(std::move(path)) {}
  void start(loop& where, std::unique_ptr<unary_operation> operation) {
    const std::lock_guard lock(changing_);
    running_ = coracle::start(where, unary_operation::run(std::move(operation)), [](const outcome<void>&) {});
  }
  void cancel() override {
    const shared_runtime::use using_runtime(*owner_);
    const std::lock_guard lock(changing_);
    running_.cancel();
  }
  void released() noexcept override {
    const std::lock_guard lock(changing_);
    running_.detach();
  }
  [[nodiscard]] bool has_ended() const noexcept override { return ended_.load(std::memory_order_acquire); }
  void mark_ended() noexcept { ended_.store(true, std::memory_order_release); }
  [[nodiscard]] const std::string& path() const noexcept override { return path_; }
  void on_callback_exception() noexcept override {}  // the call has ended

 private:
  const std::shared_ptr<shared_runtime> owner_;
  const std::string path_;
  std::atomic<bool> ended_{false};
  std::mutex changing_;
  started running_;
};

void unary_operation::mark_ended(unary_operation& self) noexcept {
  if (self.handle) self.handle->mark_ended();
}

void start_unary(coracle_channel channel, const char* path, const void* request, std::size_t request_size,
                 const coracle_call_options* options, const coracle_completion* completed,
                 blocked_thread* thread, coracle_call* call) {
  const auto by = object_of<channel_object>(channel);
  require_path(path);
  const shared_runtime::use using_runtime(*by->owner);
  runtime& on = using_runtime.get();
  const destination to = thread ? destination::of(*thread) : destination::of(completed, *by->owner);
  auto operation = std::make_unique<unary_operation>(
      to, by, path, bytes_message(std::string(text_of(request, request_size, "request"))),
      call_settings(options, on));
  loop& where = on.next();
  if (!call) return on.spawn_on(where, unary_operation::run(std::move(operation)));
  const auto object = std::make_shared<unary_object>(by->owner, path);
  operation->handle = object;
  *call = operation->call = open_handle(handle_kind::call, object);
  try {
    object->start(where, std::move(operation));
  } catch (...) {
    close_handle(handle_kind::call, *call);
    *call = 0;
    throw;
  }
}

// --- streams

class client_stream_object;

class client_side {
 public:
  using call_type = bidi_call<bytes_message, bytes_message>;
  explicit client_side(call_type& c) noexcept : call_(c) {}
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters): `into` outlives the await
  task<read_outcome> read(bytes_message& into) {
    auto wait = call_.read(into);
    const result<bool> got = co_await std::move(wait);
    if (!got.ok()) co_return read_outcome(got.status());
    if (*got) co_return read_outcome(true);
    co_return read_outcome(status());
  }
  task<status> write(const outgoing& m) {
    if (m.last) {
      auto wait = call_.write_last(m.sent, m.options);
      co_return co_await std::move(wait);
    }
    auto wait = call_.write(m.sent, m.options);
    co_return co_await std::move(wait);
  }
  auto writes_done() { return call_.writes_done(); }
  [[nodiscard]] static bool written() noexcept { return false; }

 private:
  call_type& call_;
};

class client_stream_object : public stream {
 public:
  client_stream_object(std::shared_ptr<channel_object> by, loop& where, const char* path,
                       call_settings settings)
      : stream(by->owner, where, path), by_(std::move(by)), settings_(std::move(settings)) {}

  static task<> run(std::shared_ptr<client_stream_object> self) {
    try {
      co_await self->session();
    } catch (const coro::cancelled&) {
      self->end(status::cancelled("the runtime was stopped"));
    } catch (const std::exception& e) {
      self->end(status::internal(e.what()));
    }
    self->end(status::cancelled("the handle of the call was released"));
  }

 private:
  task<> session() {
    auto call = by_->stub.bidi(path_.c_str(), settings_.at(where_.now()));
    call_ = &call;
    const forget at_end(*this);
    client_side side(call);
    co_await call.start();
    auto reads = read_messages(*this, side);
    auto writes = write_messages(*this, side);
    auto all = when_all(std::move(reads), std::move(writes), wait_for_headers());
    co_await all;
  }
  task<> wait_for_headers() {
    while (!closed_ && !headers_) {
      co_await headers_wake_;
      headers_wake_.reset();
    }
    if (!headers_) co_return;
    auto wait = call_->wait_for_initial_metadata();
    const status got = co_await std::move(wait);
    headers_->outcome = got;
    headers_->initial = call_->initial_metadata();
    completion::finish(std::move(headers_));
  }
  void obey(command& c) noexcept override {
    if (c.type == command::kind::release) {
      closed_ = true;
      wake_all();
    }
    if (call_) call_->cancel();
    else cancelled_early_ = true;
  }
  void on_callback_exception() noexcept override {
    if (call_) call_->cancel();
  }
  void reads_ended() noexcept override {
    if (!finish_) return;
    finish_->outcome = end_;
    add_metadata(*finish_);
    completion::finish(std::move(finish_));
  }
  void add_metadata(completion& to) override {
    if (!call_) return;
    to.initial = call_->initial_metadata();
    to.trailing = call_->trailing_metadata();
  }
  class forget {
   public:
    explicit forget(client_stream_object& of) noexcept : of_(of) {}
    forget(const forget&) = delete;
    forget& operator=(const forget&) = delete;
    ~forget() { of_.call_ = nullptr; }

   private:
    client_stream_object& of_;
  };

  const std::shared_ptr<channel_object> by_;
  call_settings settings_;
  client_side::call_type* call_ = nullptr;  // while the session lasts
  bool cancelled_early_ = false;
};

std::shared_ptr<stream> stream_of(coracle_call call) {
  const auto object = object_of<call_object>(call);
  stream* const found = object->as_stream();
  if (!found)
    throw failure(CORACLE_WRONG_STATE,
                  "the call of " + object->path() + " is unary: it has no stream to read, write or finish");
  return found->shared_from_this();
}

// Starts an operation and waits for its event.
template <class Start>
int waiting(coracle_event* event, Start start) {
  return guarded([&] {
    require_plain_thread();
    require_out(event, "event");
    blocked_thread thread;
    start(thread);
    completion::hand_out(thread.wait(), event, sizeof(coracle_event));
  });
}

std::unique_ptr<outgoing> message_of(const void* message, std::size_t size, std::uint32_t flags,
                                     const destination& to) {
  if (flags & ~std::uint32_t{CORACLE_WRITE_LAST | CORACLE_WRITE_UNCOMPRESSED})
    invalid("flags has unknown bits");
  return std::make_unique<outgoing>(to, bytes_message(std::string(text_of(message, size, "message"))),
                                    write_options{.compress = !(flags & CORACLE_WRITE_UNCOMPRESSED)},
                                    (flags & CORACLE_WRITE_LAST) != 0);
}

}  // namespace
}  // namespace coracle::c_abi

using namespace coracle::c_abi;

extern "C" {

int coracle_channel_create(coracle_runtime runtime, const char* target, const coracle_option* options,
                           size_t count, coracle_channel* out) {
  return guarded([&] {
    require_out(out, "out");
    require_text(target, "target");
    auto settings = parse_channel_options(options, count);
    *out = open_handle(handle_kind::channel,
                       std::make_shared<channel_object>(runtime_of(runtime), target, std::move(settings)));
  });
}

int coracle_channel_destroy(coracle_channel channel) {
  return guarded([&] { closed_object_of<channel_object>(channel); });
}

int coracle_channel_close(coracle_channel channel) {
  return guarded([&] { object_of<channel_object>(channel)->handle.close(); });
}

int coracle_unary(coracle_channel channel, const char* path, const void* request, size_t request_size,
                  const coracle_call_options* options, const coracle_completion* completion,
                  coracle_call* call) {
  return guarded(
      [&] { start_unary(channel, path, request, request_size, options, completion, nullptr, call); });
}

int coracle_unary_wait(coracle_channel channel, const char* path, const void* request, size_t request_size,
                       const coracle_call_options* options, coracle_event* event) {
  return waiting(event, [&](blocked_thread& thread) {
    start_unary(channel, path, request, request_size, options, nullptr, &thread, nullptr);
  });
}

int coracle_stream(coracle_channel channel, const char* path, const coracle_call_options* options,
                   coracle_call* call) {
  return guarded([&] {
    require_out(call, "call");
    require_path(path);
    const auto by = object_of<channel_object>(channel);
    const shared_runtime::use using_runtime(*by->owner);
    coracle::runtime& on = using_runtime.get();
    coracle::loop& where = on.next();
    const auto object = std::make_shared<client_stream_object>(by, where, path, call_settings(options, on));
    const auto handle = open_handle(handle_kind::call, object);
    object->set_handle(handle);
    try {
      on.spawn_on(where, client_stream_object::run(object));
    } catch (...) {
      close_handle(handle_kind::call, handle);
      throw;
    }
    *call = handle;
  });
}

int coracle_call_cancel(coracle_call call) {
  return guarded([&] { object_of<call_object>(call)->cancel(); });
}

int coracle_call_release(coracle_call call) {
  return guarded([&] { closed_object_of<call_object>(call)->released(); });
}

int coracle_read(coracle_call call, uint32_t count, const coracle_completion* completion) {
  return guarded([&] {
    const auto on = stream_of(call);
    on->read(count, destination::of(completion, on->owner()));
  });
}

int coracle_write(coracle_call call, const void* message, size_t message_size, uint32_t flags,
                  const coracle_completion* completion) {
  return guarded([&] {
    const auto on = stream_of(call);
    on->write(message_of(message, message_size, flags, destination::of(completion, on->owner(), false)));
  });
}

int coracle_writes_done(coracle_call call) {
  return guarded([&] { stream_of(call)->writes_done(); });
}

int coracle_headers(coracle_call call, const coracle_completion* completion) {
  return guarded([&] {
    const auto on = stream_of(call);
    on->headers(std::make_unique<coracle::c_abi::completion>(CORACLE_EVENT_HEADERS,
                                                             destination::of(completion, on->owner())));
  });
}

int coracle_finish(coracle_call call, const coracle_completion* completion) {
  return guarded([&] {
    const auto on = stream_of(call);
    on->finish(std::make_unique<coracle::c_abi::completion>(CORACLE_EVENT_FINISH,
                                                            destination::of(completion, on->owner())));
  });
}

int coracle_read_wait(coracle_call call, coracle_event* event) {
  return waiting(event, [&](blocked_thread& thread) { stream_of(call)->read(1, destination::of(thread)); });
}

int coracle_write_wait(coracle_call call, const void* message, size_t message_size, uint32_t flags,
                       coracle_event* event) {
  return waiting(event, [&](blocked_thread& thread) {
    stream_of(call)->write(message_of(message, message_size, flags, destination::of(thread)));
  });
}

int coracle_headers_wait(coracle_call call, coracle_event* event) {
  return waiting(event, [&](blocked_thread& thread) {
    stream_of(call)->headers(std::make_unique<completion>(CORACLE_EVENT_HEADERS, destination::of(thread)));
  });
}

int coracle_finish_wait(coracle_call call, coracle_event* event) {
  return waiting(event, [&](blocked_thread& thread) {
    stream_of(call)->finish(std::make_unique<completion>(CORACLE_EVENT_FINISH, destination::of(thread)));
  });
}

int coracle_call_ended(coracle_call call, int* ended) {
  return guarded([&] { *require_out(ended, "ended") = object_of<call_object>(call)->has_ended() ? 1 : 0; });
}

int coracle_send_headers(coracle_call call, const coracle_pair* metadata, size_t count) {
  return guarded([&] {
    coracle::metadata pairs;
    add_pairs(pairs, metadata, count);
    stream_of(call)->send_headers(std::move(pairs));
  });
}

int coracle_call_security(coracle_call call, const coracle_pair** pairs, size_t* count) {
  return guarded([&] {
    require_out(pairs, "pairs");
    require_out(count, "count");
    const auto all = stream_of(call)->security();
    *pairs = all.data();
    *count = all.size();
  });
}

int coracle_answer_call(coracle_call call, const coracle_answer* with) {
  return guarded([&] {
    require_out(with, "answer");
    const auto on = stream_of(call);
    const auto read = read_struct(with, sizeof(coracle_answer), "coracle_answer");
    if (read.status < 0 || read.status > 16)
      invalid("coracle_answer::status is no status code of gRPC (0 to 16)");
    answer a;
    const auto text = text_of(read.status_text, read.status_text_size, "status_text");
    const auto details = text_of(read.status_details, read.status_details_size, "status_details");
    if (read.status)
      a.outcome = coracle::status(static_cast<coracle::status_code>(read.status), text, details);
    a.has_message = read.has_message != 0;
    a.message = coracle::bytes_message(std::string(text_of(read.message, read.message_size, "message")));
    add_pairs(a.trailing, read.trailing_metadata, read.trailing_metadata_count);
    on->answer_with(std::move(a));
  });
}

const char* coracle_status_name(int32_t status) {
  if (status < 0 || status > 16) return "UNKNOWN";
  return coracle::name_of(static_cast<coracle::status_code>(status)).data();
}
uint32_t coracle_abi_version(void) { return CORACLE_ABI_VERSION; }
const char* coracle_version(void) { return coracle::version_text; }

}  // extern "C"
