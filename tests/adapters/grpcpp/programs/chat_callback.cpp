// The chat with reactors: a member's lines are queued for the others, each of whom has one write at a time.
#include "chat.hpp"

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>

namespace programs::chat_callback {

using program_services::Line;

namespace {

// --- the server

class guest;

// Its functions are called from any thread.
class room {
 public:
  explicit room(std::size_t members) : members_(members) {}
  // False: there is one of that name.
  bool enter(guest& who, const std::string& name);
  void say(const Line& line);
  // All guests are dismissed when the last one has left.
  void leave();
  int said() const { return said_; }

 private:
  void tell_all(const Line& line);

  const std::size_t members_;
  std::mutex mutex_;
  std::map<std::string, guest*> guests_;
  std::size_t left_ = 0;
  int said_ = 0;
};

// Deletes itself when its call has ended.
class guest final : public grpc::ServerBidiReactor<Line, Line> {
 public:
  guest(room& of, grpc::CallbackServerContext& context) : room_(of), context_(context) { StartRead(&line_); }

  void OnReadDone(bool ok) override {
    if (!entered_) return enter(ok);
    if (!ok) return room_.leave();
    room_.say(line_);
    StartRead(&line_);
  }
  void OnWriteDone(bool ok) override {
    bool ends = false;
    {
      const std::lock_guard lock(mutex_);
      unsent_.pop_front();
      if (!ok) unsent_.clear();
      if (!unsent_.empty()) StartWrite(&unsent_.front());
      else ends = dismissed_;
    }
    if (ends) Finish(grpc::Status::OK);
  }
  void OnDone() override { delete this; }

  // By the room:
  void tell(const Line& line) {
    const std::lock_guard lock(mutex_);
    unsent_.push_back(line);
    if (unsent_.size() == 1) StartWrite(&unsent_.front());
  }
  void dismiss() {
    bool ends = false;
    {
      const std::lock_guard lock(mutex_);
      dismissed_ = true;
      ends = unsent_.empty();
    }
    if (ends) Finish(grpc::Status::OK);
  }

 private:
  void enter(bool ok) {
    const std::string name = line_.from();
    if (!ok || name.empty()) return Finish({grpc::StatusCode::INVALID_ARGUMENT, "who is it?"});
    context_.AddInitialMetadata("welcome", name);
    if (!room_.enter(*this, name)) return Finish({grpc::StatusCode::ALREADY_EXISTS, "another one", name});
    entered_ = true;
    StartRead(&line_);
  }

  room& room_;
  grpc::CallbackServerContext& context_;
  Line line_;
  bool entered_ = false;
  std::mutex mutex_;
  std::deque<Line> unsent_;  // the first one is being written
  bool dismissed_ = false;
};

bool room::enter(guest& who, const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (!guests_.emplace(name, &who).second) return false;
  if (guests_.size() == members_) tell_all(chat_line("server", "all have come"));
  return true;
}

void room::say(const Line& line) {
  const std::lock_guard lock(mutex_);
  tell_all(chat_line(line.from(), line.text(), ++said_));
}

void room::leave() {
  const std::lock_guard lock(mutex_);
  if (++left_ != members_) return;
  for (const auto& [name, who] : guests_) who->dismiss();
}

void room::tell_all(const Line& line) {
  for (const auto& [name, who] : guests_) who->tell(line);
}

class chat_service final : public program_services::Chat::CallbackService {
 public:
  explicit chat_service(room& of) : room_(of) {}
  grpc::ServerBidiReactor<Line, Line>* Talk(grpc::CallbackServerContext* context) override {
    return new guest(room_, *context);
  }

 private:
  room& room_;
};

// --- the client: says its lines once all have come, and hears those of all

class member final : public grpc::ClientBidiReactor<Line, Line> {
 public:
  member(const std::string& port, const std::string& member_name)
      : name(member_name),
        stub_(program_services::Chat::NewStub(channel_to(port))),
        mine_(chat_line(name, "")) {
    stub_->async()->Talk(&context_, this);
    StartWrite(&mine_);
    StartRead(&line_);
    StartCall();
  }

  void OnWriteDone(bool ok) override {
    if (ok) said_ < 0 ? begin() : talk();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    heard.push_back(line_);
    if (line_.from() == "server") begin();
    StartRead(&line_);
  }
  void OnDone(const grpc::Status& status) override {
    end = shown_end(status, context_);
    done_.notify();
  }
  void wait() { done_.wait(); }

  const std::string name;
  std::vector<Line> heard;
  std::string end;

 private:
  // Twice: its name is written, and all have come.
  void begin() {
    if (++begins_ != 2) return;
    said_ = 0;
    talk();
  }
  void talk() {
    if (said_ == chat_lines_of_each) return StartWritesDone();
    mine_ = chat_line(name, chat_text(said_++));
    StartWrite(&mine_);
  }

  std::unique_ptr<program_services::Chat::Stub> stub_;
  grpc::ClientContext context_;
  Line line_;
  Line mine_;
  std::atomic<int> begins_{0};
  int said_ = -1;
  notification done_;
};

}  // namespace

// Argument: the number of members.
void serve(const arguments& given) {
  room open(std::stoul(given.at(0)));
  chat_service service(open);
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  const auto server = start(builder);
  wait_for_sigterm();
  server->Shutdown();
  say("server has heard", open.said());
}

// Arguments: the port, and the names of members.
void call(const arguments& given) {
  std::deque<member> members;
  for (std::size_t i = 1; i < given.size(); ++i) members.emplace_back(given[0], given[i]);
  for (member& one : members) {
    one.wait();
    say(one.name, one.end, one.heard.size(), in_order(one.heard));
  }
}

}  // namespace programs::chat_callback
