#include "tools/chaos/fault_plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace coracle::tools::chaos {

namespace {

// SplitMix64, whose every value looks independent of that for a neighbouring number.
std::uint64_t mixed(std::uint64_t n) noexcept {
  n += 0x9e3779b97f4a7c15;
  n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9;
  n = (n ^ n >> 27) * 0x94d049bb133111eb;
  return n ^ n >> 31;
}

// The exponential distribution, by which events without memory occur.
double exponential(double mean, double draw) noexcept { return -mean * std::log1p(-draw); }

}  // namespace

fault_plan::fault_plan(const std::vector<fault>& faults, std::uint64_t seed, std::uint64_t connection,
                       duration began)
    : faults_(faults), seed_(mixed(mixed(seed) + connection)), began_(began) {
  for (const direction d : {direction::to_server, direction::to_client}) {
    targets_[static_cast<std::size_t>(d)].resize(faults.size());
    for (std::size_t i = 0; i < faults.size(); ++i) advance(i, d);
  }
}

double fault_plan::draw(std::size_t fault, std::uint64_t about) const noexcept {
  return static_cast<double>(mixed(mixed(seed_ + fault) + about) >> 11) * 0x1p-53;
}

bool fault_plan::decides(fault_kind k, std::uint64_t about, duration at) const {
  for (std::size_t i = 0; i < faults_.size(); ++i)
    if (faults_[i].kind == k && faults_[i].is_active(at) && draw(i, about) < faults_[i].chance) return true;
  return false;
}

std::optional<duration> fault_plan::time_of(fault_kind k) const {
  std::optional<duration> first;
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    const fault& f = faults_[i];
    if (f.kind != k) continue;
    const double after = exponential(static_cast<double>(f.mean.count()), draw(i, 0));
    const duration begins = std::max(began_, f.from);
    if (after >= static_cast<double>((f.until - begins).count())) continue;
    const duration at = begins + duration(static_cast<duration::rep>(after));
    if (!first || at < *first) first = at;
  }
  return first;
}

duration fault_plan::delay_of(direction d, std::uint64_t position, duration now) const {
  duration all{};
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    const fault& f = faults_[i];
    if (f.kind != fault_kind::delay || !f.is_active(now)) continue;
    const double part = draw(i, position * 2 + static_cast<std::uint64_t>(d));
    all += f.least +
           duration(static_cast<duration::rep>(part * static_cast<double>((f.most - f.least).count())));
  }
  return all;
}

std::uint64_t fault_plan::bytes_per_second(duration now) const {
  std::uint64_t least = 0;
  for (const fault& f : faults_)
    if (f.kind == fault_kind::slow && f.is_active(now))
      least = least == 0 ? f.bytes : std::min(least, f.bytes);
  return least;
}

void fault_plan::advance(std::size_t fault, direction d) noexcept {
  target& t = target_of(fault, d);
  const double distance = exponential(static_cast<double>(faults_[fault].bytes), draw(fault, about(t, d, 0)));
  t.position += (t.number == 0 ? 0u : 1u) + static_cast<std::uint64_t>(distance);
  ++t.number;
}

std::optional<std::size_t> fault_plan::truncate(direction d, std::uint64_t position, std::size_t bytes,
                                                duration now) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    if (faults_[i].kind != fault_kind::truncate) continue;
    for (target& t = target_of(i, d); t.position < position + bytes; advance(i, d)) {
      if (!faults_[i].is_active(now)) continue;
      const auto passing = static_cast<std::size_t>(std::max(t.position, position) - position);
      first = std::min(first.value_or(passing), passing);
      break;  // and stays there: nothing passes any more
    }
  }
  return first;
}

int fault_plan::corrupt(direction d, std::uint64_t position, std::string& bytes, duration now) {
  int changed = 0;
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    if (faults_[i].kind != fault_kind::corrupt) continue;
    for (target& t = target_of(i, d); t.position < position + bytes.size(); advance(i, d)) {
      if (!faults_[i].is_active(now)) continue;
      // Another value in any case.
      bytes[static_cast<std::size_t>(t.position - position)] ^=
          static_cast<char>(1 + static_cast<int>(draw(i, about(t, d, 1)) * 255));
      ++changed;
    }
  }
  return changed;
}

}  // namespace coracle::tools::chaos
