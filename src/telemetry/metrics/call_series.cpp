#include "telemetry/metrics/call_series.hpp"

#include "base/if_memory_allows.hpp"
#include "base/utf8.hpp"

#include <utility>

namespace coracle::telemetry_internal {

namespace {

constexpr std::size_t method_bytes_max = 256;
constexpr std::size_t custom_bytes_max = 256;

using by_status = std::array<std::unique_ptr<call_histograms>, status_codes>;

by_status copy_of(const by_status& from) {
  by_status to;
  for (std::size_t i = 0; i < status_codes; ++i)
    if (from[i]) to[i] = std::make_unique<call_histograms>(*from[i]);
  return to;
}

void add(by_status& to, const by_status& from) {
  for (std::size_t i = 0; i < status_codes; ++i) {
    if (!from[i]) continue;
    if (to[i]) to[i]->add(*from[i]);
    else to[i] = std::make_unique<call_histograms>(*from[i]);
  }
}

template <class Exemplars>
void keep_latest(Exemplars& to, const Exemplars& from) {
  for (std::size_t i = 0; i < to.size(); ++i)
    if (from[i].time > to[i].time) to[i] = from[i];
}

template <class Exemplars>
std::vector<metric_exemplar> set_ones(const Exemplars& all) {
  std::vector<metric_exemplar> made;
  for (const metric_exemplar& e : all)
    if (e.trace != trace_context::trace_id{}) made.push_back(e);
  return made;
}

}  // namespace

// --- histograms

void call_histograms::keep(const call_sizes& c, const metric_exemplar& e) noexcept {
  if (!exemplars_ && !base::if_memory_allows([&] { exemplars_ = std::make_unique<call_exemplars>(); }))
    return;
  const auto set = [&](metric_exemplar& at, double value) {
    at = e;
    at.value = value;
  };
  set(exemplars_->duration[latency_bucket(c.duration_ns)], static_cast<double>(c.duration_ns) * 1e-9);
  set(exemplars_->sent[size_bucket(c.sent_bytes)], static_cast<double>(c.sent_bytes));
  set(exemplars_->received[size_bucket(c.received_bytes)], static_cast<double>(c.received_bytes));
}

std::vector<metric_exemplar> call_histograms::duration_exemplars() const {
  return exemplars_ ? set_ones(exemplars_->duration) : std::vector<metric_exemplar>();
}
std::vector<metric_exemplar> call_histograms::sent_exemplars() const {
  return exemplars_ ? set_ones(exemplars_->sent) : std::vector<metric_exemplar>();
}
std::vector<metric_exemplar> call_histograms::received_exemplars() const {
  return exemplars_ ? set_ones(exemplars_->received) : std::vector<metric_exemplar>();
}

void call_histograms::add(const call_histograms& o) {
  duration_.add(o.duration_);
  sent_.add(o.sent_);
  received_.add(o.received_);
  if (o.exemplars_ && exemplars_) {
    keep_latest(exemplars_->duration, o.exemplars_->duration);
    keep_latest(exemplars_->sent, o.exemplars_->sent);
    keep_latest(exemplars_->received, o.exemplars_->received);
  } else if (o.exemplars_) {
    exemplars_ = std::make_unique<call_exemplars>(*o.exemplars_);
  }
  if (exponential_ && o.exponential_)
    for (std::size_t i = 0; i < exponential_->size(); ++i) (*exponential_)[i].add((*o.exponential_)[i]);
}

void call_histograms::add_exponential(std::uint64_t duration_ns, std::uint64_t sent_bytes,
                                      std::uint64_t received_bytes) noexcept {
  // Without memory a histogram misses the value.
  base::if_memory_allows([&] { (*exponential_)[0].add(static_cast<double>(duration_ns) * 1e-9); });
  base::if_memory_allows([&] { (*exponential_)[1].add(static_cast<double>(sent_bytes)); });
  base::if_memory_allows([&] { (*exponential_)[2].add(static_cast<double>(received_bytes)); });
}

histogram_data call_histograms::with(std::size_t i, histogram_data d) const {
  if (exponential_) {
    d.buckets.clear();
    d.exponential = (*exponential_)[i].data();
  }
  return d;
}

// --- methods

method_calls::method_calls(const method_calls& o)
    : key(o.key),
      start(o.start),
      started(o.started),
      ended(copy_of(o.ended)),
      client_calls(copy_of(o.client_calls)),
      costs(o.costs) {}

void method_calls::add(const method_calls& o) {
  start = std::min(start, o.start);
  started += o.started;
  telemetry_internal::add(ended, o.ended);
  telemetry_internal::add(client_calls, o.client_calls);
  costs.add(o.costs);
}

method_calls* call_series::find(bool client, std::string_view target, std::string_view path, bool registered,
                                std::chrono::system_clock::time_point now, std::string_view custom,
                                const server_labels* server) noexcept {
  custom = custom.substr(0, custom_bytes_max);
  custom = custom.substr(0, base::valid_utf8_bytes(custom));
  method_calls* found = nullptr;
  base::if_memory_allows([&] {
    std::string_view name = path.starts_with('/') ? path.substr(1) : path;
    if (!registered && (!admits_ || name.size() > method_bytes_max || !base::is_utf8(name) || !admits_(name)))
      name = other_method;
    const auto set_key = [&] {
      key_ = client ? 'c' : 's';
      key_ += target;
      key_ += '\0';  // neither a target nor a method has this byte
      key_ += name;
      key_ += '\0';
      key_ += custom;
      if (!server) return;
      key_ += '\0';
      key_ += server->backend_service;
      key_ += '\0';
      key_ += server->locality;
    };
    set_key();
    auto at = all_.find(key_);
    // What does not fit loses its labels before it loses its method: sums by method stay right.
    const auto folds = [&] {
      return at == all_.end() && all_.size() >= methods_max_ &&
             (server || !custom.empty() || name != other_method);
    };
    if (folds()) ++folded_;
    while (folds()) {
      if (server) server = nullptr;
      else if (!custom.empty()) custom = {};
      else name = other_method;
      set_key();
      at = all_.find(key_);
    }
    if (at == all_.end()) {
      auto made = std::make_unique<method_calls>();
      made->key = {client, std::string(target), std::string(name), std::string(custom),
                   server ? *server : server_labels()};
      made->start = now;
      at = all_.emplace(key_, std::move(made)).first;
    }
    found = at->second.get();
  });
  return found;
}

void call_series::count_rarely(std::unique_ptr<call_histograms>& at, std::uint64_t duration_ns,
                               std::uint64_t sent_bytes, std::uint64_t received_bytes) const noexcept {
  if (!at && !base::if_memory_allows([&] { at = std::make_unique<call_histograms>(exponential_); })) return;
  if (exponential_) at->add_exponential(duration_ns, sent_bytes, received_bytes);
  at->add(duration_ns, sent_bytes, received_bytes);  // the count and the sum, also of exponential histograms
}

std::vector<method_calls> call_series::copies() const {
  std::vector<method_calls> made;
  made.reserve(all_.size());
  for (const auto& [key, calls] : all_) made.push_back(*calls);
  return made;
}

}  // namespace coracle::telemetry_internal
