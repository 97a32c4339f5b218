// A proxy before the store: one thread, one completion queue that is a server's and a client's. Metadata,
// deadlines, statuses and cancellations pass through it.
#include "program.hpp"

#include <deque>
#include <functional>
#include <thread>

namespace programs::store_proxy {

using valley::Key;
using valley::Pair;

// A tag points to one.
using event = std::function<void(bool ok)>;

struct proxy {
  valley::Store::AsyncService service;
  std::unique_ptr<valley::Store::Stub> store;
  std::unique_ptr<grpc::ServerCompletionQueue> queue;
  int calls = 0;
  int open = 0;
};

namespace {

void add_all(const metadata& from, const std::function<void(const std::string&, const std::string&)>& add) {
  for (const char* key : {"tenant", "tenant-was", "has-deadline", "found"}) {
    const std::string value = value_of(from, key);
    if (value != "none") add(key, value);
  }
}

// What every call of the proxy has: the call of its client, which ends last, and the call to the store. It
// deletes itself after the last event.
class passed_call {
 public:
  explicit passed_call(proxy& owner) : proxy_(owner) { down_.AsyncNotifyWhenDone(&done_); }
  virtual ~passed_call() = default;

 protected:
  // The call has come: the one to the store may begin.
  void begin() {
    ++proxy_.calls;
    ++proxy_.open;
    pending_ = 1;  // of done_
    add_all(down_.client_metadata(), [this](auto& key, auto& value) { up_.AddMetadata(key, value); });
    up_.set_deadline(down_.deadline());
  }
  void initial_metadata_has_come() {
    add_all(up_.GetServerInitialMetadata(),
            [this](auto& key, auto& value) { down_.AddInitialMetadata(key, value); });
  }
  void trailing_metadata_has_come() {
    add_all(up_.GetServerTrailingMetadata(),
            [this](auto& key, auto& value) { down_.AddTrailingMetadata(key, value); });
  }
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

  proxy& proxy_;
  grpc::ServerContext down_;
  grpc::ClientContext up_;

 private:
  int pending_ = 0;
  event done_ = [this](bool) {
    if (down_.IsCancelled()) up_.TryCancel();
    end();
  };
};

class get final : public passed_call {
 public:
  explicit get(proxy& owner) : passed_call(owner) {
    proxy_.service.RequestGet(&down_, &key_, &responder_, proxy_.queue.get(), proxy_.queue.get(),
                              &requested_);
  }

 private:
  void pass() {
    new get(proxy_);
    begin();
    reader_ = proxy_.store->AsyncGet(&up_, key_, proxy_.queue.get());
    reader_->Finish(&pair_, &status_, started(got_));
  }
  void answer() {
    initial_metadata_has_come();
    trailing_metadata_has_come();
    if (status_.ok()) responder_.Finish(pair_, status_, started(answered_));
    else responder_.FinishWithError(status_, started(answered_));
  }

  Key key_;
  Pair pair_;
  grpc::Status status_;
  grpc::ServerAsyncResponseWriter<Pair> responder_{&down_};
  std::unique_ptr<grpc::ClientAsyncResponseReader<Pair>> reader_;
  event requested_ = [this](bool ok) { ok ? pass() : delete this; };
  event got_ = counted([this](bool) { answer(); });
  event answered_ = counted([](bool) {});
};

class put final : public passed_call {
 public:
  explicit put(proxy& owner) : passed_call(owner) {
    proxy_.service.RequestPut(&down_, &pair_, &responder_, proxy_.queue.get(), proxy_.queue.get(),
                              &requested_);
  }

 private:
  void pass() {
    new put(proxy_);
    begin();
    reader_ = proxy_.store->PrepareAsyncPut(&up_, pair_, proxy_.queue.get());
    reader_->StartCall();
    reader_->Finish(&stored_, &status_, started(put_));
  }

  Pair pair_;
  Pair stored_;
  grpc::Status status_;
  grpc::ServerAsyncResponseWriter<Pair> responder_{&down_};
  std::unique_ptr<grpc::ClientAsyncResponseReader<Pair>> reader_;
  event requested_ = [this](bool ok) { ok ? pass() : delete this; };
  event put_ = counted([this](bool) { responder_.Finish(stored_, status_, started(answered_)); });
  event answered_ = counted([](bool) {});
};

class scan final : public passed_call {
 public:
  explicit scan(proxy& owner) : passed_call(owner) {
    proxy_.service.RequestScan(&down_, &key_, &writer_, proxy_.queue.get(), proxy_.queue.get(), &requested_);
  }

 private:
  void pass() {
    new scan(proxy_);
    begin();
    reader_ = proxy_.store->PrepareAsyncScan(&up_, key_, proxy_.queue.get());
    reader_->StartCall(started(begun_));
  }
  void read(bool ok) {
    if (ok) reader_->Read(&pair_, started(read_));
    else reader_->Finish(&status_, started(up_ended_));
  }
  void write(bool ok) {
    if (ok) writer_.Write(pair_, started(written_));
    else read(false);
  }
  void answer() {
    trailing_metadata_has_come();
    writer_.Finish(status_, started(answered_));
  }

