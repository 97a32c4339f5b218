// A store of keys and values in the synchronous API, and its client, which does not know whether it talks
// to the store or to the proxy (store_proxy.cpp).
#include "program.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

namespace programs::store {

using program_services::Key;
using program_services::Pair;

class store_service final : public program_services::Store::Service {
 public:
  grpc::Status Get(grpc::ServerContext* context, const Key* key, Pair* pair) override {
    context->AddInitialMetadata("tenant-was", value_of(context->client_metadata(), "tenant"));
    context->AddTrailingMetadata("has-deadline", has_deadline(*context) ? "yes" : "no");
    std::unique_lock lock(mutex_);
    ++gets_;
    if (key->key() == "never") {
      lock.unlock();
      wait_for_cancel(*context);
      return grpc::Status::CANCELLED;
    }
    const auto found = pairs_.find(key->key());
    if (found == pairs_.end()) return {grpc::StatusCode::NOT_FOUND, "no such key", key->key()};
    *pair = found->second;
    return grpc::Status::OK;
  }

  grpc::Status Put(grpc::ServerContext*, const Pair* pair, Pair* stored) override {
    if (pair->key().empty()) return {grpc::StatusCode::INVALID_ARGUMENT, "a pair without a key"};
    *stored = put(*pair);
    stored->clear_value();
    return grpc::Status::OK;
  }

  grpc::Status Scan(grpc::ServerContext* context, const Key* prefix,
                    grpc::ServerWriter<Pair>* writer) override {
    std::vector<Pair> found;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [key, pair] : pairs_)
        if (key.compare(0, prefix->key().size(), prefix->key()) == 0) found.push_back(pair);
    }
    context->AddTrailingMetadata("found", std::to_string(found.size()));
    for (const Pair& pair : found)
      if (!writer->Write(pair)) return grpc::Status::CANCELLED;
    return grpc::Status::OK;
  }

  grpc::Status PutAll(grpc::ServerContext*, grpc::ServerReader<Pair>* reader, Pair* last) override {
    Pair pair;
    while (reader->Read(&pair)) {
      if (pair.key().empty()) return {grpc::StatusCode::INVALID_ARGUMENT, "a pair without a key"};
      *last = put(pair);
    }
    last->clear_value();
    return grpc::Status::OK;
  }

  grpc::Status Watch(grpc::ServerContext*, grpc::ServerReaderWriter<Pair, Key>* stream) override {
    std::set<std::string> watched;
    bool ended = false;
    std::unique_lock lock(mutex_);
    std::size_t next = changed_.size();
    // Reads on a thread of its own, while this one writes.
    std::thread reader([&] {
      Key key;
      while (stream->Read(&key)) {
        const std::lock_guard lock(mutex_);
        watched.insert(key.key());
        changed_.push_back(key.key());
        change_.notify_all();
      }
      const std::lock_guard lock(mutex_);
      ended = true;
      change_.notify_all();
    });
    std::map<std::string, std::int64_t> sent;
    while (true) {
      change_.wait(lock, [&] { return ended || next < changed_.size(); });
      if (next < changed_.size()) {
        const std::string key = changed_[next++];
        const auto found = pairs_.find(key);
        if (watched.count(key) == 0 || found == pairs_.end() || sent[key] == found->second.revision())
          continue;
        sent[key] = found->second.revision();
        const Pair pair = found->second;
        lock.unlock();
        stream->Write(pair);
        lock.lock();
      } else if (ended) {
        break;
      }
    }
    ++watches_;
    lock.unlock();
    reader.join();
    return grpc::Status::OK;
  }

  std::string counts() {
    const std::lock_guard lock(mutex_);
    return std::to_string(gets_) + " gets " + std::to_string(watches_) + " watches " +
           std::to_string(pairs_.size()) + " pairs";
  }

 private:
  static bool has_deadline(const grpc::ServerContext& context) {
    return context.deadline() < std::chrono::system_clock::now() + std::chrono::hours(1);
  }
  static void wait_for_cancel(const grpc::ServerContext& context) {
    // sleeps on purpose: the synchronous API has no event for a cancellation
    while (!context.IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  Pair put(Pair pair) {
    const std::lock_guard lock(mutex_);
    Pair& stored = pairs_[pair.key()];
    pair.set_revision(stored.revision() + 1);
    stored = pair;
    changed_.push_back(pair.key());
    change_.notify_all();
    return stored;
  }

  std::mutex mutex_;
  std::condition_variable change_;
  std::map<std::string, Pair> pairs_;
  std::vector<std::string> changed_;
  int gets_ = 0;
  int watches_ = 0;
};

void serve(const arguments&) {
  store_service service;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = start(builder);
  wait_for_sigterm();
  server->Shutdown();
  say("server of the store", service.counts());
}

// --- the client

namespace {

Key key_of(const std::string& text) {
  Key key;
  key.set_key(text);
  return key;
}
Pair pair_of(const std::string& key, const std::string& value) {
  Pair pair;
  pair.set_key(key);
  pair.set_value(value);
  return pair;
}
std::string shown(const Pair& pair) {
  return pair.key() + "=" + (pair.value().size() > 20 ? std::to_string(pair.value().size()) : pair.value()) +
         "@" + std::to_string(pair.revision());
}

void get(program_services::Store::Stub& stub, const std::string& key, bool with_deadline = false) {
  grpc::ClientContext context;
  context.AddMetadata("tenant", "t-" + key);
  if (with_deadline) context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(100));
  Pair pair;
  const grpc::Status status = stub.Get(&context, key_of(key), &pair);
  say("get " + key, programs::shown(status), shown(pair),
      value_of(context.GetServerInitialMetadata(), "tenant-was"),
      value_of(context.GetServerTrailingMetadata(), "has-deadline"));
}

std::string put(program_services::Store::Stub& stub, const Pair& pair) {
  grpc::ClientContext context;
  Pair stored;
  const grpc::Status status = stub.Put(&context, pair, &stored);
  return programs::shown(status) + " " + shown(stored);
}

void scan(program_services::Store::Stub& stub, const std::string& prefix) {
  grpc::ClientContext context;
  const auto reader = stub.Scan(&context, key_of(prefix));
  Pair pair;
  int count = 0;
  std::string last;
  std::size_t bytes = 0;
  for (; reader->Read(&pair); ++count) {
    last = shown(pair);
    bytes += pair.value().size();
  }
  const grpc::Status status = reader->Finish();
  say("scan " + prefix, programs::shown(status), count, bytes, last,
      value_of(context.GetServerTrailingMetadata(), "found"));
}

// Every one of these writers is alone with its keys.
void write_at_once(program_services::Store::Stub& stub) {
  std::atomic<int> stored = 0;
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 8; ++writer)
    writers.emplace_back([&stub, &stored, writer] {
      for (int i = 0; i < 50; ++i) {
        const std::string key = "w" + std::to_string(writer) + "-" + std::to_string(i % 10);
        if (put(stub, pair_of(key, std::string(100, 'v'))) == "0 " + key + "=@" + std::to_string(i / 10 + 1))
          ++stored;
      }
    });
  for (std::thread& writer : writers) writer.join();
  say("put at once", stored);
}

