// ClientRPC and ServerRPC of version 3, and the handlers that are registered.

#include "agrpc_fixture.hpp"

#include <agrpc/health_check_service.hpp>

#include "call_kinds_mock.grpc.pb.h"

#if defined(AGRPC_STANDALONE_ASIO)
#include <asio/experimental/co_spawn.hpp>
#include <asio/experimental/coro.hpp>
#else
#include <boost/asio/experimental/co_spawn.hpp>
#include <boost/asio/experimental/coro.hpp>
#endif

#include <gmock/gmock.h>
#include <google/protobuf/arena.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace agrpc_tests::rpc_test {

using call_kinds::CallKinds;
using call_kinds::Note;
using call_kinds::Position;
using call_kinds::Query;
using call_kinds::Reply;
using call_kinds::Summary;
using std::chrono::milliseconds;

using find_client = agrpc::ClientRPC<&CallKinds::Stub::PrepareAsyncUnary>;
using record_client = agrpc::ClientRPC<&CallKinds::Stub::PrepareAsyncClientStream>;
using list_client = agrpc::ClientRPC<&CallKinds::Stub::PrepareAsyncServerStream>;
using talk_client = agrpc::ClientRPC<&CallKinds::Stub::PrepareAsyncBidiStream>;
using find_server = agrpc::ServerRPC<&CallKinds::AsyncService::RequestUnary>;
using record_server = agrpc::ServerRPC<&CallKinds::AsyncService::RequestClientStream>;
using list_server = agrpc::ServerRPC<&CallKinds::AsyncService::RequestServerStream>;
using talk_server = agrpc::ServerRPC<&CallKinds::AsyncService::RequestBidiStream>;

static_assert(find_client::TYPE == agrpc::ClientRPCType::UNARY);
static_assert(record_client::TYPE == agrpc::ClientRPCType::CLIENT_STREAMING);
static_assert(list_client::TYPE == agrpc::ClientRPCType::SERVER_STREAMING);
static_assert(talk_client::TYPE == agrpc::ClientRPCType::BIDIRECTIONAL_STREAMING);
static_assert(find_server::TYPE == agrpc::ServerRPCType::UNARY);
static_assert(std::same_as<record_server::Response, Summary>);
static_assert(std::same_as<record_server::Traits, agrpc::DefaultServerRPCTraits>);

class rpcs : public agrpc_fixture {
 public:
  std::unique_ptr<agrpc::Alarm> held;  // what "wait" waits for

  void answer() {
    held = std::make_unique<agrpc::Alarm>(context());
    agrpc::register_awaitable_rpc_handler<find_server>(
        context(), service,
        [this](find_server& rpc, find_server::Request& request) -> asio::awaitable<void> {
          if (request.ask() == "wait") {
            co_await held->wait(in_a_minute());
          } else if (request.ask() == "error") {
            co_await rpc.finish_with_error(grpc::Status::CANCELLED);
          } else if (request.ask() != "unfinished") {
            find_server::Response response;
            response.set_number(request.number());
            rpc.context().AddInitialMetadata("flag", "blue");
            EXPECT_TRUE(co_await rpc.send_initial_metadata());
            co_await rpc.finish(response, grpc::Status::OK);
          }
        },
        rethrow());
    agrpc::register_awaitable_rpc_handler<record_server>(
        context(), service,
        [](record_server& rpc) -> asio::awaitable<void> {
          record_server::Request request;
          record_server::Response response;
          while (co_await rpc.read(request)) response.set_positions(response.positions() + 1);
          co_await rpc.finish(response, grpc::Status::OK);
        },
        rethrow());
    agrpc::register_awaitable_rpc_handler<list_server>(
        context(), service,
        [](list_server& rpc, list_server::Request& request) -> asio::awaitable<void> {
          list_server::Response response;
          for (int i = 0; i != request.number(); ++i) {
            response.set_number(i);
            if (!co_await rpc.write(response)) co_return;
          }
          if (request.ask() == "coalesced") co_await rpc.write_and_finish(response, grpc::Status::OK);
          else co_await rpc.finish(grpc::Status::OK);
        },
        rethrow());
    agrpc::register_awaitable_rpc_handler<talk_server>(
        context(), service,
        [](talk_server& rpc) -> asio::awaitable<void> {
          talk_server::Request request;
          talk_server::Response response;
          while (co_await rpc.read(request)) {
            response.set_text(request.text() + "!");
            if (!co_await rpc.write(response)) co_return;
          }
          response.set_text("bye");
          co_await rpc.write(response, grpc::WriteOptions{}.set_last_message());
          co_await rpc.finish(grpc::Status::OK);
        },
        asio::detached);
  }
};

TEST_F(rpcs, KnowTheNamesOfTheirMethods) {
  EXPECT_EQ(find_client::service_name(), "call_kinds.CallKinds");
  EXPECT_EQ(find_client::method_name(), "Unary");
  EXPECT_EQ(talk_server::service_name(), "call_kinds.CallKinds");
  EXPECT_EQ(talk_server::method_name(), "BidiStream");
  EXPECT_EQ((agrpc::ClientRPC<&CallKinds::StubInterface::AsyncUnary>::method_name()), "Unary");
  EXPECT_EQ((agrpc::ClientRPC<&CallKinds::StubInterface::AsyncUnary>::service_name()),
            "call_kinds.CallKinds");
  for (const std::string_view name : {find_client::service_name(), find_client::method_name(),
                                      talk_server::service_name(), talk_server::method_name()})
    EXPECT_EQ(name.data(), std::string(name));  // a null character ends it
}

TEST_F(rpcs, UnaryCallsAreOneFunctionOrStartAndFinish) {
  answer();
  run([&]() -> asio::awaitable<void> {
    using RPC = find_client;
    RPC::Request request;
    RPC::Response response;
    {
      grpc::ClientContext client_context;
      set_deadline(client_context);
      request.set_number(42);
      const grpc::Status status =
          co_await RPC::request(context(), *stub, client_context, request, response, asio::use_awaitable);
      EXPECT_TRUE(status.ok()) << status.error_message();
      EXPECT_EQ(response.number(), 42);
    }
    {
      grpc::ClientContext client_context;
      const grpc::Status status =
          co_await RPC::request(context().get_executor(), stub, client_context, {}, response);
      EXPECT_TRUE(status.ok()) << status.error_message();
    }
    RPC rpc{context()};
    set_deadline(rpc.context());
    rpc.start(*stub, request);
    EXPECT_TRUE(co_await rpc.read_initial_metadata());
    EXPECT_EQ(rpc.context().GetServerInitialMetadata().count("flag"), 1u);
    const grpc::Status status = co_await rpc.finish(response);
    EXPECT_TRUE(status.ok()) << status.error_message();

    grpc::ClientContext failing;
    request.set_ask("error");
    EXPECT_EQ((co_await RPC::request(context(), *stub, failing, request, response)).error_code(),
              grpc::StatusCode::CANCELLED);
    grpc::ClientContext unfinished;
    request.set_ask("unfinished");
    EXPECT_FALSE((co_await RPC::request(context(), *stub, unfinished, request, response)).ok());
  });
}

