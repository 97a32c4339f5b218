// A proxy before the store, which passes the calls of each of its methods on.
#include "passed_call.hpp"

namespace programs::store_proxy {
namespace {

using program_services::Key;
using program_services::Pair;

struct proxy : proxy_state {
  program_services::Store::AsyncService service;
  std::unique_ptr<program_services::Store::Stub> store;
};

class get final : public passed_call<> {
 public:
  explicit get(proxy& owner) : passed_call(owner), proxy_(owner) {
    proxy_.service.RequestGet(&down_, &key_, &responder_, queue(), queue(), &requested_);
  }

 private:
  void pass() override {
    new get(proxy_);
    reader_ = proxy_.store->AsyncGet(&up_, key_, queue());
    reader_->Finish(&pair_, &status_, started(got_));
  }
  void answer() {
    initial_metadata_has_come();
    trailing_metadata_has_come();
    if (status_.ok()) responder_.Finish(pair_, status_, started(answered_));
    else responder_.FinishWithError(status_, started(answered_));
  }

  proxy& proxy_;
  Key key_;
  Pair pair_;
  grpc::ServerAsyncResponseWriter<Pair> responder_{&down_};
  std::unique_ptr<grpc::ClientAsyncResponseReader<Pair>> reader_;
  event got_ = counted([this](bool) { answer(); });
};

class put final : public passed_call<> {
 public:
  explicit put(proxy& owner) : passed_call(owner), proxy_(owner) {
    proxy_.service.RequestPut(&down_, &pair_, &responder_, queue(), queue(), &requested_);
  }

 private:
  void pass() override {
    new put(proxy_);
    reader_ = proxy_.store->PrepareAsyncPut(&up_, pair_, queue());
    reader_->StartCall();
    reader_->Finish(&stored_, &status_, started(put_));
  }

  proxy& proxy_;
  Pair pair_;
  Pair stored_;
  grpc::ServerAsyncResponseWriter<Pair> responder_{&down_};
  std::unique_ptr<grpc::ClientAsyncResponseReader<Pair>> reader_;
  event put_ = counted([this](bool) { responder_.Finish(stored_, status_, started(answered_)); });
};

class scan final : public passed_call<> {
 public:
  explicit scan(proxy& owner) : passed_call(owner), proxy_(owner) {
    proxy_.service.RequestScan(&down_, &key_, &writer_, queue(), queue(), &requested_);
  }

 private:
  void pass() override {
    new scan(proxy_);
    reader_ = proxy_.store->PrepareAsyncScan(&up_, key_, queue());
    reader_->StartCall(started(next_));
  }
  void read(bool ok) {
    if (ok) reader_->Read(&pair_, started(read_));
    else reader_->Finish(&status_, started(up_ended_));
  }
  void write(bool ok) {
    if (ok) writer_.Write(pair_, started(next_));
    else read(false);
  }
  void answer() {
    trailing_metadata_has_come();
    writer_.Finish(status_, started(answered_));
  }

  proxy& proxy_;
  Key key_;
  Pair pair_;
  grpc::ServerAsyncWriter<Pair> writer_{&down_};
  std::unique_ptr<grpc::ClientAsyncReader<Pair>> reader_;
  event next_ = counted([this](bool ok) { read(ok); });  // the call has begun, or a pair was written
  event read_ = counted([this](bool ok) { write(ok); });
  event up_ended_ = counted([this](bool) { answer(); });
};

class put_all final : public passed_call<> {
 public:
  explicit put_all(proxy& owner) : passed_call(owner), proxy_(owner) {
    proxy_.service.RequestPutAll(&down_, &reader_, queue(), queue(), &requested_);
  }

 private:
  void pass() override {
    new put_all(proxy_);
    writer_ = proxy_.store->PrepareAsyncPutAll(&up_, &last_, queue());
    writer_->StartCall(started(next_));
  }
  void read(bool ok) {
    if (ok) reader_.Read(&pair_, started(read_));
    else finish();
  }
  void write(bool ok) {
    if (ok) writer_->Write(pair_, started(next_));
    else writer_->WritesDone(started(writes_done_));
  }
  void finish() { writer_->Finish(&status_, started(up_ended_)); }
  void answer() {
    if (status_.ok()) reader_.Finish(last_, status_, started(answered_));
    else reader_.FinishWithError(status_, started(answered_));
  }

  proxy& proxy_;
  Pair pair_;
  Pair last_;
  grpc::ServerAsyncReader<Pair, Pair> reader_{&down_};
  std::unique_ptr<grpc::ClientAsyncWriter<Pair>> writer_;
  event next_ = counted([this](bool ok) { read(ok); });  // the call has begun, or a pair was written
  event read_ = counted([this](bool ok) { write(ok); });
  event writes_done_ = counted([this](bool) { finish(); });
  event up_ended_ = counted([this](bool) { answer(); });
};

class watch final : public pumped_call<Key, Pair, grpc::ServerAsyncReaderWriter<Pair, Key>,
                                       grpc::ClientAsyncReaderWriter<Key, Pair>> {
 public:
  explicit watch(proxy& owner) : pumped_call(owner), proxy_(owner) {
    proxy_.service.RequestWatch(&down_, &client_, queue(), queue(), &requested_);
  }

 private:
  void pass() override {
    new watch(proxy_);
    pump(proxy_.store->PrepareAsyncWatch(&up_, queue()));
  }
  proxy& proxy_;
};

}  // namespace

void serve(const arguments& given) {
  proxy proxy;
  proxy.store = program_services::Store::NewStub(channel_to(given.at(0)));
  grpc::ServerBuilder builder;
  builder.RegisterService(&proxy.service);
  serve_proxy(builder, proxy, [&] {
    new get(proxy);
    new put(proxy);
    new scan(proxy);
    new put_all(proxy);
    new watch(proxy);
  });
}

}  // namespace programs::store_proxy
