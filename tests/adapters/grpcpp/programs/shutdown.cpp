// Servers that are asked to end while clients call them: what has begun is finished, what comes later is
// refused. With the word "now", they cancel what has not ended soon.
#include "program.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace programs {

using program_services::Job;
using program_services::Result;

namespace {

// A call that asks for it is answered once, and then held until it is cancelled.
bool is_held(const Job& job) { return job.kind() == "hold"; }

void stop(grpc::Server& server, const arguments& given) {
  wait_for_sigterm();
  server.Shutdown(std::chrono::system_clock::now() +
                  (given.empty() ? std::chrono::milliseconds(30'000) : std::chrono::milliseconds(100)));
}

// What a server says: how many calls it has answered. The client says how many answers it got; the numbers
// are equal.
void say_counts(int answered, int streams, int held) {
  say("server has answered", answered);
  say("server has ended streams", streams);
  say("server has held", held);
}

}  // namespace

namespace shutdown_sync {

class worker_service final : public program_services::Worker::Service {
 public:
  grpc::Status Do(grpc::ServerContext*, const Job* job, Result* result) override {
    result->set_number(job->number() + 1);
    ++answered;
    return grpc::Status::OK;
  }
  grpc::Status DoAll(grpc::ServerContext* context, grpc::ServerReaderWriter<Result, Job>* stream) override {
    Job job;
    while (stream->Read(&job)) {
      Result result;
      result.set_number(job.number() + 1);
      stream->Write(result);
      if (is_held(job)) {
        ++held;
        // sleeps on purpose: the synchronous API has no event for a cancellation
        while (!context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return grpc::Status::OK;
      }
    }
    ++streams;
    return grpc::Status::OK;
  }
  std::atomic<int> answered = 0;
  std::atomic<int> streams = 0;
  std::atomic<int> held = 0;
};

void serve(const arguments& given) {
  worker_service service;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = start(builder);
  stop(*server, given);
  server->Wait();
  say_counts(service.answered, service.streams, service.held);
}

struct open_stream {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<Job, Result>> stream;
  bool exchange(int number, const std::string& kind = "") {
    Job job;
    job.set_number(number);
    job.set_kind(kind);
    Result result;
    return stream->Write(job) && stream->Read(&result) && result.number() == number + 1;
  }
};

// Eight threads call until the server refuses; four streams stay open meanwhile, and end afterwards.
void call(const arguments& given) {
  const auto channel = channel_to(given.at(0));
  const auto stub = program_services::Worker::NewStub(channel);
  const std::string kind = given.size() > 1 ? "hold" : "";
  std::array<open_stream, 4> streams;
  for (open_stream& one : streams) {
    one.stream = stub->DoAll(&one.context);
    say("a stream begins", one.exchange(1, kind));
  }
  if (kind == "hold") {
    say("all are at work", 1);
    for (open_stream& one : streams) {
      Result result;
      const bool more = one.stream->Read(&result);
      say("a held stream ends", more, one.stream->Finish().error_code());
    }
    return;
  }

  std::mutex mutex;
  int answers = 0;
  int wrong = 0;
  std::map<grpc::StatusCode, int> ends;
  std::atomic<int> warm = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      int own_answers = 0;
      int own_wrong = 0;
      grpc::Status status;
      for (int number = 0; status.ok(); ++number) {
        grpc::ClientContext context;
        Job job;
        job.set_number(number);
        Result result;
        status = stub->Do(&context, job, &result);
        if (status.ok()) ++own_answers;
        if (status.ok() && result.number() != number + 1) ++own_wrong;
        // The test stops the server when all threads are at work.
        if (own_answers == 50 && ++warm == 8) say("all are at work", 1);
      }
      const std::lock_guard lock(mutex);
      answers += own_answers;
      wrong += own_wrong;
      ++ends[status.error_code()];
    });
  for (std::thread& thread : threads) thread.join();
  // A call that comes while Google's server stops may be cancelled.
  say("refused", ends[grpc::StatusCode::UNAVAILABLE] + ends[grpc::StatusCode::CANCELLED]);
  if (ends[grpc::StatusCode::CANCELLED] > 0) std::cerr << "cancelled while the server stops\n";
  say("wrong", wrong);
  for (open_stream& one : streams) {
    const bool exchanged = one.exchange(2);
    one.stream->WritesDone();
    Result result;
    const bool more = one.stream->Read(&result);
    say("a stream ends", exchanged, more, shown(one.stream->Finish()));
  }
  say("answers", answers);
}

}  // namespace shutdown_sync

namespace shutdown_queue {

using event = std::function<void(bool ok)>;

struct counters {
  std::atomic<int> answered = 0;
  std::atomic<int> streams = 0;
  std::atomic<int> held = 0;
};

// A call, or a request for one, which may still begin operations: the queue is shut down after the last.
class open_call {
 public:
  open_call() {
    const std::lock_guard lock(mutex);
    ++count;
  }
  open_call(const open_call&) = delete;
  open_call& operator=(const open_call&) = delete;
  ~open_call() {
    const std::lock_guard lock(mutex);
    if (--count == 0) none.notify_all();
  }
  static void wait_for_none() {
    std::unique_lock lock(mutex);
    none.wait(lock, [] { return count == 0; });
  }

 private:
  static inline std::mutex mutex;
  static inline std::condition_variable none;
  static inline int count = 0;
};

class do_call {
 public:
  do_call(program_services::Worker::AsyncService& service, grpc::ServerCompletionQueue& queue,
          counters& counts)
      : service_(service), queue_(queue), counts_(counts) {
    service.RequestDo(&context_, &job_, &responder_, &queue, &queue, &requested_);
  }

 private:
  void answer() {
    new do_call(service_, queue_, counts_);
    Result result;
    result.set_number(job_.number() + 1);
    responder_.Finish(result, grpc::Status::OK, &finished_);
  }
  void finish(bool ok) {
    if (ok) ++counts_.answered;
    delete this;
  }

  program_services::Worker::AsyncService& service_;
  grpc::ServerCompletionQueue& queue_;
  counters& counts_;
  grpc::ServerContext context_;
  Job job_;
  grpc::ServerAsyncResponseWriter<Result> responder_{&context_};
  const open_call open_;
  event requested_ = [this](bool ok) { ok ? answer() : delete this; };
  event finished_ = [this](bool ok) { finish(ok); };
};

class do_all_call {
 public:
  do_all_call(program_services::Worker::AsyncService& service, grpc::ServerCompletionQueue& queue,
              counters& counts)
      : service_(service), queue_(queue), counts_(counts) {
    context_.AsyncNotifyWhenDone(&done_);
    service.RequestDoAll(&context_, &stream_, &queue, &queue, &requested_);
  }

 private:
  void begin() {
    new do_all_call(service_, queue_, counts_);
    stream_.Read(&job_, &read_);
  }
  void answer() {
    Result result;
    result.set_number(job_.number() + 1);
    stream_.Write(result, &written_);
  }
  void next(bool ok) {
    if (ok && is_held(job_)) {
      ++counts_.held;
      end_of_one();  // done_ finishes the call
    } else if (ok) {
      stream_.Read(&job_, &read_);
    } else {
      finish();
    }
  }
  void finish() { stream_.Finish(grpc::Status::OK, &finished_); }
  // The call is over for its client, and for this side. These two come on any thread, in any order.
  void done() {
    if (is_held(job_) && context_.IsCancelled()) finish();
    else end_of_one();
  }
  void has_finished(bool ok) {
    if (ok) ++counts_.streams;
    end_of_one();
  }
  void end_of_one() {
    if (--ends_ == 0) delete this;
  }

  program_services::Worker::AsyncService& service_;
  grpc::ServerCompletionQueue& queue_;
  counters& counts_;
  grpc::ServerContext context_;
  Job job_;
  grpc::ServerAsyncReaderWriter<Result, Job> stream_{&context_};
  const open_call open_;
  std::atomic<int> ends_ = 2;
  event requested_ = [this](bool ok) { ok ? begin() : delete this; };
  event read_ = [this](bool ok) { ok ? answer() : finish(); };
  event written_ = [this](bool ok) { next(ok); };
  event finished_ = [this](bool ok) { has_finished(ok); };
  event done_ = [this](bool) { done(); };
};

// Two threads on one queue: the events of a call come one after the other, on either.
void serve(const arguments& given) {
  program_services::Worker::AsyncService service;
  counters counts;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto queue = builder.AddCompletionQueue();
  const auto server = start(builder);
  for (int i = 0; i < 10; ++i) {
    new do_call(service, *queue, counts);
    new do_all_call(service, *queue, counts);
  }
  std::array<std::thread, 2> threads;
  for (std::thread& thread : threads)
    thread = std::thread([&] {
      void* tag = nullptr;
      bool ok = false;
      while (queue->Next(&tag, &ok)) (*static_cast<event*>(tag))(ok);
    });
  stop(*server, given);
  open_call::wait_for_none();
  queue->Shutdown();
  for (std::thread& thread : threads) thread.join();
  say_counts(counts.answered, counts.streams, counts.held);
}

}  // namespace shutdown_queue

}  // namespace programs
