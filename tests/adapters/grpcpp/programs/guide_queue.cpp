// The guide with completion queues: each call is an object with states, and tags are functions of it.
#include "guide.hpp"

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <thread>

namespace programs::guide_queue {

// A tag points to one.
using event = std::function<void(bool ok)>;

void handle_events(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) (*static_cast<event*>(tag))(ok);
}

// --- the server

struct guide_server {
  program_services::Guide::AsyncService service;
  guide_book book;
  std::atomic<int> calls = 0;
};

// The call objects delete themselves, after the last of their events. A queue has one thread.
class server_call {
 public:
  server_call(guide_server& server, grpc::ServerCompletionQueue& queue) : server_(server), queue_(queue) {}
  virtual ~server_call() = default;

 protected:
  void begun() {
    greet(context_);
    ++server_.calls;
  }

  guide_server& server_;
  grpc::ServerCompletionQueue& queue_;
  grpc::ServerContext context_;
};

class find_call final : public server_call {
 public:
  find_call(guide_server& server, grpc::ServerCompletionQueue& queue) : server_call(server, queue) {
    server.service.RequestFindHut(&context_, &place_, &responder_, &queue, &queue, &requested_);
  }

 private:
  void answer() {
    new find_call(server_, queue_);
    begun();
    const grpc::Status status = server_.book.find(place_, &hut_);
    if (status.ok()) responder_.Finish(hut_, status, &finished_);
    else responder_.FinishWithError(status, &finished_);
  }

  program_services::Place place_;
  program_services::Hut hut_;
  grpc::ServerAsyncResponseWriter<program_services::Hut> responder_{&context_};
  event requested_ = [this](bool ok) { ok ? answer() : delete this; };
  event finished_ = [this](bool) { delete this; };
};

class list_call final : public server_call {
 public:
  list_call(guide_server& server, grpc::ServerCompletionQueue& queue) : server_call(server, queue) {
    server.service.RequestListHuts(&context_, &area_, &writer_, &queue, &queue, &requested_);
  }

 private:
  void answer() {
    new list_call(server_, queue_);
    begun();
    const grpc::Status status = server_.book.list(area_, &huts_);
    status.ok() ? next() : writer_.Finish(status, &finished_);
  }
  void next() {
    if (at_ == huts_.size() && area_.endless()) at_ = 0;
    at_ < huts_.size() ? writer_.Write(huts_[at_++], &written_)
                       : writer_.Finish(grpc::Status::OK, &finished_);
  }

  program_services::Area area_;
  std::vector<program_services::Hut> huts_;
  std::size_t at_ = 0;
  grpc::ServerAsyncWriter<program_services::Hut> writer_{&context_};
  event requested_ = [this](bool ok) { ok ? answer() : delete this; };
  event written_ = [this](bool ok) { ok ? next() : writer_.Finish(grpc::Status::CANCELLED, &finished_); };
  event finished_ = [this](bool) { delete this; };
};

class record_call final : public server_call {
 public:
  record_call(guide_server& server, grpc::ServerCompletionQueue& queue) : server_call(server, queue) {
    server.service.RequestRecordHike(&context_, &reader_, &queue, &queue, &requested_);
  }

 private:
  void answer() {
    new record_call(server_, queue_);
    begun();
    reader_.Read(&place_, &read_);
  }
  void add() {
    const grpc::Status status = record_.add(place_);
    status.ok() ? reader_.Read(&place_, &read_) : reader_.FinishWithError(status, &finished_);
  }

  program_services::Place place_;
  hike_record record_{server_.book};
  grpc::ServerAsyncReader<program_services::Hike, program_services::Place> reader_{&context_};
  event requested_ = [this](bool ok) { ok ? answer() : delete this; };
  event read_ = [this](bool ok) {
    ok ? add() : reader_.Finish(record_.hike(), grpc::Status::OK, &finished_);
  };
  event finished_ = [this](bool) { delete this; };
};

// Reads and writes at the same time: what is to be written waits in a list.
class share_call final : public server_call {
 public:
  share_call(guide_server& server, grpc::ServerCompletionQueue& queue) : server_call(server, queue) {
    context_.AsyncNotifyWhenDone(&done_);
    server.service.RequestShareNotes(&context_, &stream_, &queue, &queue, &requested_);
  }

