// A proxy that knows no .proto file: one thread, one completion queue, AsyncGenericService on one side and
// GenericStub on the other. Messages, metadata, deadlines, statuses and cancellations of calls of any kind
// pass through it.
#include "program.hpp"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>

#include <functional>
#include <thread>

namespace programs::generic_proxy {
namespace {

using grpc::ByteBuffer;

// A tag points to one.
using event = std::function<void(bool ok)>;

struct proxy {
  explicit proxy(const std::shared_ptr<grpc::Channel>& to) : stub(to) {}
  grpc::AsyncGenericService service;
  grpc::GenericStub stub;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  int calls = 0;
  int open = 0;
};

void add_all(const metadata& from, const std::function<void(const std::string&, const std::string&)>& add) {
  for (const auto& [key, value] : from) {
    const std::string name(key.data(), key.size());
    if (name != "user-agent") add(name, std::string(value.data(), value.size()));
  }
}

// Two pumps: messages of the client go up, those of the server come down. The object deletes itself after the
// last event.
class passed_call {
 public:
  explicit passed_call(proxy& owner) : proxy_(owner) {
    down_.AsyncNotifyWhenDone(&done_);
    proxy_.service.RequestCall(&down_, &client_, proxy_.queue.get(), proxy_.queue.get(), &requested_);
  }

 private:
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
  void end() {
    if (--pending_ > 0) return;
    --proxy_.open;
    delete this;
  }

  void begin() {
    new passed_call(proxy_);
    ++proxy_.calls;
    ++proxy_.open;
    pending_ = 1;  // of done_
    add_all(down_.client_metadata(), [this](auto& key, auto& value) { up_.AddMetadata(key, value); });
    up_.set_deadline(down_.deadline());
    server_ = proxy_.stub.PrepareCall(&up_, down_.method(), proxy_.queue.get());
    server_->StartCall(started(begun_));
  }
  void read_both(bool ok) {
    if (!ok) return finish();
    client_.Read(&request_, started(request_read_));
    server_->ReadInitialMetadata(started(initial_read_));
  }
  void send_initial(bool ok) {
    if (!ok) return finish();
    add_all(up_.GetServerInitialMetadata(),
            [this](auto& key, auto& value) { down_.AddInitialMetadata(key, value); });
    server_->Read(&reply_, started(reply_read_));
  }
  void write_request(bool ok) {
    if (ok) server_->Write(request_, started(request_written_));
    else server_->WritesDone(started(requests_done_));
  }
  void read_request(bool ok) {
    if (ok) client_.Read(&request_, started(request_read_));
  }
  void write_reply(bool ok) {
    if (ok) client_.Write(reply_, started(reply_written_));
    else finish();
  }
  void read_reply(bool ok) {
    if (!ok) up_.TryCancel();
    server_->Read(&reply_, started(reply_read_));
  }
  void finish() { server_->Finish(&status_, started(up_ended_)); }
  void answer() {
    add_all(up_.GetServerTrailingMetadata(),
            [this](auto& key, auto& value) { down_.AddTrailingMetadata(key, value); });
    client_.Finish(status_, started(answered_));
  }

  proxy& proxy_;
  grpc::GenericServerContext down_;
  grpc::GenericServerAsyncReaderWriter client_{&down_};
  grpc::ClientContext up_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> server_;
  ByteBuffer request_;
  ByteBuffer reply_;
  grpc::Status status_;
  int pending_ = 0;
  event done_ = [this](bool) {
    if (down_.IsCancelled()) up_.TryCancel();
    end();
  };
  event requested_ = [this](bool ok) { ok ? begin() : delete this; };
  event begun_ = counted([this](bool ok) { read_both(ok); });
  event initial_read_ = counted([this](bool ok) { send_initial(ok); });
  event request_read_ = counted([this](bool ok) { write_request(ok); });
  event request_written_ = counted([this](bool ok) { read_request(ok); });
  event requests_done_ = counted([](bool) {});
  event reply_read_ = counted([this](bool ok) { write_reply(ok); });
  event reply_written_ = counted([this](bool ok) { read_reply(ok); });
  event up_ended_ = counted([this](bool) { answer(); });
  event answered_ = counted([](bool) {});
};

}  // namespace

void serve(const arguments& given) {
  proxy proxy(channel_to(given.at(0)));
  grpc::ServerBuilder builder;
  builder.RegisterAsyncGenericService(&proxy.service);
  proxy.queue = builder.AddCompletionQueue();
  const auto server = start(builder);
  new passed_call(proxy);
  std::thread stopper([&] {
    wait_for_sigterm();
    server->Shutdown();
    proxy.queue->Shutdown();
  });
  void* tag = nullptr;
  bool ok = false;
  while (proxy.queue->Next(&tag, &ok)) (*static_cast<event*>(tag))(ok);
  stopper.join();
  say("server between", proxy.calls, "calls", proxy.open, "open");
}

}  // namespace programs::generic_proxy