TEST_F(rpcs, ClientStreamsEndTheirWritesByThemselves) {
  answer();
  run([&]() -> asio::awaitable<void> {
    using RPC = record_client;
    for (const bool last : {false, true}) {
      RPC rpc{context()};
      set_deadline(rpc.context());
      RPC::Response response;
      EXPECT_TRUE(co_await rpc.start(*stub, response));
      RPC::Request request;
      request.set_north(1);
      while (co_await rpc.write(request) && request.north() < 42) request.set_north(request.north() + 1);
      if (last) {
        EXPECT_TRUE(co_await rpc.write(request, grpc::WriteOptions{}.set_last_message()));
      }
      const grpc::Status status = co_await rpc.finish();
      EXPECT_TRUE(status.ok()) << status.error_message();
      EXPECT_EQ(response.positions(), last ? 43 : 42);
    }
  });
}

TEST_F(rpcs, ServerStreamsAreReadToTheirEnd) {
  answer();
  run([&]() -> asio::awaitable<void> {
    for (const char* ask : {"", "coalesced"}) {
      list_client rpc{context()};
      list_client::Request request;
      request.set_number(3);
      request.set_ask(ask);
      EXPECT_TRUE(co_await rpc.start(*stub, request));
      list_client::Response response;
      int replies = 0;
      while (co_await rpc.read(response)) ++replies;
      EXPECT_EQ(replies, request.ask().empty() ? 3 : 4);
      const grpc::Status status = co_await rpc.finish();
      EXPECT_TRUE(status.ok()) << status.error_message();
    }
  });
}

TEST_F(rpcs, BidirectionalStreamsReadAndWriteAtTheSameTime) {
  answer();
  run([&]() -> asio::awaitable<void> {
    using namespace asio::experimental::awaitable_operators;
    talk_client rpc{context()};
    EXPECT_TRUE(co_await rpc.start(*stub));
    talk_client::Request request;
    talk_client::Response response;
    for (int i = 0; i < 3; ++i) {
      request.set_text(std::to_string(i));
      const auto [read_ok, write_ok] =
          co_await (rpc.read(response, asio::use_awaitable) && rpc.write(request, asio::use_awaitable));
      EXPECT_TRUE(read_ok && write_ok);
      EXPECT_EQ(response.text(), request.text() + "!");
    }
    EXPECT_TRUE(co_await rpc.writes_done());
    EXPECT_TRUE(co_await agrpc::read(rpc, response));
    EXPECT_EQ(response.text(), "bye");
    const grpc::Status status = co_await rpc.finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
  });
}

TEST_F(rpcs, StartWithoutAServerIsFalseAndFinishSaysWhy) {
  const auto unreachable =
      CallKinds::NewStub(grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials()));
  agrpc::GrpcContext alone;
  run_coroutines(alone, [&]() -> asio::awaitable<void> {
    list_client rpc{alone};
    const list_client::Request request;
    EXPECT_FALSE(co_await rpc.start(*unreachable, request));
    EXPECT_EQ((co_await rpc.finish()).error_code(), grpc::StatusCode::UNAVAILABLE);
  });
}

TEST_F(rpcs, ACancellationSlotCancelsTheCall) {
  answer();
  run([&]() -> asio::awaitable<void> {
    grpc::ClientContext client_context;
    find_client::Request request;
    request.set_ask("wait");
    find_client::Response response;
    const auto result =
        co_await asio::experimental::make_parallel_group(
            find_client::request(context(), *stub, client_context, request, response, deferred),
            agrpc::Alarm(context()).wait(in(milliseconds(20)), deferred))
            .async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
    EXPECT_EQ(std::get<1>(result).error_code(), grpc::StatusCode::CANCELLED);
    {
      talk_client dropped{context()};  // cancelled by its destructor
      EXPECT_TRUE(co_await dropped.start(*stub));
    }
    talk_client rpc{context()};
    EXPECT_TRUE(co_await rpc.start(*stub));
    rpc.cancel();
    EXPECT_EQ((co_await rpc.finish()).error_code(), grpc::StatusCode::CANCELLED);
    held->cancel();
  });
}

TEST_F(rpcs, AnExecutorMayNameTheTokenOfItsOperations) {
  answer();
  using RPC = asio::use_awaitable_t<agrpc::GrpcExecutor>::as_default_on_t<find_client>;
  asio::co_spawn(
      context(),
      [&]() -> agrpc::GrpcAwaitable<void> {
        grpc::ClientContext client_context;
        RPC::Response response;
        const RPC::executor_type executor(context().get_executor());
        const grpc::Status status = co_await RPC::request(executor, *stub, client_context, {}, response);
        EXPECT_TRUE(status.ok()) << status.error_message();
        shut_down();
      },
      rethrow());
  context().run();
}

TEST_F(rpcs, HandlersMayBeCallbacks) {
  int completed = 0;
  agrpc::register_callback_rpc_handler<find_server>(
      context(), service,
      [](find_server::Ptr ptr, find_server::Request& request) {
        EXPECT_EQ(&ptr.request(), &request);
        if (request.ask() == "dropped") return;
        find_server::Ptr kept;
        swap(kept, ptr);
        EXPECT_FALSE(ptr);
        find_server::Response response;
        response.set_number(kept.request().number());
        auto& rpc = *kept;
        rpc.finish(response, grpc::Status::OK, [p = std::move(kept)](bool ok) { EXPECT_TRUE(ok && p); });
      },
      [&](const std::exception_ptr& error) { completed += error ? 100 : 1; });
  run([&]() -> asio::awaitable<void> {
    for (const char* ask : {"", "dropped"}) {
      grpc::ClientContext client_context;
      find_client::Request request;
      find_client::Response response;
      request.set_number(7);
      request.set_ask(ask);
      const grpc::Status status =
          co_await find_client::request(context(), *stub, client_context, request, response);
      EXPECT_EQ(status.ok(), request.ask().empty());
    }
  });
  EXPECT_EQ(completed, 1);
}