 private:
  void answer() {
    new share_call(server_, queue_);
    begun();
    pending_ = 1;  // of done_
    read();
  }
  void read() {
    reading_ = true;
    ++pending_;
    stream_.Read(&note_, &read_);
  }
  void has_read(bool ok) {
    reading_ = false;
    const grpc::Status status = ok ? checked(note_) : grpc::Status::OK;
    if (ok && status.ok()) {
      for (const program_services::Note& earlier : server_.book.share(note_)) unsent_.push_back(earlier);
      read();
    } else {
      end_ = status;
    }
    write();
    event_ends();
  }
  void write() {
    if (writing_ || finishing_) return;
    if (!unsent_.empty()) {
      writing_ = true;
      ++pending_;
      stream_.Write(unsent_.front(), &written_);
    } else if (!reading_) {
      finishing_ = true;
      ++pending_;
      stream_.Finish(end_, &finished_);
    }
  }
  void has_written(bool ok) {
    writing_ = false;
    unsent_.pop_front();
    if (!ok) unsent_.clear();
    write();
    event_ends();
  }
  void event_ends() {
    if (--pending_ == 0) delete this;
  }

  grpc::ServerAsyncReaderWriter<program_services::Note, program_services::Note> stream_{&context_};
  program_services::Note note_;
  std::deque<program_services::Note> unsent_;
  grpc::Status end_;
  int pending_ = 0;
  bool reading_ = false;
  bool writing_ = false;
  bool finishing_ = false;
  event requested_ = [this](bool ok) { ok ? answer() : delete this; };
  event read_ = [this](bool ok) { has_read(ok); };
  event written_ = [this](bool ok) { has_written(ok); };
  event finished_ = [this](bool) { event_ends(); };
  event done_ = [this](bool) { event_ends(); };
};

void serve(const arguments&) {
  guide_server guide;
  grpc::ServerBuilder builder;
  builder.RegisterService(&guide.service);
  std::array<std::unique_ptr<grpc::ServerCompletionQueue>, 2> queues;
  for (auto& queue : queues) queue = builder.AddCompletionQueue();
  const auto server = start(builder);
  std::vector<std::thread> threads;
  for (auto& queue : queues)
    threads.emplace_back([&guide, &queue = *queue] {
      new find_call(guide, queue);
      new list_call(guide, queue);
      new record_call(guide, queue);
      new share_call(guide, queue);
      handle_events(queue);
    });
  wait_for_sigterm();
  server->Shutdown();
  for (auto& queue : queues) queue->Shutdown();
  for (std::thread& thread : threads) thread.join();
  say("server has answered", guide.calls);
}

// --- the client

// Calls begin on the thread of the caller, and go on on that of the queue.
class client_call {
 public:
  client_call() { greet(context_); }
  ended result() {
    done_.wait();
    end_.from(context_);
    return end_;
  }

 protected:
  grpc::ClientContext context_;
  ended end_;
  event finished_ = [this](bool) { done_.notify(); };

 private:
  notification done_;
};

class find final : public client_call {
 public:
  find(program_services::Guide::Stub& stub, grpc::CompletionQueue& queue,
       const program_services::Place& place)
      : reader_(stub.AsyncFindHut(&context_, place, &queue)) {
    reader_->Finish(&hut, &end_.status, &finished_);
  }
  program_services::Hut hut;

 private:
  std::unique_ptr<grpc::ClientAsyncResponseReader<program_services::Hut>> reader_;
};

class list final : public client_call {
 public:
  list(program_services::Guide::Stub& stub, grpc::CompletionQueue& queue, const program_services::Area& area,
       std::size_t enough, std::vector<program_services::Hut>& found)
      : enough_(enough), found_(found), reader_(stub.PrepareAsyncListHuts(&context_, area, &queue)) {
    reader_->StartCall(&started_);
  }

 private:
  void take() {
    found_.push_back(hut_);
    if (found_.size() == enough_) {
      context_.TryCancel();
      reader_->Finish(&end_.status, &finished_);
    } else {
      reader_->Read(&hut_, &read_);
    }
  }

  std::size_t enough_;
  std::vector<program_services::Hut>& found_;
  program_services::Hut hut_;
  event started_ = [this](bool ok) {
    ok ? reader_->Read(&hut_, &read_) : reader_->Finish(&end_.status, &finished_);
  };
  event read_ = [this](bool ok) { ok ? take() : reader_->Finish(&end_.status, &finished_); };
  std::unique_ptr<grpc::ClientAsyncReader<program_services::Hut>> reader_;
};

