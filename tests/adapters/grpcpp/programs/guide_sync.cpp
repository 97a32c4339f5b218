// The guide in the synchronous API.
#include "guide.hpp"

#include <atomic>
#include <memory>
#include <thread>

namespace programs::guide_sync {

class guide_service final : public program_services::Guide::Service {
 public:
  grpc::Status FindHut(grpc::ServerContext* context, const program_services::Place* place,
                       program_services::Hut* hut) override {
    greet(*context);
    ++calls;
    return book_.find(*place, hut);
  }

  grpc::Status ListHuts(grpc::ServerContext* context, const program_services::Area* area,
                        grpc::ServerWriter<program_services::Hut>* writer) override {
    greet(*context);
    ++calls;
    std::vector<program_services::Hut> huts;
    const grpc::Status valid = book_.list(*area, &huts);
    if (!valid.ok()) return valid;
    do {
      for (const program_services::Hut& hut : huts)
        if (!writer->Write(hut)) return grpc::Status::CANCELLED;
    } while (area->endless());
    return grpc::Status::OK;
  }

  grpc::Status RecordHike(grpc::ServerContext* context, grpc::ServerReader<program_services::Place>* reader,
                          program_services::Hike* hike) override {
    greet(*context);
    ++calls;
    hike_record record(book_);
    program_services::Place place;
    while (reader->Read(&place)) {
      const grpc::Status valid = record.add(place);
      if (!valid.ok()) return valid;
    }
    *hike = record.hike();
    return grpc::Status::OK;
  }

  grpc::Status ShareNotes(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<program_services::Note, program_services::Note>* stream) override {
    greet(*context);
    ++calls;
    program_services::Note note;
    while (stream->Read(&note)) {
      const grpc::Status valid = checked(note);
      if (!valid.ok()) return valid;
      for (const program_services::Note& earlier : book_.share(note)) stream->Write(earlier);
    }
    return grpc::Status::OK;
  }

  std::atomic<int> calls = 0;

 private:
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

class client final : public guide_client {
 public:
  explicit client(const std::string& port) : stub_(program_services::Guide::NewStub(channel_to(port))) {}

  ended find(const program_services::Place& place, program_services::Hut* found) override {
    grpc::ClientContext context;
    greet(context);
    ended end;
    end.status = stub_->FindHut(&context, place, found);
    end.from(context);
    return end;
  }

  std::vector<std::pair<ended, program_services::Hut>> find_all(
      const std::vector<program_services::Place>& places) override {
    std::vector<std::pair<ended, program_services::Hut>> all(places.size());
    std::atomic<std::size_t> next = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        for (std::size_t at = next++; at < places.size(); at = next++)
          all[at].first = find(places[at], &all[at].second);
      });
    for (std::thread& thread : threads) thread.join();
    return all;
  }

  ended list(const program_services::Area& area, std::size_t enough,
             std::vector<program_services::Hut>* found) override {
    grpc::ClientContext context;
    greet(context);
    const auto reader = stub_->ListHuts(&context, area);
    program_services::Hut hut;
    while (found->size() < enough && reader->Read(&hut)) found->push_back(hut);
    if (found->size() == enough) context.TryCancel();
    ended end;
    end.status = reader->Finish();
    end.from(context);
    return end;
  }

  ended record(const std::vector<program_services::Place>& places, program_services::Hike* hike) override {
    grpc::ClientContext context;
    greet(context);
    const auto writer = stub_->RecordHike(&context, hike);
    for (const program_services::Place& place : places)
      if (!writer->Write(place)) break;
    writer->WritesDone();
    ended end;
    end.status = writer->Finish();
    end.from(context);
    return end;
  }

  ended share(const std::vector<program_services::Note>& notes,
              std::vector<program_services::Note>* earlier) override {
    grpc::ClientContext context;
    greet(context);
    const auto stream = stub_->ShareNotes(&context);
    std::thread writer([&] {
      for (const program_services::Note& note : notes)
        if (!stream->Write(note)) break;
      stream->WritesDone();
    });
    program_services::Note note;
    while (stream->Read(&note)) earlier->push_back(note);
    writer.join();
    ended end;
    end.status = stream->Finish();
    end.from(context);
    return end;
  }

 private:
  std::unique_ptr<program_services::Guide::Stub> stub_;
};

void call(const arguments& given) {
  client guide(given.at(0));
  hike_with(guide);
}

}  // namespace programs::guide_sync