#ifndef AGRPC_TESTS_WITHOUT_STACKFUL_COROUTINES
TEST_F(rpcs, HandlersMayBeStackfulCoroutines) {
  agrpc::register_yield_rpc_handler<find_server>(
      context(), service,
      [](find_server& rpc, find_server::Request& request, const asio::yield_context& yield) {
        find_server::Response response;
        response.set_number(request.number());
        rpc.finish(response, grpc::Status::OK, yield);
      },
      rethrow());
  asio::spawn(
      context(),
      [&](asio::yield_context yield) {
        grpc::ClientContext client_context;
        find_client::Request request;
        request.set_number(8);
        find_client::Response response;
        const grpc::Status status =
            find_client::request(context(), *stub, client_context, request, response, yield);
        EXPECT_TRUE(status.ok()) << status.error_message();
        EXPECT_EQ(response.number(), 8);
        shut_down();
#if CORACLE_ASIO_VERSION >= 102400
      },
      asio::detached);
#else
      });
#endif
  context().run();
}
#endif

// Older ones await no deferred operations, and clang does not compile the promise of a coro with further
// parameters.
#if CORACLE_ASIO_VERSION >= 102400 && !defined(__clang__)
// Handlers that are coroutines of Asio's experimental type.
struct coro_traits {
  using ReturnType = asio::experimental::coro<void, void>;
  template <class Handler, class Completion, class Executor, class Function>
  static void co_spawn(const Executor& executor, Handler&, Completion&, Function&& function) {
    asio::experimental::co_spawn(std::forward<Function>(function)(asio::any_io_executor(executor)),
                                 asio::detached);
  }
};

asio::experimental::coro<void, void> send_ships(asio::any_io_executor, list_server& rpc, int number) {
  const Reply reply;
  for (int i = 0; i < number; ++i) {
    const bool ok = co_await rpc.write(reply, deferred);
    if (!ok) co_return;
  }
  co_await rpc.finish(grpc::Status::OK, deferred);
}

TEST_F(rpcs, HandlersMayBeCoroutinesOfAnotherType) {
  agrpc::register_coroutine_rpc_handler<list_server, coro_traits>(
      context(), service,
      [&](list_server& rpc, list_server::Request& request) {
        return send_ships(context().get_executor(), rpc, request.number());
      },
      rethrow());
  run([&]() -> asio::awaitable<void> {
    list_client rpc{context()};
    list_client::Request request;
    request.set_number(3);
    EXPECT_TRUE(co_await rpc.start(*stub, request));
    list_client::Response response;
    int replies = 0;
    while (co_await rpc.read(response)) ++replies;
    EXPECT_EQ(replies, 3);
    EXPECT_TRUE((co_await rpc.finish()).ok());
  });
}
#endif

TEST_F(rpcs, ExceptionsOfHandlersAreTheResultOfTheirRegistration) {
  std::string thrown;
  agrpc::register_awaitable_rpc_handler<talk_server>(
      context(), service,
      [](talk_server&) -> asio::awaitable<void> {
        throw std::runtime_error("of the handler");
        co_return;
      },
      [&](const std::exception_ptr& error) {
        try {
          if (error) std::rethrow_exception(error);
        } catch (const std::runtime_error& e) {
          thrown += e.what();
        }
      });
  run([&]() -> asio::awaitable<void> {
    for (int i = 0; i < 2; ++i) {
      talk_client rpc{context()};
      co_await rpc.start(*stub);
      EXPECT_FALSE((co_await rpc.finish()).ok());
      if (i == 0) {
        EXPECT_EQ(thrown, "of the handler");
      }
    }
  });
  EXPECT_EQ(thrown, "of the handler");
}

class arena_factory {
 public:
  template <class Request>
  Request& create() {
    return *Request::default_instance().New(arena_.get());
  }
  template <class Request>
  void destroy(Request&) noexcept {}
  [[nodiscard]] google::protobuf::Arena& arena() noexcept { return *arena_; }

 private:
  std::unique_ptr<google::protobuf::Arena> arena_ = std::make_unique<google::protobuf::Arena>();
};
template <class Handler>
class with_arena {
 public:
  explicit with_arena(Handler handler) : handler_(std::move(handler)) {}
  template <class... Args>
  decltype(auto) operator()(Args&&... args) {
    return handler_(std::forward<Args>(args)...);
  }
  [[nodiscard]] arena_factory request_message_factory() { return {}; }

 private:
  Handler handler_;
};

TEST_F(rpcs, AFactoryMakesTheRequests) {
  bool in_arena = false;
  agrpc::register_awaitable_rpc_handler<find_server>(
      context(), service,
      with_arena([&](find_server& rpc, find_server::Request& request,
                     arena_factory& factory) -> asio::awaitable<void> {
        in_arena = request.GetArena() == &factory.arena();
        co_await rpc.finish({}, grpc::Status::OK);
      }),
      asio::detached);
  run([&]() -> asio::awaitable<void> {
    grpc::ClientContext client_context;
    find_client::Response response;
    EXPECT_TRUE((co_await find_client::request(context(), *stub, client_context, {}, response)).ok());
  });
  EXPECT_TRUE(in_arena);
}

TEST_F(rpcs, AFactoryComesLastAndOnlyForASingleRequest) {
#if !defined(AGRPC_TESTS_WITHOUT_STACKFUL_COROUTINES)
  bool in_arena = false;
  agrpc::register_yield_rpc_handler<find_server>(
      context(), service,
      with_arena([&](find_server& rpc, find_server::Request& request, const asio::yield_context& yield,
                     arena_factory& factory) {
        in_arena = request.GetArena() == &factory.arena();
        rpc.finish({}, grpc::Status::OK, yield);
      }),
      rethrow());
#endif
  // A factory that was called would have to make the requests of a stream.
  struct handler {
    asio::awaitable<void> operator()(talk_server& rpc) const {
      co_await rpc.finish(grpc::Status(grpc::StatusCode::ALREADY_EXISTS, ""));
    }
    [[nodiscard]] arena_factory request_message_factory() const {
      ADD_FAILURE() << "called";
      return {};
    }
  };
  agrpc::register_awaitable_rpc_handler<talk_server>(context(), service, handler(), asio::detached);
  run([&]() -> asio::awaitable<void> {
    talk_client rpc{context()};
    co_await rpc.start(*stub);
    EXPECT_EQ((co_await rpc.finish()).error_code(), grpc::StatusCode::ALREADY_EXISTS);
#if !defined(AGRPC_TESTS_WITHOUT_STACKFUL_COROUTINES)
    grpc::ClientContext client_context;
    find_client::Response response;
    EXPECT_TRUE((co_await find_client::request(context(), *stub, client_context, {}, response)).ok());
    EXPECT_TRUE(in_arena);
#endif
  });
}

