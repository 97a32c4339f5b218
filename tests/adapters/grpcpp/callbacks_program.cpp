// A program in the callback API of grpc++, compiled with both libraries: a server, and a client that prints
// the callbacks of each case in their order as "case: what".
//
//   callbacks_program server         prints its address, and serves until SIGTERM
//   callbacks_program client PORT
#include "call_kinds.grpc.pb.h"
#include "call_kinds_service.hpp"
#include "callbacks_service.hpp"
#include "program_cases.hpp"

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace call_kinds::callbacks {
namespace {

using namespace std::chrono_literals;
using preparation = std::function<void(grpc::ClientContext&)>;

std::chrono::system_clock::time_point now() { return std::chrono::system_clock::now(); }
void nothing(grpc::ClientContext&) {}
void cancel_early(grpc::ClientContext& c) { c.TryCancel(); }
void late(grpc::ClientContext& c) { c.set_deadline(now() - 1s); }
void short_deadline(grpc::ClientContext& c) { c.set_deadline(now() + 100ms); }
void add_metadata(grpc::ClientContext& context) {
  context.AddMetadata("echo-a", "1");
  context.AddMetadata("trail-b", "3");
}

// What was called, in order, and when it is over.
class trace {
 public:
  void add(const std::string& what) {
    const std::lock_guard lock(changing_);
    all_ += " " + what;
    changed_.notify_all();
  }
  void add(const std::string& what, bool ok) { add(what + (ok ? "+" : "-")); }
  // Apart from the others: nothing tells whether they come before those of a call that fails, or of writes.
  void metadata_done(bool ok) {
    const std::lock_guard lock(changing_);
    metadata_ = ok ? "metadata+" : "metadata-";
  }
  void written(bool ok) {
    const std::lock_guard lock(changing_);
    writes_ += ok ? "+" : "-";
    changed_.notify_all();
  }
  // The last one. The waiting thread may destroy everything then.
  void end(const grpc::Status& s) {
    const std::lock_guard lock(changing_);
    all_ += " done=" + std::to_string(s.error_code());
    ended_ = true;
    changed_.notify_all();
  }
  std::string wait() {
    std::unique_lock lock(changing_);
    changed_.wait(lock, [this] { return ended_; });
    return metadata_ + (writes_.empty() ? "" : " writes" + writes_) + all_;
  }
  // Until `what` was added.
  void wait_for(const std::string& what) {
    std::unique_lock lock(changing_);
    changed_.wait(lock, [&] { return all_.find(what) != std::string::npos; });
  }
  void wait_for_a_write() {
    std::unique_lock lock(changing_);
    changed_.wait(lock, [&] { return !writes_.empty(); });
  }
  [[nodiscard]] bool ended() {
    const std::lock_guard lock(changing_);
    return ended_;
  }

 private:
  std::mutex changing_;
  std::condition_variable changed_;
  std::string all_;
  std::string metadata_;
  std::string writes_;
  bool ended_ = false;
};

// --- unary calls

void unary_functions(CallKinds::Stub& stub, Unimplemented::Stub& other, CallKinds::Stub& nowhere) {
  const auto call = [](auto& by, auto method, const std::string& name, const Query& q,
                       const preparation& prepare) {
    grpc::ClientContext context;
    prepare(context);
    Reply reply;
    trace seen;
    std::thread::id in;
    (by.async()->*method)(&context, &q, &reply, [&](grpc::Status s) {
      in = std::this_thread::get_id();
      seen.add("called");
      seen.end(s);
    });
    const std::string all = seen.wait();
    say("function " + name, all, reply.name(), reply.number(), reply.load().size(),
        own(context.GetServerInitialMetadata()), own(context.GetServerTrailingMetadata()),
        in != std::this_thread::get_id());
  };
  using find = void (CallKinds::Stub::async::*)(grpc::ClientContext*, const Query*, Reply*,
                                                std::function<void(grpc::Status)>);
  const find method = &CallKinds::Stub::async::Unary;
  call(stub, method, "plain", query("hello", 7), nothing);
  call(stub, method, "metadata", query("hello", 7), add_metadata);
  call(stub, method, "error", query("error", 5, "details"), add_metadata);
  call(stub, method, "large", query("large", 3'000'000), nothing);
  call(stub, method, "reply beyond the limit", query("large", 5'000'000), nothing);
  call(stub, method, "deadline in the past", query("hello"), late);
  call(stub, method, "deadline that passes", query("wait for cancel"), short_deadline);
  call(stub, method, "cancel before the start", query("hello"), cancel_early);
  call(stub, method, "cancel by the server", query("cancel yourself"), nothing);
  call(nowhere, method, "no server", query("hello"), nothing);
  using shine = void (Unimplemented::Stub::async::*)(grpc::ClientContext*, const Query*, Reply*,
                                                     std::function<void(grpc::Status)>);
  const shine unknown = &Unimplemented::Stub::async::Call;
  call(other, unknown, "unknown service", query("hello"), nothing);
}

struct finding final : grpc::ClientUnaryReactor, trace {
  void OnReadInitialMetadataDone(bool ok) override { metadata_done(ok); }
  void OnDone(const grpc::Status& s) override { end(s); }
};

void unary_reactors(CallKinds::Stub& stub, CallKinds::Stub& nowhere) {
  const auto call = [](CallKinds::Stub& by, const std::string& name, const Query& q,
                       const preparation& prepare) {
    grpc::ClientContext context;
    prepare(context);
    Reply reply;
    finding seen;
    by.async()->Unary(&context, &q, &reply, &seen);
    seen.StartCall();
    const std::string all = seen.wait();
    say("reactor " + name, all, reply.name(), reply.number(), own(context.GetServerInitialMetadata()),
        own(context.GetServerTrailingMetadata()));
  };
  call(stub, "plain", query("hello", 7), nothing);
  call(stub, "metadata", query("hello", 7), add_metadata);
  call(stub, "error", query("error", 5), nothing);
  call(stub, "error with metadata", query("error", 5), add_metadata);
  call(stub, "deadline in the past", query("hello"), late);
  call(stub, "deadline that passes", query("wait for cancel"), short_deadline);
  call(stub, "cancel before the start", query("hello"), cancel_early);
  call(stub, "cancel by the server", query("cancel yourself"), nothing);
  call(nowhere, "no server", query("hello"), nothing);
}

// --- callbacks that block, throw or start another call

void programs_in_callbacks(CallKinds::Stub& stub) {
  {
    grpc::ClientContext context;
    const Query q = query("hello");
    Reply reply;
    trace seen;
    stub.async()->Unary(&context, &q, &reply, [&](grpc::Status) {
      grpc::ClientContext inner;
      Reply answer;
      seen.end(stub.Unary(&inner, query("inner"), &answer));
    });
    say("synchronous call in a callback", seen.wait());
  }
  {
    // Each waits for a callback that comes after it.
    std::mutex changing;
    std::condition_variable changed;
    int called = 0;
    int ended = 0;
    constexpr int calls = 20;
    std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
    std::vector<Reply> replies(calls);
    const Query q = query("hello");
    for (int i = 0; i < calls; ++i) {
      contexts.push_back(std::make_unique<grpc::ClientContext>());
      stub.async()->Unary(contexts.back().get(), &q, &replies[static_cast<std::size_t>(i)],
                          [&](grpc::Status s) {
                            std::unique_lock lock(changing);
                            if (s.ok()) ++called;
                            changed.notify_all();
                            // Half of them: grpc++ has a few threads for callbacks.
                            changed.wait(lock, [&] { return called >= 2; });
                            ++ended;
                            changed.notify_all();
                          });
    }
    std::unique_lock lock(changing);
    changed.wait(lock, [&] { return ended == calls; });
    say("callbacks that wait for another", called);
  }
  {
    // A callback waits for a lock, whose owner makes a call.
    std::mutex guarded;
    grpc::ClientContext context;
    const Query q = query("hello");
    Reply reply;
    trace seen;
    std::unique_lock lock(guarded);
    stub.async()->Unary(&context, &q, &reply, [&](grpc::Status s) {
      const std::lock_guard inner(guarded);
      seen.end(s);
    });
    for (int i = 0; i < 3; ++i) {
      grpc::ClientContext other;
      Reply answer;
      seen.add(std::to_string(stub.Unary(&other, query("meanwhile"), &answer).error_code()));
    }
    lock.unlock();
    say("lock in a callback", seen.wait());
  }
  {
    struct throwing final : grpc::ClientReadReactor<Reply>, trace {
      void OnReadInitialMetadataDone(bool ok) override { metadata_done(ok); }
      void OnReadDone(bool ok) override {
        add("read", ok);
        if (ok) StartRead(&reply);
      }
      void OnDone(const grpc::Status& s) override {
        end(s);
        throw std::runtime_error("dropped");
      }
      Reply reply;
    } seen;
    grpc::ClientContext context;
    const Query q = query("", 2);
    stub.async()->ServerStream(&context, &q, &seen);
    seen.StartRead(&seen.reply);
    seen.StartCall();
    say("exception in OnDone", seen.wait());
    // The thread goes on.
    grpc::ClientContext next;
    Reply reply;
    say("call after an exception", stub.Unary(&next, query("hello"), &reply).error_code());
  }
  {
    // A chain of calls, each started by the callback of the one before.
    trace seen;
    struct link {
      grpc::ClientContext context;
      Query q = query("hello");
      Reply reply;
    };
    std::vector<std::unique_ptr<link>> links;
    std::function<void()> next = [&] {
      links.push_back(std::make_unique<link>());
      link& l = *links.back();
      stub.async()->Unary(&l.context, &l.q, &l.reply, [&](grpc::Status s) {
        if (links.size() < 50 && s.ok()) next();
        else seen.end(s);
      });
    };
    next();
    const std::string all = seen.wait();
    say("chain of calls", all, links.size());
  }
}

// --- replies

struct server_stream_reactor : grpc::ClientReadReactor<Reply>, trace {
  void OnReadInitialMetadataDone(bool ok) override { metadata_done(ok); }
  void OnReadDone(bool ok) override {
    add(ok ? "read" + std::to_string(reply.number()) + "+" : "read-");
    if (ok && ++reads < reads_max) StartRead(&reply);
    else if (cancels) context->TryCancel();
  }
  void OnDone(const grpc::Status& s) override { end(s); }
  Reply reply;
  int reads = 0;
  int reads_max = 1'000'000;
  bool cancels = false;
  grpc::ClientContext* context = nullptr;
};

void server_streams(CallKinds::Stub& stub, CallKinds::Stub& nowhere) {
  const auto call = [](CallKinds::Stub& by, const std::string& name, const Query& q,
                       const preparation& prepare, const std::function<void(server_stream_reactor&)>& begin) {
    grpc::ClientContext context;
    prepare(context);
    server_stream_reactor seen;
    seen.context = &context;
    by.async()->ServerStream(&context, &q, &seen);
    begin(seen);
    const std::string all = seen.wait();
    say("server stream " + name, all, own(context.GetServerInitialMetadata()),
        own(context.GetServerTrailingMetadata()));
  };
  const auto read_first = [](server_stream_reactor& l) {
    l.StartRead(&l.reply);
    l.StartCall();
  };
  const auto start_only = [](server_stream_reactor& l) { l.StartCall(); };
  call(stub, "of three", query("", 3), nothing, read_first);
  call(stub, "metadata", query("headers first", 1), add_metadata, read_first);
  call(stub, "of none", query("", 0), nothing, read_first);
  call(stub, "of none that nothing reads", query("", 0), nothing, start_only);
  call(stub, "error", query("error", 2), add_metadata, read_first);
  call(stub, "error without messages", query("error", 0), nothing, read_first);
  call(stub, "cancel after one", query("until cancelled", 1), nothing, [&](server_stream_reactor& l) {
    l.cancels = true;
    l.reads_max = 1;
    read_first(l);
  });
  call(stub, "cancel before the start", query("", 3), cancel_early, read_first);
  call(stub, "deadline in the past", query("", 3), late, read_first);
  call(stub, "deadline while nothing reads", query("until cancelled", 1), short_deadline, start_only);
  call(nowhere, "no server", query("", 3), nothing, read_first);
  call(stub, "read after the end with a hold", query("", 1), nothing, [&](server_stream_reactor& l) {
    l.AddHold();
    read_first(l);
    l.wait_for("read-");
    l.add("held", !l.ended());
    l.StartRead(&l.reply);
    l.RemoveHold();
  });
  call(stub, "holds alone", query("", 0), nothing, [&](server_stream_reactor& l) {
    l.AddMultipleHolds(2);
    l.StartCall();
    l.RemoveHold();
    // It sleeps on purpose: nothing tells that OnDone() does not come.
    std::this_thread::sleep_for(50ms);
    l.add("held", !l.ended());
    l.RemoveHold();
  });
}

// --- requests

struct client_stream_reactor : grpc::ClientWriteReactor<Position>, trace {
  void OnReadInitialMetadataDone(bool ok) override { metadata_done(ok); }
  void OnWriteDone(bool ok) override {
    written(ok);
    next();
  }
  void OnWritesDoneDone(bool ok) override { written(ok); }
  void OnDone(const grpc::Status& s) override { end(s); }
  void next() {
    if (left == 0) return;
    position.set_north(left);
    --left;
    if (left == 0 && with_last) return StartWriteLast(&position, grpc::WriteOptions());
    StartWrite(&position);
    if (left == 0) closes = true;
  }
  Position position;
  int left = 0;
  bool with_last = false;
  bool closes = false;
};

void client_streams(CallKinds::Stub& stub, CallKinds::Stub& nowhere) {
  const auto call = [](CallKinds::Stub& by, const std::string& name, const preparation& prepare,
                       const std::function<void(client_stream_reactor&)>& begin) {
    grpc::ClientContext context;
    prepare(context);
    client_stream_reactor seen;
    Summary summary;
    by.async()->ClientStream(&context, &summary, &seen);
    begin(seen);
    const std::string all = seen.wait();
    say("client stream " + name, all, summary.positions(), summary.distance(),
        own(context.GetServerInitialMetadata()), own(context.GetServerTrailingMetadata()));
  };
  call(stub, "last", add_metadata, [](client_stream_reactor& r) {
    r.left = 3;
    r.with_last = true;
    r.next();
    r.StartCall();
  });
  call(stub, "only a last one", nothing, [](client_stream_reactor& r) {
    r.left = 1;
    r.with_last = true;
    r.StartCall();
    r.next();
  });
  call(stub, "closed without messages", nothing, [](client_stream_reactor& r) {
    r.StartWritesDone();
    r.StartCall();
  });
  call(stub, "cancel before the start", cancel_early, [](client_stream_reactor& r) { r.StartCall(); });
  call(stub, "write of a call cancelled before the start", cancel_early, [](client_stream_reactor& r) {
    r.left = 1;
    r.next();
    r.StartCall();
  });
  call(stub, "deadline while nothing is written", short_deadline,
       [](client_stream_reactor& r) { r.StartCall(); });
  call(nowhere, "no server", nothing, [](client_stream_reactor& r) { r.StartCall(); });
  {
    struct closing final : client_stream_reactor {
      void OnWriteDone(bool ok) override {
        written(ok);
        StartWritesDone();
      }
    } seen;
    grpc::ClientContext context;
    Summary summary;
    stub.async()->ClientStream(&context, &summary, &seen);
    seen.position.set_east(5);
    seen.StartWrite(&seen.position);
    seen.StartCall();
    const std::string all = seen.wait();
    say("client stream closed after a message", all, summary.positions(), summary.distance());
  }
  {
    // The end of the call, with a hold: later writes fail.
    struct failing final : client_stream_reactor {
      void OnReadInitialMetadataDone(bool) override {}
      void OnWriteDone(bool ok) override {
        const std::lock_guard lock(changing);
        if (!ok) failed = true;
        written = true;
        changed.notify_all();
      }
      void write(int north) {
        std::unique_lock lock(changing);
        written = false;
        position.set_north(north);
        StartWrite(&position);
        changed.wait(lock, [this] { return written; });
      }
      std::mutex changing;
      std::condition_variable changed;
      bool written = false;
      bool failed = false;
    } seen;
    grpc::ClientContext context;
    Summary summary;
    stub.async()->ClientStream(&context, &summary, &seen);
    seen.AddHold();
    seen.StartCall();
    seen.write(999);  // the server ends the call
    for (int i = 0; i < 1000 && !seen.failed; ++i) {
      seen.write(1);
      // It sleeps on purpose: nothing tells that the end has come, but a write that fails.
      std::this_thread::sleep_for(1ms);
    }
    seen.add("held", !seen.ended());
    seen.RemoveHold();
    const std::string all = seen.wait();
    say("client stream writes after the end", all, seen.failed);
  }
}

// --- both directions

struct bidi_stream_reactor : grpc::ClientBidiReactor<Note, Note>, trace {
  void OnReadInitialMetadataDone(bool ok) override { metadata_done(ok); }
  void OnReadDone(bool ok) override {
    add(ok ? "read'" + heard.text() + "'" : "read-");
    if (!ok) return;
    StartRead(&heard);
    half();
  }
  void OnWriteDone(bool ok) override {
    written(ok);
    if (ok) half();
  }
  // A text was written, or answered.
  void half() {
    if (++halves % 2 != 0) return;
    if (next_text < texts.size()) speak();
    else if (!std::exchange(closed, true)) StartWritesDone();
  }
  void OnWritesDoneDone(bool ok) override { written(ok); }
  void OnDone(const grpc::Status& s) override { end(s); }
  void speak() {
    said.set_text(texts[next_text++]);
    StartWrite(&said);
  }
  Note said;
  Note heard;
  std::vector<std::string> texts;
  std::size_t next_text = 0;
  std::atomic<int> halves{0};
  bool closed = false;
};

void bidi_streams(CallKinds::Stub& stub, CallKinds::Stub& nowhere) {
  const auto call = [](CallKinds::Stub& by, const std::string& name, std::vector<std::string> texts,
                       const preparation& prepare, const std::function<void(bidi_stream_reactor&)>& begin) {
    grpc::ClientContext context;
    prepare(context);
    bidi_stream_reactor seen;
    seen.texts = std::move(texts);
    by.async()->BidiStream(&context, &seen);
    begin(seen);
    const std::string all = seen.wait();
    say("bidi stream " + name, all, own(context.GetServerInitialMetadata()),
        own(context.GetServerTrailingMetadata()));
  };
  const auto both_first = [](bidi_stream_reactor& t) {
    t.speak();
    t.StartRead(&t.heard);
    t.StartCall();
  };
  const auto start_first = [](bidi_stream_reactor& t) {
    t.StartCall();
    t.StartRead(&t.heard);
    t.speak();
  };
  call(stub, "of three", {"a", "b", "c"}, add_metadata, both_first);
  call(stub, "of one", {"a"}, nothing, start_first);
  call(stub, "error", {"a", "error"}, nothing, both_first);
  call(stub, "cancel by the server", {"a", "cancel yourself"}, nothing, both_first);
  call(stub, "cancel before the start", {"a"}, cancel_early, both_first);
  call(stub, "deadline in the past", {"a"}, late, both_first);
  call(stub, "deadline that passes", {"a"}, short_deadline, [](bidi_stream_reactor& t) {
    t.StartRead(&t.heard);
    t.StartCall();
  });
  call(nowhere, "no server", {"a"}, nothing, both_first);
  call(stub, "closed at once", {}, nothing, [](bidi_stream_reactor& t) {
    t.closed = true;
    t.StartWritesDone();
    t.StartRead(&t.heard);
    t.StartCall();
  });
  call(stub, "writes and reads after the end with a hold", {"error"}, nothing, [&](bidi_stream_reactor& t) {
    t.AddHold();
    both_first(t);
    t.wait_for("read-");
    t.wait_for_a_write();
    t.add("held", !t.ended());
    t.StartRead(&t.heard);
    t.texts.push_back("late");
    t.speak();
    t.RemoveHold();
  });
}

// --- alarms

void alarms() {
  struct called {
    std::mutex changing;
    std::condition_variable changed;
    std::string all;
    int count = 0;
    int add(bool ok) {
      const std::lock_guard lock(changing);
      all += ok ? "+" : "-";
      changed.notify_all();
      return ++count;
    }
    std::string wait(int until) {
      std::unique_lock lock(changing);
      changed.wait(lock, [&] { return count >= until; });
      return all;
    }
  } seen;
  grpc::Alarm alarm;
  alarm.Set(now() + 10ms, [&](bool ok) { seen.add(ok); });
  say("alarm", seen.wait(1));
  alarm.Set(now() - 1s, [&](bool ok) { seen.add(ok); });
  say("alarm in the past", seen.wait(2));
  alarm.Set(now() + 100s, [&](bool ok) { seen.add(ok); });
  alarm.Cancel();
  say("alarm cancelled", seen.wait(3));
  {
    grpc::Alarm destroyed;
    destroyed.Set(gpr_inf_future(GPR_CLOCK_REALTIME), [&](bool ok) { seen.add(ok); });
  }
  say("alarm destroyed", seen.wait(4));
  grpc::Alarm repeated;
  std::function<void(bool)> again = [&](bool ok) {
    if (seen.add(ok) < 8) repeated.Set(now() + 1ms, again);
  };
  repeated.Set(now() + 1ms, again);
  say("alarm that sets itself", seen.wait(8));
}

// --- what the server sees

class asked_server {
 public:
  explicit asked_server(CallKinds::Stub& stub) : stub_(stub) {}
  // Makes a call, and shows what its reactor was told.
  void show(const std::string& name, const std::function<grpc::Status(grpc::ClientContext&)>& call) {
    grpc::ClientContext context;
    context.AddMetadata("trace-key", name);
    const grpc::Status s = call(context);
    grpc::ClientContext asking;
    Reply reply;
    const grpc::Status asked = stub_.Unary(&asking, query("trace", 0, name), &reply);
    say("server " + name, "status=" + std::to_string(s.error_code()), reply.name(), asked.error_code());
  }

 private:
  CallKinds::Stub& stub_;
};

void servers(CallKinds::Stub& stub) {
  asked_server server(stub);
  const auto find = [&](const std::string& ask, const preparation& prepare) {
    return [&stub, ask, prepare](grpc::ClientContext& context) {
      prepare(context);
      Reply reply;
      return stub.Unary(&context, query(ask), &reply);
    };
  };
  server.show("own", find("own", nothing));
  server.show("own error", find("own error", nothing));
  server.show("own headers", find("own headers", add_metadata));
  server.show("own later", find("own later", nothing));
  server.show("cancel yourself", find("cancel yourself", nothing));
  server.show("deadline", find("wait for cancel", short_deadline));
  const auto server_stream = [&](const std::string& ask, int number) {
    return [&stub, ask, number](grpc::ClientContext& context) {
      const auto reader = stub.ServerStream(&context, query(ask, number));
      Reply reply;
      while (reader->Read(&reply)) continue;
      return reader->Finish();
    };
  };
  server.show("server stream", server_stream("", 3));
  server.show("server stream of none", server_stream("", 0));
  server.show("server stream headers", server_stream("headers first", 1));
  server.show("server stream error", server_stream("error", 1));
  server.show("server stream write and finish", server_stream("write and finish", 2));
  server.show("server stream only write and finish", server_stream("write and finish", 1));
  server.show("server stream write last", server_stream("write last", 2));
  server.show("server stream cancel yourself", server_stream("cancel yourself", 1));
  server.show("server stream cancelled by the client", [&](grpc::ClientContext& context) {
    const auto reader = stub.ServerStream(&context, query("until cancelled", 1));
    Reply reply;
    reader->Read(&reply);
    context.TryCancel();
    return reader->Finish();
  });
  const auto client_stream = [&](std::vector<int> norths) {
    return [&stub, norths](grpc::ClientContext& context) {
      Summary summary;
      const auto writer = stub.ClientStream(&context, &summary);
      Position position;
      for (const int north : norths) {
        position.set_north(north);
        writer->Write(position);
      }
      if (norths.empty() || norths.back() != 999) writer->WritesDone();
      return writer->Finish();
    };
  };
  server.show("client stream", client_stream({1, 2, 3}));
  server.show("client stream of none", client_stream({}));
  server.show("client stream finished while it reads", client_stream({1, 999}));
  const auto bidi_stream = [&](std::vector<std::string> texts) {
    return [&stub, texts](grpc::ClientContext& context) {
      const auto stream = stub.BidiStream(&context);
      Note note;
      for (const std::string& text : texts) {
        note.set_text(text);
        stream->Write(note);
        if (!stream->Read(&note)) return stream->Finish();
      }
      stream->WritesDone();
      while (stream->Read(&note)) continue;
      return stream->Finish();
    };
  };
  server.show("bidi stream", bidi_stream({"a", "b"}));
  server.show("bidi stream of none", bidi_stream({}));
  server.show("bidi stream error", bidi_stream({"a", "error"}));
  const auto call = [&](const std::string& name, const Query& q) {
    grpc::ClientContext context;
    Reply reply;
    const grpc::Status s = stub.Unary(&context, q, &reply);
    say("server " + name, s.error_code(), s.error_message(), reply.number());
  };
  call("throws", query("throw"));
  call("has no reactor", query("null"));
  call("has no allocator", query("allocated"));
}

void bytes(const std::shared_ptr<grpc::Channel>& channel) {
  const grpc::internal::RpcMethod find("/call_kinds.CallKinds/Unary", grpc::internal::RpcMethod::NORMAL_RPC);
  grpc::ClientContext context;
  const grpc::Slice garbage("\xff\xff\xff");
  const grpc::ByteBuffer request(&garbage, 1);
  grpc::ByteBuffer reply;
  trace seen;
  grpc::internal::CallbackUnaryCall(channel.get(), find, &context, &request, &reply,
                                    [&](grpc::Status s) { seen.end(s); });
  say("request that does not parse", seen.wait());
}

int run_client(const std::string& port) {
  const auto channel = channel_to(port);
  const auto stub = CallKinds::NewStub(channel);
  const auto other = Unimplemented::NewStub(channel);
  const auto nowhere =
      CallKinds::NewStub(grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials()));
  unary_functions(*stub, *other, *nowhere);
  unary_reactors(*stub, *nowhere);
  programs_in_callbacks(*stub);
  server_streams(*stub, *nowhere);
  client_streams(*stub, *nowhere);
  bidi_streams(*stub, *nowhere);
  alarms();
  servers(*stub);
  bytes(channel);
  return 0;
}

int run_server() {
  callback_call_kinds service;
  return serve_until_sigterm([&](grpc::ServerBuilder& builder) { builder.RegisterService(&service); });
}

const program entry("callbacks", {{"server", run_server}, {"client", "PORT", run_client}});

}  // namespace
}  // namespace call_kinds::callbacks
