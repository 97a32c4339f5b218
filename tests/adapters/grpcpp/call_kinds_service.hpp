// The service of call_kinds.proto, in the synchronous API of grpc++. Compiled with both libraries.
#pragma once

#include "call_kinds.grpc.pb.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

namespace call_kinds {

inline std::string text(grpc::string_ref s) { return {s.data(), s.size()}; }

// What a handler does is asked for by the client: "error 5" ends the call with that status, and so on.
class call_kinds_service : public CallKinds::Service {
 public:
  grpc::Status Unary(grpc::ServerContext* context, const Query* query, Reply* reply) override {
    const std::string& ask = query->ask();
    echo_metadata(*context);
    reply->set_name(ask);
    reply->set_number(query->number());
    if (ask == "error")
      return grpc::Status(static_cast<grpc::StatusCode>(query->number()), "as asked for: \xc3\xa9%\n",
                          query->load());
    if (ask == "throw") throw std::runtime_error("secret");
    if (ask == "large") reply->set_load(std::string(static_cast<std::size_t>(query->number()), 'x'));
    if (ask == "length") reply->set_number(static_cast<int>(query->load().size()));
    if (ask == "peer") reply->set_name(context->peer().substr(0, context->peer().rfind(':')));
    if (ask == "address") reply->set_name(context->peer());
    if (ask == "identity") reply->set_number(context->auth_context()->IsPeerAuthenticated() ? 1 : 0);
    if (ask == "deadline") reply->set_number(tens_of_seconds_left(*context));
    if (ask == "cancel yourself") {
      context->TryCancel();
      reply->set_number(context->IsCancelled() ? 1 : 0);
    }
    if (ask == "wait for cancel") wait_for_cancel(*context);
    if (ask == "when another waits") wait_for_another();
    if (ask == "meet") meet();
    if (ask == "compress") context->set_compression_algorithm(GRPC_COMPRESS_GZIP);
    return grpc::Status::OK;
  }

  grpc::Status ServerStream(grpc::ServerContext* context, const Query* query,
                            grpc::ServerWriter<Reply>* writer) override {
    echo_metadata(*context);
    if (query->ask() == "headers first") writer->SendInitialMetadata();
    Reply reply;
    for (int i = 0; i < query->number(); ++i) {
      reply.set_number(i);
      if (!writer->Write(reply)) return grpc::Status(grpc::StatusCode::ABORTED, "no room");
    }
    if (query->ask() == "error") return grpc::Status(grpc::StatusCode::NOT_FOUND, "no more");
    if (query->ask() == "cancel yourself") context->TryCancel();
    if (query->ask() == "until cancelled") {
      while (writer->Write(reply)) continue;
      cancelled_writes_ended = true;
      return grpc::Status::CANCELLED;
    }
    return grpc::Status::OK;
  }

  grpc::Status ClientStream(grpc::ServerContext* context, grpc::ServerReader<Position>* reader,
                            Summary* summary) override {
    echo_metadata(*context);
    Position position;
    while (reader->Read(&position)) {
      summary->set_positions(summary->positions() + 1);
      summary->set_distance(summary->distance() + std::abs(position.north()) + std::abs(position.east()));
      if (position.north() == 999) return grpc::Status(grpc::StatusCode::OUT_OF_RANGE, "no such position");
      if (position.east() == 999) return grpc::Status::OK;  // before the end of the requests
    }
    return grpc::Status::OK;
  }

  grpc::Status BidiStream(grpc::ServerContext* context,
                          grpc::ServerReaderWriter<Note, Note>* stream) override {
    echo_metadata(*context);
    Note note;
    while (stream->Read(&note)) {
      if (note.text() == "error") return grpc::Status(grpc::StatusCode::ABORTED, "as asked for");
      if (note.text() == "cancel yourself") context->TryCancel();
      note.set_text("you said " + note.text());
      stream->Write(note);
    }
    note.set_text("goodbye");
    stream->WriteLast(note, grpc::WriteOptions());
    return grpc::Status::OK;
  }

  std::atomic<bool> cancelled_writes_ended{false};

 private:
  // What comes with a key "echo-..." goes back in the initial metadata, what comes with "trail-..." with the
  // status.
  static void echo_metadata(grpc::ServerContext& context) {
    for (const auto& [key, value] : context.client_metadata()) {
      if (key.starts_with("echo-")) context.AddInitialMetadata(text(key), text(value));
      if (key.starts_with("trail-")) context.AddTrailingMetadata(text(key), text(value));
    }
  }
  static int tens_of_seconds_left(const grpc::ServerContext& context) {
    if (context.deadline() == std::chrono::system_clock::time_point::max()) return -1;
    const auto left = context.deadline() - std::chrono::system_clock::now();
    // Timeouts are rounded on their way, by 1 % at most.
    return static_cast<int>((std::chrono::duration_cast<std::chrono::seconds>(left).count() + 5) / 10 * 10);
  }
  void wait_for_cancel(const grpc::ServerContext& context) {
    {
      const std::lock_guard lock(changing_);
      ++waits_;
    }
    changed_.notify_all();
    // It sleeps on purpose: handlers of this API have no other way to wait.
    while (!context.IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const std::lock_guard lock(changing_);
    --waits_;
  }
  void wait_for_another() {
    std::unique_lock lock(changing_);
    changed_.wait(lock, [this] { return waits_ > 0; });
  }
  // Waits for its partner: the second one for the first, the fourth for the third.
  void meet() {
    std::unique_lock lock(changing_);
    ++met_;
    const int with_partner = met_ + met_ % 2;
    changed_.notify_all();
    changed_.wait(lock, [&] { return met_ >= with_partner; });
  }
  std::mutex changing_;
  std::condition_variable changed_;
  int met_ = 0;
  int waits_ = 0;  // handlers that wait for the end of their call
};

}  // namespace call_kinds