TEST_F(rpcs, ACancelledRegistrationHandlesTheRpcThatItHasAskedFor) {
  asio::cancellation_signal signal;
  bool completed = false;
  agrpc::register_awaitable_rpc_handler<talk_server>(
      context(), service,
      [](talk_server& rpc) -> asio::awaitable<void> { co_await rpc.finish(grpc::Status::OK); },
      asio::bind_cancellation_slot(signal.slot(), [&](const std::exception_ptr& error) {
        completed = true;
        EXPECT_FALSE(error);
      }));
  signal.emit(asio::cancellation_type::total);
  run([&]() -> asio::awaitable<void> {
    talk_client handled{context()};
    co_await handled.start(*stub);
    EXPECT_TRUE((co_await handled.finish()).ok());
    talk_client not_handled{context(), [](grpc::ClientContext& c) { c.set_deadline(in(milliseconds(100))); }};
    co_await not_handled.start(*stub);
    EXPECT_EQ((co_await not_handled.finish()).error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
    EXPECT_TRUE(completed);
  });
}

TEST_F(rpcs, ARegistrationKeepsItsRpcsInTheMemoryOfItsHandler) {
  class counting_resource : public std::pmr::memory_resource {
   public:
    int allocations = 0;
    int in_use = 0;

   private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
      ++allocations;
      ++in_use;
      return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override {
      --in_use;
      std::pmr::new_delete_resource()->deallocate(p, bytes, alignment);
    }
    [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
      return this == &other;
    }
  } memory;
  struct completion {
    using allocator_type = std::pmr::polymorphic_allocator<std::byte>;
    std::pmr::memory_resource* memory;
    [[nodiscard]] allocator_type get_allocator() const noexcept { return {memory}; }
    void operator()(const std::exception_ptr&) const {}
  };
  agrpc::register_awaitable_rpc_handler<talk_server>(
      context(), service,
      [](talk_server& rpc) -> asio::awaitable<void> { co_await rpc.finish(grpc::Status::OK); },
      completion{&memory});
  const int before = memory.allocations;
  EXPECT_GT(before, 0);
  run([&]() -> asio::awaitable<void> {
    for (int i = 0; i < 3; ++i) {
      talk_client rpc{context()};
      co_await rpc.start(*stub);
      EXPECT_TRUE((co_await rpc.finish()).ok());
    }
  });
  EXPECT_GE(memory.allocations, before + 3);
  EXPECT_EQ(memory.in_use, 0);
}

struct watching : agrpc::DefaultServerRPCTraits {
  static constexpr bool NOTIFY_WHEN_DONE = true;
};

TEST_F(rpcs, WaitForDoneSaysThatTheClientIsGone) {
  using RPC = agrpc::ServerRPC<&CallKinds::AsyncService::RequestBidiStream, watching>;
  int ends = 0;
  agrpc::register_awaitable_rpc_handler<RPC>(
      context(), service,
      [&](RPC& rpc) -> asio::awaitable<void> {
        EXPECT_FALSE(rpc.is_done());
        EXPECT_TRUE(co_await rpc.send_initial_metadata());
        RPC::Request request;
        if (co_await rpc.read(request)) {  // one that ends by itself
          co_await rpc.finish(grpc::Status::OK);
          co_await rpc.wait_for_done();
          EXPECT_FALSE(rpc.context().IsCancelled());
          ++ends;
          co_return;
        }
        agrpc::Alarm alarm(context());
        const auto [completion_order, wait_ok, ec] =
            co_await asio::experimental::make_parallel_group(alarm.wait(in_a_minute(), deferred),
                                                             rpc.wait_for_done(deferred))
                .async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
        EXPECT_EQ(completion_order[0], 1u);
        EXPECT_FALSE(ec);
        EXPECT_TRUE(rpc.is_done());
        EXPECT_TRUE(rpc.context().IsCancelled());
        co_await rpc.wait_for_done();
        ++ends;
      },
      rethrow());
  run([&]() -> asio::awaitable<void> {
    {
      talk_client rpc{context()};
      EXPECT_TRUE(co_await rpc.start(*stub));
      EXPECT_TRUE(co_await rpc.read_initial_metadata());
      rpc.cancel();
      EXPECT_FALSE((co_await rpc.finish()).ok());
    }
    talk_client rpc{context()};
    EXPECT_TRUE(co_await rpc.start(*stub));
    EXPECT_TRUE(co_await rpc.write(Note()));
    EXPECT_TRUE((co_await rpc.finish()).ok());
  });
  EXPECT_EQ(ends, 2);
}

TEST_F(rpcs, AWaiterKeepsAReadWhileOtherWaitsEnd) {
  using RPC = talk_server;
  agrpc::register_awaitable_rpc_handler<RPC>(
      context(), service,
      [](RPC& rpc) -> asio::awaitable<void> {
        RPC::Request request;
        RPC::Response response;
        agrpc::Alarm alarm{rpc.get_executor()};
        agrpc::Waiter<void(bool)> waiter;
        waiter.initiate(agrpc::read, rpc, request);
        int rings = 0;
        auto next_deadline = in(milliseconds(2));
        while (true) {
          auto [completion_order, read_error_code, read_ok, alarm_expired] =
              co_await asio::experimental::make_parallel_group(waiter.wait(deferred),
                                                               alarm.wait(next_deadline, deferred))
                  .async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
          if (completion_order[0] == 0) {
            EXPECT_FALSE(read_error_code);
            EXPECT_TRUE(waiter.is_ready());
            if (!read_ok) break;
            response.set_text(request.text());
            EXPECT_TRUE(co_await rpc.write(response, asio::use_awaitable));
            waiter.initiate(agrpc::read, rpc, request);
          } else {
            // Cancelled, or completed just after the alarm: then the next wait has it, too.
            EXPECT_TRUE(!read_error_code || read_error_code == asio::error::operation_aborted);
            if (++rings == 2) {
              response.set_text("ring");
              EXPECT_TRUE(co_await rpc.write(response, asio::use_awaitable));
            }
            next_deadline = in(milliseconds(2));
          }
        }
        co_await rpc.finish(grpc::Status::OK);
      },
      rethrow());
  run([&]() -> asio::awaitable<void> {
    talk_client rpc{context()};
    EXPECT_TRUE(co_await rpc.start(*stub));
    Note note;
    EXPECT_TRUE(co_await rpc.read(note));
    EXPECT_EQ(note.text(), "ring");
    note.set_text("message");
    EXPECT_TRUE(co_await rpc.write(note));
    EXPECT_TRUE(co_await rpc.read(note));
    EXPECT_EQ(note.text(), "message");
    EXPECT_TRUE((co_await rpc.finish()).ok());
  });
}

TEST_F(rpcs, WaitsOfAWaiterCompleteOnTheExecutorOfItsOperation) {
  agrpc::GrpcContext alone;
  agrpc::Alarm alarm(alone);
  agrpc::Waiter<void(bool)> waiter;
  const auto rings = [](agrpc::Alarm& on, std::chrono::system_clock::time_point deadline, auto&& handler) {
    on.wait(deadline, std::forward<decltype(handler)>(handler));
  };
  EXPECT_FALSE(waiter.is_ready());
  // A wait before the operation needs an executor of its own.
  std::thread::id early_on, late_on;
  asio::io_context io;
  waiter.wait(asio::bind_executor(io, [&](const error_code& error, bool ok) {
    EXPECT_TRUE(!error && ok);
    early_on = std::this_thread::get_id();
  }));
  waiter.initiate(rings, alarm, in(milliseconds(1)));
  int waits = 0;
  waiter.wait([&](const error_code& error, bool ok) {
    EXPECT_TRUE(!error && ok);
    EXPECT_TRUE(waiter.is_ready());
    late_on = std::this_thread::get_id();
    ++waits;
    // The same after the end of the operation, and never within wait().
    waiter.wait([&](const error_code&, bool) {
      EXPECT_EQ(late_on, std::this_thread::get_id());
      ++waits;
    });
    EXPECT_EQ(waits, 1);
  });
  std::thread running([&] { alone.run(); });
  const std::thread::id context_thread = running.get_id();
  io.run();
  running.join();
  EXPECT_EQ(early_on, std::this_thread::get_id());
  EXPECT_EQ(late_on, context_thread);
  EXPECT_EQ(waits, 2);

  // Of another type of executor, of which Asio's default tokens make a further one.
  using any_waiter = agrpc::Waiter<void(bool)>::rebind_executor<asio::any_io_executor>::other;
  static_assert(std::same_as<any_waiter, agrpc::Waiter<void(bool), asio::any_io_executor>>);
  using awaitable_waiter =
      asio::use_awaitable_t<agrpc::GrpcExecutor>::as_default_on_t<agrpc::Waiter<void(bool)>>;
  run_coroutines(alone, [&]() -> agrpc::GrpcAwaitable<void> {
    any_waiter any;
    any.initiate(rings, alarm, in(milliseconds(1)));
    EXPECT_TRUE(co_await any.wait(agrpc::GRPC_USE_AWAITABLE));
    awaitable_waiter defaulted;
    defaulted.initiate(rings, alarm, in(milliseconds(1)));
    EXPECT_TRUE(co_await defaulted.wait());
  });
}

TEST_F(rpcs, AWaitMayBeginBeforeTheExecutorOfItsOperationIsKnown) {
  agrpc::GrpcContext alone;
  const auto at_once = [](auto&&, auto&& handler) { std::move(handler)(true); };
  agrpc::Waiter<void(bool), asio::any_io_executor> any;
  agrpc::Waiter<void(bool), asio::io_context::executor_type> of_io;  // without a default constructor
  asio::io_context io;
  int waits = 0;
  const auto count = [&](const error_code& error, bool ok) { waits += !error && ok ? 1 : 0; };
  any.wait(count);
  of_io.wait(count);
  any.initiate(at_once, alone);
  of_io.initiate(at_once, io);
  EXPECT_EQ(waits, 0);
  alone.run();
  io.run();
  EXPECT_EQ(waits, 2);

  agrpc::Waiter<void(bool), asio::any_io_executor> never;
  asio::cancellation_signal signal;
  bool aborted = false;
  never.wait(asio::bind_cancellation_slot(signal.slot(), [&](const error_code& error, bool) {
    aborted = error == asio::error::operation_aborted;
  }));
  signal.emit(asio::cancellation_type::terminal);
  EXPECT_TRUE(aborted);
}

TEST_F(rpcs, AWaiterPassesOnWhatItCannotCopyAndTheErrorOfItsOperation) {
  asio::io_context io;
  agrpc::Waiter<void(std::unique_ptr<int>), asio::io_context::executor_type> moves;
  moves.initiate(
      [&](auto&&, auto&& handler) {
        asio::post(io, [h = std::move(handler)]() mutable { std::move(h)(std::make_unique<int>(42)); });
      },
      io);
  int got = 0;
  moves.wait(
      [&](const error_code& error, std::unique_ptr<int>&& value) { got = !error && value ? *value : -1; });
  io.run();
  EXPECT_EQ(got, 42);

  // With the error of the operation, a wait has no other one.
  io.restart();
  agrpc::Waiter<void(error_code), asio::any_io_executor> fails;
  asio::steady_timer timer(io, std::chrono::minutes(1));
  fails.initiate([](asio::steady_timer& on, auto&& handler) { on.async_wait(std::move(handler)); }, timer);
  asio::cancellation_signal signal;
  std::string seen;
  fails.wait(asio::bind_cancellation_slot(signal.slot(), [&](const error_code& error) {
    seen += error == asio::error::operation_aborted ? 'a' : '-';
    EXPECT_EQ(timer.cancel(), 1u);
    fails.wait([&](const error_code& of_timer) { seen += of_timer ? 'b' : '-'; });
  }));
  signal.emit(asio::cancellation_type::all);
  io.run();
  EXPECT_EQ(seen, "ab");
}

TEST_F(rpcs, TheirExecutorCanBeRebound) {
  answer();
  // To the executor of a strand of the context, and of any kind.
  using strand = asio::strand<agrpc::GrpcExecutor>;
  using any_client = find_client::rebind_executor<asio::any_io_executor>::other;
  using any_alarm = agrpc::Alarm::rebind_executor<asio::any_io_executor>::other;
  using any_stream = agrpc::GrpcStream::rebind_executor<asio::any_io_executor>::other;
  using any_rpc =
      agrpc::RPC<&CallKinds::Stub::PrepareAsyncServerStream>::rebind_executor<asio::any_io_executor>::other;
  using any_server = list_server::rebind_executor<asio::any_io_executor>::other;
  static_assert(std::same_as<any_client::executor_type, asio::any_io_executor>);
  static_assert(std::same_as<any_server::executor_type, asio::any_io_executor>);
  static_assert(std::same_as<any_stream, agrpc::BasicGrpcStream<asio::any_io_executor>>);
  run([&]() -> asio::awaitable<void> {
    const asio::any_io_executor any = strand(context().get_executor());
    any_alarm alarm(any);
    EXPECT_TRUE(co_await alarm.wait(in(milliseconds(1))));
    grpc::ClientContext client_context;
    set_deadline(client_context);
    any_client::Response response;
    EXPECT_TRUE((co_await any_client::request(any, *stub, client_context, {}, response)).ok());
    any_client rpc(any);
    rpc.start(*stub, any_client::Request());
    EXPECT_TRUE(rpc.get_executor() == any);
    EXPECT_TRUE((co_await rpc.finish(response)).ok());
    grpc::ClientContext of_list;
    Query query;
    query.set_number(2);
    auto list = co_await any_rpc::request(any, *stub, of_list, query);
    EXPECT_TRUE(list.get_executor() == any);
    Reply reply;
    int replies = 0;
    while (co_await list.read(reply)) ++replies;
    EXPECT_EQ(replies, 2);
    any_stream stream(any);
    stream.initiate(
        [&](auto&& token) { alarm.wait(in(milliseconds(1)), std::forward<decltype(token)>(token)); });
    EXPECT_TRUE(co_await stream.next());
  });
}

TEST_F(rpcs, CancelSafeAndGrpcStreamKeepAReadWhileAlarmsRing) {
  answer();
  run([&]() -> asio::awaitable<void> {
    using namespace asio::experimental::awaitable_operators;
    grpc::ClientContext client_context;
    std::unique_ptr<grpc::ClientAsyncReaderWriter<Note, Note>> reader_writer;
    EXPECT_TRUE(co_await agrpc::request(&CallKinds::Stub::PrepareAsyncBidiStream, *stub, client_context,
                                        reader_writer));
    Note request, response;
    agrpc::GrpcCancelSafe safe;
    agrpc::read(reader_writer, response, asio::bind_executor(context(), safe.token()));
    grpc::Alarm alarm;
    EXPECT_EQ((co_await (agrpc::wait(alarm, in(milliseconds(2))) || safe.wait(asio::use_awaitable))).index(),
              0u);
    request.set_text("safe");
    EXPECT_TRUE(co_await agrpc::write(reader_writer, request));
    const auto variant = co_await (agrpc::wait(alarm, in_a_minute()) || safe.wait(asio::use_awaitable));
    EXPECT_TRUE(std::get<1>(variant));
    EXPECT_EQ(response.text(), "safe!");

    agrpc::GrpcStream stream{context()};
    EXPECT_FALSE(stream.is_running());
    stream.initiate(agrpc::read, reader_writer, response);
    EXPECT_TRUE(stream.is_running());
    EXPECT_EQ(
        (co_await (agrpc::wait(alarm, in(milliseconds(2))) || stream.next(asio::use_awaitable))).index(), 0u);
    EXPECT_TRUE(co_await agrpc::write(reader_writer, request));
    EXPECT_TRUE(co_await stream.next());
    stream.initiate(agrpc::read, reader_writer, response);
    EXPECT_TRUE(co_await agrpc::writes_done(reader_writer));
    EXPECT_TRUE(co_await stream.cleanup());
    EXPECT_FALSE(stream.is_running());
    EXPECT_EQ(response.text(), "bye");
    grpc::Status status;
    co_await agrpc::finish(reader_writer, status);
    EXPECT_TRUE(status.ok());
  });
}

TEST_F(rpcs, AMockOfAStubAnswersByProcessGrpcTag) {
  agrpc::GrpcContext alone;
  ::testing::NiceMock<call_kinds::MockCallKindsStub> mock;
  mock_reader reader(alone);  // a pointer of the API does not delete it, as those of calls are in arenas
  EXPECT_CALL(mock, AsyncUnaryRaw).WillOnce(::testing::Return(&reader));
  run_coroutines(alone, [&]() -> asio::awaitable<void> {
    using RPC = agrpc::ClientRPC<&CallKinds::StubInterface::AsyncUnary>;
    grpc::ClientContext client_context;
    RPC::Request request;
    RPC::Response response;
    const grpc::Status status =
        co_await RPC::request(alone, mock, client_context, request, response, asio::use_awaitable);
    EXPECT_TRUE(status.ok());
    EXPECT_EQ(response.number(), 42);
  });
}

TEST_F(rpcs, NotifyOnStateChangeSeesTheChannelConnect) {
  run([&]() -> asio::awaitable<void> {
    const auto state = channel->GetState(true);
    EXPECT_TRUE(co_await agrpc::notify_on_state_change(context(), *channel, state, in_a_minute(),
                                                       asio::use_awaitable));
    EXPECT_FALSE(co_await agrpc::notify_on_state_change(
        context(), *grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials()), GRPC_CHANNEL_IDLE,
        in(milliseconds(5))));
  });
}

