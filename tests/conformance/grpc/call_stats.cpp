#include "call_stats.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace interop {

namespace {

coracle::task<> wait_for(coracle::event<>& e) { co_await e; }

void add_metadata(const coracle::metadata& from, const std::set<std::string>& keys,
                  pb::LoadBalancerStatsResponse::MetadataType type,
                  pb::LoadBalancerStatsResponse::RpcMetadata& to) {
  for (const auto& [key, value] : from) {
    if (!keys.contains("*") && !keys.contains(std::string(key))) continue;
    auto& entry = *to.add_metadata();
    entry.set_key(std::string(key));
    entry.set_value(std::string(value));
    entry.set_type(type);
  }
}

}  // namespace

std::uint64_t call_stats::begin(call_kind kind) {
  ++begun_[kind];
  return next_++;
}

void call_stats::count(watch& in, const call_outcome& of) {
  if (!of.status.ok()) {
    in.found.set_num_failures(in.found.num_failures() + 1);
    return;
  }
  ++(*in.found.mutable_rpcs_by_peer())[of.server];
  ++(*(*in.found.mutable_rpcs_by_method())[name_of(of.kind)].mutable_rpcs_by_peer())[of.server];
  if (in.keys.empty()) return;
  auto& of_call = *(*in.found.mutable_metadatas_by_peer())[of.server].add_rpc_metadata();
  add_metadata(of.initial, in.keys, pb::LoadBalancerStatsResponse::INITIAL, of_call);
  add_metadata(of.trailing, in.keys, pb::LoadBalancerStatsResponse::TRAILING, of_call);
}

void call_stats::end(const call_outcome& of) {
  ++ended_[of.kind][of.status.code()];
  for (watch* const each : watches_) {
    if (of.number < each->first || of.number >= each->end) continue;
    count(*each, of);
    if (--each->left == 0) each->complete.set();
  }
}

pb::LoadBalancerAccumulatedStatsResponse call_stats::all() const {
  pb::LoadBalancerAccumulatedStatsResponse to;
  for (const auto& [kind, count] : begun_) {
    (*to.mutable_num_rpcs_started_by_method())[constant_of(kind)] = count;
    (*to.mutable_stats_per_method())[constant_of(kind)].set_rpcs_started(count);
  }
  for (const auto& [kind, codes] : ended_) {
    for (const auto& [code, count] : codes) {
      auto& by_method = code == coracle::status_code::ok ? *to.mutable_num_rpcs_succeeded_by_method()
                                                         : *to.mutable_num_rpcs_failed_by_method();
      by_method[constant_of(kind)] += count;
      (*(*to.mutable_stats_per_method())[constant_of(kind)].mutable_result())[static_cast<int>(code)] = count;
    }
  }
  return to;
}

coracle::task<pb::LoadBalancerStatsResponse> call_stats::next_ones(pb::LoadBalancerStatsRequest request) {
  const std::int32_t wanted = std::max(request.num_rpcs(), 0);
  watch mine{next_, wanted, next_ + static_cast<std::uint64_t>(wanted), {}};
  for (std::string key : request.metadata_keys()) {
    std::ranges::transform(key, key.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
    mine.keys.insert(std::move(key));
  }
  watches_.push_back(&mine);
  const struct removal {
    std::vector<watch*>& from;
    watch* what;
    ~removal() { std::erase(from, what); }
  } at_the_end{watches_, &mine};
  if (wanted > 0) {
    auto all = wait_for(mine.complete);
    coracle::with_timeout<void> in_time(std::chrono::seconds(request.timeout_sec()), std::move(all));
    (void)co_await in_time;
  }
  mine.found.set_num_failures(mine.found.num_failures() + mine.left);
  co_return std::move(mine.found);
}

}  // namespace interop
