// A chat: each member's stream is read by its own handler, and written by those of all members.
#include "program.hpp"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace programs::chat {

using valley::Line;

namespace {

constexpr int lines_of_each = 50;

Line line_of(const std::string& from, const std::string& text, int number) {
  Line line;
  line.set_from(from);
  line.set_text(text);
  line.set_number(number);
  return line;
}

class chat_service final : public valley::Chat::Service {
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
      if (streams_.size() == members_) tell_all(line_of("server", "all have come", 0));
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
    const auto stub = valley::Chat::NewStub(channel_to(port));
    grpc::ClientContext context;
    const auto stream = stub->Talk(&context);
    stream->Write(line_of(name, "", 0));
    moment all_have_come;
    std::thread talker([&] {
      all_have_come.wait();
      for (int i = 0; i < lines_of_each; ++i)
        stream->Write(line_of(name, "line " + std::to_string(i) + std::string(i * 100, '.'), 0));
      stream->WritesDone();
    });
    Line line;
    while (stream->Read(&line)) {
      if (line.from() == "server") all_have_come.come();
      heard.push_back(line);
    }
    all_have_come.come();  // or the call has failed
    talker.join();
    end = shown(stream->Finish()) + " " + value_of(context.GetServerInitialMetadata(), "welcome");
  }

  // The lines of each member come in their order, and those of all in the server's.
  bool in_order() const {
    std::map<std::string, int> next;
    int number = 0;
    for (const Line& line : heard) {
      if (line.number() != number++) return false;
      if (line.from() == "server") continue;
      const int i = next[line.from()]++;
      if (line.text() != "line " + std::to_string(i) + std::string(i * 100, '.')) return false;
    }
    return true;
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
  for (const member& one : members) say(one.name, one.end, one.heard.size(), one.in_order());
}

}  // namespace programs::chat