  Key key_;
  Pair pair_;
  grpc::Status status_;
  grpc::ServerAsyncWriter<Pair> writer_{&down_};
  std::unique_ptr<grpc::ClientAsyncReader<Pair>> reader_;
  event requested_ = [this](bool ok) { ok ? pass() : delete this; };
  event begun_ = counted([this](bool ok) { read(ok); });
  event read_ = counted([this](bool ok) { write(ok); });
  event written_ = counted([this](bool ok) { read(ok); });
  event up_ended_ = counted([this](bool) { answer(); });
  event answered_ = counted([](bool) {});
};

class put_all final : public passed_call {
 public:
  explicit put_all(proxy& owner) : passed_call(owner) {
    proxy_.service.RequestPutAll(&down_, &reader_, proxy_.queue.get(), proxy_.queue.get(), &requested_);
  }

 private:
  void pass() {
    new put_all(proxy_);
    begin();
    writer_ = proxy_.store->PrepareAsyncPutAll(&up_, &last_, proxy_.queue.get());
    writer_->StartCall(started(begun_));
  }
  void read(bool ok) {
    if (ok) reader_.Read(&pair_, started(read_));
    else finish();
  }
  void write(bool ok) {
    if (ok) writer_->Write(pair_, started(written_));
    else writer_->WritesDone(started(writes_done_));
  }
  void finish() { writer_->Finish(&status_, started(up_ended_)); }
  void answer() {
    if (status_.ok()) reader_.Finish(last_, status_, started(answered_));
    else reader_.FinishWithError(status_, started(answered_));
  }

  Pair pair_;
  Pair last_;
  grpc::Status status_;
  grpc::ServerAsyncReader<Pair, Pair> reader_{&down_};
  std::unique_ptr<grpc::ClientAsyncWriter<Pair>> writer_;
  event requested_ = [this](bool ok) { ok ? pass() : delete this; };
  event begun_ = counted([this](bool ok) { read(ok); });
  event read_ = counted([this](bool ok) { write(ok); });
  event written_ = counted([this](bool ok) { read(ok); });
  event writes_done_ = counted([this](bool) { finish(); });
  event up_ended_ = counted([this](bool) { answer(); });
  event answered_ = counted([](bool) {});
};

// Two pumps: keys go to the store, pairs come back.
class watch final : public passed_call {
 public:
  explicit watch(proxy& owner) : passed_call(owner) {
    proxy_.service.RequestWatch(&down_, &stream_, proxy_.queue.get(), proxy_.queue.get(), &requested_);
  }

 private:
  void pass() {
    new watch(proxy_);
    begin();
    store_ = proxy_.store->PrepareAsyncWatch(&up_, proxy_.queue.get());
    store_->StartCall(started(begun_));
  }
  void read_both(bool ok) {
    if (!ok) return finish();
    stream_.Read(&key_, started(key_read_));
    store_->Read(&pair_, started(pair_read_));
  }
  void write_key(bool ok) {
    if (ok) store_->Write(key_, started(key_written_));
    else store_->WritesDone(started(keys_done_));
  }
  void read_key(bool ok) {
    if (ok) stream_.Read(&key_, started(key_read_));
  }
  void write_pair(bool ok) {
    if (ok) stream_.Write(pair_, started(pair_written_));
    else finish();
  }
  void read_pair(bool ok) {
    if (!ok) up_.TryCancel();
    store_->Read(&pair_, started(pair_read_));
  }
  void finish() { store_->Finish(&status_, started(up_ended_)); }

  Key key_;
  Pair pair_;
  grpc::Status status_;
  grpc::ServerAsyncReaderWriter<Pair, Key> stream_{&down_};
  std::unique_ptr<grpc::ClientAsyncReaderWriter<Key, Pair>> store_;
  event requested_ = [this](bool ok) { ok ? pass() : delete this; };
  event begun_ = counted([this](bool ok) { read_both(ok); });
  event key_read_ = counted([this](bool ok) { write_key(ok); });
  event key_written_ = counted([this](bool ok) { read_key(ok); });
  event keys_done_ = counted([](bool) {});
  event pair_read_ = counted([this](bool ok) { write_pair(ok); });
  event pair_written_ = counted([this](bool ok) { read_pair(ok); });
  event up_ended_ = counted([this](bool) { stream_.Finish(status_, started(answered_)); });
  event answered_ = counted([](bool) {});
};

}  // namespace

void serve(const arguments& given) {
  proxy proxy;
  proxy.store = valley::Store::NewStub(channel_to(given.at(0)));
  grpc::ServerBuilder builder;
  builder.RegisterService(&proxy.service);
  proxy.queue = builder.AddCompletionQueue();
  const auto server = start(builder);
  new get(proxy);
  new put(proxy);
  new scan(proxy);
  new put_all(proxy);
  new watch(proxy);
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

}  // namespace programs::store_proxy
