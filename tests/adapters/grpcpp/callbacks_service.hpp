// The service of call_kinds.proto, in the callback API of grpc++. Compiled with both libraries.
#pragma once

#include "call_kinds.grpc.pb.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/message_allocator.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace call_kinds {

// What the reactors of one call were told, for a client that asks for it with "trace" and its key.
class server_trace {
 public:
  void add(const std::string& what) {
    const std::lock_guard lock(changing_);
    all_ += (all_.empty() ? "" : " ") + what;
  }
  void add(const std::string& what, bool ok) { add(what + (ok ? "+" : "-")); }
  // OnDone() was called. Finishes the call that asks.
  void end() {
    std::pair<Reply*, grpc::ServerUnaryReactor*> asking;
    {
      const std::lock_guard lock(changing_);
      all_ += (all_.empty() ? "" : " ") + std::string("done");
      ended_ = true;
      asking = std::exchange(asking_, {});
    }
    if (asking.second) answer(asking.first, asking.second);
  }
  void ask(Reply* reply, grpc::ServerUnaryReactor* by) {
    {
      const std::lock_guard lock(changing_);
      if (!ended_) {
        asking_ = {reply, by};
        return;
      }
    }
    answer(reply, by);
  }

 private:
  void answer(Reply* reply, grpc::ServerUnaryReactor* by) {
    reply->set_name(all_);
    by->Finish(grpc::Status::OK);
  }
  std::mutex changing_;
  std::string all_;
  bool ended_ = false;
  std::pair<Reply*, grpc::ServerUnaryReactor*> asking_;
};

