#include "server/router.hpp"

#include "protocol/grpc/content_type.hpp"

#include <gtest/gtest.h>

namespace coracle::server_internal::router_test {
namespace {

TEST(Subtypes, AreFoundByTheirNames) {
  subtype_table table;
  table.add(json_codec());
  ASSERT_TRUE(table.find("") && table.find("proto") && table.find("json"));
  EXPECT_EQ(table.at(*table.find("")).form, nullptr);
  EXPECT_EQ(table.at(*table.find("proto")).form, nullptr);
  EXPECT_EQ(table.at(*table.find("json")).form, &json_codec());
  EXPECT_EQ(table.at(*table.find("json")).name, "json");
  EXPECT_FALSE(table.find("jso"));
  EXPECT_EQ(protocol::grpc::content_type_of("json"), "application/grpc+json");
  EXPECT_EQ(protocol::grpc::content_type_of(""), "application/grpc");
}

}  // namespace
}  // namespace coracle::server_internal::router_test
