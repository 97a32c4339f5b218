#include "http/date.hpp"

#include <array>
#include <cstddef>

namespace coracle::http {

namespace {

using namespace std::chrono;

constexpr std::array<std::string_view, 7> day_names = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> month_names = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

void append_digits(std::string& to, int n, int digits) {
  std::string text = std::to_string(n);
  if (text.size() < static_cast<std::size_t>(digits))
    to.append(static_cast<std::size_t>(digits) - text.size(), '0');
  to.append(text);
}

// Reads a date from the front of a text, part by part. Once a part is missing, every further one is, too.
class date_reader {
 public:
  explicit date_reader(std::string_view text) noexcept : rest_(text) {}

  void literal(std::string_view expected) noexcept {
    ok_ = ok_ && rest_.starts_with(expected);
    if (ok_) rest_.remove_prefix(expected.size());
  }
  [[nodiscard]] int digits(std::size_t n) noexcept {
    int value = 0;
    for (std::size_t i = 0; i < n; ++i) {
      ok_ = ok_ && !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9';
      if (!ok_) return 0;
      value = value * 10 + (rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    return value;
  }
  // Two digits, the first of which may be a space.
  [[nodiscard]] int padded() noexcept {
    if (!rest_.starts_with(' ')) return digits(2);
    rest_.remove_prefix(1);
    return digits(1);
  }
  [[nodiscard]] unsigned month() noexcept {
    for (unsigned i = 0; i < month_names.size(); ++i)
      if (rest_.starts_with(month_names[i])) {
        rest_.remove_prefix(3);
        return i + 1;
      }
    ok_ = false;
    return 0;
  }
  void time() noexcept {
    hour_ = digits(2);
    literal(":");
    minute_ = digits(2);
    literal(":");
    second_ = digits(2);
  }
  [[nodiscard]] std::optional<sys_seconds> finish(int year, unsigned month, int day) const noexcept {
    const year_month_day date{std::chrono::year(year), std::chrono::month(month),
                              std::chrono::day(static_cast<unsigned>(day))};
    // 60 is a leap second.
    if (!ok_ || !rest_.empty() || !date.ok() || hour_ > 23 || minute_ > 59 || second_ > 60)
      return std::nullopt;
    return sys_days(date) + hours(hour_) + minutes(minute_) + seconds(second_);
  }

 private:
  std::string_view rest_;
  int hour_ = 0;
  int minute_ = 0;
  int second_ = 0;
  bool ok_ = true;
};

std::optional<sys_seconds> parse_fixed(std::string_view after_day) {
  date_reader r(after_day);
  r.literal(", ");
  const int day = r.digits(2);
  r.literal(" ");
  const unsigned month = r.month();
  r.literal(" ");
  const int year = r.digits(4);
  r.literal(" ");
  r.time();
  r.literal(" GMT");
  return r.finish(year, month, day);
}

std::optional<sys_seconds> parse_rfc850(std::string_view after_day, sys_seconds now) {
  date_reader r(after_day);
  r.literal(", ");
  const int day = r.digits(2);
  r.literal("-");
  const unsigned month = r.month();
  r.literal("-");
  const int short_year = r.digits(2);
  r.literal(" ");
  r.time();
  r.literal(" GMT");
  const int this_year = static_cast<int>(year_month_day(floor<days>(now)).year());
  int year = this_year / 100 * 100 + short_year;
  if (year > this_year + 50) year -= 100;
  return r.finish(year, month, day);
}

std::optional<sys_seconds> parse_asctime(std::string_view after_day) {
  date_reader r(after_day);
  r.literal(" ");
  const unsigned month = r.month();
  r.literal(" ");
  const int day = r.padded();
  r.literal(" ");
  r.time();
  r.literal(" ");
  const int year = r.digits(4);
  return r.finish(year, month, day);
}

}  // namespace

std::string format_date(sys_seconds t) {
  const sys_days date = floor<days>(t);
  const year_month_day civil(date);
  const hh_mm_ss time(t - date);
  std::string text(day_names[weekday(date).c_encoding()]);
  text.append(", ");
  append_digits(text, static_cast<int>(static_cast<unsigned>(civil.day())), 2);
  text.append(" ").append(month_names[static_cast<unsigned>(civil.month()) - 1]).append(" ");
  append_digits(text, static_cast<int>(civil.year()), 4);
  text.append(" ");
  append_digits(text, static_cast<int>(time.hours().count()), 2);
  text.append(":");
  append_digits(text, static_cast<int>(time.minutes().count()), 2);
  text.append(":");
  append_digits(text, static_cast<int>(time.seconds().count()), 2);
  return text.append(" GMT");
}

std::optional<sys_seconds> parse_date(std::string_view text, sys_seconds now) {
  const std::size_t end = text.find_first_of(", ");
  if (end == std::string_view::npos || end < 3) return std::nullopt;
  const std::string_view after_day = text.substr(end);
  if (end > 3) return parse_rfc850(after_day, now);
  return text[end] == ',' ? parse_fixed(after_day) : parse_asctime(after_day);
}

}  // namespace coracle::http
