// agrpc_fixture: what the tests of agrpc share: a server with a completion queue, and a channel to it.
#pragma once

#if defined(AGRPC_STANDALONE_ASIO)
#include <asio.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/experimental/parallel_group.hpp>
#include <asio/spawn.hpp>
#if ASIO_VERSION < 102400
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/deferred.hpp>
#endif
#else
#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/spawn.hpp>
#endif

#if defined(AGRPC_STANDALONE_ASIO)
#define AGRPC_TESTS_REENTER ASIO_CORO_REENTER
#define AGRPC_TESTS_YIELD ASIO_CORO_YIELD
#else
#define AGRPC_TESTS_REENTER BOOST_ASIO_CORO_REENTER
#define AGRPC_TESTS_YIELD BOOST_ASIO_CORO_YIELD
#endif

#include <agrpc/asio_grpc.hpp>

#include "call_kinds.grpc.pb.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace agrpc_tests {

namespace asio = agrpc::asio;
using agrpc::internal::error_code;
#if CORACLE_ASIO_VERSION < 102400
using asio::experimental::as_tuple;
using asio::experimental::deferred;
#else
using asio::as_tuple;
using asio::deferred;
#endif

inline std::chrono::system_clock::time_point in(std::chrono::milliseconds delay) {
  return std::chrono::system_clock::now() + delay;
}
inline std::chrono::system_clock::time_point in_a_minute() { return in(std::chrono::minutes(1)); }

// A handler of co_spawn() and its like: exceptions leave run().
struct rethrow {
  template <class... Ts>
  void operator()(std::exception_ptr error, Ts&&...) const {
    if (error) std::rethrow_exception(error);
  }
  void operator()() const {}
};

// Starts coroutines in a context and runs it until they have ended.
template <class... Functions>
void run_coroutines(agrpc::GrpcContext& context, Functions&&... functions) {
  (asio::co_spawn(context, std::forward<Functions>(functions), rethrow()), ...);
  context.run();
}

// A server and its clients in one GrpcContext.
class agrpc_fixture : public ::testing::Test {
 public:
  call_kinds::CallKinds::AsyncService service;
  grpc::AsyncGenericService generic_service;
  std::unique_ptr<grpc::Server> server;
  std::optional<agrpc::GrpcContext> owned_context;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<call_kinds::CallKinds::Stub> stub;
  std::thread shutting_down;

  [[nodiscard]] agrpc::GrpcContext& context() noexcept { return *owned_context; }
  // Starts the server, with the service or with the generic one.
  void serve([[maybe_unused]] bool generic = false) {
    grpc::ServerBuilder builder;
    int port = 0;
    owned_context.emplace(builder.AddCompletionQueue());
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    if (generic) builder.RegisterAsyncGenericService(&generic_service);
    if (!generic) builder.RegisterService(&service);
    server = builder.BuildAndStart();
    ASSERT_TRUE(server);
    channel = grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials());
    stub = call_kinds::CallKinds::NewStub(channel);
  }
  // Shuts the server down on another thread, as grpc++ requires.
  void shut_down() {
    if (!shutting_down.joinable()) shutting_down = std::thread([this] { server->Shutdown(in_a_minute()); });
  }
  // Runs the context until the coroutine has ended and the server is shut down.
  template <class Function>
  void run(Function client) {
    asio::co_spawn(context(), std::move(client), [this](const std::exception_ptr& error) {
      shut_down();
      if (error) std::rethrow_exception(error);
    });
    context().run();
  }

 protected:
  void SetUp() override { serve(); }
  void TearDown() override {
    if (server) shut_down();
    if (shutting_down.joinable()) shutting_down.join();
    stub.reset();
    channel.reset();
    owned_context.reset();
    server.reset();
  }
};

// What a mock of a stub returns for Unary(): the call is answered with 42 when it is finished.
class mock_reader : public grpc::ClientAsyncResponseReaderInterface<call_kinds::Reply> {
 public:
  explicit mock_reader(agrpc::GrpcContext& context) : context_(context) {}
  void StartCall() override {}
  void ReadInitialMetadata(void*) override {}
  void Finish(call_kinds::Reply* response, grpc::Status* status, void* tag) override {
    response->set_number(42);
    *status = grpc::Status::OK;
    agrpc::process_grpc_tag(context_, tag, true);
  }

 private:
  agrpc::GrpcContext& context_;
};

inline void set_deadline(grpc::ClientContext& context) { context.set_deadline(in_a_minute()); }

}  // namespace agrpc_tests
