// Names that come along with headers of grpc++, whatever a program includes: here <grpcpp/client_context.h>,
// and those of the parts under test.
#include <grpcpp/client_context.h>

// Before any other header, so that these come from that one alone.
namespace {
[[maybe_unused]] void names_of_any_header(gpr_mu* lock, gpr_cv* condition, gpr_event* event,
                                          gpr_atm* number) {
  GPR_ASSERT(GPR_LIKELY(lock != nullptr && condition != nullptr && event != nullptr));
  gpr_log(GPR_DEBUG, "%d", static_cast<int>(gpr_atm_acq_load(number)));
  const grpc::internal::MutexLock held(nullptr);
}
[[maybe_unused]] int code_that_ends_the_program() { GPR_UNREACHABLE_CODE(return 0); }
#if __has_include(<absl/synchronization/mutex.h>)
[[maybe_unused]] void names_of_abseil(absl::Mutex*, absl::string_view, absl::Duration) {}
#endif
}  // namespace

#include <grpcpp/impl/completion_queue_tag.h>
#include <grpcpp/impl/delegating_channel.h>
#include <grpcpp/impl/grpc_library.h>
#include <grpcpp/impl/proto_utils.h>
#include <grpcpp/security/alts_context.h>
#include <grpcpp/security/tls_crl_provider.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/version_info.h>
#include <grpcpp/xds_server_builder.h>

#include <grpc/event_engine/event_engine.h>
#include <grpc/grpc_posix.h>
#include <grpc/slice_buffer.h>
#include <grpc/support/cpu.h>

#include <google/protobuf/wrappers.pb.h>
#include <gtest/gtest.h>

#include <atomic>
#include <climits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace coracle::testing_support::transitive_names_test {
namespace {

using std::chrono::milliseconds;

gpr_timespec in(milliseconds time) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(time.count(), GPR_TIMESPAN));
}

TEST(GrpcppTransitiveNames, AConditionWakesTheThreadThatWaits) {
  gpr_mu lock;
  gpr_cv changed;
  gpr_mu_init(&lock);
  gpr_cv_init(&changed);
  bool ready = false;
  std::thread other([&] {
    gpr_mu_lock(&lock);
    ready = true;
    gpr_cv_signal(&changed);
    gpr_mu_unlock(&lock);
  });
  gpr_mu_lock(&lock);
  while (!ready) {
    EXPECT_EQ(gpr_cv_wait(&changed, &lock, gpr_inf_future(GPR_CLOCK_MONOTONIC)), 0);
  }
  gpr_mu_unlock(&lock);
  other.join();
  ASSERT_EQ(gpr_mu_trylock(&lock), 1);
  EXPECT_EQ(gpr_mu_trylock(&lock), 0);
  gpr_mu_unlock(&lock);
  gpr_cv_destroy(&changed);
  gpr_mu_destroy(&lock);
}

TEST(GrpcppTransitiveNames, AConditionWaitsNoLongerThanItsDeadlineOfAnyClock) {
  gpr_mu lock;
  gpr_cv never;
  gpr_mu_init(&lock);
  gpr_cv_init(&never);
  gpr_mu_lock(&lock);
  for (const auto clock : {GPR_CLOCK_MONOTONIC, GPR_CLOCK_REALTIME, GPR_TIMESPAN}) {
    const gpr_timespec span = gpr_time_from_millis(20, GPR_TIMESPAN);
    const gpr_timespec deadline = clock == GPR_TIMESPAN ? span : gpr_time_add(gpr_now(clock), span);
    while (!gpr_cv_wait(&never, &lock, deadline)) {
      ASSERT_NE(clock, GPR_TIMESPAN) << "woken without a signal";
    }
  }
  EXPECT_EQ(gpr_cv_wait(&never, &lock, gpr_inf_past(GPR_CLOCK_REALTIME)), 1);
  gpr_mu_unlock(&lock);
  gpr_cv_destroy(&never);
  gpr_mu_destroy(&lock);
}

TEST(GrpcppTransitiveNames, AnEventMayGoAsSoonAsItWasSeen) {
  for (int round = 0; round < 200; ++round) {
    auto event = std::make_unique<gpr_event>();
    gpr_event_init(event.get());
    std::thread setter([set = event.get()] { gpr_event_set(set, reinterpret_cast<void*>(7)); });
    EXPECT_EQ(gpr_event_wait(event.get(), gpr_inf_future(GPR_CLOCK_REALTIME)), reinterpret_cast<void*>(7));
    event.reset();
    setter.join();
  }
  gpr_event never = GPR_EVENT_INIT;
  EXPECT_EQ(gpr_event_get(&never), nullptr);
  EXPECT_EQ(gpr_event_wait(&never, in(milliseconds(5))), nullptr);
}

TEST(GrpcppTransitiveNames, AFunctionIsCalledOnceAndReferencesAreCounted) {
  static gpr_once once = GPR_ONCE_INIT;
  static std::atomic<int> calls{0};
  for (int n = 0; n < 3; ++n) gpr_once_init(&once, [] { ++calls; });
  EXPECT_EQ(calls, 1);

  gpr_refcount references;
  gpr_ref_init(&references, 1);
  gpr_ref(&references);
  EXPECT_EQ(gpr_ref_is_unique(&references), 0);
  EXPECT_EQ(gpr_unref(&references), 0);
  EXPECT_EQ(gpr_unref(&references), 1);

  gpr_atm number = 3;
  EXPECT_EQ(gpr_atm_full_fetch_add(&number, 2), 3);
  EXPECT_EQ(gpr_atm_full_cas(&number, 3, 9), 0);
  EXPECT_EQ(gpr_atm_full_cas(&number, 5, 9), 1);
  EXPECT_EQ(gpr_atm_no_barrier_clamped_add(&number, 100, 0, 10), 10);
  EXPECT_EQ(gpr_atm_no_barrier_clamped_add(&number, GPR_ATM_MIN, 0, 10), 0);
  EXPECT_GE(gpr_cpu_num_cores(), 1u);
}

