#include "tools/chaos/fault.hpp"

#include "tools/failure.hpp"
#include "tools/units.hpp"

#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

namespace coracle::tools::chaos {

namespace {

constexpr duration delay_max = std::chrono::hours(1);

// What the value of a kind is.
enum class value_form : std::uint8_t { times, bytes, chance, mean };

struct kind_form {
  std::string_view name;
  value_form form;
  std::string_view example;
};
constexpr std::array<kind_form, fault_kind_count> forms{
    {{"delay", value_form::times, "delay 20ms..200ms"},
     {"slow", value_form::bytes, "slow 64KB"},
     {"refuse", value_form::chance, "refuse 10%"},
     {"handshake", value_form::chance, "handshake 10%"},
     {"alert", value_form::chance, "alert 10%"},
     {"certificate", value_form::chance, "certificate 10%"},
     {"close", value_form::mean, "close 30s"},
     {"truncate", value_form::bytes, "truncate 1MB"},
     {"stall", value_form::mean, "stall 30s"},
     {"corrupt", value_form::bytes, "corrupt 1MB"},
     {"goaway", value_form::mean, "goaway 30s"},
     {"reset", value_form::chance, "reset 10%"}}};

const kind_form& form_of(fault_kind k) noexcept { return forms[static_cast<std::size_t>(k)]; }

std::string_view take_word(std::string_view& text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  std::size_t n = 0;
  while (n < text.size() && !is_space(text[n])) ++n;
  return std::exchange(text, text.substr(n)).substr(0, n);
}

std::optional<double> number_before(std::string_view text, std::string_view& unit) {
  double n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || !(n >= 0) || !std::isfinite(n)) return std::nullopt;
  unit = text.substr(static_cast<std::size_t>(end - text.data()));
  return n;
}

std::optional<std::uint64_t> bytes_in(std::string_view text) {
  std::string_view unit;
  const std::optional<double> n = number_before(text, unit);
  const double of_unit = unit == "B" ? 1 : unit == "KB" ? 1e3 : unit == "MB" ? 1e6 : unit == "GB" ? 1e9 : 0;
  if (!n || *n * of_unit < 1 || *n * of_unit > 1e15) return std::nullopt;
  return static_cast<std::uint64_t>(*n * of_unit);
}

std::optional<double> chance_in(std::string_view text) {
  std::string_view unit;
  const std::optional<double> n = number_before(text, unit);
  if (!n || unit != "%" || *n > 100) return std::nullopt;
  return *n / 100;
}

[[noreturn]] void refuse(std::string_view where, std::string_view text, std::string_view why) {
  throw usage_failure(std::string(where) + ": '" + std::string(text) + "' " + std::string(why));
}

}  // namespace

std::string_view name_of(fault_kind k) noexcept { return form_of(k).name; }

fault parse_fault(std::string_view text, std::string_view where) {
  std::string_view rest = text;
  const std::string_view name = take_word(rest), value = take_word(rest);
  fault f;
  const kind_form* form = nullptr;
  for (std::size_t i = 0; i < forms.size(); ++i) {
    if (forms[i].name != name) continue;
    form = &forms[i];
    f.kind = static_cast<fault_kind>(i);
  }
  if (!form) {
    std::string names;
    for (const kind_form& one : forms) names.append(names.empty() ? "" : ", ").append(one.name);
    refuse(where, text, "begins with none of " + names);
  }
  const std::string wanted = "is not of the form '" + std::string(form->example) + " [from TIME] [to TIME]'";
  if (value.empty()) refuse(where, text, wanted);
  switch (form->form) {
    case value_form::times: {
      const std::size_t dots = value.find("..");
      f.least = parse_duration(value.substr(0, dots), where);
      f.most = dots == std::string_view::npos ? f.least : parse_duration(value.substr(dots + 2), where);
      if (f.most < f.least) refuse(where, text, wanted);
      if (f.most > delay_max) refuse(where, text, "delays for more than an hour");
      break;
    }
    case value_form::bytes:
      if (const auto bytes = bytes_in(value)) f.bytes = *bytes;
      else refuse(where, text, wanted);
      break;
    case value_form::chance:
      if (const auto chance = chance_in(value)) f.chance = *chance;
      else refuse(where, text, wanted);
      break;
    case value_form::mean: f.mean = parse_duration(value, where); break;
  }
  for (std::string_view word = take_word(rest); !word.empty(); word = take_word(rest)) {
    duration* const to = word == "from" ? &f.from : word == "to" ? &f.until : nullptr;
    if (!to) refuse(where, text, wanted);
    *to = parse_duration(take_word(rest), where);
  }
  if (f.until <= f.from) refuse(where, text, "ends before it begins");
  return f;
}

std::vector<fault> parse_script(std::string_view text, std::string_view file) {
  std::vector<fault> all;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = text.find('\n');
    const std::string_view one = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    std::string_view rest = one;
    const std::string_view first = take_word(rest);
    if (first.empty() || first.front() == '#') continue;
    all.push_back(parse_fault(one, std::string(file) + ", line " + std::to_string(line)));
  }
  return all;
}

}  // namespace coracle::tools::chaos