TEST_F(rpcs, OneThreadRunsAGrpcContextAndAnIoContext) {
  answer();
  asio::io_context io{1};
  bool timed = false;
  asio::co_spawn(
      io,
      [&, guard = asio::make_work_guard(context())]() mutable -> asio::awaitable<void> {
        grpc::ClientContext client_context;
        find_client::Response response;
        const grpc::Status status =
            co_await find_client::request(context(), *stub, client_context, {}, response);
        EXPECT_TRUE(status.ok()) << status.error_message();
        EXPECT_FALSE(context().get_executor().running_in_this_thread() &&
                     !io.get_executor().running_in_this_thread());
        asio::steady_timer timer(co_await asio::this_coro::executor, milliseconds(1));
        co_await timer.async_wait(asio::use_awaitable);
        timed = true;
        shut_down();
        guard.reset();
      },
      rethrow());
  agrpc::run(context(), io);
  EXPECT_TRUE(timed);

  asio::io_context second;
  context().reset();
  const auto guard = asio::make_work_guard(context());
  asio::post(second, [&] {
    asio::post(context(), [&] { context().stop(); });
    agrpc::run(context(), second, [&] { return context().is_stopped(); });
  });
  second.run();
  EXPECT_TRUE(context().is_stopped());
}

TEST(Run, AContextMayGetItsFirstWorkFromTheOtherOne) {
  agrpc::GrpcContext alone;
  asio::io_context io;
  asio::steady_timer timer(io, milliseconds(10));
  bool ran = false;
  timer.async_wait([&](const error_code&) { asio::post(alone, [&] { ran = true; }); });
  agrpc::run(alone, io);
  EXPECT_TRUE(ran);
}