class record final : public client_call {
 public:
  record(program_services::Guide::Stub& stub, grpc::CompletionQueue& queue,
         const std::vector<program_services::Place>& places, program_services::Hike* hike)
      : places_(places), writer_(stub.PrepareAsyncRecordHike(&context_, hike, &queue)) {
    writer_->StartCall(&written_);
  }

 private:
  void next(bool ok) {
    if (ok && at_ < places_.size()) writer_->Write(places_[at_++], &written_);
    else if (ok) writer_->WritesDone(&writes_done_);
    else writer_->Finish(&end_.status, &finished_);
  }

  const std::vector<program_services::Place>& places_;
  std::size_t at_ = 0;
  event written_ = [this](bool ok) { next(ok); };
  event writes_done_ = [this](bool) { writer_->Finish(&end_.status, &finished_); };
  std::unique_ptr<grpc::ClientAsyncWriter<program_services::Place>> writer_;
};

class share final : public client_call {
 public:
  share(program_services::Guide::Stub& stub, grpc::CompletionQueue& queue,
        const std::vector<program_services::Note>& notes, std::vector<program_services::Note>& earlier)
      : notes_(notes), earlier_(earlier), stream_(stub.PrepareAsyncShareNotes(&context_, &queue)) {
    stream_->StartCall(&started_);
  }

 private:
  void begin(bool ok) {
    ends_ = 2;
    ok ? stream_->Read(&note_, &read_) : end_of_one();
    write(ok);
  }
  void write(bool ok) {
    if (ok && at_ < notes_.size()) stream_->Write(notes_[at_++], &written_);
    else if (ok) stream_->WritesDone(&writes_done_);
    else end_of_one();
  }
  void has_read(bool ok) {
    if (!ok) return end_of_one();
    earlier_.push_back(note_);
    stream_->Read(&note_, &read_);
  }
  void end_of_one() {
    if (--ends_ == 0) stream_->Finish(&end_.status, &finished_);
  }

  const std::vector<program_services::Note>& notes_;
  std::vector<program_services::Note>& earlier_;
  program_services::Note note_;
  std::size_t at_ = 0;
  int ends_ = 0;
  event started_ = [this](bool ok) { begin(ok); };
  event read_ = [this](bool ok) { has_read(ok); };
  event written_ = [this](bool ok) { write(ok); };
  event writes_done_ = [this](bool) { end_of_one(); };
  std::unique_ptr<grpc::ClientAsyncReaderWriter<program_services::Note, program_services::Note>> stream_;
};

class client final : public guide_client {
 public:
  explicit client(const std::string& port)
      : stub_(program_services::Guide::NewStub(channel_to(port))),
        thread_([this] { handle_events(queue_); }) {}
  ~client() override {
    queue_.Shutdown();
    thread_.join();
  }

  ended find(const program_services::Place& place, program_services::Hut* found) override {
    guide_queue::find call(*stub_, queue_, place);
    ended end = call.result();
    *found = call.hut;
    return end;
  }
  std::vector<std::pair<ended, program_services::Hut>> find_all(
      const std::vector<program_services::Place>& places) override {
    std::deque<guide_queue::find> calls;
    for (const program_services::Place& place : places) calls.emplace_back(*stub_, queue_, place);
    std::vector<std::pair<ended, program_services::Hut>> all;
    for (guide_queue::find& call : calls) {
      ended end = call.result();
      all.emplace_back(end, call.hut);
    }
    return all;
  }
  ended list(const program_services::Area& area, std::size_t enough,
             std::vector<program_services::Hut>* found) override {
    return guide_queue::list(*stub_, queue_, area, enough, *found).result();
  }
  ended record(const std::vector<program_services::Place>& places, program_services::Hike* hike) override {
    return guide_queue::record(*stub_, queue_, places, hike).result();
  }
  ended share(const std::vector<program_services::Note>& notes,
              std::vector<program_services::Note>* earlier) override {
    return guide_queue::share(*stub_, queue_, notes, *earlier).result();
  }

 private:
  std::unique_ptr<program_services::Guide::Stub> stub_;
  grpc::CompletionQueue queue_;
  std::thread thread_;
};

void call(const arguments& given) {
  client guide(given.at(0));
  hike_with(guide);
}

}  // namespace programs::guide_queue