class callback_call_kinds final : public CallKinds::CallbackService {
 public:
  grpc::ServerUnaryReactor* Unary(grpc::CallbackServerContext* context, const Query* query,
                                  Reply* reply) override {
    const std::string& ask = query->ask();
    if (ask == "trace") {
      grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
      trace_of(query->load())->ask(reply, reactor);
      return reactor;
    }
    echo_metadata(*context);
    reply->set_name(ask);
    reply->set_number(query->number());
    if (ask == "throw") throw std::runtime_error("secret");
    if (ask == "null") return nullptr;
    if (ask == "large") reply->set_load(std::string(static_cast<std::size_t>(query->number()), 'x'));
    if (ask.rfind("own", 0) == 0 || ask == "wait for cancel" || ask == "cancel yourself")
      return new finding(*context, *query, trace_of(*context));
    if (ask == "allocated") {
      reply->set_number(context->GetRpcAllocatorState() ? 1 : 0);
      if (context->GetRpcAllocatorState()) context->GetRpcAllocatorState()->FreeRequest();
    }
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    if (ask == "error")
      reactor->Finish(grpc::Status(static_cast<grpc::StatusCode>(query->number()),
                                   "as asked for: \xc3\xa9%\n", query->load()));
    else reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerWriteReactor<Reply>* ServerStream(grpc::CallbackServerContext* context,
                                                const Query* query) override {
    echo_metadata(*context);
    return new server_stream_reactor(*context, *query, trace_of(*context));
  }
  grpc::ServerReadReactor<Position>* ClientStream(grpc::CallbackServerContext* context,
                                                  Summary* summary) override {
    echo_metadata(*context);
    return new client_stream_reactor(*summary, trace_of(*context));
  }
  grpc::ServerBidiReactor<Note, Note>* BidiStream(grpc::CallbackServerContext* context) override {
    echo_metadata(*context);
    return new bidi_stream_reactor(*context, trace_of(*context));
  }

 private:
  using trace = std::shared_ptr<server_trace>;

  // A call that was cancelled may be finished by OnCancel() or by what comes with it; Finish() is for once.
  // The object deletes itself at the end, and then tells its trace.
  template <class Reactor>
  class ending : public Reactor {
   protected:
    explicit ending(trace seen) : seen_(std::move(seen)) {}
    void end(grpc::Status s) {
      if (!ended_.exchange(true)) this->Finish(std::move(s));
    }
    bool begin_end() { return !ended_.exchange(true); }
    const trace seen_;

   private:
    void OnDone() final {
      const trace seen = seen_;
      delete this;
      seen->end();
    }
    std::atomic<bool> ended_{false};
  };

  class finding final : public ending<grpc::ServerUnaryReactor> {
   public:
    finding(grpc::CallbackServerContext& context, const Query& query, trace seen)
        : ending(std::move(seen)), context_(context) {
      const std::string& ask = query.ask();
      if (ask == "own") end(grpc::Status::OK);
      if (ask == "own error") end(grpc::Status(grpc::StatusCode::NOT_FOUND, "none"));
      if (ask == "own headers") StartSendInitialMetadata();
      if (ask == "own later") std::thread([this] { end(grpc::Status::OK); }).detach();
      if (ask == "cancel yourself") context_.TryCancel();
    }

   private:
    void OnSendInitialMetadataDone(bool ok) override {
      seen_->add("headers", ok);
      end(grpc::Status::OK);
    }
    void OnCancel() override {
      seen_->add("cancel", context_.IsCancelled());
      end(grpc::Status::CANCELLED);
    }
    grpc::CallbackServerContext& context_;
  };

  class server_stream_reactor final : public ending<grpc::ServerWriteReactor<Reply>> {
   public:
    server_stream_reactor(grpc::CallbackServerContext& context, const Query& query, trace seen)
        : ending(std::move(seen)), context_(context), ask_(query.ask()), left_(query.number()) {
      if (ask_ == "headers first") StartSendInitialMetadata();
      else next();
    }

   private:
    void next() {
      if (ask_ == "until cancelled") {
        if (left_ == 0) return;  // OnCancel() ends it
        --left_;
        return write();
      }
      if (left_ == 0) {
        if (ask_ == "error") return end(grpc::Status(grpc::StatusCode::NOT_FOUND, "no more"));
        if (ask_ == "cancel yourself") return context_.TryCancel();
        return end(grpc::Status::OK);
      }
      ship_.set_number(number_++);
      --left_;
      if (left_ == 0 && ask_ == "write and finish")
        return begin_end() ? StartWriteAndFinish(&ship_, grpc::WriteOptions(), grpc::Status::OK) : void();
      if (left_ == 0 && ask_ == "write last") {
        StartWriteLast(&ship_, grpc::WriteOptions());
        return end(grpc::Status::OK);
      }
      write();
    }
    void write() {
      writes_ = true;
      StartWrite(&ship_);
    }
    void OnSendInitialMetadataDone(bool ok) override {
      seen_->add("headers", ok);
      next();
    }
    void OnWriteDone(bool ok) override {
      {
        const std::lock_guard lock(ordering_);
        seen_->add("write", ok);
        writes_ = false;
        if (cancelled_) seen_->add("cancel", *cancelled_);
      }
      if (ok) next();
    }
    // Either may come first; the trace has the write first.
    void OnCancel() override {
      {
        const std::lock_guard lock(ordering_);
        if (writes_) cancelled_ = context_.IsCancelled();
        else seen_->add("cancel", context_.IsCancelled());
      }
      end(grpc::Status::CANCELLED);
    }
    grpc::CallbackServerContext& context_;
    const std::string ask_;
    int left_;
    int number_ = 0;
    Reply ship_;
    std::mutex ordering_;
    std::atomic<bool> writes_{false};
    std::optional<bool> cancelled_;
  };

  class client_stream_reactor final : public ending<grpc::ServerReadReactor<Position>> {
   public:
    client_stream_reactor(Summary& summary, trace seen) : ending(std::move(seen)), summary_(summary) {
      StartRead(&position_);
    }

   private:
    void OnReadDone(bool ok) override {
      seen_->add("read", ok);
      if (finished_) return;
      if (!ok) return end(grpc::Status::OK);
      summary_.set_positions(summary_.positions() + 1);
      summary_.set_distance(summary_.distance() + std::abs(position_.north()) + std::abs(position_.east()));
      if (position_.north() == 999 || position_.east() == 999) {
        finished_ = true;
        // A read waits when the call is finished.
        const bool fails = position_.north() == 999;
        StartRead(&position_);
        end(fails ? grpc::Status(grpc::StatusCode::OUT_OF_RANGE, "no such position") : grpc::Status::OK);
        return;
      }
      StartRead(&position_);
    }
    void OnCancel() override { end(grpc::Status::CANCELLED); }
    Summary& summary_;
    Position position_;
    bool finished_ = false;
  };

  class bidi_stream_reactor final : public ending<grpc::ServerBidiReactor<Note, Note>> {
   public:
    bidi_stream_reactor(grpc::CallbackServerContext& context, trace seen)
        : ending(std::move(seen)), context_(context) {
      StartRead(&heard_);
    }

   private:
    void OnReadDone(bool ok) override {
      seen_->add("read", ok);
      heard_ok_ = ok;
      if (!ok) {
        if (context_.IsCancelled()) return;  // OnCancel() ends it
        said_.set_text("goodbye");
        StartWriteLast(&said_, grpc::WriteOptions());
        return end(grpc::Status::OK);
      }
      if (heard_.text() == "error") return end(grpc::Status(grpc::StatusCode::ABORTED, "as asked for"));
      if (heard_.text() == "cancel yourself") return context_.TryCancel();
      said_.set_text("you said " + heard_.text());
      StartWrite(&said_);
    }
    void OnWriteDone(bool ok) override {
      seen_->add("write", ok);
      if (ok && heard_ok_) StartRead(&heard_);
    }
    void OnCancel() override {
      seen_->add("cancel", context_.IsCancelled());
      end(grpc::Status::CANCELLED);
    }
    grpc::CallbackServerContext& context_;
    Note heard_;
    Note said_;
    std::atomic<bool> heard_ok_{true};
  };

  static std::string text(grpc::string_ref s) { return {s.data(), s.size()}; }
  static void echo_metadata(grpc::CallbackServerContext& context) {
    for (const auto& [key, value] : context.client_metadata()) {
      if (key.starts_with("echo-")) context.AddInitialMetadata(text(key), text(value));
      if (key.starts_with("trail-")) context.AddTrailingMetadata(text(key), text(value));
    }
  }
  trace trace_of(const grpc::CallbackServerContext& context) {
    const auto found = context.client_metadata().find("trace-key");
    if (found == context.client_metadata().end()) return std::make_shared<server_trace>();
    return trace_of(text(found->second));
  }
  trace trace_of(const std::string& key) {
    const std::lock_guard lock(changing_);
    trace& kept = traces_[key];
    if (!kept) kept = std::make_shared<server_trace>();
    return kept;
  }
  std::mutex changing_;
  std::map<std::string, trace> traces_;
};

// Counts what it gives, and what comes back.
class counting_allocator final : public grpc::MessageAllocator<Query, Reply> {
 public:
  grpc::MessageHolder<Query, Reply>* AllocateMessages() override {
    ++given;
    return new holder(*this);
  }
  std::atomic<int> given{0};
  std::atomic<int> requests_freed{0};
  std::atomic<int> released{0};

 private:
  class holder final : public grpc::MessageHolder<Query, Reply> {
   public:
    explicit holder(counting_allocator& of) : of_(of) {
      set_request(new Query);
      set_response(new Reply);
    }
    ~holder() override {
      delete request();
      delete response();
    }

   private:
    void FreeRequest() override {
      ++of_.requests_freed;
      delete request();
      set_request(nullptr);
    }
    void Release() override {
      ++of_.released;
      delete this;
    }
    counting_allocator& of_;
  };
};

}  // namespace call_kinds