TEST(GrpcppTransitiveNames, LocksOfTheLibraryAreLikeThoseOfAbseil) {
  grpc::internal::Mutex lock;
  grpc::internal::CondVar changed;
  int steps = 0;
  std::thread other([&] {
    grpc::internal::ReleasableMutexLock held(&lock);
    ++steps;
    held.Release();
    changed.SignalAll();
  });
  {
    grpc::internal::MutexLock held(&lock);
    while (steps == 0) changed.Wait(&lock);
    grpc::internal::WaitUntil(&changed, &lock, [&] { return steps == 1; });
  }
  other.join();
  EXPECT_TRUE(lock.TryLock());
  lock.Unlock();
}

TEST(GrpcppTransitiveNames, AMessageGoesThroughReadersAndWritersOfAProgram) {
  google::protobuf::StringValue sent;
  sent.set_value(std::string(3000, 'h'));
  grpc::ByteBuffer bytes;
  bool own = false;
  ASSERT_TRUE(
      (grpc::GenericSerialize<grpc::ProtoBufferWriter, google::protobuf::StringValue>(sent, &bytes, &own))
          .ok());
  EXPECT_EQ(bytes.Length(), sent.ByteSizeLong());
  google::protobuf::StringValue received;
  const auto s =
      grpc::GenericDeserialize<grpc::ProtoBufferReader, google::protobuf::StringValue>(&bytes, &received);
  EXPECT_TRUE(s.ok()) << s.error_message();
  EXPECT_EQ(received.value(), sent.value());
  EXPECT_EQ(bytes.Length(), 0u);
}

// A mock of a call, as generated mocks return it.
class reader_of_a_mock final : public grpc::ClientAsyncResponseReaderInterface<std::string> {
 public:
  explicit reader_of_a_mock(int& ended) : ended_(ended) {}
  reader_of_a_mock(const reader_of_a_mock&) = delete;
  reader_of_a_mock& operator=(const reader_of_a_mock&) = delete;
  ~reader_of_a_mock() override { ++ended_; }
  void StartCall() override {}
  void ReadInitialMetadata(void*) override {}
  void Finish(std::string*, grpc::Status*, void*) override {}

 private:
  int& ended_;
};

TEST(GrpcppTransitiveNames, AMockThatWasGivenInAPointerIsDestroyedByTheProgramAlone) {
  int ended = 0;
  {
    reader_of_a_mock mock(ended);
    std::unique_ptr<grpc::ClientAsyncResponseReaderInterface<std::string>> given(&mock);
    given.reset();
    EXPECT_EQ(ended, 0);
  }
  EXPECT_EQ(ended, 1);
}

// A channel whose state the program makes up.
class always_ready final : public grpc::experimental::DelegatingChannel {
 public:
  using DelegatingChannel::DelegatingChannel;
  grpc_connectivity_state GetState(bool) override { return GRPC_CHANNEL_READY; }
};

TEST(GrpcppTransitiveNames, AChannelAroundAnotherOneHasItsCallsAndAStateOfItsOwn) {
  class idle final : public grpc::ChannelInterface {
   public:
    grpc_connectivity_state GetState(bool) override { return GRPC_CHANNEL_IDLE; }
    std::size_t first_interceptor() override { return 3; }

   private:
    void NotifyOnStateChangeImpl(grpc_connectivity_state, gpr_timespec, grpc::CompletionQueue*,
                                 void*) override {}
    bool WaitForStateChangeImpl(grpc_connectivity_state, gpr_timespec) override { return true; }
  };
  always_ready channel(std::make_shared<idle>());
  EXPECT_EQ(channel.GetState(false), GRPC_CHANNEL_READY);
  EXPECT_EQ(channel.delegate_channel()->GetState(false), GRPC_CHANNEL_IDLE);
  EXPECT_TRUE(channel.WaitForStateChange(GRPC_CHANNEL_IDLE, in(milliseconds(1))));
  EXPECT_EQ(channel.first_interceptor(), 3u);
  EXPECT_EQ(channel.core(), nullptr);
}

TEST(GrpcppTransitiveNames, MessagesBecomeJson) {
  google::protobuf::StringValue sent;
  sent.set_value("example");
  std::string text;
  EXPECT_TRUE(grpc::protobuf::json::MessageToJsonString(sent, &text).ok());
  google::protobuf::StringValue received;
  EXPECT_TRUE(grpc::protobuf::json::JsonStringToMessage(text, &received).ok());
  EXPECT_EQ(received.value(), "example");
}

TEST(GrpcppTransitiveNames, CodeThatMustNotRunEndsTheProgram) {
  EXPECT_DEATH(code_that_ends_the_program(), "must not run");
}

TEST(GrpcppTransitiveNames, TheVersionIsThatOfTheInterface) {
  static_assert(GRPC_CPP_VERSION_MAJOR == 1 && GRPC_CPP_VERSION_MINOR >= 51);
  const std::string numbers = std::to_string(GRPC_CPP_VERSION_MAJOR) + "." +
                              std::to_string(GRPC_CPP_VERSION_MINOR) + "." +
                              std::to_string(GRPC_CPP_VERSION_PATCH);
  EXPECT_EQ(numbers, GRPC_CPP_VERSION_STRING);
  grpc::internal::GrpcLibraryInitializer initialised;
  EXPECT_EQ(initialised.summon(), 0);
}

}  // namespace
}  // namespace coracle::testing_support::transitive_names_test
