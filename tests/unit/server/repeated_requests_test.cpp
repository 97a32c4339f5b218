// What a connection keeps of its requests.
#include "server/repeated_requests.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace coracle::server_internal::repeated_requests_test {
namespace {

constexpr std::uint32_t number = 7;

received_metadata pairs(std::size_t value_bytes) {
  received_metadata m = received_metadata::make();
  m.own().add("x-id", std::string(value_bytes, 'v'));
  return m;
}

// Keeps a request of these, and returns whether it is known from then on.
bool keeps(std::unique_ptr<transport::header_cache>& all, const std::string& authority,
           const received_metadata& received) {
  const http::header_list headers;
  call_request request;
  request.other_authority = authority;
  repeated_requests::keep(all, transport::header_source(headers, number), request, received);
  return repeated_requests::find(all.get(), number) != nullptr;
}
bool keeps(const std::string& authority, const received_metadata& received = pairs(1)) {
  std::unique_ptr<transport::header_cache> all;
  return keeps(all, authority, received);
}

TEST(RepeatedRequests, HaveALimitOfTheirAuthority) {
  EXPECT_TRUE(keeps(""));
  EXPECT_TRUE(keeps(std::string(256, 'a')));
  EXPECT_FALSE(keeps(std::string(257, 'a')));
}

TEST(RepeatedRequests, HaveALimitOfTheirMetadata) {
  EXPECT_TRUE(keeps("", pairs(1500)));
  EXPECT_FALSE(keeps("", pairs(2048)));
}

// The request's headers are gone when it comes again.
TEST(RepeatedRequests, OwnTheirAuthorityAndCountIt) {
  std::unique_ptr<transport::header_cache> all;
  std::string authority(200, 'a');
  ASSERT_TRUE(keeps(all, authority, pairs(1)));
  authority.assign(200, 'b');
  const repeated_request* const kept = repeated_requests::find(all.get(), number);
  ASSERT_NE(kept, nullptr);
  EXPECT_EQ(kept->request.other_authority, std::string(200, 'a'));
  EXPECT_GE(all->memory_bytes, sizeof(repeated_requests) + sizeof(repeated_request) + 200);
}

}  // namespace
}  // namespace coracle::server_internal::repeated_requests_test
