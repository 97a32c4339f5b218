// The guide with callbacks: reactors for streams, and functions for the ends of unary calls.
#include "guide.hpp"

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>

namespace programs::guide_callback {

using program_services::Area;
using program_services::Hike;
using program_services::Hut;
using program_services::Note;
using program_services::Place;

// --- the server: reactors delete themselves when their calls have ended

class listing final : public grpc::ServerWriteReactor<Hut> {
 public:
  listing(const guide_book& book, const Area& area) : endless_(area.endless()) {
    const grpc::Status status = book.list(area, &huts_);
    status.ok() ? next() : Finish(status);
  }
  void OnWriteDone(bool ok) override { ok ? next() : Finish(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }

 private:
  void next() {
    if (at_ == huts_.size() && endless_) at_ = 0;
    at_ < huts_.size() ? StartWrite(&huts_[at_++]) : Finish(grpc::Status::OK);
  }

  const bool endless_;
  std::vector<Hut> huts_;
  std::size_t at_ = 0;
};

class recording final : public grpc::ServerReadReactor<Place> {
 public:
  recording(const guide_book& book, Hike& hike) : record_(book), hike_(hike) { StartRead(&place_); }
  void OnReadDone(bool ok) override {
    if (!ok) {
      hike_ = record_.hike();
      return Finish(grpc::Status::OK);
    }
    const grpc::Status status = record_.add(place_);
    status.ok() ? StartRead(&place_) : Finish(status);
  }
  void OnDone() override { delete this; }

 private:
  hike_record record_;
  Hike& hike_;
  Place place_;
};

// Writes the answers to a note before it reads the next one.
class sharing final : public grpc::ServerBidiReactor<Note, Note> {
 public:
  explicit sharing(guide_book& book) : book_(book) { StartRead(&note_); }
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    const grpc::Status status = checked(note_);
    if (!status.ok()) return Finish(status);
    for (const Note& earlier : book_.share(note_)) unsent_.push_back(earlier);
    next();
  }
  void OnWriteDone(bool ok) override {
    unsent_.pop_front();
    if (!ok) unsent_.clear();
    next();
  }
  void OnDone() override { delete this; }

 private:
  void next() { unsent_.empty() ? StartRead(&note_) : StartWrite(&unsent_.front()); }

  guide_book& book_;
  Note note_;
  std::deque<Note> unsent_;
};

class guide_service final : public program_services::Guide::CallbackService {
 public:
  grpc::ServerUnaryReactor* FindHut(grpc::CallbackServerContext* context, const Place* place,
                                    Hut* hut) override {
    begin(*context);
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(book_.find(*place, hut));
    return reactor;
  }
  grpc::ServerWriteReactor<Hut>* ListHuts(grpc::CallbackServerContext* context, const Area* area) override {
    begin(*context);
    return new listing(book_, *area);
  }
  grpc::ServerReadReactor<Place>* RecordHike(grpc::CallbackServerContext* context, Hike* hike) override {
    begin(*context);
    return new recording(book_, *hike);
  }
  grpc::ServerBidiReactor<Note, Note>* ShareNotes(grpc::CallbackServerContext* context) override {
    begin(*context);
    return new sharing(book_);
  }

  std::atomic<int> calls = 0;

 private:
  void begin(grpc::CallbackServerContext& context) {
    greet(context);
    ++calls;
  }

  guide_book book_;
};

void serve(const arguments&) {
  guide_service service;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = start(builder);
  wait_for_sigterm();
  server->Shutdown();
  server->Wait();
  say("server has answered", service.calls);
}

// --- the client: a call lasts until its end is waited for

class client_call {
 public:
  client_call() { greet(context_); }
  ended result() {
    done_.wait();
    return end_;
  }

 protected:
  void finish(const grpc::Status& status) {
    end_.status = status;
    end_.from(context_);
    done_.notify();
  }

  grpc::ClientContext context_;

 private:
  ended end_;
  notification done_;
};

class find final : public client_call {
 public:
  find(program_services::Guide::Stub& stub, const Place& place) {
    stub.async()->FindHut(&context_, &place, &hut, [this](const grpc::Status& status) { finish(status); });
  }
  Hut hut;
};

class list final : public client_call, public grpc::ClientReadReactor<Hut> {
 public:
  list(program_services::Guide::Stub& stub, const Area& area, std::size_t enough, std::vector<Hut>& found)
      : enough_(enough), found_(found) {
    stub.async()->ListHuts(&context_, &area, this);
    StartRead(&hut_);
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    found_.push_back(hut_);
    found_.size() == enough_ ? context_.TryCancel() : StartRead(&hut_);
  }
  void OnDone(const grpc::Status& status) override { finish(status); }

 private:
  const std::size_t enough_;
  std::vector<Hut>& found_;
  Hut hut_;
};

class record final : public client_call, public grpc::ClientWriteReactor<Place> {
 public:
  record(program_services::Guide::Stub& stub, const std::vector<Place>& places, Hike* hike)
      : places_(places) {
    stub.async()->RecordHike(&context_, hike, this);
    next();
    StartCall();
  }
  void OnWriteDone(bool ok) override {
    if (ok) next();
  }
  void OnDone(const grpc::Status& status) override { finish(status); }

 private:
  void next() { at_ < places_.size() ? StartWrite(&places_[at_++]) : StartWritesDone(); }

  const std::vector<Place>& places_;
  std::size_t at_ = 0;
};

class share final : public client_call, public grpc::ClientBidiReactor<Note, Note> {
 public:
  share(program_services::Guide::Stub& stub, const std::vector<Note>& notes, std::vector<Note>& earlier)
      : notes_(notes), earlier_(earlier) {
    stub.async()->ShareNotes(&context_, this);
    StartRead(&note_);
    next();
    StartCall();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    earlier_.push_back(note_);
    StartRead(&note_);
  }
  void OnWriteDone(bool ok) override {
    if (ok) next();
  }
  void OnDone(const grpc::Status& status) override { finish(status); }

 private:
  void next() { at_ < notes_.size() ? StartWrite(&notes_[at_++]) : StartWritesDone(); }

  const std::vector<Note>& notes_;
  std::vector<Note>& earlier_;
  Note note_;
  std::size_t at_ = 0;
};

class client final : public guide_client {
 public:
  explicit client(const std::string& port) : stub_(program_services::Guide::NewStub(channel_to(port))) {}

  ended find(const Place& place, Hut* found) override {
    guide_callback::find call(*stub_, place);
    ended end = call.result();
    *found = call.hut;
    return end;
  }
  std::vector<std::pair<ended, Hut>> find_all(const std::vector<Place>& places) override {
    std::deque<guide_callback::find> calls;
    for (const Place& place : places) calls.emplace_back(*stub_, place);
    std::vector<std::pair<ended, Hut>> all;
    for (guide_callback::find& call : calls) {
      ended end = call.result();
      all.emplace_back(end, call.hut);
    }
    return all;
  }
  ended list(const Area& area, std::size_t enough, std::vector<Hut>* found) override {
    return guide_callback::list(*stub_, area, enough, *found).result();
  }
  ended record(const std::vector<Place>& places, Hike* hike) override {
    return guide_callback::record(*stub_, places, hike).result();
  }
  ended share(const std::vector<Note>& notes, std::vector<Note>* earlier) override {
    return guide_callback::share(*stub_, notes, *earlier).result();
  }

 private:
  std::unique_ptr<program_services::Guide::Stub> stub_;
};

void call(const arguments& given) {
  client guide(given.at(0));
  hike_with(guide);
}

}  // namespace programs::guide_callback