TEST(Run, AContextThatWasStoppedStaysSo) {
  agrpc::GrpcContext alone;
  asio::io_context io;
  agrpc::Alarm alarm(alone);
  alarm.wait(in_a_minute(), [](bool) {});
  alone.stop();
  bool ran = false;
  asio::post(io, [&] { ran = true; });
  agrpc::run(alone, io);
  EXPECT_TRUE(ran);
  io.restart();
  agrpc::run(alone, io, [] { return false; });
  EXPECT_TRUE(alone.is_stopped());
}

struct nothing_different {};
struct other_latency {
  static constexpr std::chrono::nanoseconds MAX_LATENCY{0};
};

TEST(Run, TraitsHaveTheMembersThatDiffer) {
  agrpc::GrpcContext alone;
  asio::io_context io;
  int rang = 0;
  agrpc::Alarm alarm(alone);
  alarm.wait(in(milliseconds(1)), [&](bool) { ++rang; });
  agrpc::run<nothing_different>(alone, io);
  alone.reset();
  alarm.wait(in(milliseconds(1)), [&](bool) { ++rang; });
  agrpc::run<other_latency>(alone, io);
  EXPECT_EQ(rang, 2);
}

// An execution context that is not one of Asio: traits say how it runs.
struct jobs {
  std::vector<std::function<void()>> waiting;
  int polls = 0;
  int runs = 0;
  std::chrono::microseconds longest_run{0};
};
struct run_jobs : agrpc::DefaultRunTraits {
  static constexpr std::chrono::milliseconds MAX_LATENCY{2};
  static bool poll(jobs& of) {
    ++of.polls;
    auto now = std::exchange(of.waiting, {});
    for (auto& job : now) job();
    return !now.empty();
  }
  template <class Rep, class Period>
  static bool run_for(jobs& of, std::chrono::duration<Rep, Period> duration) {
    ++of.runs;
    of.longest_run =
        std::max(of.longest_run, std::chrono::duration_cast<std::chrono::microseconds>(duration));
    return false;
  }
  static bool is_stopped(const jobs& of) { return of.waiting.empty(); }
};

