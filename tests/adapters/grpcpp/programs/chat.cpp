// A chat: each member's stream is read by its own handler, and written by those of all members.
#include "chat.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>

namespace programs::chat {

using program_services::Line;

namespace {

class chat_service final : public program_services::Chat::Service {
 public:
  explicit chat_service(std::size_t members) : members_(members) {}

  grpc::Status Talk(grpc::ServerContext* context, grpc::ServerReaderWriter<Line, Line>* stream) override {
    Line line;
    if (!stream->Read(&line) || line.from().empty())
      return {grpc::StatusCode::INVALID_ARGUMENT, "who is it?"};
    const std::string name = line.from();
    context->AddInitialMetadata("welcome", name);
    {
      const std::lock_guard lock(mutex_);
      if (streams_.count(name) > 0) return {grpc::StatusCode::ALREADY_EXISTS, "another one", name};
      streams_[name] = stream;
      if (streams_.size() == members_) tell_all(chat_line("server", "all have come"));
    }
    while (stream->Read(&line)) {
      const std::lock_guard lock(mutex_);
      line.set_number(++said_);
      tell_all(line);
    }
    std::unique_lock lock(mutex_);
    ++left_;
    has_left_.notify_all();
    has_left_.wait(lock, [this] { return left_ == members_; });
    return grpc::Status::OK;
  }

  int said() const { return said_; }

 private:
  void tell_all(const Line& line) {
    for (const auto& [name, stream] : streams_) stream->Write(line);
  }

  const std::size_t members_;
  std::mutex mutex_;
  std::condition_variable has_left_;
  std::map<std::string, grpc::ServerReaderWriter<Line, Line>*> streams_;
  std::size_t left_ = 0;
  int said_ = 0;
};

// Says all its lines once all have come, and hears those of all.
struct member {
  std::string name;
  std::vector<Line> heard;
  std::string end;

  void talk(const std::string& port) {
    const auto stub = program_services::Chat::NewStub(channel_to(port));
    grpc::ClientContext context;
    const auto stream = stub->Talk(&context);
    stream->Write(chat_line(name, ""));
    notification all_have_come;
    std::thread talker([&] {
      all_have_come.wait();
      for (int i = 0; i < chat_lines_of_each; ++i) stream->Write(chat_line(name, chat_text(i)));
      stream->WritesDone();
    });
    Line line;
    while (stream->Read(&line)) {
      if (line.from() == "server") all_have_come.notify();
      heard.push_back(line);
    }
    all_have_come.notify();  // or the call has failed
    talker.join();
    const grpc::Status status = stream->Finish();
    end = shown_end(status, context);
  }
};

}  // namespace

// Argument: the number of members.
void serve(const arguments& given) {
  chat_service service(std::stoul(given.at(0)));
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = start(builder);
  wait_for_sigterm();
  server->Shutdown();
  say("server has heard", service.said());
}

// Arguments: the port, and the names of members.
void call(const arguments& given) {
  std::vector<member> members;
  for (std::size_t i = 1; i < given.size(); ++i) members.push_back({given[i], {}, ""});
  std::vector<std::thread> threads;
  for (member& one : members) threads.emplace_back([&one, &given] { one.talk(given[0]); });
  for (std::thread& thread : threads) thread.join();
  for (const member& one : members) say(one.name, one.end, one.heard.size(), in_order(one.heard));
}

}  // namespace programs::chat
