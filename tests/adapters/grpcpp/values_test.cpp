// The values of grpc++'s API: times, slices, buffers, texts, log lines.
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/proto_utils.h>
#include <grpcpp/support/byte_buffer.h>

#include <grpc/support/log.h>

#include "call_kinds.pb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string>
#include <vector>

// As programs declare it.
namespace grpc {
class Channel;
}

namespace coracle::testing_support::values_test {

// A message that is not protobuf's.
struct tide {
  int metres = 0;
};

}  // namespace coracle::testing_support::values_test

template <>
class grpc::SerializationTraits<coracle::testing_support::values_test::tide, void> {
 public:
  using tide = coracle::testing_support::values_test::tide;
  static grpc::Status Serialize(const tide& t, grpc::ByteBuffer* to, bool* own_buffer) {
    const grpc::Slice text(std::to_string(t.metres));
    *to = grpc::ByteBuffer(&text, 1);
    *own_buffer = true;
    return grpc::Status();
  }
  static grpc::Status Deserialize(grpc::ByteBuffer* from, tide* t) {
    grpc::Slice text;
    const grpc::Status s = from->DumpToSingleSlice(&text);
    if (s.ok()) t->metres = std::stoi(std::string(text.begin(), text.end()));
    return s;
  }
};

namespace coracle::testing_support::values_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::system_clock;

TEST(GrpcppTime, ArithmeticCarriesAndSaturates) {
  const auto span = [](std::int64_t ms) { return gpr_time_from_millis(ms, GPR_TIMESPAN); };
  const gpr_timespec later = gpr_time_add(span(1700), span(400));
  EXPECT_EQ(later.tv_sec, 2);
  EXPECT_EQ(later.tv_nsec, 100'000'000);
  const gpr_timespec before = gpr_time_sub(span(100), span(200));
  EXPECT_EQ(before.tv_sec, -1);
  EXPECT_EQ(before.tv_nsec, 900'000'000);
  EXPECT_EQ(gpr_time_to_millis(before), -100);
  const gpr_timespec forever = gpr_inf_future(GPR_CLOCK_REALTIME);
  EXPECT_EQ(gpr_time_cmp(gpr_time_add(forever, span(-5000)), forever), 0);
  EXPECT_EQ(gpr_time_cmp(gpr_time_sub(span(1), gpr_inf_future(GPR_TIMESPAN)), gpr_inf_past(GPR_TIMESPAN)), 0);
  EXPECT_EQ(gpr_time_cmp(gpr_time_from_hours(std::numeric_limits<std::int64_t>::max() / 2, GPR_TIMESPAN),
                         gpr_inf_future(GPR_TIMESPAN)),
            0);
  EXPECT_EQ(gpr_time_to_millis(gpr_inf_future(GPR_TIMESPAN)), std::numeric_limits<std::int32_t>::max());
  EXPECT_EQ(gpr_time_from_minutes(2, GPR_TIMESPAN).tv_sec, 120);
  EXPECT_EQ(gpr_time_from_micros(1'000'001, GPR_TIMESPAN).tv_nsec, 1000);
  EXPECT_DOUBLE_EQ(gpr_timespec_to_micros(span(3)), 3000);
  EXPECT_TRUE(gpr_time_similar(span(5), span(7), span(2)));
  EXPECT_FALSE(gpr_time_similar(span(5), span(8), span(2)));
}

TEST(GrpcppTime, ClocksConvert) {
  const gpr_timespec monotonic = gpr_now(GPR_CLOCK_MONOTONIC);
  const gpr_timespec real = gpr_convert_clock_type(monotonic, GPR_CLOCK_REALTIME);
  EXPECT_TRUE(gpr_time_similar(real, gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_seconds(60, GPR_TIMESPAN)));
  EXPECT_EQ(grpc::Timespec2Timepoint(gpr_inf_future(GPR_CLOCK_MONOTONIC)), system_clock::time_point::max());
  const auto now = std::chrono::time_point_cast<std::chrono::nanoseconds>(system_clock::now());
  gpr_timespec converted{};
  grpc::Timepoint2Timespec(now, &converted);
  EXPECT_EQ(grpc::Timespec2Timepoint(converted), now);
  gpr_sleep_until(gpr_now(GPR_CLOCK_MONOTONIC));  // has passed
}

TEST(GrpcppTime, ADeadlineIsWhatItWasSetTo) {
  grpc::ClientContext context;
  EXPECT_EQ(context.deadline(), system_clock::time_point::max());
  const auto deadline = system_clock::now() + 1h;
  context.set_deadline(deadline);
  EXPECT_EQ(context.deadline(), deadline);
  context.set_deadline(gpr_inf_future(GPR_CLOCK_MONOTONIC));
  EXPECT_EQ(context.deadline(), system_clock::time_point::max());
}

TEST(GrpcppSlices, ShareTheirBytes) {
  const grpc::Slice hello(std::string("hello example"));
  const grpc::Slice example = hello.sub(6, 13);
  EXPECT_EQ(std::string(example.begin(), example.end()), "example");
  EXPECT_EQ(example.begin(), hello.begin() + 6);
  const grpc::Slice copy = example;  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(copy.begin(), example.begin());
  const grpc_slice c = copy.c_slice();
  EXPECT_EQ(grpc::StringFromCopiedSlice(c), "example");
  EXPECT_EQ(grpc_slice_str_cmp(c, "example"), 0);
  grpc_slice_unref(c);
  const gpr_slice older = gpr_slice_from_copied_buffer("example", 7);  // the names of older programs
  EXPECT_EQ(gpr_slice_str_cmp(older, "example"), 0);
  gpr_slice_unref(older);
}