TEST(Run, TraitsSayHowAnotherContextRuns) {
  for (const bool queue_only : {false, true}) {
    agrpc::GrpcContext alone;
    agrpc::Alarm alarm(alone);
    jobs others;
    bool rang = false;
    int done = 0;
    others.waiting.emplace_back([&] {
      ++done;
      others.waiting.emplace_back([&] { ++done; });
    });
    alarm.wait(in(milliseconds(10)), [&](bool ok) { rang = ok; });
    if (queue_only) agrpc::run_completion_queue<run_jobs>(alone, others);
    else agrpc::run<run_jobs>(alone, others);
    EXPECT_TRUE(rang);
    EXPECT_EQ(done, 2);
    EXPECT_GE(others.polls, 2);
    // A condition of the caller's ends it though there is work.
    others.waiting.emplace_back([&] { ++done; });
    int asked = 0;
    const auto condition = [&] { return ++asked == 1; };
    if (queue_only) agrpc::run_completion_queue<run_jobs>(alone, others, condition);
    else agrpc::run<run_jobs>(alone, others, condition);
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(done, 2);
  }
}

// At work until it has waited three times.
struct busy : run_jobs {
  static constexpr std::chrono::microseconds MAX_LATENCY{1};  // less than the second wait would be
  static bool is_stopped(const jobs& of) { return of.runs >= 3; }
};

TEST(Run, TheOtherContextWaitsForItsWorkByItsTraits) {
  agrpc::GrpcContext alone;
  jobs others;
  agrpc::run<busy>(alone, others);
  EXPECT_EQ(others.runs, 3);
  EXPECT_EQ(others.longest_run, busy::MAX_LATENCY);
}

TEST_F(rpcs, HandlersRunOnTheExecutorOfTheRegistration) {
  asio::io_context io{1};
  const auto io_guard = asio::make_work_guard(io);
  std::thread::id handled_on;
  agrpc::register_awaitable_rpc_handler<find_server>(
      context(), service,
      [&](find_server& rpc, find_server::Request&) -> asio::awaitable<void> {
        handled_on = std::this_thread::get_id();
        co_await rpc.finish({}, grpc::Status::OK);
        EXPECT_EQ(handled_on, std::this_thread::get_id());
      },
      asio::bind_executor(io, rethrow()));
  std::thread other([&] { context().run_completion_queue(); });
  agrpc::GrpcContext clients;
  asio::co_spawn(
      clients,
      [&]() -> asio::awaitable<void> {
        grpc::ClientContext client_context;
        find_client::Response response;
        EXPECT_TRUE((co_await find_client::request(clients, *stub, client_context, {}, response)).ok());
      },
      rethrow());
  std::thread third([&] {
    clients.run();
    shut_down();
    other.join();
    io.stop();
  });
  io.run();
  third.join();
  EXPECT_EQ(handled_on, std::this_thread::get_id());
}

TEST_F(rpcs, ThreadsShareOneContextOfAServer) {
  grpc::ServerBuilder builder;
  int port = 0;
  agrpc::GrpcContext server_context{builder.AddCompletionQueue(), 3};
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  CallKinds::AsyncService shared;
  builder.RegisterService(&shared);
  const auto serving = builder.BuildAndStart();
  std::atomic<int> handled = 0;
  for (int i = 0; i < 3; ++i) {
    agrpc::register_awaitable_rpc_handler<find_server>(
        server_context, shared,
        [&](find_server& rpc, find_server::Request& request) -> asio::awaitable<void> {
          ++handled;
          Reply reply;
          reply.set_number(request.number());
          co_await rpc.finish(reply, grpc::Status::OK);
        },
        rethrow());
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { server_context.run(); });
  const auto many = CallKinds::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  agrpc::GrpcContext clients;
  for (int c = 0; c < 10; ++c) {
    asio::co_spawn(
        clients,
        [&]() -> asio::awaitable<void> {
          for (int i = 0; i < 20; ++i) {
            grpc::ClientContext client_context;
            Query query;
            query.set_number(i);
            Reply reply;
            EXPECT_TRUE((co_await find_client::request(clients, *many, client_context, query, reply)).ok());
            EXPECT_EQ(reply.number(), i);
          }
        },
        rethrow());
  }
  clients.run();
  serving->Shutdown();
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(handled, 200);
}

