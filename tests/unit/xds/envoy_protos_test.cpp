// A program may have C++ of Envoy's definitions under Envoy's names, and coracle::xds.
#include "envoy/config/cluster/v3/cluster.pb.h"
#include "unit/xds/resource_builders.hpp"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <type_traits>
#include <variant>

namespace coracle::xds::envoy_protos_test {
namespace {

namespace of_envoy = ::envoy::config::cluster::v3;

static_assert(!std::is_same_v<of_envoy::Cluster, wire::Cluster>);

TEST(XdsAndEnvoysProtos, AreOfTheSameProgram) {
  const auto& pool = *google::protobuf::DescriptorPool::generated_pool();
  EXPECT_EQ(pool.FindMessageTypeByName("envoy.config.cluster.v3.Cluster"), of_envoy::Cluster::descriptor());
  // The library's messages are in no pool, where a name can be registered only once.
  EXPECT_EQ(pool.FindFileByName("xds/wire/cluster.proto"), nullptr);
  EXPECT_EQ(pool.FindMessageTypeByName(wire::Cluster().GetTypeName()), nullptr);
}

TEST(XdsAndEnvoysProtos, HaveTheSameBytes) {
  of_envoy::Cluster made;
  made.set_name("c");
  made.set_type(of_envoy::Cluster::EDS);
  made.mutable_eds_cluster_config()->mutable_eds_config()->mutable_ads();
  made.mutable_eds_cluster_config()->set_service_name("s");
  made.mutable_circuit_breakers()->add_thresholds()->mutable_max_requests()->set_value(7);
  const auto read = parse_cluster(made.SerializeAsString(), resource_rules());
  ASSERT_EQ(read.status(), status());
  EXPECT_EQ(std::get<cluster::eds>((*read)->discovery).service_name, "s");
  EXPECT_EQ((*read)->max_requests, 7U);
}

}  // namespace
}  // namespace coracle::xds::envoy_protos_test
