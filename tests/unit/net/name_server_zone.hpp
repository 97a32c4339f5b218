// The zone of a test's name server, and the answers that it forms from it (RFC 1035 4).
#pragma once

#include <arpa/inet.h>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::net {

// The server's behaviour for one name. Not an aggregate.
class zone_entry {
 public:
  zone_entry() {}
  zone_entry& a(std::string_view ip) { return v4.emplace_back(ip), *this; }
  zone_entry& aaaa(std::string_view ip) { return v6.emplace_back(ip), *this; }
  // A record of several parts, each of up to 255 bytes.
  zone_entry& txt(std::vector<std::string> parts) { return texts.push_back(std::move(parts)), *this; }
  zone_entry& srv(unsigned priority, unsigned weight, unsigned port, std::string host) {
    return services.push_back({priority, weight, port, std::move(host)}), *this;
  }
  // This name is an alias of `to`; the answer follows the chain.
  zone_entry& alias(std::string_view to) { return canonical = to, *this; }
  zone_entry& code(int rcode) { return response_code = rcode, *this; }
  zone_entry& silence() { return silent = true, *this; }
  // Only the header, with its TC bit, over UDP; the whole answer over TCP.
  zone_entry& truncated() { return only_tcp = true, *this; }
  // These bytes in place of the answers; the header claims one answer.
  zone_entry& nonsense(std::string bytes) { return garbage = std::move(bytes), *this; }
  // Not answered before release() of the server.
  zone_entry& held() { return hold = true, *this; }

  struct service {
    unsigned priority;
    unsigned weight;
    unsigned port;
    std::string host;
  };
  std::vector<std::vector<std::string>> texts;
  std::vector<service> services;
  std::vector<std::string> v4;
  std::vector<std::string> v6;
  std::string canonical;
  std::string garbage;
  int response_code = 0;
  bool silent = false;
  bool only_tcp = false;
  bool hold = false;
};

// Names that it does not contain do not exist.
class name_zone {
 public:
  using entries = std::map<std::string, zone_entry>;
  explicit name_zone(entries names) : entries_(std::move(names)) {}

  [[nodiscard]] bool holds_back(const std::string& question) const {
    const zone_entry* e = entry(name_in(question));
    return e && e->hold;
  }
  // Empty: no answer is sent.
  [[nodiscard]] std::string answer(const std::string& question, bool tcp) const {
    const std::string name = name_in(question);
    const zone_entry* e = entry(name);
    if (e && e->silent) return "";
    if (e && e->only_tcp && !tcp) return header(question, 0, 0, true);
    if (e && !e->garbage.empty()) return header(question, 1, 0, false) + e->garbage;
    std::string records;
    int count = 0;
    std::string owner = name;
    for (; e && !e->canonical.empty(); e = entry(owner)) {
      records += record(owner, 5, wire_name(e->canonical));
      owner = e->canonical;
      ++count;
    }
    if (!e) return header(question, count, 3, false) + records;
    const int type = type_in(question);
    if (type == 16 || type == 33) {
      const std::vector<std::string> all = type == 16 ? texts_of(*e) : services_of(*e);
      for (const std::string& data : all) records += record(owner, static_cast<unsigned>(type), data);
      return header(question, count + static_cast<int>(all.size()), e->response_code, false) + records;
    }
    const bool wants_v6 = type == 28;
    for (const std::string& ip : wants_v6 ? e->v6 : e->v4) {
      std::string bytes(wants_v6 ? 16 : 4, '\0');
      ::inet_pton(wants_v6 ? AF_INET6 : AF_INET, ip.c_str(), bytes.data());
      records += record(owner, wants_v6 ? 28 : 1, bytes);
      ++count;
    }
    return header(question, count, e->response_code, false) + records;
  }

 private:
  static constexpr std::size_t header_bytes = 12;

  static std::vector<std::string> texts_of(const zone_entry& e) {
    std::vector<std::string> all;
    for (const auto& parts : e.texts) {
      std::string& data = all.emplace_back();
      for (const std::string& part : parts) data.append(1, static_cast<char>(part.size())).append(part);
    }
    return all;
  }
  static std::vector<std::string> services_of(const zone_entry& e) {
    std::vector<std::string> all;
    for (const zone_entry::service& s : e.services)
      all.push_back(number(s.priority) + number(s.weight) + number(s.port) + wire_name(s.host));
    return all;
  }
  [[nodiscard]] const zone_entry* entry(const std::string& name) const {
    const auto found = entries_.find(name);
    return found == entries_.end() ? nullptr : &found->second;
  }
  static std::size_t end_of_name(const std::string& question) {
    std::size_t at = header_bytes;
    while (at < question.size() && question[at] != '\0') at += static_cast<unsigned char>(question[at]) + 1u;
    return at + 1;
  }
  static std::string name_in(const std::string& question) {
    std::string name;
    for (std::size_t at = header_bytes; at < question.size() && question[at] != '\0';) {
      const auto size = static_cast<unsigned char>(question[at]);
      if (!name.empty()) name += '.';
      name += question.substr(at + 1, size);
      at += size + 1u;
    }
    return name;
  }
  static int type_in(const std::string& question) {
    return static_cast<unsigned char>(question.at(end_of_name(question) + 1));
  }
  static std::string number(unsigned n) {
    return {static_cast<char>(n >> 8 & 0xff), static_cast<char>(n & 0xff)};
  }
  static std::string wire_name(const std::string& name) {
    std::string wire;
    for (std::size_t at = 0; at <= name.size();) {
      const std::size_t dot = std::min(name.find('.', at), name.size());
      wire += static_cast<char>(dot - at);
      wire += name.substr(at, dot - at);
      at = dot + 1;
    }
    return wire + '\0';
  }
  static std::string record(const std::string& owner, unsigned type, const std::string& data) {
    const std::string ttl_seconds("\0\0\0\x3c", 4);
    return wire_name(owner) + number(type) + number(1) + ttl_seconds +
           number(static_cast<unsigned>(data.size())) + data;
  }
  // Followed by the repeated question.
  static std::string header(const std::string& question, int answers, int rcode, bool truncated) {
    std::string text = question.substr(0, 2);
    text += static_cast<char>(truncated ? 0x87 : 0x85);  // QR, AA, RD and perhaps TC
    text += static_cast<char>(0x80 | rcode);             // RA
    text += number(1) + number(static_cast<unsigned>(answers)) + number(0) + number(0);
    return text + question.substr(header_bytes, end_of_name(question) + 4 - header_bytes);
  }
  const entries entries_;
};

}  // namespace coracle::net