void put_all(program_services::Store::Stub& stub, const std::string& name, int count, bool last_is_valid) {
  grpc::ClientContext context;
  Pair last;
  const auto writer = stub.PutAll(&context, &last);
  for (int i = 0; i < count; ++i)
    if (!writer->Write(pair_of("bulk" + std::to_string(i), std::string(5000, 'b')))) break;
  if (!last_is_valid) writer->Write(pair_of("", "x"));
  writer->WritesDone();
  const grpc::Status status = writer->Finish();
  say("put all " + name, programs::shown(status), status.ok() ? shown(last) : "nothing");
}

void watch(program_services::Store::Stub& stub) {
  grpc::ClientContext context;
  const auto stream = stub.Watch(&context);
  Pair pair;
  const auto next = [&] { return stream->Read(&pair) ? shown(pair) : "end"; };
  stream->Write(key_of("river"));
  const std::string now = next();
  put(stub, pair_of("river", "high"));
  const std::string higher = next();
  stream->Write(key_of("lake"));
  put(stub, pair_of("lake", "calm"));
  const std::string lake = next();
  stream->WritesDone();
  const std::string end = next();
  say("watch", now, higher, lake, end, programs::shown(stream->Finish()));
}

// Ends that come from this side.
void leave(program_services::Store::Stub& stub) {
  {
    grpc::ClientContext context;
    const auto stream = stub.Watch(&context);
    stream->Write(key_of("river"));
    Pair pair;
    const bool read = stream->Read(&pair);
    context.TryCancel();
    const bool again = stream->Read(&pair);
    say("cancelled watch", read, again, stream->Finish().error_code());
  }
  {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
    Pair pair;
    say("get that waits", stub.Get(&context, key_of("never"), &pair).error_code());
  }
}

}  // namespace

void call(const arguments& given) {
  const auto stub = program_services::Store::NewStub(channel_to(given.at(0)));
  get(*stub, "river");
  say("put", put(*stub, pair_of("river", "low")));
  say("put again", put(*stub, pair_of("river", "low again")));
  say("put nothing", put(*stub, pair_of("", "")));
  get(*stub, "river");
  get(*stub, "river", true);
  say("put much", put(*stub, pair_of("much", std::string(3'000'000, 'm'))));
  get(*stub, "much");
  write_at_once(*stub);
  scan(*stub, "w");
  scan(*stub, "nothing");
  put_all(*stub, "of none", 0, true);
  put_all(*stub, "of many", 300, true);
  put_all(*stub, "with an error", 10, false);
  scan(*stub, "bulk");
  watch(*stub);
  leave(*stub);
  get(*stub, "lake");
}

}  // namespace programs::store
