// wire_mutator: mutates a serialized message of protobuf field by field, so that the lengths around a change
// stay right. Bytes alone rarely change anything that stands deep in a message.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace coracle::fuzz {

struct wire_field {
  std::uint64_t tag = 0;  // with the type in its low bits: 0, 1, 2 or 5
  std::uint64_t number = 0;  // of type 0
  std::string content;  // of the others
};

// Nothing if it is no message, or has a group.
inline std::optional<std::vector<wire_field>> fields_of(std::string_view bytes) {
  std::vector<wire_field> fields;
  const auto take_number = [&bytes](std::uint64_t& to) {
    to = 0;
    for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(bytes.front());
      bytes.remove_prefix(1);
      to |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  };
  const auto take_content = [&bytes](std::string& to, std::uint64_t size) {
    if (size > bytes.size()) return false;
    to = bytes.substr(0, static_cast<std::size_t>(size));
    bytes.remove_prefix(to.size());
    return true;
  };
  while (!bytes.empty()) {
    wire_field& f = fields.emplace_back();
    if (!take_number(f.tag) || f.tag < 8) return std::nullopt;
    std::uint64_t size = 0;
    switch (f.tag & 7) {
      case 0:
        if (!take_number(f.number)) return std::nullopt;
        break;
      case 1:
        if (!take_content(f.content, 8)) return std::nullopt;
        break;
      case 2:
        if (!take_number(size) || !take_content(f.content, size)) return std::nullopt;
        break;
      case 5:
        if (!take_content(f.content, 4)) return std::nullopt;
        break;
      default: return std::nullopt;
    }
  }
  return fields;
}

inline std::string bytes_of(const std::vector<wire_field>& fields) {
  std::string bytes;
  const auto put = [&bytes](std::uint64_t n) {
    for (; n >= 0x80; n >>= 7) bytes.push_back(static_cast<char>(n | 0x80));
    bytes.push_back(static_cast<char>(n));
  };
  for (const wire_field& f : fields) {
    put(f.tag);
    if ((f.tag & 7) == 0) put(f.number);
    if ((f.tag & 7) == 2) put(f.content.size());
    bytes += f.content;
  }
  return bytes;
}

namespace wire_mutation {

using dice = std::minstd_rand;

inline std::size_t below(dice& by, std::size_t n) { return by() % n; }

inline std::string mutated_text(std::string text, dice& by) {
  const std::size_t size = text.size();
  text.resize(size + 1 + below(by, 16));
  text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
  return text;
}

inline std::uint64_t mutated_number(std::uint64_t n, dice& by) {
  constexpr std::uint64_t edges[] = {0, 1, 2, 5, 100, 101, 0x7FFFFFFF, 0xFFFFFFFF, 1ULL << 32U, ~0ULL};
  switch (below(by, 4)) {
    case 0: return n + 1;
    case 1: return n - 1;
    case 2: return n ^ (1ULL << below(by, 64));
    default: return edges[below(by, std::size(edges))];
  }
}

inline std::string mutated(const std::string& bytes, dice& by, unsigned depth);

inline void mutate_field(wire_field& f, dice& by, unsigned depth) {
  if ((f.tag & 7) == 0) f.number = mutated_number(f.number, by);
  else if ((f.tag & 7) == 2) f.content = mutated(f.content, by, depth + 1);
  else f.content[below(by, f.content.size())] = static_cast<char>(by());
}

// `bytes` may be a text or a message.
inline std::string mutated(const std::string& bytes, dice& by, unsigned depth) {
  constexpr unsigned depth_max = 32;
  constexpr unsigned field_max = 60;
  auto fields = depth < depth_max && !bytes.empty() ? fields_of(bytes) : std::nullopt;
  if (!fields || below(by, 16) == 0) return mutated_text(bytes, by);
  const auto at = fields->begin() + static_cast<std::ptrdiff_t>(below(by, fields->size()));
  switch (below(by, 12)) {
    case 0: fields->erase(at); break;
    case 1: {
      wire_field copy = *at;
      fields->insert(at, std::move(copy));
      break;
    }
    case 2: std::swap(at->content, (*fields)[below(by, fields->size())].content); break;
    case 3: at->tag = (1 + below(by, field_max)) << 3U | (at->tag & 7U); break;
    case 4: {
      // A message within this one moves up or down.
      wire_field inner{(1 + below(by, field_max)) << 3U | 2U, 0,
                       (*fields)[below(by, fields->size())].content};
      fields->insert(at, std::move(inner));
      break;
    }
    default: mutate_field(*at, by, depth);
  }
  for (wire_field& f : *fields)  // what was swapped must fit its type
    if ((f.tag & 7) == 1) f.content.resize(8);
    else if ((f.tag & 7) == 5) f.content.resize(4);
    else if ((f.tag & 7) == 0) f.content.clear();
  return bytes_of(*fields);
}

}  // namespace wire_mutation

// For LLVMFuzzerCustomMutator(). Returns the new size.
inline std::size_t mutate_message(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  wire_mutation::dice by(seed);
  std::string bytes(reinterpret_cast<const char*>(data), size);
  for (std::size_t changes = 1 + wire_mutation::below(by, 3); changes > 0; --changes)
    bytes = wire_mutation::mutated(bytes, by, 0);
  size = std::min(bytes.size(), max_size);
  std::copy_n(bytes.data(), size, reinterpret_cast<char*>(data));
  return size;
}

}  // namespace coracle::fuzz