TEST(GrpcppSlices, BytesOfTheProgramAreReleasedOnce) {
  static int released;
  released = 0;
  char bytes[] = "abc";
  {
    const grpc::Slice one(bytes, 3, [](void*) { ++released; });
    const grpc::Slice part = one.sub(1, 2);
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  {
    const grpc::Slice sized(bytes, 3, [](void*, std::size_t n) { released += static_cast<int>(n); });
  }
  EXPECT_EQ(released, 4);
}

TEST(GrpcppBuffers, HoldSlices) {
  grpc::ByteBuffer buffer;
  grpc::Slice only;
  EXPECT_FALSE(buffer.Valid());
  EXPECT_FALSE(buffer.DumpToSingleSlice(&only).ok());
  const grpc::Slice parts[] = {grpc::Slice(std::string("ab")), grpc::Slice(std::string("cde"))};
  buffer = grpc::ByteBuffer(parts, 2);
  EXPECT_EQ(buffer.Length(), 5u);
  EXPECT_FALSE(buffer.TrySingleSlice(&only).ok());
  ASSERT_TRUE(buffer.DumpToSingleSlice(&only).ok());
  EXPECT_EQ(std::string(only.begin(), only.end()), "abcde");
  std::vector<grpc::Slice> dumped;
  ASSERT_TRUE(buffer.Dump(&dumped).ok());
  EXPECT_EQ(dumped.size(), 2u);
  grpc::ByteBuffer other;
  other.Swap(&buffer);
  EXPECT_FALSE(buffer.Valid());
  EXPECT_TRUE(other.Valid());
  EXPECT_TRUE(grpc::ByteBuffer(nullptr, 0).Valid());
}

TEST(GrpcppBuffers, ProtobufReadsAndWritesThem) {
  call_kinds::Reply reply;
  reply.set_name(std::string(1000, 'n'));
  grpc::ByteBuffer buffer;
  {
    grpc::ProtoBufferWriter writer(&buffer, 100, static_cast<int>(reply.ByteSizeLong()));
    ASSERT_TRUE(reply.SerializeToZeroCopyStream(&writer));
  }
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(buffer.Dump(&slices).ok());
  EXPECT_GT(slices.size(), 5u);
  EXPECT_EQ(buffer.Length(), reply.ByteSizeLong());
  grpc::ProtoBufferReader reader(&buffer);
  call_kinds::Reply read;
  ASSERT_TRUE(read.ParseFromZeroCopyStream(&reader));
  EXPECT_EQ(read.name(), reply.name());
  grpc::ProtoBufferReader again(&buffer);
  EXPECT_TRUE(again.Skip(150));
  EXPECT_EQ(again.ByteCount(), 150);
  grpc::ByteBuffer none;
  EXPECT_FALSE(grpc::ProtoBufferReader(&none).status().ok());
}

TEST(GrpcppBuffers, TraitsTurnMessagesIntoThem) {
  call_kinds::Reply reply;
  reply.set_number(5);
  grpc::ByteBuffer buffer;
  bool own = false;
  ASSERT_TRUE(grpc::SerializationTraits<call_kinds::Reply>::Serialize(reply, &buffer, &own).ok());
  EXPECT_TRUE(own);
  call_kinds::Reply read;
  ASSERT_TRUE(grpc::SerializationTraits<call_kinds::Reply>::Deserialize(&buffer, &read).ok());
  EXPECT_EQ(read.number(), 5);
  std::string bytes;
  ASSERT_TRUE(grpc::internal::to_bytes(tide{-3}, bytes).ok());
  EXPECT_EQ(bytes, "-3");
  tide t;
  ASSERT_TRUE(grpc::internal::from_bytes(std::move(bytes), t).ok());
  EXPECT_EQ(t.metres, -3);
  const grpc::Status broken = grpc::internal::from_bytes(std::string("\x08"), reply);
  EXPECT_EQ(broken.error_code(), grpc::StatusCode::INTERNAL);
}

TEST(GrpcppTexts, AStringRefComparesAndSearches) {
  const std::string text = "example";
  const grpc::string_ref ref(text);
  EXPECT_EQ(ref, "example");
  EXPECT_LT(ref, "examples");
  EXPECT_TRUE(ref.starts_with("exa"));
  EXPECT_TRUE(ref.ends_with("mple"));
  EXPECT_EQ(ref.find('m'), 3u);
  EXPECT_EQ(ref.find("zzz"), grpc::string_ref::npos);
  EXPECT_EQ(ref.substr(3), "mple");
  EXPECT_EQ(ref.substr(99), "");
  EXPECT_EQ(std::string(ref.rbegin(), ref.rend()), "elpmaxe");
  EXPECT_EQ(::testing::PrintToString(std::string(ref.begin(), ref.end())), "\"example\"");
}

TEST(GrpcppTexts, LogLinesPassTheVerbosityToTheFunction) {
  static std::vector<std::string> lines;
  lines.clear();
  gpr_set_log_function([](gpr_log_func_args* line) { lines.emplace_back(line->message); });
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_INFO);
  gpr_log(GPR_INFO, "%d units", 3);
  gpr_log(GPR_DEBUG, "not this");
  gpr_set_log_function(nullptr);
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  EXPECT_THAT(lines, ::testing::ElementsAre("3 units"));
}

}  // namespace
}  // namespace coracle::testing_support::values_test
