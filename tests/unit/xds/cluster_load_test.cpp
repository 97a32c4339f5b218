// What is counted of the load of a cluster, and how much at most.
#include "xds/load/cluster_load.hpp"

#include "coracle/rpc/load_report.hpp"
#include "xds/limits.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace coracle::xds::cluster_load_test {
namespace {

// A server names its metrics as it likes, and other ones in each reply.
TEST(XdsClusterLoad, KeepsAThousandMetricsOfALocality) {
  const auto load = std::make_shared<cluster_load>("c", "");
  load->report_metrics({"named_metrics.*"});
  const auto here = cluster_load::of(load, {});
  for (std::size_t i = 0; i < limits::named_metrics_max + 10; ++i) {
    here->began();
    metadata trailing;
    trailing.add("endpoint-load-metrics-bin",
                 load_report().set_metric("metric" + std::to_string(i), 1).serialize());
    here->ended(status_code::ok, trailing);
  }
  const cluster_report first = load->take();
  ASSERT_EQ(first.localities.size(), 1u);
  EXPECT_EQ(first.localities[0].metrics.size(), limits::named_metrics_max);
  EXPECT_EQ(first.localities[0].succeeded, limits::named_metrics_max + 10);
}

// As does a control plane the shares of calls that it drops.
TEST(XdsClusterLoad, KeepsAThousandCategoriesOfDrops) {
  cluster_load load("c", "");
  for (std::size_t i = 0; i < limits::drop_categories_max + 10; ++i)
    load.dropped("category" + std::to_string(i));
  const cluster_report first = load.take();
  EXPECT_EQ(first.dropped.size(), limits::drop_categories_max);
  EXPECT_EQ(first.dropped_in_all, limits::drop_categories_max + 10);
}

}  // namespace
}  // namespace coracle::xds::cluster_load_test
