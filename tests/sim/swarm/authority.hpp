// authority: a CA in memory. The same numbers give the same bytes in every run of the program: keys are
// derived from them, and Ed25519 signatures are deterministic and of constant length.
#pragma once

#include <cstdint>
#include <string>

namespace coracle::swarm {

struct issued {
  std::string chain;  // PEM
  std::string key;
};

class authority {
 public:
  explicit authority(std::uint32_t number);
  [[nodiscard]] const std::string& certificate() const noexcept { return self_.chain; }
  // names: as in a subjectAltName, "DNS:a.example,IP:10.0.0.1". The number belongs to one certificate only.
  [[nodiscard]] issued issue(std::uint32_t number, const std::string& names) const;

 private:
  std::uint32_t number_;
  issued self_;
};

}  // namespace coracle::swarm