// What Check() and Watch() say, as bytes of their messages.
std::string bytes_of(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string all;
  for (const grpc::Slice& s : slices) all.append(reinterpret_cast<const char*>(s.begin()), s.size());
  return all;
}
grpc::ByteBuffer health_request(const std::string& service) {
  const std::string bytes =
      service.empty() ? "" : std::string("\n") + static_cast<char>(service.size()) + service;
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}
const std::string serving{8, 1};
const std::string not_serving{8, 2};
const std::string unknown{8, 3};

class health : public agrpc_fixture {
 public:
  agrpc::HealthCheckService* service_of_health = nullptr;
  void SetUp() override {
    grpc::ServerBuilder builder;
    int port = 0;
    owned_context.emplace(builder.AddCompletionQueue());
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    EXPECT_EQ(&agrpc::add_health_check_service(builder), &builder);
    server = builder.BuildAndStart();
    service_of_health = static_cast<agrpc::HealthCheckService*>(server->GetHealthCheckService());
    agrpc::start_health_check_service(*server, context());
    channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials());
  }
};

TEST_F(health, CheckAndWatchSayWhichServicesServe) {
  grpc::GenericStub generic_stub(channel);
  run([&]() -> asio::awaitable<void> {
    using Check = agrpc::GenericUnaryClientRPC;
    grpc::ByteBuffer response;
    const auto whole = health_request("");
    const auto other = health_request("call_kinds.CallKinds");
    {
      grpc::ClientContext client_context;
      const auto status = co_await Check::request(context(), "/grpc.health.v1.Health/Check", generic_stub,
                                                  client_context, whole, response);
      EXPECT_TRUE(status.ok()) << status.error_message();
      EXPECT_EQ(bytes_of(response), serving);
    }
    {
      grpc::ClientContext client_context;
      const auto status = co_await Check::request(context(), "/grpc.health.v1.Health/Check", generic_stub,
                                                  client_context, other, response);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    }
    agrpc::GenericStreamingClientRPC watch{context()};
    EXPECT_TRUE(co_await watch.start("/grpc.health.v1.Health/Watch", generic_stub));
    EXPECT_TRUE(co_await watch.write(other, grpc::WriteOptions{}.set_last_message()));
    EXPECT_TRUE(co_await watch.read(response));
    EXPECT_EQ(bytes_of(response), unknown);
    service_of_health->SetServingStatus("call_kinds.CallKinds", true);
    EXPECT_TRUE(co_await watch.read(response));
    EXPECT_EQ(bytes_of(response), serving);
    service_of_health->Shutdown();
    service_of_health->SetServingStatus(true);
    EXPECT_TRUE(co_await watch.read(response));
    EXPECT_EQ(bytes_of(response), not_serving);
    watch.cancel();
    EXPECT_EQ((co_await watch.finish()).error_code(), grpc::StatusCode::CANCELLED);
  });
}

TEST_F(health, IsNoWorkOfItsContextWithAndWithoutAWatchingClient) {
  EXPECT_FALSE(context().run());
  grpc::GenericStub generic_stub(channel);
  agrpc::GrpcContext clients;
  agrpc::GenericStreamingClientRPC watch(
      clients, [](grpc::ClientContext& c) { c.set_deadline(in(milliseconds(100))); });
  const auto whole = health_request("");
  grpc::ByteBuffer response;
  grpc::Status status;
  std::thread client([&] {
    run_coroutines(clients, [&]() -> asio::awaitable<void> {
      EXPECT_TRUE(co_await watch.start("/grpc.health.v1.Health/Watch", generic_stub));
      EXPECT_TRUE(co_await watch.write(whole, grpc::WriteOptions{}.set_last_message()));
      EXPECT_TRUE(co_await watch.read(response));
      EXPECT_FALSE(co_await watch.read(response));
      status = co_await watch.finish();
    });
  });
  agrpc::Alarm alarm(context());
  alarm.wait(in(milliseconds(300)), [](bool) {});  // the deadline of the client passes meanwhile
  context().run();
  client.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  service_of_health->SetServingStatus(false);
}

class generic_rpcs : public agrpc_fixture {
 protected:
  void SetUp() override { serve(true); }
};

TEST_F(generic_rpcs, MessagesAreBytes) {
  using RPC = agrpc::GenericServerRPC;
  agrpc::register_awaitable_rpc_handler<RPC>(
      context(), generic_service,
      [](RPC& rpc) -> asio::awaitable<void> {
        RPC::Request buffer;
        if (!co_await rpc.read(buffer)) co_return;
        if (rpc.context().method() != "/call_kinds.CallKinds/Unary") {
          co_await rpc.finish(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, rpc.context().method()));
          co_return;
        }
        EXPECT_TRUE(co_await rpc.write(buffer));
        co_await rpc.finish(grpc::Status::OK);
      },
      rethrow());
  grpc::GenericStub generic_stub(channel);
  run([&]() -> asio::awaitable<void> {
    const grpc::Slice slice("bytes");
    grpc::ByteBuffer request(&slice, 1), response;
    {
      using Client = agrpc::GenericUnaryClientRPC;
      grpc::ClientContext client_context;
      const grpc::Status status =
          co_await Client::request(context(), "/call_kinds.CallKinds/Unary", generic_stub, client_context,
                                   request, response, asio::use_awaitable);
      EXPECT_TRUE(status.ok()) << status.error_message();
      EXPECT_EQ(response.Length(), 5u);
    }
    agrpc::GenericStreamingClientRPC rpc{context()};
    EXPECT_TRUE(co_await rpc.start("/call_kinds.CallKinds/BidiStream", generic_stub));
    EXPECT_TRUE(co_await rpc.write(request));
    EXPECT_FALSE(co_await rpc.read(response));
    EXPECT_EQ((co_await rpc.finish()).error_code(), grpc::StatusCode::UNIMPLEMENTED);
  });
}

}  // namespace agrpc_tests::rpc_test
