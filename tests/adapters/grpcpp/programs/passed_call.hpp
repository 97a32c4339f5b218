// passed_call: a call that a proxy passes on. Proxies have one thread, and one completion queue that is a
// server's and a client's. Metadata, deadlines, statuses and cancellations pass through them.
#pragma once

#include "program.hpp"

#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace programs {

// What the calls of a proxy share.
struct proxy_state {
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  int calls = 0;
  int open = 0;
};

// The call of the client, which ends last, and the call to the server behind the proxy. The object deletes
// itself after the last event. Context: that of the call of the client.
template <class Context = grpc::ServerContext>
class passed_call {
 public:
  // A tag points to one.
  using event = std::function<void(bool ok)>;

  explicit passed_call(proxy_state& owner) : state_(owner) { down_.AsyncNotifyWhenDone(&done_); }
  passed_call(const passed_call&) = delete;
  passed_call& operator=(const passed_call&) = delete;
  virtual ~passed_call() = default;

 protected:
  // The call has come, which was requested with &requested_: requests the next one of its kind, and starts
  // the call to the server behind the proxy.
  virtual void pass() = 0;

  [[nodiscard]] grpc::ServerCompletionQueue* queue() const { return state_.queue.get(); }
  event* started(event& one) {
    ++pending_;
    return &one;
  }
  event counted(std::function<void(bool)> handle) {
    return [this, handle](bool ok) {
      handle(ok);
      end();
    };
  }
  void initial_metadata_has_come() {
    add_all(up_.GetServerInitialMetadata(),
            [this](const auto& key, const auto& value) { down_.AddInitialMetadata(key, value); });
  }
  void trailing_metadata_has_come() {
    add_all(up_.GetServerTrailingMetadata(),
            [this](const auto& key, const auto& value) { down_.AddTrailingMetadata(key, value); });
  }

  Context down_;
  grpc::ClientContext up_;
  grpc::Status status_;  // of the call to the server
  event requested_ = [this](bool ok) { ok ? begin() : delete this; };
  event answered_ = counted([](bool) {});

 private:
  template <class Add>
  static void add_all(const metadata& from, const Add& add) {
    for (const auto& [key, value] : from) {
      const std::string name(key.data(), key.size());
      if (name != "user-agent") add(name, std::string(value.data(), value.size()));
    }
  }
  void begin() {
    ++state_.calls;
    ++state_.open;
    pending_ = 1;  // of done_
    add_all(down_.client_metadata(),
            [this](const auto& key, const auto& value) { up_.AddMetadata(key, value); });
    up_.set_deadline(down_.deadline());
    pass();
  }
  void end() {
    if (--pending_ > 0) return;
    --state_.open;
    delete this;
  }

  proxy_state& state_;
  int pending_ = 0;
  event done_ = [this](bool) {
    if (down_.IsCancelled()) up_.TryCancel();
    end();
  };
};

// A call with streams both ways has two pumps: requests of the client go up, replies of the server come down.
// Client and Server: the streams.
template <class Request, class Reply, class Client, class Server, class Context = grpc::ServerContext>
class pumped_call : public passed_call<Context> {
 protected:
  using typename passed_call<Context>::event;
  using passed_call<Context>::passed_call;

  // Begins with the call to the server, which pass() has prepared.
  void pump(std::unique_ptr<Server> server) {
    server_ = std::move(server);
    server_->StartCall(this->started(begun_));
  }
  Client client_{&this->down_};

 private:
  void read_both(bool ok) {
    if (!ok) return finish();
    client_.Read(&request_, this->started(request_read_));
    server_->ReadInitialMetadata(this->started(initial_read_));
  }
  void send_initial(bool ok) {
    if (!ok) return finish();
    this->initial_metadata_has_come();
    server_->Read(&reply_, this->started(reply_read_));
  }
  void write_request(bool ok) {
    if (ok) server_->Write(request_, this->started(request_written_));
    else server_->WritesDone(this->started(requests_done_));
  }
  void read_request(bool ok) {
    if (ok) client_.Read(&request_, this->started(request_read_));
  }
  void write_reply(bool ok) {
    if (ok) client_.Write(reply_, this->started(reply_written_));
    else finish();
  }
  void read_reply(bool ok) {
    if (!ok) this->up_.TryCancel();
    server_->Read(&reply_, this->started(reply_read_));
  }
  void finish() { server_->Finish(&this->status_, this->started(up_ended_)); }
  void answer() {
    this->trailing_metadata_has_come();
    client_.Finish(this->status_, this->started(this->answered_));
  }

  std::unique_ptr<Server> server_;
  Request request_;
  Reply reply_;
  event begun_ = this->counted([this](bool ok) { read_both(ok); });
  event initial_read_ = this->counted([this](bool ok) { send_initial(ok); });
  event request_read_ = this->counted([this](bool ok) { write_request(ok); });
  event request_written_ = this->counted([this](bool ok) { read_request(ok); });
  event requests_done_ = this->counted([](bool) {});
  event reply_read_ = this->counted([this](bool ok) { write_reply(ok); });
  event reply_written_ = this->counted([this](bool ok) { read_reply(ok); });
  event up_ended_ = this->counted([this](bool) { answer(); });
};

// Starts the server of a proxy, and serves until SIGTERM. `request_all` requests the first call of each kind.
template <class RequestAll>
void serve_proxy(grpc::ServerBuilder& builder, proxy_state& state, RequestAll request_all) {
  state.queue = builder.AddCompletionQueue();
  const auto server = start(builder);
  request_all();
  std::thread stopper([&] {
    wait_for_sigterm();
    server->Shutdown();
    state.queue->Shutdown();
  });
  void* tag = nullptr;
  bool ok = false;
  while (state.queue->Next(&tag, &ok)) (*static_cast<std::function<void(bool)>*>(tag))(ok);
  stopper.join();
  say("server between", state.calls, "calls", state.open, "open");
}

}  // namespace programs
